"""`acclimate report --only feature-map`: how far a tagger's features tell source and target apart."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from command_line import Answer, Files, acclimate

ONLY = ("report", "--only", "feature-map")


def sets(*settings: str) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


def of(source: object, target: object) -> list[str]:
    return sets(f"source={source}", f"target={target}")


def words(tagger: Path, files: Files) -> list[object]:
    return [*ONLY, tagger, *of(files.news, files.tweets)]


def test_the_number_is_told(tagger: Path, files: Files) -> None:
    answer = acclimate(*words(tagger, files))
    assert "source (news.conll) against target (tweets.txt): " in answer.out
    assert "accuracy of a linear classifier: " in answer.out
    assert "proxy A-distance: " in answer.out


def test_json_says_the_same_and_the_seed_repeats_it(tagger: Path, files: Files) -> None:
    found, again = (
        acclimate(*words(tagger, files), *sets("unit=sentence", "points=8", "seed=3"), "--json").json for _ in range(2)
    )
    assert found == again
    (found,) = found["feature-map"]["maps"]
    assert (found["unit"], found["points"], found["seed"]) == ("sentence", 16, 3)
    assert found["accuracy"] == sum(found["folds"]) / 2
    assert found["a_distance"] == max(0, 2 * (2 * found["accuracy"] - 1))


def test_a_corpus_cannot_be_told_from_itself(tagger: Path, files: Files) -> None:
    found = acclimate(*ONLY, tagger, *of(files.news, files.news), "--json").json["feature-map"]["maps"][0]
    assert found["accuracy"] == 0.5


def test_the_map_and_the_points_are_written(tagger: Path, files: Files, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    tables = tmp_path / "tables"
    acclimate(*words(tagger, files), *sets("points=20", f"csv={tables}"))
    head, *rows = (tables / "points.csv").read_text(encoding="utf-8").splitlines()
    assert head.startswith("corpus,sentence,word,x,y,feature_1,")
    assert len(rows) == 40


def test_bundled_corpora_and_taggers_go_by_their_names() -> None:
    answer = acclimate(*ONLY, "part-of-speech", *of("news/test", "social/test"), *sets("points=60"))
    assert "source (news/test) against target (social/test): 120 words" in answer.out


@pytest.mark.parametrize(("given", "lacking"), [("source", "target"), ("target", "source")])
def test_both_corpora_are_needed(tagger: Path, files: Files, given: str, lacking: str) -> None:
    assert f"--set {lacking}=CORPUS" in acclimate(*ONLY, tagger, *sets(f"{given}={files.news}"), code=2).err


def test_without_corpora_the_words_that_the_run_has_kept_are_told_apart(run: tuple[Path, Answer]) -> None:
    found = acclimate(*ONLY, run[0], "--json").json["feature-map"]["maps"]
    assert [one["when"] for one in found] == ["before", "after"]
    assert all(0 <= one["accuracy"] <= 1 for one in found)
    assert "after: source against target" in acclimate(*ONLY, run[0]).out


def test_without_scikit_learn_a_map_is_refused_and_the_number_is_not(
    tagger: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    assert "pip install 'acclimate[maps]'" in acclimate(*words(tagger, files), *sets("csv=tables"), code=1).err
    assert "accuracy of a linear classifier" in acclimate(*words(tagger, files)).out


def test_one_sentence_is_too_little(tagger: Path, files: Files, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("ok\n", encoding="utf-8")
    answer = acclimate(*ONLY, tagger, *of(files.news, tmp_path / "one.txt"), code=1)
    assert "has too few different sentences" in answer.err

"""`acclimate feature-map`: how far a tagger's features tell source and target apart."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from command_line import Files, acclimate


def words(tagger: Path, files: Files) -> list[object]:
    return ["feature-map", tagger, "--source", files.news, "--target", files.tweets]


def test_the_number_is_told(tagger: Path, files: Files) -> None:
    answer = acclimate(*words(tagger, files))
    assert "source (news.conll) against target (tweets.txt): " in answer.out
    assert "accuracy of a linear classifier: " in answer.out
    assert "proxy A-distance: " in answer.out


def test_json_says_the_same_and_the_seed_repeats_it(tagger: Path, files: Files) -> None:
    found, again = (
        acclimate(*words(tagger, files), "--unit", "sentence", "--most", 8, "--seed", 3, "--json").json
        for _ in range(2)
    )
    assert found == again
    assert (found["unit"], found["points"], found["seed"]) == ("sentence", 16, 3)
    assert found["accuracy"] == sum(found["folds"]) / 2
    assert found["a_distance"] == max(0, 2 * (2 * found["accuracy"] - 1))


def test_a_corpus_cannot_be_told_from_itself(tagger: Path, files: Files) -> None:
    found = acclimate("feature-map", tagger, "--source", files.news, "--target", files.news, "--json").json
    assert found["accuracy"] == 0.5


def test_the_map_and_the_points_are_written(tagger: Path, files: Files, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("sklearn")
    picture, tables = tmp_path / "map.png", tmp_path / "tables"
    acclimate(*words(tagger, files), "--most", 20, "--out", picture, "--csv", tables)
    assert picture.read_bytes().startswith(b"\x89PNG")
    head, *rows = (tables / "points.csv").read_text(encoding="utf-8").splitlines()
    assert head.startswith("corpus,sentence,word,x,y,feature_1,")
    assert len(rows) == 40


def test_bundled_corpora_and_taggers_go_by_their_names() -> None:
    answer = acclimate(
        "feature-map", "part-of-speech", "--source", "news/test", "--target", "social/test", "--most", 60
    )
    assert "source (news/test) against target (social/test): 120 words" in answer.out


@pytest.mark.parametrize("lacking", ["--source", "--target"])
def test_both_corpora_are_needed(tagger: Path, files: Files, lacking: str) -> None:
    given = words(tagger, files)
    place = given.index(lacking)
    assert lacking in acclimate(*given[:place], *given[place + 2 :], code=2).err


def test_without_scikit_learn_a_map_is_refused_and_the_number_is_not(
    tagger: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    assert "pip install 'acclimate[plots]'" in acclimate(*words(tagger, files), "--out", "a.png", code=1).err
    assert "accuracy of a linear classifier" in acclimate(*words(tagger, files)).out


def test_another_kind_of_picture_is_refused_before_anything_is_read() -> None:
    pytest.importorskip("matplotlib")
    answer = acclimate("feature-map", "nowhere", "--source", "a", "--target", "b", "--out", "a.jpg", code=1)
    assert "must end in .png or .svg" in answer.err


def test_one_sentence_is_too_little(tagger: Path, files: Files, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("ok\n", encoding="utf-8")
    answer = acclimate("feature-map", tagger, "--source", files.news, "--target", tmp_path / "one.txt", code=1)
    assert "has too few different sentences" in answer.err

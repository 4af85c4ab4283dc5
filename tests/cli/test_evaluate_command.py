"""`acclimate evaluate`: every score that was promised, with the scorer's name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Files, acclimate

from acclimate.data.reading import read_corpus
from acclimate.inference.predict import evaluate
from acclimate.model.tagger import Tagger


def test_json_has_every_score(tagger: Path, files: Files) -> None:
    found = acclimate("evaluate", tagger, files.gold, "--json").json
    for scores in (found["span"], found["token"], *found["by_label"].values()):
        assert {"precision", "recall", "f1"} <= set(scores)
    assert 0 <= found["exact_match"] <= 1
    assert set(found["by_label"]) == {"LOC", "ORG", "PER"}
    assert set(found["unseen"]["words"]) == set(found["unseen"]["mentions"]) == {"seen", "unseen"}
    assert found["scorer"] == "acclimate span F1, lenient reading (= conlleval, seqeval default)"


def test_json_is_all_that_comes_on_stdout(tagger: Path, files: Files) -> None:
    answer = acclimate("evaluate", tagger, files.gold, "--json")
    assert answer.out.count("\n") == 1
    assert answer.err == ""


def test_the_scores_are_those_of_the_library(tagger: Path, files: Files) -> None:
    scores = evaluate(Tagger.load(tagger), read_corpus(files.gold))
    assert acclimate("evaluate", tagger, files.gold, "--json").json["span"] == scores.span.as_dict()


def test_the_target_score_of_a_run_is_found_again(run, files: Files) -> None:
    folder, answer = run
    assert acclimate("evaluate", folder, files.gold, "--json").json == answer.json["target"]["after"]


def test_the_table_is_for_people(tagger: Path, files: Files) -> None:
    out = acclimate("evaluate", tagger, files.gold).out
    assert "precision  recall" in out
    assert "unseen mentions" in out
    assert "10 sentences" in out


def test_strict_is_another_scorer(tagger: Path, files: Files) -> None:
    found = acclimate("evaluate", tagger, files.gold, "--strict", "--json").json
    assert found["scorer"] == "acclimate span F1, strict reading (= seqeval mode='strict', scheme=IOB2)"


@pytest.mark.parametrize("name", ["said.conll", "said.jsonl", "said.conll.gz"])
def test_predictions_are_kept(tagger: Path, files: Files, tmp_path: Path, name: str) -> None:
    acclimate("evaluate", tagger, files.gold, "--predictions", tmp_path / name, "--json")
    said, gold = read_corpus(tmp_path / name), read_corpus(files.gold)
    assert [sentence.words for sentence in said] == [sentence.words for sentence in gold]


def test_a_bundled_corpus_is_gold_too(tagger: Path) -> None:
    answer = acclimate("evaluate", tagger, "social/dev", code=1)  # its MISC is unknown to the toy tagger
    assert "labels that the tagger does not know: MISC (it knows LOC, ORG, PER)" in answer.err
    assert "--map" in answer.err


def test_a_map_of_one_s_own_renames_the_gold_labels(tagger: Path, tmp_path: Path) -> None:
    names = tmp_path / "names.yaml"
    names.write_text("labels:\n  PER: PER\n  LOC: LOC\n  ORG: ORG\n  MISC: O\n", encoding="utf-8")
    found = acclimate("evaluate", tagger, "social/dev", "--map", names, "--json").json
    assert "MISC" not in found["by_label"]


def test_typeless_asks_only_for_borders(tagger: Path) -> None:
    found = acclimate("evaluate", tagger, "clinical/dev", "--set", "reading.typeless=true", "--json").json
    assert len(found["by_label"]) == 1


def test_gold_without_tags_is_refused(tagger: Path, files: Files) -> None:
    answer = acclimate("evaluate", tagger, files.tweets, code=1)
    assert f"{files.tweets}, line 1: {files.tweets} has no tags to compare with" in answer.err


def test_bad_lines_in_the_gold_are_skipped_on_request(tagger: Path, files: Files, tmp_path: Path) -> None:
    path = tmp_path / "gold.conll"
    path.write_text("too\tmany\tcolumns\n\n" + files.gold.read_text(encoding="utf-8"), encoding="utf-8")
    answer = acclimate("evaluate", tagger, path, "--set", "reading.skip_bad=true", "--json", code=0)
    assert answer.json["sentences"] == 10
    assert "1 bad line skipped" in answer.err


def test_mistakes_are_written_down_and_summed_up(tagger: Path, files: Files, tmp_path: Path) -> None:
    answer = acclimate("evaluate", tagger, files.gold, "--errors", tmp_path / "errors.json")
    found = json.loads((tmp_path / "errors.json").read_text())
    assert len(found["mistakes"]) == sum(found["kinds"].values())
    assert f"{len(found['mistakes'])} mistake" in answer.out
    assert set(found) == {"kinds", "borders", "over_labelled", "by_entity_length", "mistakes"}
    alone = acclimate("evaluate", tagger, files.gold, "--errors", tmp_path / "errors.json", "--overwrite", "--json")
    assert alone.json["span"]


def test_a_test_without_a_span_is_scored_with_a_warning(tagger: Path, tmp_path: Path) -> None:
    (tmp_path / "bare.conll").write_text("Nobody O\nis O\nhere O\n", encoding="utf-8")
    answer = acclimate("evaluate", tagger, tmp_path / "bare.conll", "--json")
    assert "bare.conll has no labelled span: recall and F1 say nothing" in " ".join(answer.err.split())
    assert answer.json["span"]["gold"] == 0


def test_predictions_and_errors_cannot_share_a_file(tagger: Path, files: Files, tmp_path: Path) -> None:
    words = ["evaluate", tagger, files.gold, "--predictions", tmp_path / "a.jsonl", "--errors", tmp_path / "a.jsonl"]
    assert "give each a file of its own" in acclimate(*words, code=2).err

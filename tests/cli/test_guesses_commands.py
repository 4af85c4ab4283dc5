"""Guesses with scores on the command line: predicted, inspected, converted, divided and learnt from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import QUICK, Files, acclimate

from acclimate.data.corpus import Corpus
from acclimate.data.reading import read_corpus
from acclimate.inference.predict import guess
from acclimate.model.tagger import Tagger


@pytest.fixture(scope="module")
def guesses(tagger: Path, files: Files, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a tagger guesses of the toy news."""
    file = tmp_path_factory.mktemp("guesses") / "guesses.jsonl"
    acclimate("predict", tagger, files.news, "--format", "guesses", "--out", file)
    return file


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three annotators, of whom one is careless."""
    file = tmp_path_factory.mktemp("crowd") / "crowd.jsonl"
    records = []
    for number in range(12):
        spans = [{"start": 0, "end": 1, "label": "PER", "annotator": name} for name in ("ann", "bo")]
        spans += [{"start": 2, "end": 3, "label": "LOC", "annotator": name, "score": 0.9} for name in ("ann", "bo")]
        spans.append({"start": number % 3, "end": number % 3 + 1, "label": "ORG", "annotator": "cy"})
        words = ["Anna", "likes", "Oslo", str(number)]
        records.append({"words": words, "spans": spans, "annotators": ["ann", "bo", "cy"]})
    file.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return file


def test_a_tagger_s_guesses_are_read_back_as_the_head_s_own_probabilities(
    guesses: Path, tagger: Path, files: Files
) -> None:
    read = read_corpus(guesses)
    own = guess(Tagger.load(tagger), read_corpus(files.news))
    assert (read.guess_count, read.soft_word_count) == (len(own), own.soft_word_count)
    assert read.soft_word_count > 0
    for sentence, other in zip(read, own, strict=True):
        assert (sentence.words, sentence.tags) == (other.words, other.tags)
        for row, right in zip(sentence.probabilities or (), other.probabilities or (), strict=True):
            assert dict(row) == pytest.approx(dict(right), abs=1e-5)


def test_guesses_stream_to_standard_output_as_well(tagger: Path, guesses: Path, files: Files) -> None:
    streamed = acclimate("predict", tagger, files.news, "--format", "guesses").out
    assert streamed == guesses.read_text(encoding="utf-8")
    spans = json.loads(streamed.split("\n")[0])["spans"]
    assert all(span.keys() >= {"start", "end", "label", "score"} for span in spans)


def test_guesses_are_no_target_test_and_that_is_told_before_the_plan(guesses: Path, files: Files) -> None:
    words = ["adapt", "--source", files.news, "--target", files.tweets, "--target-test", guesses, *QUICK]
    answer = acclimate(*words, code=1)
    assert "holds guesses with scores" in answer.err
    assert "plan:" not in answer.err


def test_one_tagger_teaches_another_from_the_command_line(guesses: Path, files: Files, tmp_path: Path) -> None:
    out = tmp_path / "student"
    words = ["adapt", "--source", guesses, "--target", files.tweets, "--target-test", files.gold, *QUICK]
    answer = acclimate(*words, "--recipe", "source-only", "--out", out)
    assert "Guesses cannot choose the state: the last update is kept." in answer.out + answer.err
    assert "with guesses, no gold" in answer.err
    assert Tagger.load(out).labels == read_corpus(guesses).labels


def test_guesses_and_gold_are_sources_side_by_side(guesses: Path, files: Files, tmp_path: Path) -> None:
    out = tmp_path / "student"
    words = ["adapt", "--source", files.news, "--source", guesses, *QUICK, "--recipe", "source-only", "--out", out]
    answer = acclimate(*words)
    assert "held-out source (2 sentences)" in answer.out  # of the 24 of gold
    assert Tagger.load(out).labels.names == ("LOC", "ORG", "PER")


def test_nothing_is_evaluated_against_guesses(tagger: Path, guesses: Path, files: Files) -> None:
    answer = acclimate("evaluate", tagger, guesses, code=1)
    assert "holds guesses with scores, and what agrees with a guess need not be right" in answer.err
    words = ["adapt", "--source", files.news, "--source-dev", guesses, *QUICK]
    assert "holds guesses with scores" in acclimate(*words, code=1).err


def test_maps_apply_to_guesses(crowd: Path, tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text("labels:\n  PER: NAME\n  LOC: NAME\n  ORG: O\n", encoding="utf-8")
    acclimate("data", "convert", crowd, tmp_path / "named.jsonl", "--map", tmp_path / "map.yaml")
    named = read_corpus(tmp_path / "named.jsonl")
    assert (named.labels.names, named.guess_count) == (("NAME",), 12)


def test_a_format_without_scores_gets_the_likeliest_tags_and_says_so(crowd: Path, tmp_path: Path) -> None:
    answer = acclimate("data", "convert", crowd, tmp_path / "hard.conll")
    assert "conll has no place for scores, so the likeliest tags are written" in answer.err
    hard: Corpus = read_corpus(tmp_path / "hard.conll")
    assert hard[0].tags == ("B-PER", "O", "B-LOC", "O")
    assert "no place for scores" not in acclimate("data", "convert", crowd, tmp_path / "soft.jsonl").err


def test_parts_of_guesses_keep_their_scores(crowd: Path, tmp_path: Path) -> None:
    acclimate("data", "subset", crowd, tmp_path / "few.jsonl", "--sentences", 5)
    few = read_corpus(tmp_path / "few.jsonl")
    assert (len(few), few.guess_count) == (5, 5)
    assert few.soft_word_count >= 10
    acclimate("data", "split", crowd, "--out", tmp_path / "parts", "--part", "train=8", "--part", "rest=rest")
    parts = [read_corpus(tmp_path / "parts" / f"{name}.jsonl") for name in ("train", "rest")]
    assert [part.guess_count for part in parts] == [8, 4]
    again = ["data", "split", crowd, "--out", tmp_path / "parts", "--part", "train=8", "--part", "rest=rest"]
    assert "is there already" in acclimate(*again, code=2).err


def test_a_tagger_of_plain_tags_has_no_spans_to_guess(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Anna left.\n", encoding="utf-8")
    answer = acclimate("predict", "part-of-speech", tmp_path / "a.txt", "--format", "guesses", code=1)
    assert "guesses are spans with scores, and this tagger gives one plain tag per word" in answer.err

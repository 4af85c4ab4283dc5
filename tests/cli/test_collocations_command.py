"""`acclimate data collocations`: what it counts, writes, shows and refuses."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from command_line import Files, acclimate

from acclimate.data.collocations import Collocations, build_collocations
from acclimate.data.reading import read_corpus


def test_a_raw_text_is_counted_and_the_policy_can_read_the_file(files: Files, tmp_path: Path) -> None:
    out = tmp_path / "known.jsonl"
    answer = acclimate("data", "collocations", files.tweets, "--out", out, "--set", "at_least=2")
    expected = build_collocations(read_corpus(files.tweets), at_least=2)
    assert Collocations.load(out) == expected
    assert f"{out}: {len(expected)} collocations seen 2 times or more, of" in answer.out
    assert f"--set policy.collocations.file={out}" in answer.out
    assert "collocations and the terms" not in answer.out


def test_several_texts_are_taken_together_whatever_they_are(files: Files, tmp_path: Path) -> None:
    packed = tmp_path / "more.txt.gz"
    packed.write_bytes(gzip.compress(b"so very tired\n" * 5))
    out = tmp_path / "known.jsonl"
    acclimate("data", "collocations", packed, files.news, "--out", out)
    text = [*read_corpus(files.news), *read_corpus(packed)]
    assert Collocations.load(out) == build_collocations(text)


def test_the_terms_of_a_labelled_text_are_compared(files: Files, tmp_path: Path) -> None:
    assert "all lengths" in acclimate("data", "collocations", files.news, "--out", tmp_path / "a").out


def test_the_terms_of_another_corpus_can_be_named(files: Files, tmp_path: Path) -> None:
    words = ("--out", tmp_path / "a", "--set", "at_least=1", "--set", f"terms=[{files.gold}]")
    answer = acclimate("data", "collocations", files.tweets, *words)
    assert f"collocations and the terms of {files.gold}" in answer.out


def test_how_many_are_kept_and_shown_can_be_chosen(files: Files, tmp_path: Path) -> None:
    out = tmp_path / "known.jsonl"
    told = acclimate("data", "collocations", files.news, "--out", out, "--set", "size=8").out
    assert f"{out}: 8 collocations seen 5 times or more, of " in told
    assert " in 24 sentences" in told
    assert len(Collocations.load(out)) == 8
    lines = told.splitlines()
    for title, rows in {"2 words: 4": 4, "3 words: 2": 2, "4 words: 2": 2}.items():
        assert lines[lines.index(title) + 2 + rows] == ""  # behind the head of the table and its rows


@pytest.mark.parametrize("measure", ["levine", "squared", "unigrams"])
def test_the_measure_and_the_lengths_can_be_chosen(files: Files, tmp_path: Path, measure: str) -> None:
    out = tmp_path / "known.jsonl"
    words = (
        "--set",
        "lengths=[3,5]",
        "--set",
        f"measure={measure}",
        "--set",
        "relative_to=words",
        "--set",
        "lower_case=true",
    )
    acclimate("data", "collocations", files.news, "--out", out, *words)
    options = {"lengths": [3, 5], "measure": measure, "relative_to": "words", "lower_case": True}
    assert Collocations.load(out) == build_collocations(read_corpus(files.news), **options)  # type: ignore[arg-type]


def test_running_text_can_be_split_and_sentences_stay_apart(tmp_path: Path) -> None:
    text, out = tmp_path / "text.txt", tmp_path / "known.jsonl"
    text.write_text("It rained . He left .\n" * 5, encoding="utf-8")
    acclimate("data", "collocations", text, "--out", out, "--set", "lengths=[2]", "--set", "reading.paragraphs=true")
    assert ("rained", ".") in Collocations.load(out)
    assert (".", "He") not in Collocations.load(out)


def test_words_that_are_split_already_stay_as_they_are(tmp_path: Path) -> None:
    text, out = tmp_path / "text.txt", tmp_path / "known.jsonl"
    text.write_text("don't go\n" * 5, encoding="utf-8")
    acclimate("data", "collocations", text, "--out", out, "--set", "reading.pre_split=true")
    assert list(Collocations.load(out)) == [("don't", "go")]


def test_standard_input_and_bundled_corpora_are_texts_too(tmp_path: Path) -> None:
    out = tmp_path / "known.jsonl"
    acclimate("data", "collocations", "-", "--out", out, stdin="so very tired\n" * 5)
    assert len(Collocations.load(out)) == 3
    acclimate("data", "collocations", "clinical/train", "--out", out, "--overwrite")
    assert len(Collocations.load(out)) > 3


def test_nothing_that_is_frequent_enough_is_told(tmp_path: Path) -> None:
    text, out = tmp_path / "text.txt", tmp_path / "known.jsonl"
    text.write_text("only once\n", encoding="utf-8")
    answer = acclimate("data", "collocations", text, "--out", out)
    assert "nothing was seen 5 times" in answer.err
    assert len(Collocations.load(out)) == 0


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (("--set", "lengths=[2,x]"), 2, "lengths"),
        (("--set", "lengths=[1,2]"), 2, "lengths"),
        (("--set", "lengths=[11]"), 2, "lengths"),
        (("--set", "terms=[nowhere.conll]"), 1, "nowhere.conll"),
        (("--set", "measure=npmi"), 2, "levine"),
        (("--set", "at_least=0"), 2, "1"),
    ],
)
def test_what_makes_no_sense_is_refused(
    words: tuple[str, ...], code: int, problem: str, files: Files, tmp_path: Path
) -> None:
    answer = acclimate("data", "collocations", files.news, "--out", tmp_path / "a", *words, code=code)
    assert problem in answer.err
    assert not (tmp_path / "a").exists()


def test_a_text_without_words_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n \n", encoding="utf-8")
    answer = acclimate("data", "collocations", tmp_path / "empty.txt", "--out", tmp_path / "a", code=1)
    assert "empty.txt: there are no words in it" in answer.err


def test_a_file_that_is_there_is_not_replaced_unasked(files: Files, tmp_path: Path) -> None:
    out = tmp_path / "known.jsonl"
    out.write_text("mine", encoding="utf-8")
    assert "--overwrite" in acclimate("data", "collocations", files.news, "--out", out, code=2).err
    assert out.read_text(encoding="utf-8") == "mine"


def test_a_missing_text_is_named(tmp_path: Path) -> None:
    answer = acclimate("data", "collocations", tmp_path / "nowhere.txt", "--out", tmp_path / "a", code=1)
    assert "nowhere.txt: there is no such file" in answer.err


def test_where_there_is_none_nothing_is_to_be_used(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Anna left .\n", encoding="utf-8")
    answer = acclimate("data", "collocations", tmp_path / "a.txt", "--out", tmp_path / "none.jsonl")
    assert "use it" not in answer.out
    assert "nothing was seen 5 times" in answer.err
    words = ["encoder", "domain-tune", "--text", tmp_path / "a.txt", "--masking", "pmi", "--out", tmp_path / "encoder"]
    answer = acclimate(*words, "--set", f"policy.collocations.file={tmp_path / 'none.jsonl'}", code=2)
    assert "none.jsonl lists no collocation" in answer.err

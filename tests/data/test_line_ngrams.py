"""How like a target lines are, against sets of tuples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.selection.ngram_scores import Measure, TargetNgrams, Text, read_target

DOCUMENT = ["the bank raised the rate", "the loan was paid"]
LINES = st.lists(st.lists(st.sampled_from("abcde"), max_size=12).map(" ".join), min_size=1, max_size=12)


def corpus(lines: Sequence[str]) -> Corpus:
    return Corpus.of([Sentence(tuple(line.split())) for line in lines if line.split()], "target")


def slow_score(line: str, target: Sequence[str], measure: Measure) -> float:
    """The definition, word for word."""
    total = 0.0
    for n in range(1, 5):
        own = ngrams(line, n)
        others = set().union(*(ngrams(text, n) for text in target))
        among = own | others if measure == "jaccard" else own
        total += len(own & others) / len(among) if among else 0.0
    return total / 4


def ngrams(line: str, n: int) -> set[tuple[str, ...]]:
    words = line.lower().split()
    return {tuple(words[place : place + n]) for place in range(len(words) - n + 1)}


def scores(lines: Sequence[str], like: Text | Sequence[Text], measure: Measure = "jaccard") -> list[float]:
    found = TargetNgrams(read_target(like, tokenize="blanks"))
    block = found.words.read("".join(f"{line}\n" for line in lines).encode())
    return found.scores(found.words.number(block, np.arange(len(block))), measure).tolist()


def test_the_published_rule_on_a_small_example() -> None:
    """The mean of 0.5, 2/9, 1/7 and 0."""
    assert scores(["the bank raised a loan"], corpus(DOCUMENT)) == [0.21626984126984128]


@pytest.mark.parametrize("measure", ["jaccard", "overlap"])
@settings(max_examples=200)
@given(lines=LINES, target=LINES.filter(lambda lines: any(line.split() for line in lines)))
def test_scores_are_those_of_the_definition_to_the_last_digit(
    measure: Measure, lines: list[str], target: list[str]
) -> None:
    assert scores(lines, corpus(target), measure) == [slow_score(line, target, measure) for line in lines]


@pytest.mark.parametrize("measure", ["jaccard", "overlap"])
@settings(max_examples=200)
@given(lines=LINES, target=LINES.filter(lambda lines: any(line.split() for line in lines)))
def test_no_line_that_reaches_the_floor_is_passed_over(measure: Measure, lines: list[str], target: list[str]) -> None:
    expected = [slow_score(line, target, measure) for line in lines]
    found = TargetNgrams(read_target(corpus(target), tokenize="blanks"))
    block = found.words.read("".join(f"{line}\n" for line in lines).encode())
    for floor in expected:
        candidates = set(found.candidate_lines(block, floor, measure).tolist())
        assert candidates >= {place for place, score in enumerate(expected) if score >= floor and lines[place].split()}


def test_ngrams_do_not_cross_lines_of_the_target() -> None:
    assert scores(["rate the"], corpus(DOCUMENT), "overlap") == [0.25]
    assert scores(["the rate"], corpus(DOCUMENT), "overlap") == [0.5]


def test_a_line_of_the_target_has_the_highest_overlap_if_it_is_long_enough() -> None:
    assert scores([DOCUMENT[0], "the loan was", "", "other words"], corpus(DOCUMENT), "overlap") == [1.0, 0.75, 0, 0]


def test_the_target_may_be_raw_text_or_any_corpus_or_several(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join(DOCUMENT), encoding="utf-8")
    (tmp_path / "b.conll").write_text("the O\nbank O\nraised O\nthe O\nrate O\n\n", encoding="utf-8")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "c.txt").write_text(DOCUMENT[1], encoding="utf-8")
    line, whole = ["the bank raised a loan"], [0.21626984126984128]
    assert scores(line, tmp_path / "a.txt") == whole
    assert scores(line, [tmp_path / "b.conll", tmp_path / "texts"]) == whole
    assert scores(line, [str(tmp_path / "b.conll"), corpus(DOCUMENT)]) == whole


def test_raw_text_is_split_as_everywhere_and_capitals_count_if_they_are_to(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The bank's rate.\n", encoding="utf-8")
    words = ("the", "bank", "'s", "rate", ".")
    for lower_case in (True, False):
        raw = read_target(tmp_path / "a.txt", lower_case=lower_case)
        sentence = Sentence(words if lower_case else ("The", *words[1:]))
        assert raw.fingerprint == read_target(Corpus.of([sentence]), lower_case=lower_case).fingerprint
    assert raw.fingerprint != read_target(Corpus.of([Sentence(words)]), lower_case=False).fingerprint


def test_a_target_without_words_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(" \n\n", encoding="utf-8")
    with pytest.raises(InputError, match="the target text has no words"):
        read_target(tmp_path / "a.txt")
    with pytest.raises(InputError, match=r"there is no such file\. Did you mean"):
        read_target(tmp_path / "b.txt")

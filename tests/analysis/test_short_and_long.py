"""Short against long sentences, for several taggers."""

from __future__ import annotations

import json

import pytest

from acclimate.analysis.short_and_long import compare_short_and_long
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.evaluation.scores import Scores, score


def corpus(*tags: str) -> Corpus:
    return Corpus.of(Sentence(("w",) * len(row.split()), tuple(row.split())) for row in tags)


GOLD = corpus("B-X O", "B-X B-X", "B-X O O B-X B-X")  # mean length 3
RIGHT = score(GOLD, GOLD)
HALF = score(GOLD, corpus("B-X O", "O O", "B-X I-X O O O"))


def test_the_mean_length_parts_the_sentences() -> None:
    (row,) = compare_short_and_long({"half": HALF})
    assert (row.mean_length, row.short.sentences, row.long.sentences) == (3.0, 2, 1)
    assert (row.short.spans, row.long.spans) == (3, 3)
    assert (row.short.exact_match, row.short.f1) == (pytest.approx(1 / 3), pytest.approx(2 / 4))
    assert (row.long.exact_match, row.long.f1) == (0.0, 0.0)  # what runs past the right border is wrong


def test_parts_taken_together_are_the_whole() -> None:
    (row,) = compare_short_and_long({"half": HALF})
    found = row.short.exact_match * row.short.spans + row.long.exact_match * row.long.spans
    assert found / (row.short.spans + row.long.spans) == pytest.approx(HALF.exact_match)


def test_several_scores_are_runs() -> None:
    rows = compare_short_and_long({"one": RIGHT, "two": [HALF, RIGHT]})
    assert [row.runs for row in rows] == [1, 2]
    assert rows[1].short.exact_match == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("scores", "problem"),
    [({"a": []}, "a: there are no scores"), ({"a": HALF, "b": score(GOLD[:2], GOLD[:2])}, "different sentences")],
)
def test_what_cannot_be_compared_is_refused(scores: dict[str, Scores | list[Scores]], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        compare_short_and_long(scores)


def test_it_is_told_in_json_and_rows() -> None:
    (row,) = compare_short_and_long({"half": HALF})
    assert json.loads(json.dumps(row.as_dict()))["short"]["sentences"] == 2
    assert row.as_row()["long_exact_match"] == 0.0

"""What `adapt` says of a change: no more than both tests allow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from acclimate.cli.adapt_run import advice_sentence, verdict
from acclimate.data.corpus import Corpus, Sentence
from acclimate.evaluation.seen import Shared
from acclimate.runs.result import Change, Outcome, change_of


def changed(count: int, known: int) -> Change:
    """Names that are all found in the end, so many of them not before."""
    rows = [Sentence((f"Anna{number}", "sleeps"), ("B-PER", "O")) for number in range(count + known)]
    before = [row if number < known else row.with_tags(("O", "O")) for number, row in enumerate(rows)]
    tagger: Any = SimpleNamespace(seen=None)
    return change_of(Corpus.of(rows), Corpus.of(before), Corpus.of(rows), tagger)


@pytest.mark.parametrize(
    ("count", "claim"),
    [(1, "No clear effect on the target ("), (2, "No clear effect on the target ("), (12, "The target score rose (")],
)
def test_a_rise_on_a_handful_of_sentences_is_not_claimed(count: int, claim: str) -> None:
    said = verdict(Outcome("mat", "last update", changed(1, known=1), changed(count, known=0), [], 1.0))
    assert said.startswith(claim)
    assert ("; but p = " in said) == (count < 12)


@pytest.mark.parametrize(
    ("source", "claim"),
    [
        (None, "There is nothing to compare with: the baseline gets nothing right on the target (target 0.00 → 100"),
        ("nothing", "There is nothing to compare with: the baseline has learnt nothing (target 0.00 → 100.00)."),
        ("something", "The target score rose ("),
    ],
)
def test_a_rise_above_a_baseline_that_knows_nothing_is_not_claimed(source: str | None, claim: str) -> None:
    target = changed(12, known=0)
    said = Outcome("mat", "last", source and changed(12, known=int(source == "something")), target, [], 1.0)
    assert verdict(said).startswith(claim)


def test_a_rise_on_sentences_that_were_learnt_is_not_claimed() -> None:
    given: Any = ("mat", "last update", changed(12, known=1), changed(12, known=1), [], 1.0)
    assert verdict(Outcome(*given, learnt=Shared(13, 13))).startswith("Nothing can be claimed: the target test")
    assert verdict(Outcome(*given, learnt=Shared(6, 13))).startswith("The target score rose (")


def reversed_(change: Change) -> Change:
    gold, before, after = change.texts or ()
    assert before is not None
    tagger: Any = SimpleNamespace(seen=None)
    return change_of(gold, after, before, tagger)


KNOWN = changed(12, known=1)
ADVICE = {
    "a clear rise": (KNOWN, "Use the adapted tagger: the target score rose clearly, from 14.29 to 100.00."),
    "a clear fall": (
        reversed_(KNOWN),
        'Use the tagger "before", which was not adapted: the target score fell clearly, from 100.00 to 14.29.',
    ),
    "no clear effect": (
        reversed_(changed(1, known=1)),
        "Use the adapted tagger: the target score went from 100.00 to 66.67, and neither tagger is clearly better.",
    ),
    "no test": (None, "Use the adapted tagger: no labelled target test sentences say which of the two is better."),
}


@pytest.mark.parametrize("case", ADVICE)
def test_the_better_tagger_is_named_and_why(case: str) -> None:
    target, told = ADVICE[case]
    tagger: Any = SimpleNamespace()
    outcome = Outcome("mat", "last", changed(1, known=1), target, [], 1.0, tagger_before=tagger)
    assert outcome.advice is not None
    assert advice_sentence(outcome.advice) == told
    assert outcome.as_dict()["use"]["tagger"] == outcome.advice.tagger


def test_nothing_is_advised_where_nothing_was_adapted() -> None:
    assert Outcome("source-only", "last", None, None, [], 1.0).advice is None

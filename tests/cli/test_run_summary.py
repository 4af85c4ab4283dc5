"""What `adapt` says of a change: no more than both tests allow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from acclimate.cli.report import verdict
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.shared_sentences import Shared
from acclimate.recipes.outcome import Change, Outcome, change_of


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

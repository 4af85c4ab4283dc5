"""What `adapt` says of a change: no more than both tests allow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from acclimate.cli.report import verdict
from acclimate.data.corpus import Corpus, Sentence
from acclimate.recipes.outcome import Outcome, change_of


@pytest.mark.parametrize(
    ("count", "claim"),
    [(1, "No clear effect on the target ("), (2, "No clear effect on the target ("), (12, "The target score rose (")],
)
def test_a_rise_on_a_handful_of_sentences_is_not_claimed(count: int, claim: str) -> None:
    gold = Corpus.of([Sentence(("Anna", "sleeps"), ("B-PER", "O"))] * count)
    before = gold.map(lambda sentence: sentence.with_tags(("O", "O")))
    tagger: Any = SimpleNamespace(seen=None)
    change = change_of(gold, before, gold, tagger)
    said = verdict(Outcome("mat", "last update", None, change, [], 1.0))
    assert said.startswith(claim)
    assert ("; but p = " in said) == (count < 12)

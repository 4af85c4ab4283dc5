"""A selector that asks the other runs: whose answers on target text do they share?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from acclimate.comparison.selectors.material import Material
from acclimate.data.corpus import Kind
from acclimate.data.schemes import Span
from acclimate.evaluation.counts import Tally, read_spans
from acclimate.model.tagger import Tagger

FEWEST = 3  # runs: two agree with each other as much as each other's

Tags = Sequence[Sequence[str]]
"""Of every word of every sentence."""
Place = tuple[int, Span]
"""A span, and the number of its sentence."""


def agreement(answers: Mapping[str, Tags], kind: Kind = "spans") -> dict[str, float | None]:
    """For each run the mean F1 of its spans (accuracy of plain tags) with every other run's in the place of gold. All
    have answered on the same sentences. None where there are fewer than three.

    Favours the answer in the middle: what several ways of training find alike is more often right than what one of them
    finds alone. Fails where most candidates make the same mistake, and never picks one that has found a way out of it.
    Among few, relatives vote for each other: source-only, and what goes on from it.
    Who finds nothing shares nothing.
    """
    if len(answers) < FEWEST:
        return dict.fromkeys(answers)
    found = {name: _spans(tags, kind) for name, tags in answers.items()}
    return {
        name: fmean(shared(mine, theirs) for other, theirs in found.items() if other != name)
        for name, mine in found.items()
    }


def shared(one: set[Place], other: set[Place]) -> float:
    """F1 of either, taken as a prediction of the other."""
    return Tally.of(one, other).f1


def sample_answers(tagger: Tagger, material: Material) -> list[tuple[str, ...]] | None:
    """What a tagger says of the target's sample, the same sentences for every run; None where there are none."""
    if not len(material.sample):
        return None
    return [sentence.tags or () for sentence in material.answers(tagger)]


def _spans(tags: Tags, kind: Kind) -> set[Place]:
    rows = read_spans([tuple(row) for row in tags], kind, "lenient", "answers")
    return {(number, span) for number, row in enumerate(rows) for span in row}

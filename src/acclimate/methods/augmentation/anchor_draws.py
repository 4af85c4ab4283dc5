"""Which donors a sentence's entities get: every choice once, in an order that the seed decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from random import Random

from acclimate.data.corpus import Sentence
from acclimate.data.schemes import Span
from acclimate.methods.augmentation.anchors import Mention
from acclimate.methods.augmentation.random_order import shuffled

Choice = dict[Span, Mention]


def donors_of(sentence: Sentence, partners: Mapping[str, Sequence[Mention]]) -> dict[Span, list[Mention]]:
    """For each entity that has any, what may take its place: its type, other words."""
    found = {}
    for span in sentence.spans:
        own = sentence.words[span.start : span.end]
        fitting = [donor for donor in partners.get(span.label, ()) if donor != own]
        if fitting:
            found[span] = fitting
    return found


def has_donors(sentence: Sentence, partners: Mapping[str, Sequence[Mention]]) -> bool:
    """Whether anything may take the place of any of its entities."""
    return any(
        donor != sentence.words[span.start : span.end]
        for span in sentence.spans
        for donor in partners.get(span.label, ())
    )


def draw_one(donors: Mapping[Span, Sequence[Mention]], dice: Random) -> Iterator[Choice]:
    """One entity at a time, in turns, so that a type with many donors does not take all the variants."""
    spans = list(donors)
    order = [spans[number] for number in shuffled(len(spans), dice)]
    numbers = {span: shuffled(len(donors[span]), dice) for span in order}
    for _ in range(max(map(len, donors.values()), default=0)):
        for span in order:
            number = next(numbers[span], None)
            if number is not None:
                yield {span: donors[span][number]}


def draw_all(donors: Mapping[Span, Sequence[Mention]], dice: Random) -> Iterator[Choice]:
    """All entities at once."""
    for number in shuffled(prod(map(len, donors.values())), dice):
        choice = {}
        for span, fitting in donors.items():
            number, place = divmod(number, len(fitting))
            choice[span] = fitting[place]
        yield choice

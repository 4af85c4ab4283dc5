"""Which donors a sentence's entities get: every choice once, in an order that the seed decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from random import Random
from typing import overload

from acclimate.data.corpus import Sentence
from acclimate.data.schemes import Span
from acclimate.methods.augmentation.anchors import Mention
from acclimate.methods.augmentation.random_order import shuffled

Choice = dict[Span, Mention]


class Donors:
    """The entities of the other domain by their types, and for each entity those that may take its place.

    There may be a hundred thousand of a type: none is copied or looked through for a single entity.
    """

    def __init__(self, mentions: Mapping[str, Sequence[Mention]]) -> None:
        self.mentions = mentions
        self._places = {label: {one: place for place, one in enumerate(row)} for label, row in mentions.items()}

    def for_sentence(self, sentence: Sentence) -> dict[Span, Sequence[Mention]]:
        """For each entity that has any, what may take its place: its type, other words."""
        found = {}
        for span in sentence.spans:
            fitting = self.for_mention(span.label, sentence.words[span.start : span.end])
            if len(fitting):
                found[span] = fitting
        return found

    def for_mention(self, label: str, own: Mention) -> Sequence[Mention]:
        row = self.mentions.get(label, ())
        place = self._places.get(label, {}).get(own)
        return row if place is None else _AllBut(row, place)


class _AllBut(Sequence[Mention]):
    """A sequence less one of its items."""

    def __init__(self, items: Sequence[Mention], left_out: int) -> None:
        self._items, self._left_out = items, left_out

    def __len__(self) -> int:
        return len(self._items) - 1

    @overload
    def __getitem__(self, place: int) -> Mention: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Mention]: ...
    def __getitem__(self, place: int | slice) -> Mention | Sequence[Mention]:
        if isinstance(place, slice):
            return [self[number] for number in range(len(self))[place]]
        number = range(len(self))[place]
        return self._items[number + (number >= self._left_out)]


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

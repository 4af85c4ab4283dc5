"""Contrastive learning: a sentence must be more similar to its own edited twin than to others (PDALN, section 4.2.1 and
equation 7). Edits never touch words of entities; in text without labels, or with plain tags, nothing is protected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from acclimate.data.corpus import Kind, Sentence
from acclimate.data.schemes import Scheme, Span, keep_open, spans_from_tags, tags_from_spans
from acclimate.methods.augmentation.synonyms import Synonyms
from acclimate.methods.objective import Objective, present
from acclimate.methods.word_edits import CHANGES, edits_between, noted_row, spread
from acclimate.model.learner import View


def shuffled(count: int, dice: Random) -> Iterator[int]:
    """The numbers below `count` in random order, each drawn when it is asked for: there may be billions."""
    moved: dict[int, int] = {}
    for place in range(count):
        other = place + number_below(count - place, dice)
        yield moved.get(other, other)
        moved[other] = moved.get(place, place)


def number_below(limit: int, dice: Random) -> int:
    """A random number from 0 on, for a limit of any size."""
    if limit < 1 << 33:
        return int(dice.random() * (1 << 53)) * limit >> 53
    drawn = bits = 0
    while bits < limit.bit_length() + 20:  # 20 more, so that no number is favoured
        drawn = drawn << 53 | int(dice.random() * (1 << 53))
        bits += 53
    return drawn * limit >> bits


SHARE = 0.2


def replace_synonyms(
    sentence: Sentence, synonyms: Synonyms, dice: Random, share: float = SHARE, kind: Kind = "spans"
) -> Sentence:
    """Replace this share of the words (at least one) by synonyms, as far as words have any."""
    free = _free_words(sentence, kind)
    words = list(sentence.words)
    left = _how_many(share, sentence)
    for number in shuffled(len(free), dice):
        place = free[number]
        candidates = synonyms.of(words[place])
        if candidates:
            words[place] = candidates[number_below(len(candidates), dice)]
            left -= 1
        if not left:
            break
    return sentence if tuple(words) == sentence.words else sentence.with_words(words, sentence.tags)


def delete_span(
    sentence: Sentence, dice: Random, share: float = SHARE, kind: Kind = "spans", scheme: Scheme = "IOB2"
) -> Sentence:
    """Leave out neighbouring words, this share of the sentence (at least one), or fewer where entities stand close. Two
    entities of one type that come to touch stay two."""
    free = set(_free_words(sentence, kind))
    longest = min(_how_many(share, sentence), len(sentence) - 1, len(free))
    for size in range(longest, 0, -1):
        starts = [start for start in sorted(free) if free.issuperset(range(start, start + size))]
        for number in shuffled(len(starts), dice):
            shorter = _without(sentence, starts[number], size, kind, scheme)
            if shorter is not None:
                return shorter
    return sentence


def edit_text(
    sentence: Sentence,
    dice: Random,
    synonyms: Synonyms | None = None,
    share: float = SHARE,
    kind: Kind = "spans",
) -> Sentence:
    """One of the two edits, each with probability 1/2; the other one where it changes nothing."""
    deletes_first = synonyms is None or dice.random() < 0.5
    edited = sentence
    for deletes in (deletes_first, not deletes_first):
        if edited is sentence and deletes:
            edited = delete_span(sentence, dice, share, kind)
        elif edited is sentence and synonyms is not None:
            edited = replace_synonyms(sentence, synonyms, dice, share, kind)
    return edited


def _free_words(sentence: Sentence, kind: Kind) -> list[int]:
    """Where words stand that may be changed."""
    taken = set() if kind == "plain" else {place for span in sentence.spans for place in range(span.start, span.end)}
    return [place for place in range(len(sentence)) if place not in taken]


def _without(sentence: Sentence, start: int, size: int, kind: Kind, scheme: Scheme) -> Sentence | None:
    """The sentence without some words, or None when its tags could not say what they said."""
    words = sentence.words[:start] + sentence.words[start + size :]
    tags = sentence.tags and sentence.tags[:start] + sentence.tags[start + size :]
    if tags is None or kind == "plain":
        return sentence.with_words(words, tags)
    spans = [
        Span(span.start - size, span.end - size, span.label) if span.start > start else span for span in sentence.spans
    ]
    spelled = keep_open(tags_from_spans(spans, len(words), scheme), tags)
    return sentence.with_words(words, spelled) if spans_from_tags(spelled) == spans else None


def _how_many(share: float, sentence: Sentence) -> int:
    return max(1, round(share * len(sentence)))


Edit = Callable[[Sentence, Random], Sentence]
"""The sentence with some words replaced or left out."""


def contrastive_losses(anchors: Tensor, twins: Tensor, temperature: float = 0.05) -> Tensor:
    """Loss of finding each anchor's twin among the others by similarity, (sentence); vectors (sentence, size). There
    are 2(B - 1) negatives; the temperature divides the similarity, inside the exponential."""
    with torch.autocast(anchors.device.type, enabled=False):
        exact = torch.promote_types(anchors.dtype, torch.float32)
        anchors, twins = anchors.to(exact), twins.to(exact)
        itself = torch.eye(len(anchors), dtype=torch.bool, device=anchors.device)
        others = (anchors @ anchors.T / temperature).masked_fill(itself, -torch.inf)
        likeness = torch.cat([anchors @ twins.T / temperature, others], dim=1)  # (sentence, 2 × sentence)
        return -likeness.log_softmax(1).diagonal()


class Contrast(Objective):
    """Contrastive loss on projected sentence vectors of both domains; `edit` makes the twins. Needs no labels.
    `normalise` scales the vectors to length 1; `symmetric` averages with the loss of finding each twin's anchor."""

    def __init__(
        self,
        width: int,
        edit: Edit,
        size: int = 128,
        temperature: float = 0.05,
        *,
        normalise: bool = True,
        symmetric: bool = False,
        seed: int = 0,
    ) -> None:
        """`width` of the encoder's sentence vectors. Edits depend on the seed and the number of the update."""
        super().__init__()
        self.edit, self.temperature, self.normalise, self.symmetric = edit, temperature, normalise, symmetric
        self.project = nn.Linear(width, size, bias=False)  # W
        self.seed = seed
        self._last: list[tuple[Sentence, Sentence]] = []  # sentences of the last update, each with its twin
        self.before_update(0)

    def before_update(self, update: int) -> None:
        self.dice = Random(self.seed * 1_000_003 + update)

    def forward(self, source: View, target: View) -> Tensor:
        views = present(source, target)
        anchors = torch.cat([self.vectors(view) for view in views])  # (sentence of both, size)
        self._last = []
        twins = torch.cat([self.vectors(self.twin(view)) for view in views])
        losses = contrastive_losses(anchors, twins, self.temperature)
        if self.symmetric:
            losses = (losses + contrastive_losses(twins, anchors, self.temperature)) / 2
        return losses.mean()

    def twin(self, view: View) -> View:
        """The same sentences edited, without tags."""
        twins = [self.edit(sentence, self.dice).with_tags(None) for sentence in view.originals]
        if self.training:
            self._last += zip(view.originals, twins, strict=True)
        return view.tagger.view(twins)

    def notes(self) -> Mapping[str, Any] | None:
        """What was changed in the twins of some sentences."""
        if not self.training:
            return None
        changed = [(old.words, new.words) for old, new in self._last if old.words != new.words]
        rows = [noted_row(old, edits_between(old, new)) for old, new in spread(changed)]
        return {"kind": CHANGES, "by": "twins", "rows": rows}

    def vectors(self, view: View) -> Tensor:
        with torch.autocast(view.sentence_vectors.device.type, enabled=False):
            vectors: Tensor = self.project(view.sentence_vectors.to(self.project.weight.dtype))
            return functional.normalize(vectors, dim=1) if self.normalise else vectors

"""Contrastive learning: a sentence must be more similar to its own edited twin than to other sentences (PDALN, equation
7)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from acclimate.data.corpus import Sentence
from acclimate.methods.objective import Objective
from acclimate.methods.word_edits import CHANGES, edits_between, noted_row, spread
from acclimate.model.learner import NoView, View

Edit = Callable[[Sentence, random.Random], Sentence]
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
    `normalise` scales the vectors to length 1; `symmetric` also looks for the sentence of each twin."""

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
        if temperature <= 0:
            raise ValueError(f"The temperature of a contrast must be above 0, not {temperature}.")
        self.edit, self.temperature, self.normalise, self.symmetric = edit, temperature, normalise, symmetric
        self.project = nn.Linear(width, size, bias=False)  # W
        self.seed = seed
        self._last: list[tuple[Sentence, Sentence]] = []  # sentences of the last update, each with its twin
        self.before_update(0)

    def before_update(self, update: int) -> None:
        self.dice = random.Random(self.seed * 1_000_003 + update)

    def forward(self, source: View, target: View) -> Tensor:
        views = [view for view in (source, target) if not isinstance(view, NoView)]
        if not views:
            source.refuse()  # type: ignore[attr-defined]
        anchors = torch.cat([self.vectors(view) for view in views])  # (sentence of both, size)
        self._last = []
        twins = torch.cat([self.vectors(twin) for twin in self.twins(views)])
        losses = contrastive_losses(anchors, twins, self.temperature)
        if self.symmetric:
            losses = (losses + contrastive_losses(twins, anchors, self.temperature)) / 2
        return losses.mean()

    def twins(self, views: Sequence[View]) -> Iterable[View]:
        """The edited sentences of both domains."""
        return map(self.twin, views)

    def twin(self, view: View) -> View:
        twins = edited(view.originals, self.edit, self.dice)
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


def edited(sentences: Sequence[Sentence], edit: Edit, dice: random.Random) -> list[Sentence]:
    """The edited sentences, without tags."""
    return [edit(sentence, dice).with_tags(None) for sentence in sentences]

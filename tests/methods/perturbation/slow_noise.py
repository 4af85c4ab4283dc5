"""Adversarial noise by slow loops over sentences, for the tests to compare with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from acclimate.data.corpus import Sentence
from acclimate.methods.objective import Objective
from acclimate.model.learner import NoView, View
from acclimate.model.tagger import Tagger

NOBODY = NoView("target")
RADII = {"words": 0.4, "characters": 0.2, "pieces": 0.3}
LONG = Sentence(
    ("Anna", "flew", "to", "New", "York", "yesterday", ",", "said", "Bob", "Stone", ".", "ok") * 6,
    ("B-PER", "O", "O", "B-LOC", "I-LOC", "O", "O", "O", "B-PER", "I-PER", "O", "O") * 6,
)
"""A sentence that a tiny transformer reads through several windows."""


def view_of(tagger: Tagger, *sentences: Sentence) -> View:
    return View(tagger, tagger.tensorize(sentences))


def gradients(loss: Tensor, view: View) -> dict[str, Tensor]:
    """Of the loss by each embedding."""
    found = torch.autograd.grad(loss, list(view.embeddings.values()), retain_graph=True)
    return dict(zip(view.embeddings, found, strict=True))


def places(view: View, name: str) -> Iterator[list[tuple[int, int]]]:
    """For each sentence the (row, place) pairs of the embedding that hold something of it, read off the words."""
    row = 1  # row 0 of the letters is padding's
    for number, sentence in enumerate(view.originals):
        if name == "words":
            yield [(number, word) for word in range(len(sentence))]
        elif name == "characters":  # every word of the batch has a row, in order
            yield [(row + word, letter) for word in range(len(sentence)) for letter in range(len(sentence.words[word]))]
            row += len(sentence)
        else:
            rows = (view.inputs["sentences"] == number).nonzero().flatten().tolist()
            yield [(place, piece) for place in rows for piece in range(int(view.inputs["attention"][place].sum()))]


def slow_noise(view: View, directions: Mapping[str, Tensor], radii: Mapping[str, float]) -> dict[str, Tensor]:
    """One norm per sentence and embedding, everything else zero."""
    noise = {name: torch.zeros_like(direction) for name, direction in directions.items()}
    for name, direction in directions.items():
        for held in places(view, name):
            whole = sum(float(direction[place].square().sum()) for place in held) ** 0.5
            radius = radii[name]
            if name == "pieces":
                numbers = torch.cat([view.embeddings[name][place] for place in held]).tolist()
                radius *= (sum(x * x for x in numbers) / len(numbers)) ** 0.5
            for place in held:
                noise[name][place] = radius * direction[place] / whole if whole > 0 else 0.0
    return noise


class NaiveAdversarial(Objective):
    """Clean and noisy loss in one graph; the noise comes from a pass of its own and is mere data."""

    def __init__(self, task: Objective, radii: Mapping[str, float], weight: float) -> None:
        super().__init__()
        self.task, self.radii, self.weight = task, radii, weight

    def forward(self, source: View, target: View) -> Tensor:
        first = View(source.tagger, source.sentences)
        noise = slow_noise(first, gradients(self.task(first, target), first), self.radii)
        loss: Tensor = self.task(source, target) + self.weight * self.task(source.with_noise(noise), target)
        return loss

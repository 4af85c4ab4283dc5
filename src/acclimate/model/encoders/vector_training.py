"""Word vectors learnt from raw text: skip-gram and CBOW with negative samples (Mikolov et al. 2013), on a CPU.

What differs from word2vec's own program is what makes it quick here. Neighbouring words are trained together in blocks,
and the words of a block share their negative samples, so that nearly all the work is products of small matrices (Ji et
al. 2016). The steps of a whole batch are summed and scaled by AdaGrad: a plain sum would throw frequent words far off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import embedding_bag, pad

from acclimate.model.encoders.vector_text import NumberedText
from acclimate.settings import Seed, Settings

_BLOCK = 64  # centres that share negative samples
_BLOCKS = 16  # per update; more saves little time, and frequent words would move too seldom
_PIECE = 1 << 20  # running words prepared at a time


class VectorSettings(Settings):
    """How word vectors are trained."""

    method: Literal["skip-gram", "cbow"] = "skip-gram"
    """skip-gram or cbow."""
    width: int = Field(50, ge=1)
    """Width of a vector."""
    window: int = Field(5, ge=1, le=_BLOCK)
    """Words on each side, at most; near ones count more often."""
    epochs: int = Field(5, ge=1)
    """Passes over the text."""
    negatives: int = Field(5, ge=1)
    """Weight of negative samples against what stands in the text."""
    shared_negatives: int = Field(64, ge=1)
    """How many negative samples are drawn for a block of text."""
    frequent: float = Field(1e-3, gt=0)
    """Words with a larger share of the text are passed over now and then."""
    learning_rate: float = Field(0.4, gt=0)
    """Learning rate of AdaGrad; it falls to zero linearly."""
    seed: Seed = 1
    """Seed of everything random."""


class Gradients(NamedTuple):
    """Where to move each vector that took part, by the place it had in the block."""

    contexts: Tensor  # (block, place, number)
    centres: Tensor  # (block, centre, number)
    noise: Tensor  # (block, sample, number)


def skip_gram(near: Tensor, contexts: Tensor, centres: Tensor, noise: Tensor, weight: float) -> Gradients:
    """Each neighbour foretells the centre. Makes small: - sum over near pairs of
    log σ(context · centre) + weight * sum over samples of log σ(- context · sample).

    `near` (block, centre, place) is 1 where a place is a neighbour of a centre.
    """
    surprise = torch.bmm(centres, contexts.transpose(1, 2)).neg_().sigmoid_().mul_(near)
    pairs = near.sum(1).unsqueeze(2)  # (block, place, 1)
    error = torch.bmm(contexts, noise.transpose(1, 2)).sigmoid_().mul_(-weight * pairs)
    return Gradients(
        contexts=torch.bmm(surprise.transpose(1, 2), centres).baddbmm_(error, noise),
        centres=torch.bmm(surprise, contexts),
        noise=torch.bmm(error.transpose(1, 2), contexts),
    )


def cbow(near: Tensor, contexts: Tensor, centres: Tensor, noise: Tensor, weight: float) -> Gradients:
    """The mean of the neighbours foretells the centre; otherwise as `skip_gram`."""
    neighbours = near.sum(2, keepdim=True)  # (block, centre, 1)
    share = near / neighbours.clamp(min=1)
    alone = neighbours == 0  # nothing to learn from
    mean = torch.bmm(share, contexts)
    surprise = (mean * centres).sum(2, keepdim=True).neg_().sigmoid_().masked_fill_(alone, 0)
    error = torch.bmm(mean, noise.transpose(1, 2)).sigmoid_().mul_(-weight).masked_fill_(alone, 0)
    return Gradients(
        contexts=torch.bmm(share.transpose(1, 2), surprise * centres + torch.bmm(error, noise)),
        centres=surprise * mean,
        noise=torch.bmm(error.transpose(1, 2), mean),
    )


_METHODS: dict[str, Callable[[Tensor, Tensor, Tensor, Tensor, float], Gradients]] = {
    "skip-gram": skip_gram,
    "cbow": cbow,
}


class VectorTraining:
    """Iterate to train: each update yields how many running words are done, of `total`. Then take `vectors`.

    The same text, settings, machine and number of threads give the same vectors, bit for bit.
    """

    def __init__(self, text: NumberedText, settings: VectorSettings) -> None:
        self.text, self.settings = text, settings
        self.total = settings.epochs * len(text.numbers)
        self._dice = torch.Generator().manual_seed(settings.seed)
        first = (torch.rand(len(text.words), settings.width, generator=self._dice) - 0.5) / settings.width
        self._contexts = _Table(first)
        self._centres = _Table(torch.zeros_like(first))
        counts = torch.from_numpy(text.counts).double()
        rarity = settings.frequent * counts.sum() / counts
        self._keep = (rarity.sqrt() + rarity).float()  # word2vec's rule: how likely a running word is read
        self._noise = counts.pow(0.75).cumsum(0)

    @property
    def vectors(self) -> Tensor:
        return self._contexts.rows

    def __iter__(self) -> Iterator[int]:
        done = 0
        for _ in range(self.settings.epochs):
            for start in range(0, len(self.text.numbers), _PIECE):
                words, places = self._read(start)
                size = min(_PIECE, len(self.text.numbers) - start)
                for first in range(0, len(words), _BLOCKS):
                    last = min(first + _BLOCKS, len(words))
                    left = 1 - (done + size * first / len(words)) / self.total
                    self._update(words[first:last], places[first:last], left * self.settings.learning_rate)
                    yield done + size * last // len(words)
                done += size

    def _read(self, start: int) -> tuple[Tensor, Tensor]:
        """Blocks of running words and of their paragraphs, each with the words around it: (block, place)."""
        words = torch.from_numpy(self.text.numbers[start : start + _PIECE]).long()
        places = torch.from_numpy(self.text.paragraphs[start : start + _PIECE])
        read = torch.rand(len(words), generator=self._dice) < self._keep[words]
        words, places = words[read], places[read]
        window = self.settings.window
        around = (window, window + (-len(words) % _BLOCK if len(words) else _BLOCK))
        size = _BLOCK + 2 * window
        return (
            pad(words, around).unfold(0, size, _BLOCK),
            pad(places, around, value=-1).unfold(0, size, _BLOCK),
        )

    def _update(self, words: Tensor, places: Tensor, rate: float) -> None:
        window, samples = self.settings.window, self.settings.shared_negatives
        centres = words[:, window:-window]
        drawn = torch.rand(len(words), samples, generator=self._dice, dtype=torch.float64)
        noise = torch.searchsorted(self._noise, drawn * self._noise[-1]).clamp_(max=len(self._noise) - 1)
        step = _METHODS[self.settings.method](
            self._near(places),
            self._contexts.rows[words],
            self._centres.rows[centres],
            self._centres.rows[noise],
            self.settings.negatives / samples,
        )
        self._contexts.move(words.flatten(), step.contexts.flatten(0, 1), rate)
        moved = torch.cat([step.centres.flatten(0, 1), step.noise.flatten(0, 1)])
        self._centres.move(torch.cat([centres.flatten(), noise.flatten()]), moved, rate)

    def _near(self, places: Tensor) -> Tensor:
        """1 where a place is a neighbour of a centre, (block, centre, place): in its paragraph, and within a reach that
        is drawn for each centre, so that near words count more often than far ones."""
        window = self.settings.window
        own = places[:, window:-window].unsqueeze(2)  # (block, centre, 1)
        reach = torch.randint(1, window + 1, own.shape, generator=self._dice)
        distance = torch.arange(-window, window + 1)
        around = places.unfold(1, 2 * window + 1, 1)  # (block, centre, distance)
        near = (around == own) & (own >= 0) & (distance.abs() <= reach) & (distance != 0)
        blocks, size = places.shape
        band = torch.zeros(blocks, _BLOCK, size)
        # the neighbours of each centre lie one place further than those of the centre before
        band.as_strided((blocks, _BLOCK, 2 * window + 1), (_BLOCK * size, size + 1, 1)).copy_(near)
        return band


class _Table:
    """Vectors by number, and how far each has been moved already: AdaGrad with one figure for a whole vector."""

    def __init__(self, rows: Tensor) -> None:
        self.rows = rows
        self._moved = torch.full((len(rows),), 0.1)

    def move(self, numbers: Tensor, gradients: Tensor, rate: float) -> None:
        """Each word once, by the sum of its gradients. They are summed in order of place: adding them to the table
        as they come would let threads decide the last digits."""
        numbers, order = numbers.sort(stable=True)
        numbers, times = torch.unique_consecutive(numbers, return_counts=True)
        sums = embedding_bag(order, gradients, pad(times.cumsum(0)[:-1], (1, 0)), mode="sum")
        moved = self._moved[numbers] + sums.square().mean(1)
        self._moved[numbers] = moved
        self.rows[numbers] += rate * sums / moved.sqrt().unsqueeze(1)

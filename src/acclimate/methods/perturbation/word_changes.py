"""Hide a word, or put a similar one in its place (MAT, section 3.2 and equation 6). The paper's softmax of Gaussian
densities is nearly uniform unless the deviation is far below 1; dividing the scores by their sum is sharper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import inf, pi, sqrt
from typing import Literal

import torch
from torch import Tensor, nn

from acclimate.model.encoders.encoder import Change, Encoder
from acclimate.model.learner import View

Gaussian = Literal["pdf", "unit"]
Normalise = Literal["softmax", "sum"]
SubstituteKind = Literal["similar", "random"]

MOST_PIECES = 16  # words of more pieces share their typical distances
_UNKNOWN = -1.0  # a mean or deviation yet to be found


def gaussian_scores(
    distances: Tensor, mean: float | Tensor, deviation: float | Tensor, gaussian: Gaussian = "pdf"
) -> Tensor:
    """Scores of words at these distances: a normal density (`pdf`), or a bump of height 1 (`unit`)."""
    bump = ((distances - mean) / deviation).square().div(-2).exp()
    return bump if gaussian == "unit" else bump / (deviation * sqrt(2 * pi))


@torch.no_grad()
def substitution_probabilities(
    vectors: Tensor,
    chosen: Tensor,
    candidates: Tensor,
    mean: float | Tensor,
    deviation: float | Tensor,
    gaussian: Gaussian = "pdf",
    normalise: Normalise = "softmax",
    temperature: float = 1.0,
) -> Tensor:
    """Probability (chosen, word) that each word replaces each `chosen` one, from raw `vectors` (word, size). Only
    `candidates` (word) have any, and never the word itself; a row without another candidate is all 0."""
    allowed = _allowed(chosen, candidates)
    distances = _distances(vectors, chosen)  # (chosen, word)
    scores = gaussian_scores(distances, mean, deviation, gaussian)
    if normalise == "softmax":
        distribution = (scores / temperature).masked_fill(~allowed, -inf).softmax(-1)
        return distribution.masked_fill(~allowed, 0)  # a row without candidates is NaN
    scores = scores.masked_fill(~allowed, 0)
    best = scores.amax(-1, keepdim=True)
    # relative to the best, or a power would overflow
    shares = torch.where(best > 0, (scores / best).pow(1 / temperature), allowed)
    return shares / shares.sum(-1, keepdim=True).clamp(min=1)


def uniform_probabilities(chosen: Tensor, candidates: Tensor) -> Tensor:
    """The same probability (chosen, word) for all candidates but the word itself."""
    allowed = _allowed(chosen, candidates)
    return allowed / allowed.sum(-1, keepdim=True).clamp(min=1)


@torch.no_grad()
def typical_distances(vectors: Tensor, candidates: Tensor, sample: int = 1000, seed: int = 0) -> tuple[float, float]:
    """Median and standard deviation of the distances between (a sample of) the candidates, both above 0."""
    numbers = candidates.cpu().nonzero().squeeze(-1)
    if len(numbers) > sample:
        dice = torch.Generator().manual_seed(seed)
        numbers = numbers[torch.randperm(len(numbers), generator=dice)[:sample]]
    sampled = vectors[numbers.to(vectors.device)].cpu().double()  # (word, size)
    distances = torch.pdist(sampled).sort().values
    count = len(distances)
    if not count or distances[-1] == 0:
        return 1.0, 1.0
    median = float(distances[(count - 1) // 2] + distances[count // 2]) / 2 or float(distances.mean())
    deviation = float(distances.std(correction=0))
    return median, deviation if deviation > 1e-6 * median else median  # equal distances differ in the last bits


class Substitutes(nn.Module):
    """Draws replacements by the distribution above (`similar`), or from all candidates alike (`random`). Mean and
    deviation that are not given are found from the vectors when a word is first drawn for, for each number of pieces,
    and stay."""

    def __init__(
        self,
        kind: SubstituteKind = "similar",
        mean: float | None = None,
        deviation: float | None = None,
        gaussian: Gaussian = "pdf",
        normalise: Normalise = "softmax",
        temperature: float = 1.0,
        sample: int = 1000,
        seed: int = 0,
    ) -> None:
        """`sample` words, picked by `seed`, tell the typical distances."""
        super().__init__()
        self.kind, self.gaussian, self.normalise = kind, gaussian, normalise
        self.temperature, self.sample, self.seed = temperature, sample, seed
        for name, value in {"mean": mean, "deviation": deviation}.items():  # by the number of pieces
            self.register_buffer(name, torch.full((MOST_PIECES,), _UNKNOWN if value is None else float(value)))
        self.mean: Tensor
        self.deviation: Tensor

    def distribution(
        self, vectors: Tensor, chosen: Tensor, candidates: Tensor, pieces: int = 1, alike: Tensor | None = None
    ) -> Tensor:
        """Probability (chosen, word) of each word to be drawn, for chosen words of so many `pieces`. Typical distances
        are found from words that are `alike` (word), by default the candidates."""
        if self.kind == "random":
            return uniform_probabilities(chosen, candidates)
        self._find_distances(vectors, candidates if alike is None else alike, pieces)
        bump = (self.mean[pieces - 1].to(vectors.device), self.deviation[pieces - 1].to(vectors.device))
        return substitution_probabilities(
            vectors, chosen, candidates, *bump, self.gaussian, self.normalise, self.temperature
        )

    @torch.no_grad()
    def draw(
        self, vectors: Tensor, chosen: Tensor, candidates: Tensor, pieces: int = 1, alike: Tensor | None = None
    ) -> Tensor:
        """A replacement for each chosen word; a word without another candidate stays."""
        distribution = self.distribution(vectors, chosen, candidates, pieces, alike).cpu()
        if not len(distribution):
            return chosen
        here = chosen.cpu()
        alone = distribution.sum(-1) == 0
        distribution[alone, here[alone]] = 1
        return torch.multinomial(distribution, 1).squeeze(-1).to(chosen.device)

    def _find_distances(self, vectors: Tensor, alike: Tensor, pieces: int) -> None:
        bump = (self.mean[pieces - 1], self.deviation[pieces - 1])
        if all(value >= 0 for value in bump):
            return
        typical = typical_distances(vectors, alike, self.sample, self.seed)
        for value, usual in zip(bump, typical, strict=True):
            if value < 0:
                value.fill_(usual)


def _allowed(chosen: Tensor, candidates: Tensor) -> Tensor:
    """Which words may replace which (chosen, word)."""
    allowed = candidates.repeat(len(chosen), 1)
    return allowed.scatter(1, chosen.unsqueeze(1), False)


def _distances(vectors: Tensor, chosen: Tensor) -> Tensor:
    """Euclidean (chosen, word), by differences: matrix products lose small distances."""
    exact = vectors if vectors.dtype == torch.float64 else vectors.float()
    return torch.cdist(exact[chosen], exact, compute_mode="donot_use_mm_for_euclid_dist")


class WordChanges(nn.Module):
    """Picks a share of the sentences; in each, one word is hidden or replaced. Its tag stays."""

    def __init__(
        self,
        words: Sequence[str],
        rate: float = 0.06,
        hide: float = 0.9,
        substitutes: Substitutes | None = None,
        context: bool = False,
    ) -> None:
        """`words` are possible replacements. `rate` of the sentences are picked, and `hide` of those lose their word.
        `context`: frozen contextual features are computed anew."""
        super().__init__()
        self.words, self.rate, self.hide, self.context = tuple(words), rate, hide, context
        self.substitutes = substitutes or Substitutes()

    def forward(self, view: View) -> View:
        return self.made(view, self.draw(view))

    def made(self, view: View, changes: Sequence[Change]) -> View:
        """The view with these changes."""
        return view.with_words(changes, self.context) if changes else view

    def draw(self, view: View) -> list[Change]:
        lengths = torch.tensor([len(sentence) for sentence in view.originals])
        picked = torch.rand(len(lengths)) < self.rate
        places = (torch.rand(len(lengths)) * lengths).long().clamp_max(lengths - 1)
        hidden = torch.rand(len(lengths)) < self.hide
        before = lengths.cumsum(0) - lengths
        changes = []
        for sentence in picked.nonzero().flatten().tolist():
            place = int(places[sentence])
            word = view.originals[sentence].words[place]
            by = None if hidden[sentence] else self._another(word, view.encoder)
            if by != word:
                changes.append(Change(sentence, place, int(before[sentence]) + place, by))
        return changes

    def _another(self, word: str, encoder: Encoder) -> str | None:
        """A word that fits into its place; None, that is hidden, if there is none."""
        number = self._numbers.get(word)
        words = list(self.words) if number is not None else [*self.words, word]
        number = len(self.words) if number is None else number
        sizes, rows = torch.tensor(encoder.sizes_of(words)), _numbered(encoder.rows_of(words))
        known = rows >= 0
        known[len(self.words) :] = False
        fitting = known & (sizes == sizes[number]) & (rows != rows[number])
        if not fitting.any():
            return None
        pieces = sizes.clamp_max(MOST_PIECES)
        alike = known & (pieces == pieces[number])
        vectors = encoder.vectors_of(words).detach()
        chosen, fitting, alike = (each.to(vectors.device) for each in (torch.tensor([number]), fitting, alike))
        return words[int(self.substitutes.draw(vectors, chosen, fitting, int(pieces[number]), alike))]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}


def _numbered(rows: Sequence[int | None]) -> Tensor:
    """Rows of the table; -1 for words that have none."""
    return torch.tensor([-1 if row is None else row for row in rows])

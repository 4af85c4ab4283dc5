"""Make the features of both domains alike by their discrepancy: sentence by sentence, and label by label (PDALN)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from acclimate.methods.alignment.mmd import MEDIANS, Kernel, squared_mmd, squared_mmds
from acclimate.methods.objective import Objective
from acclimate.model.learner import View

_FEW = 96  # words of one tag on both sides: with fewer, tags are looked at together


class SentenceDiscrepancy(Objective):
    """How unlike the sentence vectors of the two domains are: L_d (PDALN, equation 5). Needs no labels.

    Reaches the encoder only, by way of both domains. Prefer `WordDiscrepancy` besides where both have labels:
    sentences may be alike as a whole while names of people stand near names of places.
    """

    def __init__(self, kernel: Kernel = MEDIANS, unbiased: bool = False) -> None:
        super().__init__()
        self.kernel, self.unbiased = kernel, unbiased

    def forward(self, source: View, target: View) -> Tensor:
        return squared_mmd(source.sentence_vectors, target.sentence_vectors, self.kernel, unbiased=self.unbiased)


class WordDiscrepancy(Objective):
    """How unlike words of the same tag are in the two domains, summed over the tags: L_w (PDALN, equation 6).

    Needs labelled sentences of both domains; sentences without tags count nothing, and a tag that one side of the
    batch does not have is passed over. The word's first piece stands for it. Reaches the encoder only.

    `mu` is the weight of a tag, one for all or by tag (0.25 where that says nothing). Of the words of one tag at most
    `most` are looked at on each side, drawn by chance: nearly all words are O, and the kernels grow with their square.
    `floor` is how small the discrepancy of a tag is to get; below, it has no gradient (La-DTL: 1e-4).
    """

    def __init__(
        self,
        mu: float | Mapping[str, float] = 0.25,
        kernel: Kernel = MEDIANS,
        unbiased: bool = False,
        most: int = 256,
        floor: float | None = None,
    ) -> None:
        super().__init__()
        if most < 1:
            raise ValueError(f"At least one word of each tag must be looked at, not {most}.")
        self.mu = mu if isinstance(mu, Mapping) else None
        self.usual = 0.25 if isinstance(mu, Mapping) else mu
        self.kernel, self.unbiased, self.most, self.floor = kernel, unbiased, most, floor

    def forward(self, source: View, target: View) -> Tensor:
        mine, theirs = self._by_tag(source), self._by_tag(target)
        weights = {number: self._weight(source, number) for number in sorted(mine.keys() & theirs.keys())}
        numbers = [number for number, weight in weights.items() if weight != 0]
        if not numbers:
            return torch.zeros((), device=source.features.device, requires_grad=True)
        sides = _chosen(source, mine, numbers), _chosen(target, theirs, numbers)
        few: list[tuple[int, Tensor, Tensor]] = []
        many: list[tuple[int, Tensor, Tensor]] = []
        for number, here, there in zip(numbers, *sides, strict=True):
            if min(len(here), len(there)) < (2 if self.unbiased else 1):
                continue  # too few to say anything
            (few if len(here) + len(there) <= _FEW else many).append((number, here, there))
        terms = [
            weights[number] * self._bounded(squared_mmd(here, there, self.kernel, unbiased=self.unbiased))
            for number, here, there in many
        ]
        if few:
            rows = torch.cat([row for _, *both in few for row in both])
            counts = [(len(here), len(there)) for _, here, there in few]
            found = self._bounded(squared_mmds(rows, counts, self.kernel, unbiased=self.unbiased))
            weighing = torch.tensor([weights[number] for number, *_ in few], dtype=found.dtype)
            terms.append((weighing.to(found.device, non_blocking=True) * found).sum())
        if not terms:
            return torch.zeros((), device=source.features.device, requires_grad=True)
        return torch.stack(terms).sum()

    def _bounded(self, found: Tensor) -> Tensor:
        return found if self.floor is None else found.clamp_min(self.floor)

    def _weight(self, view: View, number: int) -> float:
        return self.usual if self.mu is None else self.mu.get(view.tagger.tags[number], self.usual)

    def _by_tag(self, view: View) -> dict[int, Tensor]:
        """Where the words of each tag stand in the flat batch; on the CPU, or it would wait at each."""
        tags = view.sentences.numbers.flatten()  # (sentence × word)
        found = {}
        for number in sorted(set(tags.tolist()) - {-1}):
            places = (tags == number).nonzero().squeeze(1)
            if len(places) > self.most:
                places = places[torch.randperm(len(places))[: self.most]]
            found[number] = places
        return found


def _chosen(view: View, places: Mapping[int, Tensor], numbers: Sequence[int]) -> Sequence[Tensor]:
    """The features of each tag's words, (word, feature) each. All are fetched at once: one by one, each would have a
    gradient as large as the batch."""
    every = torch.cat([places[number] for number in numbers]).to(view.features.device, non_blocking=True)
    rows = view.features.flatten(0, 1).index_select(0, every)
    return rows.split_with_sizes([len(places[number]) for number in numbers])

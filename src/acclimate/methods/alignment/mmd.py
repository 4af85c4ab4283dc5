"""Maximum mean discrepancy (MMD): make sentences, and words of the same tag, alike in both domains (PDALN)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from acclimate.methods.objective import Objective
from acclimate.model.learner import View


@dataclass(frozen=True)
class Kernel:
    """A sum of Gaussians exp(-d² / 2s), one for each width s. `in_medians`: s is that many times the median squared
    distance of two points, which takes no gradient."""

    widths: tuple[float, ...]
    in_medians: bool = False


MEDIANS = Kernel((0.25, 0.5, 1.0, 2.0, 4.0), in_medians=True)
# of La-DTL's code
BANK = Kernel((1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 5, 10, 15, 20, 25, 30, 35, 100, 1e3, 1e4, 1e5, 1e6))


def squared_mmd(source: Tensor, target: Tensor, kernel: Kernel = MEDIANS, *, unbiased: bool = False) -> Tensor:
    """Squared MMD of two sets of vectors, (point, size) each (PDALN, equations 3 and 4); 0 where a set has too few
    points. `unbiased` leaves out each point's similarity to itself."""
    count, others = len(source), len(target)
    if min(count, others) < (2 if unbiased else 1):
        return torch.zeros((), device=source.device, requires_grad=True)
    with torch.autocast(source.device.type, enabled=False):
        exact = torch.promote_types(torch.promote_types(source.dtype, target.dtype), torch.float32)
        points = torch.cat([source.to(exact), target.to(exact)])  # (point of both, size)
        return _Pairs.of([(count, others)], source.device).only().discrepancy(points, kernel, unbiased)


def squared_mmds(
    rows: Tensor, counts: Sequence[tuple[int, int]], kernel: Kernel = MEDIANS, *, unbiased: bool = False
) -> Tensor:
    """`squared_mmd` of several pairs of small sets at once, (pair). `rows` hold the first pair's source points, its
    target points, then those of the next pair."""
    with torch.autocast(rows.device.type, enabled=False):
        pairs = _Pairs.of(counts, rows.device)
        rows = rows.to(torch.promote_types(rows.dtype, torch.float32))
        points = rows.index_select(0, pairs.places.flatten()).view(*pairs.places.shape, -1)
        return pairs.discrepancy(points, kernel, unbiased)


@dataclass(frozen=True)
class _Pairs:
    """Which points belong to which set of each pair; a single pair may come without the first dimension."""

    places: Tensor  # (pair, point), the point's row; 0 where a pair has fewer points than others
    source: Tensor  # (pair, point)
    target: Tensor  # (pair, point)
    middle: Tensor  # (pair, 2), the two numbers of the median among the sorted distances

    @classmethod
    def of(cls, counts: Sequence[tuple[int, int]], device: torch.device) -> _Pairs:
        width = max(mine + theirs for mine, theirs in counts)
        sizes = torch.tensor(counts)
        total = sizes.sum(1)
        numbers = torch.arange(width)
        inside = numbers < total.unsqueeze(1)
        places = ((total.cumsum(0) - total).unsqueeze(1) + numbers).masked_fill(~inside, 0)
        source = numbers < sizes[:, :1]
        middle = torch.stack([(total * (total - 1) // 2 - 1) // 2, total * (total - 1) // 4], 1)
        return cls(*(made.to(device, non_blocking=True) for made in (places, source, inside & ~source, middle)))

    def only(self) -> _Pairs:
        """The one pair there is, without the first dimension."""
        return _Pairs(self.places[0], self.source[0], self.target[0], self.middle[0])

    def discrepancy(self, points: Tensor, kernel: Kernel, unbiased: bool) -> Tensor:
        """The squared MMD of the points (pair, point, size), by pair."""
        inside = (self.source | self.target).to(points.dtype)  # (pair, point)
        total = inside.sum(-1, keepdim=True)
        sums = (points.detach() * inside.unsqueeze(-1)).sum(-2, keepdim=True)
        distances = squared_distances(points - sums / total.unsqueeze(-1))  # centred: precise far from the origin
        widths = torch.tensor(kernel.widths, dtype=points.dtype, device=points.device).view(-1, 1, 1)
        if kernel.in_medians:
            # equal points differ by rounding errors: the median is at least as large
            exact = torch.finfo(points.dtype)
            rounding = exact.eps * (points.detach().square().sum(-1) * inside).sum(-1) / total.squeeze(-1) + exact.tiny
            widths = widths * self._medians(distances.detach()).maximum(rounding)[..., None, None, None]
        similar = (distances.unsqueeze(-3) / (-2 * widths)).exp().sum(-3)  # (pair, point, point), over all kernels
        both = inside.unsqueeze(-1) * inside.unsqueeze(-2)
        return (similar * both * self._shares(points.dtype, unbiased)).sum((-1, -2))

    def _medians(self, distances: Tensor) -> Tensor:
        """The median over the pairs of different points, (pair)."""
        width = distances.shape[-1]
        rows, columns = torch.triu_indices(width, width, offset=1, device=distances.device)
        inside = self.source | self.target
        outside = ~(inside[..., rows] & inside[..., columns])
        apart = distances[..., rows, columns].masked_fill(outside, torch.inf)
        return apart.sort(-1).values.gather(-1, self.middle).mean(-1)

    def _shares(self, dtype: torch.dtype, unbiased: bool) -> Tensor:
        """The weight of each two points (pair, point, point): means within both sets, less twice that across them."""
        mine, theirs = self.source.to(dtype), self.target.to(dtype)
        count, others = mine.sum(-1, keepdim=True), theirs.sum(-1, keepdim=True)
        sides = mine / count - theirs / others
        shares = sides.unsqueeze(-1) * sides.unsqueeze(-2)
        if not unbiased:
            return shares
        # a mean over different points is over fewer
        more = mine * (count / (count - 1)) + theirs * (others / (others - 1))
        shares = torch.where(shares > 0, shares * more.unsqueeze(-2), shares)
        return shares.masked_fill(torch.eye(shares.shape[-1], dtype=torch.bool, device=shares.device), 0)


def squared_distances(points: Tensor) -> Tensor:
    """Squared distances of all points (pair, point, size), (pair, point, point)."""
    squares = points.square().sum(-1)
    distances = squares.unsqueeze(-1) + squares.unsqueeze(-2) - 2 * points @ points.mT
    itself = torch.eye(points.shape[-2], dtype=torch.bool, device=points.device)
    return distances.masked_fill(itself, 0).clamp_min(0)


_FEW = 96  # tags with fewer words on both sides are computed together


class SentenceDiscrepancy(Objective):
    """Squared MMD between the sentence vectors of both domains: L_d (PDALN, equation 5). Needs no labels."""

    def __init__(self, kernel: Kernel = MEDIANS, unbiased: bool = False) -> None:
        super().__init__()
        self.kernel, self.unbiased = kernel, unbiased

    def forward(self, source: View, target: View) -> Tensor:
        return squared_mmd(source.sentence_vectors, target.sentence_vectors, self.kernel, unbiased=self.unbiased)


class WordDiscrepancy(Objective):
    """Squared MMD between words of the same tag in both domains, summed over tags: L_w (PDALN, equation 6). Needs
    labels in both domains. `mu` weighs tags, `most` limits the words per tag, `floor` ends the gradient (La-DTL)."""

    def __init__(
        self,
        mu: float | Mapping[str, float] = 0.25,
        kernel: Kernel = MEDIANS,
        unbiased: bool = False,
        most: int = 256,
        floor: float | None = None,
    ) -> None:
        super().__init__()
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
                continue
            (few if len(here) + len(there) <= _FEW else many).append((number, here, there))
        terms = [
            weights[number] * self._bounded(squared_mmd(here, there, self.kernel, unbiased=self.unbiased))
            for number, here, there in many
        ]
        if few:
            rows = torch.cat([row for _, *both in few for row in both])
            counts = [(len(here), len(there)) for _, here, there in few]
            mmds = self._bounded(squared_mmds(rows, counts, self.kernel, unbiased=self.unbiased))
            weighing = torch.tensor([weights[number] for number, *_ in few], dtype=mmds.dtype)
            terms.append((weighing.to(mmds.device, non_blocking=True) * mmds).sum())
        if not terms:
            return torch.zeros((), device=source.features.device, requires_grad=True)
        return torch.stack(terms).sum()

    def _bounded(self, mmd: Tensor) -> Tensor:
        return mmd if self.floor is None else mmd.clamp_min(self.floor)

    def _weight(self, view: View, number: int) -> float:
        return self.usual if self.mu is None else self.mu.get(view.tagger.tags[number], self.usual)

    def _by_tag(self, view: View) -> dict[int, Tensor]:
        """Positions of each tag's words in the flat batch, on the CPU to avoid a synchronisation per tag."""
        tags = view.sentences.numbers.flatten()  # (sentence × word)
        by_tag = {}
        for number in sorted(set(tags.tolist()) - {-1}):
            places = (tags == number).nonzero().squeeze(1)
            if len(places) > self.most:
                places = places[torch.randperm(len(places))[: self.most]]
            by_tag[number] = places
        return by_tag


def _chosen(view: View, places: Mapping[int, Tensor], numbers: Sequence[int]) -> Sequence[Tensor]:
    """Features of each tag's words, (word, feature) each, gathered at once."""
    every = torch.cat([places[number] for number in numbers]).to(view.features.device, non_blocking=True)
    rows = view.features.flatten(0, 1).index_select(0, every)
    return rows.split_with_sizes([len(places[number]) for number in numbers])

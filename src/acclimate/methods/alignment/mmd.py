"""Maximum mean discrepancy (Gretton et al. 2012): how unlike two sets of vectors are, as Gaussian kernels see them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Kernel:
    """A sum of Gaussians exp(-d² / 2s), one for each width s.

    Where the widths are `in_medians`, s is that many times the median squared distance of two points of both sets
    together. It follows the features as they grow or shrink and takes no gradient (E3.7). So the gradient asks for
    features that shrink, although the next median undoes what was won: sentence vectors may fall together to one point.
    `scale_free`: the median has the gradient of the mean distance, and shrinking wins nothing.
    """

    widths: tuple[float, ...]
    in_medians: bool = False
    scale_free: bool = False

    def __post_init__(self) -> None:
        if not self.widths or min(self.widths) <= 0:
            raise ValueError(f"A kernel needs widths above 0, not {self.widths}.")
        if self.scale_free and not self.in_medians:
            raise ValueError("A kernel of fixed widths cannot be free of the scale: give its widths in medians.")


MEDIANS = Kernel((0.25, 0.5, 1.0, 2.0, 4.0), in_medians=True)
SCALE_FREE = replace(MEDIANS, scale_free=True)
BANK = Kernel(
    (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 5, 10, 15, 20, 25, 30, 35, 100, 1e3, 1e4, 1e5, 1e6)
)  # of La-DTL, as its code has it


def squared_mmd(source: Tensor, target: Tensor, kernel: Kernel = MEDIANS, *, unbiased: bool = False) -> Tensor:
    """The squared discrepancy of two sets of vectors, (point, size) each (Eq. 3-4 of PDALN).

    As printed, a point's similarity to itself counts: the number is never below 0, and above it for small sets even of
    one law (E3.6). `unbiased` leaves those out; it may fall below 0. Where a set has too few points to say anything,
    one that is empty, or without the bias a single point, it is 0. In float32 (float64 when given float64) also inside
    autocast.
    """
    count, others = len(source), len(target)
    if min(count, others) < (2 if unbiased else 1):
        return torch.zeros((), device=source.device, requires_grad=True)
    with torch.autocast(source.device.type, enabled=False):
        exact = torch.promote_types(torch.promote_types(source.dtype, target.dtype), torch.float32)
        points = torch.cat([source.to(exact), target.to(exact)])  # (point of both, size)
        distances = squared_distances(points)
        widths = _widths(points, distances, kernel)
        if kernel.scale_free:
            widths = widths * _grown(distances)
        similar = _similarities(distances, widths)  # (point, point)
        return (similar * _shares(count, others, points, unbiased)).sum()


def squared_distances(points: Tensor) -> Tensor:
    """Of every two points, (point, point). By way of products: the differences themselves would not fit into memory."""
    points = points - points.detach().mean(0)  # far from the origin the products would lose the small differences
    squares = points.square().sum(1)
    distances = squares.unsqueeze(1) + squares - 2 * points @ points.T
    itself = torch.eye(len(points), dtype=torch.bool, device=points.device)
    return distances.masked_fill(itself, 0).clamp_min(0)


@torch.no_grad()
def median_of_pairs(distances: Tensor) -> Tensor:
    """The median over all pairs of different points; between the two middle ones where their number is even."""
    rows, columns = torch.triu_indices(len(distances), len(distances), offset=1, device=distances.device)
    pairs = distances[rows, columns]
    count = len(pairs)
    if count == 0:
        return distances.new_zeros(())
    return (pairs.kthvalue((count + 1) // 2).values + pairs.kthvalue(count // 2 + 1).values) / 2


@torch.no_grad()
def _widths(points: Tensor, distances: Tensor, kernel: Kernel) -> Tensor:
    widths = torch.tensor(kernel.widths, dtype=points.dtype, device=points.device)  # (kernel)
    if not kernel.in_medians:
        return widths
    # points that are all the same differ by rounding alone, and a kernel as narrow as that would see only noise
    rounding = torch.finfo(points.dtype).eps * points.square().sum(1).mean() + torch.finfo(points.dtype).tiny
    return widths * median_of_pairs(distances).maximum(rounding)


def _grown(distances: Tensor) -> Tensor:
    """1, with the relative gradient of the mean distance. Among points that are all the same there is none."""
    mean = distances.mean()
    still = mean.detach()
    return torch.where(still > 0, mean / still.clamp_min(torch.finfo(mean.dtype).tiny), torch.ones_like(still))


def _similarities(distances: Tensor, widths: Tensor) -> Tensor:
    """All kernels side by side: each result is kept for the way back in any case, and a GPU has fewer orders."""
    return (distances / (-2 * widths).view(-1, 1, 1)).exp().sum(0)


@torch.no_grad()
def _shares(count: int, others: int, like: Tensor, unbiased: bool) -> Tensor:
    """What each pair of points counts, (point, point): means within both sets, less twice that across them."""
    sides = torch.cat([like.new_full((count,), 1 / count), like.new_full((others,), -1 / others)])
    shares = sides.outer(sides)
    if not unbiased:
        return shares
    # a mean over pairs of different points is over fewer
    more = torch.cat([like.new_full((count,), count / (count - 1)), like.new_full((others,), others / (others - 1))])
    return torch.where(shares > 0, shares * more, shares).fill_diagonal_(0)

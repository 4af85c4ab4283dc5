"""Counting in a tree: how K choices fall among the places of a row, in about log2(places) rounds.

A law over subsets of K places does not change when one number, the threshold, is taken from all scores of a row. Take
the one under which independent coins, with chances sigmoid(score - threshold), fall K times on heads in the mean. Then
K heads is about the likeliest number of heads, never a rare one, and all that has to be computed are the chances of
small numbers of heads: sums and products of numbers between 0 and 1. No logarithm is needed inside, although the sums
over subsets span thousands of powers of e. A term too small to be held is smaller than the rounding of the sum.

    leaves   (heads, place, row)         each coin's chances of 0 and of 1 heads
    levels   (heads, pair, side, row)    neighbours side by side; the level above holds the pairs' sums of heads

Rows stand last, so that a short sum over heads runs over long stretches of memory. Products are multiplied and summed,
not handed to a matrix product: that could round to TensorFloat-32 without telling.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

LARGEST = 1e6  # scores beyond count as this: there float32 cannot tell apart scores closer than 0.06


class SubsetTree:
    """The answers for scores (row, place) in float32 or float64; `sizes` (row) may exceed neither `most` nor the number
    of allowed places. Nothing here is differentiated: the gradients are known, see `SubsetLaw`."""

    def __init__(self, scores: Tensor, allowed: Tensor, sizes: Tensor, most: int) -> None:
        # where, not a product: a place that is not allowed may hold anything, and NaN times zero is NaN
        self.scores = torch.where(allowed, scores.clamp(-LARGEST, LARGEST), -2 * LARGEST)
        self.allowed, self.sizes = allowed, sizes
        self.thresholds = _thresholds(self.scores, allowed.sum(1), sizes, most)  # (row)
        self.leaning = self.scores - self.thresholds.unsqueeze(1)  # (row, place), a coin's log odds
        heads = torch.where(allowed, self.leaning.sigmoid(), 0).T
        tails = torch.where(allowed, self.leaning.neg().sigmoid(), 1).T
        self.log_surer = torch.maximum(heads, tails).log().T  # (row, place), the log chance of a coin's likelier side
        self.levels = [_paired(torch.stack((tails, heads)))]
        while self.levels[-1].shape[1] > 1:
            self.levels.append(_paired(_sums(self.levels[-1], most)))
        # the log chance that the coins fall on heads just K times, (row)
        self.log_hit = _splits(self.levels[-1], sizes.unsqueeze(0)).sum(0).squeeze(0).log()

    def log_partition(self) -> Tensor:
        """(row)"""
        # The sum over coins of log(1 + exp(leaning)), plus K thresholds. Large scores enter as they came: taking the
        # threshold from each and adding it again K times would cost digits. And the logs are those of the very numbers
        # that the tree multiplied: a softplus would be rounded in its own way.
        above = self.leaning > 0
        scores = torch.where(above, self.scores, 0).sum(1) + (self.sizes - above.sum(1)) * self.thresholds
        return self.log_hit - self.log_surer.sum(1) + scores

    def log_probability(self, chosen: Tensor) -> Tensor:
        """(row), -inf where the chosen are not K allowed places."""
        unlikely = torch.where(chosen, self.leaning, -self.leaning).clamp(max=0)
        coins = self.log_surer + torch.where(self.allowed, unlikely, 0)
        possible = (chosen.sum(1) == self.sizes) & ~(chosen & ~self.allowed).any(1)
        return torch.where(possible, coins.sum(1) - self.log_hit, -torch.inf)

    def marginals(self) -> Tensor:
        """The chance of each place to be chosen, (row, place): the tree walked downwards."""
        heads = torch.arange(2 * len(self.levels[-1]) - 1, device=self.sizes.device)
        outer = (heads.unsqueeze(1) == self.sizes).to(self.scores.dtype).unsqueeze(1)  # (heads, node, row)
        for level in reversed(self.levels):
            outer = _rest(level, outer[:, : level.shape[1]])
        joint = (self.levels[0].flatten(1, 2) * outer)[:, : self.scores.shape[1]]
        return (joint[1] / joint.sum(0)).T

    def draw(self, generator: torch.Generator | None) -> Tensor:
        """K places of each row, (row, place), True where chosen: each node shares out its heads to its two sides."""
        counts = self.sizes.unsqueeze(0)  # (node, row)
        for level in reversed(self.levels):
            counts = counts[: level.shape[1]]  # without the nodes that only made the number even
            left = _one_of(_splits(level, counts), generator)
            counts = torch.stack((left, counts - left), 1).flatten(0, 1)
        return counts[: self.scores.shape[1]].T.bool()


def _paired(nodes: Tensor) -> Tensor:
    """Neighbours side by side, (heads, pair, side, row). A coin that never falls on heads makes the number even."""
    missing = max(2 - nodes.shape[1], nodes.shape[1] % 2)
    if missing:
        never = nodes.new_zeros(len(nodes), missing, nodes.shape[2])
        never[0] = 1
        nodes = torch.cat((nodes, never), 1)
    return nodes.reshape(len(nodes), nodes.shape[1] // 2, 2, nodes.shape[2])


def _sums(level: Tensor, most: int) -> Tensor:
    """The chances of the number of heads of both sides together, up to `most`, (heads, node, row)."""
    left, right = level.unbind(2)
    reach = len(level) - 1
    highest = min(2 * reach, most)
    right = F.pad(right, (0, 0, 0, 0, reach, highest - reach))
    windows = right.unfold(0, reach + 1, 1).movedim(-1, 1)  # (heads of both, heads of left, from most to none, ...)
    return (windows * left.flip(0)).sum(1)


def _rest(level: Tensor, outer: Tensor) -> Tensor:
    """For each child and number of its heads, the chance that all coins outside it make up K, (heads, child, row).
    `outer` says the same of the parents."""
    reach = len(level) - 1
    outer = F.pad(outer, (0, 0, 0, 0, 0, 2 * reach + 1 - len(outer)))
    windows = outer.unfold(0, reach + 1, 1).movedim(-1, 1)  # (heads of the child, heads of its sibling, node, row)
    return (windows.unsqueeze(3) * level.flip(2)).sum(1).flatten(1, 2)


def _splits(level: Tensor, counts: Tensor) -> Tensor:
    """The chance of each number of heads on the left while both sides have `counts` (node, row), (heads, node, row)."""
    left, right = level.unbind(2)
    others = counts - torch.arange(len(level), device=counts.device).view(-1, 1, 1)
    possible = (others >= 0) & (others < len(level))
    return left * torch.where(possible, right.gather(0, others.clamp(0, len(level) - 1)), 0)


def _one_of(chances: Tensor, generator: torch.Generator | None) -> Tensor:
    """Draw along the first axis, (node, row), in proportion to chances that need not add up to 1."""
    # Whole numbers, for their running sum is exact in whatever order a device adds: rounding could make it step up
    # where the chance is 0, and a place that is not allowed would be drawn once in some million times.
    running = (chances / chances.sum(0)).mul(2.0**40).ceil().long().cumsum(0)
    total = running[-1]
    lot = torch.rand(total.shape, dtype=chances.dtype, device=chances.device, generator=generator)
    return (running <= (lot * total).long().minimum(total - 1)).sum(0)


def _thresholds(scores: Tensor, counts: Tensor, sizes: Tensor, most: int) -> Tensor:
    """Where to draw the line in each row, (row), for coins to fall on heads `sizes` times in the mean, or nearly.

    The line lies between the K-th and the next largest score, give or take log(K) and log(n - K). Three rounds of
    eight guesses narrow that down enough: any threshold gives the right law, a good one only keeps all digits.
    """
    slack = 2 * math.log(max(scores.shape[1], 1)) + 20
    last, following = _around(scores, sizes, most, slack)
    low = torch.maximum(following, last - slack) - sizes.clamp(min=1).to(scores.dtype).log()
    high = last + (counts - sizes).clamp(min=1).to(scores.dtype).log()
    steps = torch.linspace(0, 1, 8, dtype=scores.dtype, device=scores.device)
    for _ in range(3):
        guesses = low.unsqueeze(1) + (high - low).unsqueeze(1) * steps  # (row, guess)
        expected = (scores.unsqueeze(1) - guesses.unsqueeze(2)).sigmoid().sum(2)
        below = ((expected > sizes.unsqueeze(1)).sum(1, keepdim=True) - 1).clamp(0, len(steps) - 2)
        low, high = guesses.gather(1, below).squeeze(1), guesses.gather(1, below + 1).squeeze(1)
    return (low + high) / 2


def _around(scores: Tensor, sizes: Tensor, most: int, slack: float) -> tuple[Tensor, Tensor]:
    """The K-th largest score of each row and the next, (row) each; `slack` beyond the ends where there is none."""
    ordered = scores.topk(min(most + 1, scores.shape[1]), dim=1).values
    first = ordered[:, :1] if scores.shape[1] else scores.new_zeros(len(scores), 1)
    ends = torch.full_like(first, -4 * LARGEST)
    ordered = torch.cat((first + slack, ordered, ends), 1)  # (row, rank), the largest at rank 1
    ranks = sizes.unsqueeze(1)
    return ordered.gather(1, ranks).squeeze(1), ordered.gather(1, ranks + 1).squeeze(1)

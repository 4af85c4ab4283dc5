"""Choose exactly K of the allowed places of a row, each subset in proportion to its places' exponentiated scores.

Independent coins with probabilities sigmoid(score - threshold), on the condition of K heads, have this distribution for
any threshold. One under which K heads are expected keeps all probabilities of numbers of heads far from 0, so that no
logarithm is needed. A tree counts the heads in about log2(places) rounds:

    leaves   (heads, place, row)         each coin's probabilities of 0 and of 1 heads
    levels   (heads, pair, side, row)    neighbours side by side; the level above holds the pairs' sums of heads

Products are multiplied and summed, since a matrix product could round to TensorFloat-32.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


def refuse_impossible(allowed: Tensor, sizes: Tensor, most: int) -> None:
    """Raise a ValueError for a row that asks for too much; on a GPU, where looking means waiting, only for `most`."""
    if not 0 <= most <= allowed.shape[1]:
        raise ValueError(f"most is {most}, but a row has {allowed.shape[1]} places: give a number from 0 to that.")
    if torch.compiler.is_compiling() or sizes.device.type != "cpu":
        return
    limits = allowed.sum(1).clamp(max=most)
    wrong = (sizes < 0) | (sizes > limits)  # (row)
    if wrong.any():
        row = int(wrong.int().argmax())
        raise ValueError(
            f"Row {row} is to choose {int(sizes[row])} of {int(allowed[row].sum())} allowed places, and no row more "
            f"than {most}. Ask for less: sizes.clamp(max=most).minimum(allowed.sum(1))."
        )


def possible_sizes(allowed: Tensor, sizes: Tensor, most: int) -> Tensor:
    """The sizes (row), limited to the places there are."""
    return sizes.clamp(0, most).minimum(allowed.sum(1))


def in_full(scores: Tensor) -> Tensor:
    """As float32, or float64 where they are that."""
    return scores.to(torch.promote_types(scores.dtype, torch.float32))


LARGEST = 1e6  # scores beyond count as this


class SubsetDistribution:
    """q(S) = product over S of exp(score), divided by its sum over all subsets of the same size (the conditional
    Bernoulli distribution; Vu, Phung, Haffari 2020, section 4). `most` is an upper bound of `sizes`, known without
    asking a GPU. Places that are not allowed change nothing, and their gradient is 0."""

    def __init__(self, scores: Tensor, allowed: Tensor, sizes: Tensor, most: int) -> None:
        """`scores` (row, place); `allowed` (row, place), True where a place may be chosen; `sizes` (row), each K."""
        refuse_impossible(allowed, sizes, most)
        self.asked, self.allowed, self.sizes = scores, allowed, possible_sizes(allowed, sizes, most)
        self._marginals: Tensor | None = None
        with torch.autocast(scores.device.type, enabled=False), torch.no_grad():
            self.scores = torch.where(allowed, in_full(scores).clamp(-LARGEST, LARGEST), -2 * LARGEST)
            self.thresholds = _thresholds(self.scores, allowed.sum(1), self.sizes, most)  # (row)
            self.leaning = self.scores - self.thresholds.unsqueeze(1)  # (row, place), a coin's log odds
            heads = torch.where(allowed, self.leaning.sigmoid(), 0).T
            tails = torch.where(allowed, self.leaning.neg().sigmoid(), 1).T
            # (row, place), the log probability of a coin's likelier side
            self.log_surer = torch.maximum(heads, tails).log().T
            self.levels = [_paired(torch.stack((tails, heads)))]
            while self.levels[-1].shape[1] > 1:
                self.levels.append(_paired(_sums(self.levels[-1], most)))
            # the log probability that the coins fall on heads just K times, (row)
            self.log_hit = _splits(self.levels[-1], self.sizes.unsqueeze(0)).sum(0).squeeze(0).log()

    def log_partition(self) -> Tensor:
        """The log of the sum over all subsets, (row). Its gradient is the marginals."""
        with torch.autocast(self.scores.device.type, enabled=False), torch.no_grad():
            # The sum over coins of log(1 + exp(leaning)), plus K thresholds. Large scores enter without the threshold,
            # and the logs are those of the numbers that the tree multiplied: both save digits.
            above = self.leaning > 0
            scores = torch.where(above, self.scores, 0).sum(1) + (self.sizes - above.sum(1)) * self.thresholds
            value = self.log_hit - self.log_surer.sum(1) + scores
        return self._with_slope(value, self.marginals()) if self._learns() else value

    def log_probability(self, chosen: Tensor) -> Tensor:
        """log q of the subset `chosen` (row, place), (row); -inf where that is not K allowed places."""
        with torch.autocast(self.scores.device.type, enabled=False), torch.no_grad():
            unlikely = torch.where(chosen, self.leaning, -self.leaning).clamp(max=0)
            coins = self.log_surer + torch.where(self.allowed, unlikely, 0)
            possible = (chosen.sum(1) == self.sizes) & ~(chosen & ~self.allowed).any(1)
            value = torch.where(possible, coins.sum(1) - self.log_hit, -torch.inf)
        if not self._learns():
            return value
        slope = torch.where(possible.unsqueeze(1), chosen.to(value.dtype) - self.marginals(), 0)
        return self._with_slope(value, slope)

    def marginals(self) -> Tensor:
        """The probability of each place to be chosen, (row, place), without a gradient: the tree walked downwards."""
        if self._marginals is None:  # not a cached_property, which torch.compile does not support before Python 3.12
            with torch.autocast(self.scores.device.type, enabled=False), torch.no_grad():
                heads = torch.arange(2 * len(self.levels[-1]) - 1, device=self.sizes.device)
                outer = (heads.unsqueeze(1) == self.sizes).to(self.scores.dtype).unsqueeze(1)  # (heads, node, row)
                for level in reversed(self.levels):
                    outer = _rest(level, outer[:, : level.shape[1]])
                joint = (self.levels[0].flatten(1, 2) * outer)[:, : self.scores.shape[1]]
                self._marginals = (joint[1] / joint.sum(0)).T
        return self._marginals.clone()

    def draw(self, generator: torch.Generator | None = None) -> Tensor:
        """Draw a subset for each row, (row, place), True where chosen: each node divides its heads between its
        sides."""
        with torch.autocast(self.scores.device.type, enabled=False), torch.no_grad():
            counts = self.sizes.unsqueeze(0)  # (node, row)
            for level in reversed(self.levels):
                counts = counts[: level.shape[1]]  # without the nodes that only made the number even
                left = _one_of(_splits(level, counts), generator)
                counts = torch.stack((left, counts - left), 1).flatten(0, 1)
            return counts[: self.scores.shape[1]].T.bool()

    def _learns(self) -> bool:
        return torch.is_grad_enabled() and self.asked.requires_grad

    def _with_slope(self, value: Tensor, slope: Tensor) -> Tensor:
        answer: Tensor = _KnownSlope.apply(in_full(self.asked), value, slope)  # type: ignore[no-untyped-call]
        return answer


def _paired(nodes: Tensor) -> Tensor:
    """Neighbours side by side, (heads, pair, side, row); a coin that never falls on heads makes their number even."""
    missing = max(2 - nodes.shape[1], nodes.shape[1] % 2)
    if missing:
        never = nodes.new_zeros(len(nodes), missing, nodes.shape[2])
        never[0] = 1
        nodes = torch.cat((nodes, never), 1)
    return nodes.reshape(len(nodes), nodes.shape[1] // 2, 2, nodes.shape[2])


def _sums(level: Tensor, most: int) -> Tensor:
    """The probabilities of the number of heads of both sides together, up to `most`, (heads, node, row)."""
    left, right = level.unbind(2)
    reach = len(level) - 1
    highest = min(2 * reach, most)
    right = F.pad(right, (0, 0, 0, 0, reach, highest - reach))
    windows = right.unfold(0, reach + 1, 1).movedim(-1, 1)  # (heads of both, heads of left, from most to none, ...)
    return (windows * left.flip(0)).sum(1)


def _rest(level: Tensor, outer: Tensor) -> Tensor:
    """For each child and number of its heads, the probability that all coins outside it make up K, (heads, child, row),
    from the same of the parents."""
    reach = len(level) - 1
    outer = F.pad(outer, (0, 0, 0, 0, 0, 2 * reach + 1 - len(outer)))
    windows = outer.unfold(0, reach + 1, 1).movedim(-1, 1)  # (heads of the child, heads of its sibling, node, row)
    return (windows.unsqueeze(3) * level.flip(2)).sum(1).flatten(1, 2)


def _splits(level: Tensor, counts: Tensor) -> Tensor:
    """The probability of each number of heads on the left, (heads, node, row), while both sides have `counts` (node,
    row)."""
    left, right = level.unbind(2)
    others = counts - torch.arange(len(level), device=counts.device).view(-1, 1, 1)
    possible = (others >= 0) & (others < len(level))
    return left * torch.where(possible, right.gather(0, others.clamp(0, len(level) - 1)), 0)


def _one_of(probabilities: Tensor, generator: torch.Generator | None) -> Tensor:
    """Draw along the first axis, (node, row), in proportion to probabilities that need not add up to 1."""
    # running sums of integers are exact: rounding could draw a place whose probability is 0
    running = (probabilities / probabilities.sum(0)).mul(2.0**40).ceil().long().cumsum(0)
    total = running[-1]
    lot = torch.rand(total.shape, dtype=probabilities.dtype, device=probabilities.device, generator=generator)
    return (running <= (lot * total).long().minimum(total - 1)).sum(0)


def _thresholds(scores: Tensor, counts: Tensor, sizes: Tensor, most: int) -> Tensor:
    """The threshold of each row, (row), under which about `sizes` coins fall on heads: it lies between the K-th and the
    next largest score, give or take log(K) and log(n - K), and three rounds of eight guesses find it."""
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


class _KnownSlope(torch.autograd.Function):
    """A number per row whose gradient by the scores is known already."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, value: Tensor, slope: Tensor) -> Tensor:
        ctx.save_for_backward(slope)
        return value.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            raise RuntimeError("SubsetDistribution can be differentiated only once: leave out create_graph=True.")
        (slope,) = ctx.saved_tensors
        return gradient.unsqueeze(1) * slope, None, None

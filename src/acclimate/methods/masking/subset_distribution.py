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
from dataclasses import dataclass
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


IMPOSSIBLE = -1e30  # finite, so that gradients are no NaN


class SequentialSubsetDistribution:
    """The same distribution place by place, as the paper has it (equations 11 to 14), in far more steps. It takes what
    `SubsetDistribution` takes, and leaves gradients to autograd. `paper_boundary` prints equation 12 as it is: another
    distribution, which depends on the order of the places and favours early ones."""

    def __init__(
        self, scores: Tensor, allowed: Tensor, sizes: Tensor, most: int, *, paper_boundary: bool = False
    ) -> None:
        refuse_impossible(allowed, sizes, most)
        self.allowed, self.sizes, self.most = allowed, possible_sizes(allowed, sizes, most), most
        with torch.autocast(scores.device.type, enabled=False):
            scores = torch.where(allowed, in_full(scores), 0).clamp(-LARGEST, LARGEST)
            # with the right boundary the probabilities of no cancel, and scores alone do
            self.yes = F.logsigmoid(scores) if paper_boundary else scores  # (row, place)
            self.no = F.logsigmoid(-scores) if paper_boundary else torch.zeros_like(scores)
            self.tables = self._tables()

    def _tables(self) -> list[Tensor]:
        """For each place, and for the end, the log sum over subsets of each size from there on, (row, left) each."""
        none_left = torch.arange(self.most + 1, device=self.yes.device) == 0  # (left)
        ahead = torch.where(none_left, self.yes.new_zeros(()), IMPOSSIBLE).expand(len(self.yes), -1)
        tables = [ahead]
        for yes, no, allowed in reversed(list(zip(self.yes.T, self.no.T, self.allowed.T, strict=True))):
            agree = yes.unsqueeze(1) + F.pad(ahead[:, :-1], (1, 0), value=IMPOSSIBLE)
            counted = torch.logaddexp(agree, no.unsqueeze(1) + ahead)
            ahead = torch.where(allowed.unsqueeze(1) & ~none_left, counted, ahead)
            tables.append(ahead)
        return tables[::-1]

    def log_partition(self) -> Tensor:
        """The log of the sum over all subsets of exponentiated scores, (row); with the paper's boundary, its log Z."""
        return self.tables[0].gather(1, self.sizes.unsqueeze(1)).squeeze(1)

    def log_probability(self, chosen: Tensor) -> Tensor:
        """The log probability of choosing these, (row); -inf where they are not K allowed places."""
        left = self.sizes.unsqueeze(1)  # (row, 1)
        total = self.yes.new_zeros(len(self.yes))
        for place, picked in enumerate(chosen.unbind(1)):
            total = total + torch.where(picked.unsqueeze(1), *self.choice(place, left)).squeeze(1)
            left = (left - picked.unsqueeze(1).long()).clamp(min=0)
        possible = (chosen.sum(1) == self.sizes) & ~(chosen & ~self.allowed).any(1)
        return torch.where(possible, total, -torch.inf)

    def marginals(self) -> Tensor:
        """The probability of each place to be chosen, (row, place)."""
        left = torch.arange(self.most + 1, device=self.yes.device).expand(len(self.yes), -1)
        reached = (left == self.sizes.unsqueeze(1)).to(self.yes.dtype)  # (row, left), the chance to come here so
        marginals = []
        for place in range(self.yes.shape[1]):
            log_yes, log_no = self.choice(place, left)
            picked = reached * log_yes.exp()
            marginals.append(picked.sum(1))
            reached = reached * log_no.exp() + F.pad(picked[:, 1:], (0, 1))
        return torch.stack(marginals, 1)

    def draw(self, generator: torch.Generator | None = None) -> Tensor:
        """Draw a subset for each row, (row, place), True where chosen."""
        with torch.no_grad():
            return gumbel_path(self, generator=generator).chosen

    def choice(self, place: int, left: Tensor) -> tuple[Tensor, Tensor]:
        """The log probabilities of yes and of no at a place while `left` (row, any) are to be chosen, in its shape."""
        here, ahead = self.tables[place].gather(1, left), self.tables[place + 1]
        agree = self.yes[:, place, None] + ahead.gather(1, (left - 1).clamp(min=0)) - here
        refuse = self.no[:, place, None] + ahead.gather(1, left) - here
        asked = self.allowed[:, place, None] & (left > 0)
        return torch.where(asked, agree.clamp(max=0), IMPOSSIBLE), torch.where(asked, refuse.clamp(max=0), 0)


@dataclass(frozen=True)
class GumbelPath:
    """One walk of Algorithm 2."""

    chosen: Tensor  # (row, place), True where the noisy choice was yes
    log_product: Tensor  # (row), log of the soft choices taken, up to the last pick and not beyond


def gumbel_path(
    distribution: SequentialSubsetDistribution, temperature: float = 1.0, generator: torch.Generator | None = None
) -> GumbelPath:
    """Draw a subset by Gumbel noise on the log probabilities of yes and no at each place, and soften each choice to a
    softmax of the same numbers (Algorithm 2, equations 15 and 16). Learning from `log_product` times a reward is
    biased; prefer the score function."""
    noise = _gumbel_difference(distribution, generator)
    left = distribution.sizes  # (row)
    log_product = distribution.yes.new_zeros(len(distribution.yes))
    chosen = []
    for place, allowed in enumerate(distribution.allowed.unbind(1)):
        log_yes, log_no = distribution.choice(place, left.unsqueeze(1))
        preference = ((log_yes - log_no).squeeze(1) + noise[:, place]) / temperature  # (row)
        asked = allowed & (left > 0)
        picked = asked & (preference > 0)
        taken = F.logsigmoid(torch.where(picked, preference, -preference))
        log_product = log_product + torch.where(asked, taken, 0)
        chosen.append(picked)
        left = left - picked.long()
    return GumbelPath(torch.stack(chosen, 1), log_product)


def _gumbel_difference(distribution: SequentialSubsetDistribution, generator: torch.Generator | None) -> Tensor:
    """The noise of yes less the noise of no, (row, place)."""
    waits = torch.empty(2, *distribution.allowed.shape, dtype=distribution.yes.dtype, device=distribution.yes.device)
    gumbel = -waits.exponential_(generator=generator).clamp(min=torch.finfo(waits.dtype).tiny).log()
    return gumbel[0] - gumbel[1]

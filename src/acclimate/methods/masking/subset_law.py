"""Choose just K of the allowed places of a row, each subset in proportion to its places' exponentiated scores."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from acclimate.methods.masking.hidden import Hidden
from acclimate.methods.masking.subset_tree import SubsetTree
from acclimate.methods.masking.subsets import as_hidden, in_full, possible_sizes, refuse_impossible


class SubsetLaw:
    """q(S) = product over S of exp(score), divided by the sum of that product over all subsets of the same size: coins
    of log odds `scores`, on the condition that K of them fall on heads (the conditional Bernoulli law).

    Vu, Phung, Haffari (EMNLP 2020), section 4, with the boundary that their Eq. 7 asks for and their Eq. 12 misses.
    `SequentialSubsetLaw` has theirs, and the Gumbel path of their Algorithm 2; for training prefer this one.

    `most` is an upper bound of `sizes` that the caller knows without asking the device: so nothing ever waits for a
    GPU. A row of more choices than places is refused on the CPU; on a GPU, where looking would mean waiting, and inside
    torch.compile, such a row gives all its places, or `most` of them.

    All is computed in float32 (float64 when given float64), also inside autocast. What stands at places that are not
    allowed, NaN included, changes nothing, and its gradient is zero.
    """

    def __init__(self, scores: Tensor, allowed: Tensor, sizes: Tensor, most: int) -> None:
        """`scores` (row, place); `allowed` (row, place), True where a place may be chosen; `sizes` (row), each K."""
        refuse_impossible(allowed, sizes, most)
        self.scores, self.allowed, self.most = scores, allowed, most
        self.sizes = possible_sizes(allowed, sizes, most)
        self._marginals: Tensor | None = None
        with torch.autocast(scores.device.type, enabled=False), torch.no_grad():
            self._tree = SubsetTree(in_full(scores), allowed, self.sizes, most)

    def log_partition(self) -> Tensor:
        """The log of the sum over all subsets, (row). Its gradient is the marginals."""
        with torch.autocast(self.scores.device.type, enabled=False):
            value = self._tree.log_partition()
            return _handed_over(self.scores, value, self.marginals()) if self._learns() else value

    def log_probability(self, chosen: Tensor) -> Tensor:
        """log q of the subset that is True in `chosen` (row, place), (row); -inf where that is not K allowed places.
        Its gradient is `chosen` less the marginals: learning from rewards needs no more (the score function)."""
        with torch.autocast(self.scores.device.type, enabled=False):
            value = self._tree.log_probability(chosen)
            return with_slope(self.scores, value, chosen, self.marginals()) if self._learns() else value

    def marginals(self) -> Tensor:
        """The chance of each place to be chosen, (row, place), K in sum; numbers without a gradient of their own."""
        if self._marginals is None:  # not a cached_property: before Python 3.12 torch.compile cannot enter its lock
            with torch.autocast(self.scores.device.type, enabled=False), torch.no_grad():
                self._marginals = self._tree.marginals()
        return self._marginals.clone()

    def sample(self, generator: torch.Generator | None = None) -> Hidden:
        """Draw a subset for each row, as places to hide."""
        return as_hidden(self.draw(generator), self.most)

    def draw(self, generator: torch.Generator | None = None) -> Tensor:
        """Draw a subset for each row, (row, place), True where chosen."""
        with torch.autocast(self.scores.device.type, enabled=False), torch.no_grad():
            return self._tree.draw(generator)

    def _learns(self) -> bool:
        return torch.is_grad_enabled() and self.scores.requires_grad


def with_slope(scores: Tensor, value: Tensor, chosen: Tensor, marginals: Tensor) -> Tensor:
    """The log probability of what was chosen (row), with its gradient by the scores; none where it is impossible."""
    possible = ~value.isneginf().unsqueeze(1)
    return _handed_over(scores, value, torch.where(possible, chosen.to(value.dtype) - marginals, 0))


def _handed_over(scores: Tensor, value: Tensor, slope: Tensor) -> Tensor:
    # autograd, recording it, would keep every level of the tree and take up to twice as long
    answer: Tensor = _KnownSlope.apply(in_full(scores), value, slope)  # type: ignore[no-untyped-call]
    return answer


class _KnownSlope(torch.autograd.Function):
    """A number per row whose gradient by the scores is known already."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, value: Tensor, slope: Tensor) -> Tensor:
        ctx.save_for_backward(slope)
        return value.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # create_graph=True: the slope would silently pass for a constant
            raise RuntimeError("SubsetLaw can be differentiated only once: leave out create_graph=True.")
        (slope,) = ctx.saved_tensors
        return gradient.unsqueeze(1) * slope, None, None

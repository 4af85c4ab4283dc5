"""A draw from the subset distribution, with all that learning from it takes, in one stretch that a GPU can replay."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from acclimate.methods.masking.subset_distribution import SubsetDistribution, in_full, with_slope
from acclimate.model.cuda_graphs.graph_cache import GraphCache

_WIDTHS, _SIZES = 32, 8  # on a GPU rows are widened to multiples of these: then few graphs serve all batches


class QuickDraw:
    """The distribution's tree is some two hundred small steps, which on a GPU take longer to ask for than to do."""

    def __init__(self) -> None:
        self.graphs = GraphCache(most=16)

    def __call__(
        self, scores: Tensor, allowed: Tensor, sizes: Tensor, most: int, learns: bool
    ) -> tuple[Tensor, Tensor | None]:
        """A subset of each row (row, place), True where chosen; and, to learn from, its log probability (row). As
        `SubsetDistribution` gives both, with its gradient."""
        length = allowed.shape[1]
        numbers = in_full(scores).detach()
        places = allowed
        if allowed.device.type == "cuda":
            numbers, places, most = widened(numbers, allowed, most)

        def work(scores: Tensor, allowed: Tensor, sizes: Tensor) -> tuple[Tensor, ...]:
            distribution = SubsetDistribution(scores, allowed, sizes, most)
            chosen = distribution.draw()
            return (chosen, distribution.log_probability(chosen), distribution.marginals()) if learns else (chosen,)

        with torch.no_grad():
            chosen, *lesson = self.graphs((most, learns), work, numbers, places, sizes)
            chosen = chosen[:, :length]
        if not learns:
            return chosen, None
        value, marginals = lesson
        return chosen, with_slope(scores, value, chosen, marginals[:, :length])


def widened(scores: Tensor, allowed: Tensor, most: int) -> tuple[Tensor, Tensor, int]:
    """The same question with places that are not allowed at its end."""
    wider = -allowed.shape[1] % _WIDTHS
    most = min(most + -most % _SIZES, allowed.shape[1] + wider)
    return pad(scores, (0, wider)), pad(allowed, (0, wider)), most

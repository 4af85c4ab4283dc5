"""Hide what the language model itself is least sure of (Vu, Phung, Haffari 2020, section 5: strategy "entropy")."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Literal

import torch
from torch import Tensor

from acclimate.methods.masking.masked_batch import MaskedBatch, looking
from acclimate.methods.masking.policy import Policy, gumbel_like
from acclimate.model.cuda_graphs.cast_weights import cast_module
from acclimate.model.language_model import MlmHead

# places whose scores of the whole vocabulary are in memory together
_AT_ONCE = {"cpu": 256, "cuda": 2048}
# those of them whose entropies are found together: a CPU likes what fits into its cache, and large pieces of memory it
# gets from the system anew each time
_FEW = {"cpu": 32}


class Entropy(Policy):
    """One reading of the text as it is tells how unsure the guesser is at each piece.

    `proportional` draws without replacement in proportion to the entropies, so that masks change from pass to pass;
    `top` takes the highest, always the same for the same weights. The paper says the second, its code does the first
    (with replacement).
    """

    name = "entropy"

    def __init__(self, choice: Literal["proportional", "top"] = "proportional") -> None:
        super().__init__()
        self.choice = choice

    @torch.no_grad()
    def forward(self, batch: MaskedBatch) -> Tensor:
        _, mlm_head = batch.model
        with looking(batch.pieces.device, batch.quick):
            entropies = batch.per_place(entropies_of(mlm_head, batch.states))
        if self.choice == "top":
            return entropies
        return entropies.clamp(min=1e-6).log() + gumbel_like(entropies)


@torch.no_grad()
def entropies_of(mlm_head: MlmHead, states: Tensor, at_once: int | None = None) -> Tensor:
    """Entropy in nats of the guesser's distribution at every place (row, piece), from states (row, piece, feature). The
    scores of the vocabulary are made and forgotten some places at a time."""
    kind = states.device.type
    flat = states.flatten(0, -2)
    at_once = at_once or _AT_ONCE.get(kind, 1024)
    few = _FEW.get(kind, at_once)
    parts: list[Tensor] = []
    with ExitStack() as stack:
        if torch.is_autocast_enabled(kind):
            # the table of pieces is cast once, not for each part
            flat = flat.to(torch.get_autocast_dtype(kind))
            stack.enter_context(cast_module(mlm_head, flat.dtype))
        for start in range(0, len(flat), at_once):
            scores = mlm_head(flat[start : start + at_once])
            parts += [entropy(scores[first : first + few]) for first in range(0, len(scores), few)]
    return torch.cat(parts).view(states.shape[:-1])


def entropy(scores: Tensor) -> Tensor:
    """Of the softmax over the last axis, in few passes: they cost as much as the product that the scores come from."""
    scores = scores.float()
    away = scores - scores.amax(-1, keepdim=True)
    weights = away.exp()
    total = weights.sum(-1)
    mean: Tensor = torch.linalg.vecdot(weights, away) / total  # einsum is slower on a CPU
    return total.log() - mean

"""Hide what the language model itself is least sure of (Vu, Phung, Haffari 2020, section 5: strategy "entropy")."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from acclimate.methods.masking.entropy_kernel import in_one_reading
from acclimate.methods.masking.masked_batch import MaskedBatch, looking
from acclimate.methods.masking.policy import Policy, gumbel_like
from acclimate.model.cuda_graphs.cast_weights import cast_module
from acclimate.model.cuda_graphs.graph_cache import GraphCache
from acclimate.model.language_model import MlmHead

_BLOCK = 64  # scores
_PLACES = 512  # on a GPU their number is rounded up to a multiple of this
_IMPOSSIBLE = -1e4  # a score that no chance is left to; not infinite, since 0 times that is no number
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
        self.end()

    def end(self) -> None:
        self.graphs = GraphCache(most=16, on_second_use=True)

    @torch.no_grad()
    def forward(self, batch: MaskedBatch) -> Tensor:
        _, mlm_head = batch.model
        with looking(batch.pieces.device, batch.quick):
            entropies = batch.per_place(self._entropies(mlm_head, batch.states))
        if self.choice == "top":
            return entropies
        return entropies.clamp(min=1e-6).log() + gumbel_like(entropies)

    def _entropies(self, mlm_head: MlmHead, states: Tensor) -> Tensor:
        """On a GPU as a CUDA graph, with places behind them that nobody asks for: then few graphs serve all batches."""
        kind = states.device.type
        if kind != "cuda":
            return entropies_of(mlm_head, states)

        def work(states: Tensor) -> tuple[Tensor]:
            return (entropies_of(mlm_head, states),)

        flat = states.flatten(0, -2)
        narrow = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
        key = (
            "entropies",
            narrow,
            *(weight.data_ptr() for weight in mlm_head.parameters()),
        )  # others, another graph
        (found,) = self.graphs(key, work, functional.pad(flat, (0, 0, 0, -len(flat) % _PLACES)))
        return found[: len(flat)].view(states.shape[:-1])


@torch.no_grad()
def entropies_of(mlm_head: MlmHead, states: Tensor, at_once: int | None = None) -> Tensor:
    """Entropy in nats of the guesser's distribution at every place (row, piece), from states (row, piece, feature). The
    scores of the vocabulary are made and forgotten some places at a time."""
    kind = states.device.type
    flat = states.flatten(0, -2)
    at_once = at_once or _AT_ONCE.get(kind, 1024)
    few = _FEW.get(kind, at_once)
    parts: list[Tensor] = []
    with ExitStack() as narrowed:
        if torch.is_autocast_enabled(kind):
            # the table of pieces is narrowed once, not for each part
            flat = flat.to(torch.get_autocast_dtype(kind))
            narrowed.enter_context(cast_module(mlm_head, flat.dtype))
            if kind == "cuda":
                narrowed.enter_context(in_whole_blocks(mlm_head))
        for start in range(0, len(flat), at_once):
            scores = mlm_head(flat[start : start + at_once])
            found = in_one_reading(scores)
            if found is None:
                parts += [entropy(scores[first : first + few]) for first in range(0, len(scores), few)]
            else:
                parts.append(found)
    return torch.cat(parts).view(states.shape[:-1])


@contextmanager
def in_whole_blocks(mlm_head: MlmHead) -> Iterator[None]:
    """Inside, the guesser scores a few pieces more, which do not exist and are impossible: products of matrices are
    slow on a GPU where rows do not end at a whole block of memory."""
    *others, last = (layer for layer in mlm_head.modules() if isinstance(layer, nn.Linear))
    more = -last.out_features % _BLOCK
    # a head may put its table together from several (MobileBERT): then it is left alone
    pieced = any(last.out_features in (other.in_features, other.out_features) for other in others)
    if last.bias is None or not more or pieced:
        yield
        return
    names = ("weight", "bias")
    before: dict[str, Tensor] = {name: last.__dict__[name] for name in names if name in last.__dict__}
    last.__dict__ |= {
        "weight": functional.pad(last.weight, (0, 0, 0, more)),
        "bias": functional.pad(last.bias, (0, more), value=_IMPOSSIBLE),
    }
    try:
        yield
    finally:
        for name in names:
            del last.__dict__[name]
        last.__dict__ |= before


def entropy(scores: Tensor) -> Tensor:
    """Of the softmax over the last axis, in few passes: they cost as much as the product that the scores come from."""
    scores = scores.float()
    away = scores - scores.amax(-1, keepdim=True)
    weights = away.exp()
    total = weights.sum(-1)
    mean: Tensor = torch.linalg.vecdot(weights, away) / total  # einsum is slower on a CPU
    return total.log() - mean

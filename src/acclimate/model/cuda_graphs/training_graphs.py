"""CUDA graphs for a training: passes of pre-trained encoders and sums of heads, the learner's and its teachers'."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from acclimate.model.cuda_graphs.encoder_graphs import EncoderGraphs
from acclimate.model.cuda_graphs.graph_cache import GraphCache
from acclimate.model.encoders.encoder import Acceleration
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.heads import linear_chain
from acclimate.model.heads.linear_chain import Boundary

Result = TypeVar("Result")
_BUCKET = 8  # sentences and words are rounded up to multiples of this
_UNDER_WAY = 4  # numbers on their way to the CPU; then the first of them is waited for


class ChainGraphs:
    """The functions of `linear_chain` for one head. Marginals are differentiable once."""

    def __init__(self, cache: GraphCache | None = None) -> None:
        self.cache = cache or GraphCache(most=64, on_second_use=True)
        self.spread = AsyncScalar()

    def __call__(self, work: Callable[..., Any], *inputs: Tensor | None) -> Any:
        """`work(*inputs)`, a function of `linear_chain`."""
        known: dict[Callable[..., Any], Callable[..., Any]] = {
            linear_chain.log_partition: self.log_partition,
            linear_chain.marginals: self.marginals,
            linear_chain.best_path: self.best_path,
        }
        return known.get(work, work)(*inputs)

    def log_partition(
        self, scores: Tensor, transitions: Tensor, mask: Tensor, start: Boundary = None, end: Boundary = None
    ) -> Tensor:
        return linear_chain.log_partition(scores, transitions, mask, start, end, self._partition_and_counts)

    def marginals(
        self, scores: Tensor, transitions: Tensor, mask: Tensor, start: Boundary = None, end: Boundary = None
    ) -> Tensor:
        return linear_chain.marginals(scores, transitions, mask, start, end, self._word_marginals)

    @torch.no_grad()
    def best_path(
        self, scores: Tensor, transitions: Tensor, mask: Tensor, start: Boundary = None, end: Boundary = None
    ) -> tuple[Tensor, Tensor]:
        given = (scores, transitions, mask, start, end)
        tags, totals = self._bucketed("best path", linear_chain.best_path, *given)
        return tags[:, : scores.shape[1]], totals

    def _partition_and_counts(
        self, scores: Tensor, transitions: Tensor, mask: Tensor, start: Boundary, end: Boundary
    ) -> tuple[Tensor, Tensor, Tensor]:
        period = self._period(transitions)
        work = partial(linear_chain.partition_and_counts, period=period)
        total, words, moves = self._bucketed(f"partition {period}", work, scores, transitions, mask, start, end)
        return total, words[:, : scores.shape[1]], moves

    def _word_marginals(
        self, scores: Tensor, transitions: Tensor, mask: Tensor, start: Boundary, end: Boundary
    ) -> Tensor:
        period = self._period(transitions)
        work, given = partial(linear_chain.word_marginals, period=period), (scores, transitions, mask, start, end)
        if torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in given):
            key = (f"marginals {period}", start is None, end is None, scores.device)
            whole = _without_absent(work, start, end)
            words = self.cache.with_gradient(key, whole, *pad_to_bucket(*given))[: len(scores)]
        else:
            (words,) = self._bucketed(f"marginals {period}", lambda *inputs: (work(*inputs),), *given)
        return words[:, : scores.shape[1]]

    def _bucketed(
        self,
        name: str,
        work: Callable[..., tuple[Tensor, ...]],
        scores: Tensor,
        transitions: Tensor,
        mask: Tensor,
        start: Boundary,
        end: Boundary,
    ) -> tuple[Tensor, ...]:
        """The work on padded sentences, without gradient. Results may be longer than the sentences."""
        key = (name, start is None, end is None, scores.device)
        given = pad_to_bucket(scores, transitions, mask, start, end)
        return tuple(result[: len(scores)] for result in self.cache(key, _without_absent(work, start, end), *given))

    def _period(self, transitions: Tensor) -> int:
        # the number is an update or two old, but transitions move slowly: half as much again is enough
        spread = 1.5 * self.spread((transitions.max() - transitions.min()).detach())
        period = linear_chain.rescaling_period(transitions, spread)
        return 1 << period.bit_length() - 1 if period else 0  # powers of 2: fewer graphs


def pad_to_bucket(
    scores: Tensor, transitions: Tensor, mask: Tensor, start: Boundary, end: Boundary
) -> tuple[Tensor, ...]:
    """The arguments of a chain with empty sentences and padding at the end."""
    more, wider = (-size % _BUCKET for size in scores.shape[:2])
    ends = (tensor for tensor in (start, end) if tensor is not None)
    return pad(scores, (0, 0, 0, wider, 0, more)), transitions, pad(mask, (0, wider, 0, more)), *ends


def _without_absent(work: Callable[..., Result], start: Boundary, end: Boundary) -> Callable[..., Result]:
    """The work on tensors alone."""

    def whole(scores: Tensor, transitions: Tensor, mask: Tensor, *ends: Tensor) -> Result:
        given = iter(ends)
        first = None if start is None else next(given)
        return work(scores, transitions, mask, first, None if end is None else next(given))

    return whole


class AsyncScalar:
    """A slowly changing number on a GPU, read without waiting: the answer is a few calls old."""

    def __init__(self) -> None:
        self.known: float | None = None
        self.coming: deque[tuple[Tensor, torch.cuda.Event]] = deque()

    def __call__(self, number: Tensor) -> float:
        if number.device.type != "cuda":
            self.known = float(number)
            return self.known
        place = torch.empty(number.shape, dtype=number.dtype, pin_memory=True)
        place.copy_(number.detach(), non_blocking=True)
        arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]
        arrived.record()
        self.coming.append((place, arrived))
        while self.coming:
            place, arrived = self.coming[0]
            must_wait = self.known is None or len(self.coming) > _UNDER_WAY
            if not must_wait and not arrived.query():  # type: ignore[no-untyped-call]
                break
            self.coming.popleft()
            arrived.synchronize()
            self.known = float(place)
        assert self.known is not None
        return self.known


class TrainingGraphs(Acceleration):
    """The graphs of every encoder and head of a step. The learner's graphs last from stage to stage, as capturing is
    slow. `settings` are for `EncoderGraphs`."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        # by the address of the model or of the head, which is kept so that no other module gets its address
        self.encoders: dict[int, EncoderGraphs] = {}
        self.chains: dict[int, tuple[nn.Module, ChainGraphs]] = {}

    @contextmanager
    def step(self) -> Iterator[None]:
        self.release()
        with super().step():
            yield

    def run(self, module: nn.Module, work: Callable[..., Any], *inputs: Any) -> Any:
        if not isinstance(module, Transformer):
            _, chain = self.chains.setdefault(id(module), (module, ChainGraphs()))
            return chain(work, *inputs)
        graphs = self.encoders.get(id(module.model))
        if graphs is None:
            graphs = self.encoders[id(module.model)] = EncoderGraphs(module, **self.settings)
        return graphs(work, *inputs)

    def release(self) -> None:
        """A new step begins: no gradient of the last one is needed any more."""
        for graphs in self.encoders.values():
            graphs.release()
        for _, chain in self.chains.values():
            chain.cache.release()

    def end_stage(self, learner: nn.Module) -> None:
        """Keep the learner's graphs only."""
        self.release()
        own = {id(part.model) if isinstance(part, Transformer) else id(part) for part in learner.modules()}
        self.encoders = {address: graphs for address, graphs in self.encoders.items() if address in own}
        self.chains = {address: chain for address, chain in self.chains.items() if address in own}

    def forget(self) -> None:
        self.encoders, self.chains = {}, {}

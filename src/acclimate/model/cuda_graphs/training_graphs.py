"""CUDA graphs for a training: passes of pre-trained encoders and sums of heads, the learner's and its teachers'."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from torch import Tensor, nn

from acclimate.model.acceleration import Acceleration, Read
from acclimate.model.cuda_graphs.chain_graphs import ChainGraphs
from acclimate.model.cuda_graphs.encoder_graphs import EncoderGraphs
from acclimate.model.encoders.transformer import Transformer

Result = TypeVar("Result")


class TrainingGraphs(Acceleration):
    """The graphs of every encoder and head that a step asks. Encoders that share a model share its graphs.

    A stage goes on with the learner's graphs of the stage before: to capture a shape takes as long as a few updates,
    and rounds are short. `settings` are for `EncoderGraphs`.
    """

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        # by the address of the model, or of the head; both are held, or another module might get an address
        self.encoders: dict[int, EncoderGraphs] = {}
        self.chains: dict[int, tuple[nn.Module, ChainGraphs]] = {}

    @contextmanager
    def step(self) -> Iterator[None]:
        self.release()
        with super().step():
            yield

    def states(self, encoder: Transformer, read: Read, inputs: Tensor, attention: Tensor | None) -> Tensor:
        graphs = self.encoders.get(id(encoder.model))
        if graphs is None:
            graphs = self.encoders[id(encoder.model)] = EncoderGraphs(encoder, **self.settings)
        return graphs(read, inputs, attention)

    def chain(self, head: nn.Module, work: Callable[..., Result], *inputs: Tensor | None) -> Result:
        _, graphs = self.chains.setdefault(id(head), (head, ChainGraphs()))
        result: Result = graphs(work, *inputs)
        return result

    def release(self) -> None:
        """Nobody asks for a gradient of the last step's work any more."""
        for graphs in self.encoders.values():
            graphs.release()
        for _, chain in self.chains.values():
            chain.cache.release()

    def end_stage(self, learner: nn.Module) -> None:
        """The learner's graphs stay; teachers are other ones in the next stage."""
        self.release()
        own = {id(part.model) if isinstance(part, Transformer) else id(part) for part in learner.modules()}
        self.encoders = {address: graphs for address, graphs in self.encoders.items() if address in own}
        self.chains = {address: chain for address, chain in self.chains.items() if address in own}

    def forget(self) -> None:
        self.encoders, self.chains = {}, {}

"""What every encoder offers, so that a method never has to ask which one it has; and the one place where a step may be
made faster without changing what it computes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from torch import Tensor, nn

from acclimate.data.corpus import Sentence
from acclimate.data.pieces import Pieces
from acclimate.model.parts import PIECES_AT_ONCE, count_pieces

Inputs = Mapping[str, Tensor]
Embeddings = Mapping[str, Tensor]


@dataclass(frozen=True)
class Change:
    """One word of a batch that is read as another one, or hidden."""

    sentence: int
    word: int  # its place in the sentence
    number: int  # its place among all words of the batch
    by: str | None  # None: hidden


@dataclass(frozen=True)
class Rows:
    """The rows of one embedding."""

    owners: Tensor  # (row), the sentence of each row
    inside: Tensor  # (row, place), False on padding


class Encoder(nn.Module):
    """Sentences → numbers → embeddings → one feature vector per word. Adversarial methods put noise on embeddings."""

    width: int  # of the features
    shared_width: int  # of their last part, which both domains share; all of it without a private part
    vocabulary_size: int | None = None  # number of word pieces, where such are read
    pieces: Pieces | None = None  # how words become pieces, where such are read
    pieces_at_once = PIECES_AT_ONCE  # the largest batch on a CPU

    @property
    def sentence_width(self) -> int:
        return self.width

    def tensorize(self, sentences: Sequence[Sentence]) -> dict[str, Tensor]:
        """Sentences as tensors on the CPU. `lengths` (sentence) stays there."""
        raise NotImplementedError

    def count_pieces(self, sentences: Iterable[Sentence]) -> list[int] | None:
        """The length of each sentence in pieces; None where no pieces are read."""
        return count_pieces(self.pieces, sentences)

    def drawn(self, inputs: Inputs) -> Inputs:
        """The inputs of one training update, with some words at random replaced by the unknown word."""
        return inputs

    def embed(self, inputs: Inputs, but: Collection[str] = ()) -> dict[str, Tensor]:
        """The embeddings by name: `words` and `characters` (and `context`), or `pieces`; without those in `but`."""
        raise NotImplementedError

    def embedding_parameters(self) -> list[nn.Parameter]:
        """What `embed` uses, and nothing else does."""
        raise NotImplementedError

    def last_layer(self, embeddings: Embeddings, inputs: Inputs) -> Tensor:
        """What features and sentence vectors are made from."""
        raise NotImplementedError

    def features_of(self, states: Tensor, inputs: Inputs) -> Tensor:
        """Features (sentence, word, feature) from the last layer."""
        return states

    def sentence_vectors(self, states: Tensor, inputs: Inputs) -> Tensor:
        """One vector per sentence, (sentence, size), from the last layer."""
        raise NotImplementedError

    def split(self, shared: int | None = None, private: int | None = None) -> None:
        """Replace the last layer by a shared and a private one with new weights; half the width each by default."""
        raise NotImplementedError

    def sibling(self, text: Iterable[Sentence], vectors: str | None = None) -> Encoder:
        """An encoder with its own words for this text, and all other parts shared."""
        raise NotImplementedError

    def embedding_rows(self, inputs: Inputs) -> dict[str, Rows]:
        """The rows of each embedding; an error where sentences share some (see `stand_alone`)."""
        raise NotImplementedError

    def stand_alone(self, alone: bool = True) -> None:
        """Whether no row of an embedding may be shared between sentences."""

    def replaced(self, inputs: Inputs, changes: Sequence[Change], originals: Sequence[Sentence] = ()) -> Inputs:
        """The inputs with some words hidden or replaced, given `originals` also in contextual features."""
        raise NotImplementedError

    def vectors_of(self, words: Sequence[str]) -> Tensor:
        """The vector of each word in the embedding table, (word, size)."""
        raise NotImplementedError

    def sizes_of(self, words: Sequence[str]) -> list[int]:
        """Words of the same size may replace each other."""
        return [1] * len(words)

    def rows_of(self, words: Sequence[str]) -> list[int | None]:
        """A number for each word: the same for words that are read alike, None for unknown words."""
        raise NotImplementedError

    def description(self) -> dict[str, Any]:
        """What `from_description` needs besides the weights, as JSON."""
        raise NotImplementedError

    def save_extras(self, folder: Path) -> None:
        """Write files beside the weights: vocabularies, tokenizers, frozen parts."""


Result = TypeVar("Result")
Read = Callable[[Tensor, Tensor | None], Tensor]
"""Rows of pieces (row, piece) or of embeddings (row, piece, width), and attention (row, piece) → states."""


class Acceleration:
    """How encoders and heads do their work in a step. This one does it plainly; `model/cuda_graphs` has others."""

    @contextmanager
    def step(self) -> Iterator[None]:
        """Around one forward call of a `TrainingStep`: inside, all encoders and heads use this acceleration."""
        before = _ACTIVE.set(self)
        try:
            yield
        finally:
            _ACTIVE.reset(before)

    def run(self, module: nn.Module, work: Callable[..., Result], *inputs: Tensor | None) -> Result:
        """`work(*inputs)`: a pass of an encoder (`Read`), or a function of `linear_chain` for a head."""
        return work(*inputs)

    def end_stage(self, learner: nn.Module) -> None:
        """A stage is over; what belongs to the learner may be kept for the next one."""


_ACTIVE: ContextVar[Acceleration] = ContextVar("acceleration", default=Acceleration())  # noqa: B039


def active_acceleration() -> Acceleration:
    """That of the current step, or the plain one."""
    return _ACTIVE.get()


def accelerated(module: nn.Module, work: Callable[..., Result], *inputs: Tensor | None) -> Result:
    """`work(*inputs)`, in the way of the current step."""
    return active_acceleration().run(module, work, *inputs)

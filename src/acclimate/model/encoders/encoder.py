"""What every encoder offers, so that a method never has to ask which one it has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from acclimate.data.corpus import Sentence

Inputs = Mapping[str, Tensor]
Embeddings = Mapping[str, Tensor]


class Encoder(nn.Module):
    """Sentences → numbers → embeddings → one feature vector per word.

    The middle step is apart because that is where adversarial methods put their noise: `encode` takes the embeddings
    as they are handed in.
    """

    width: int  # of the features
    # the most that a CPU reads at once where pieces are read: it gains nothing from large batches, smaller ones are
    # padded less and stay in its cache (6 layers of width 384 read half as many words again per second as with 8,192)
    pieces_at_once = 1024

    def number(self, sentences: Sequence[Sentence]) -> dict[str, Tensor]:
        """Sentences as tensors on the CPU. `lengths` (sentence) stays there; the rest may travel."""
        raise NotImplementedError

    def count_pieces(self, sentences: Iterable[Sentence]) -> list[int] | None:
        """How many pieces each sentence is read as: what its place in a batch costs. None where none are read, and
        words tell the price."""
        return None

    def embed(self, inputs: Inputs) -> dict[str, Tensor]:
        """The continuous inputs by name: `words`, `characters` or `pieces`."""
        raise NotImplementedError

    def encode(self, embeddings: Embeddings, inputs: Inputs) -> Tensor:
        """Features (sentence, word, feature)."""
        raise NotImplementedError

    def shared(self, features: Tensor) -> Tensor:
        """The part of the features that both domains have in common: all of them, unless an encoder has private
        parts."""
        return features

    def description(self) -> dict[str, Any]:
        """What `from_description` needs, weights apart, as plain JSON."""
        raise NotImplementedError

    def save_extras(self, folder: Path) -> None:
        """Files beside the weights: vocabularies, tokenizers, frozen parts."""

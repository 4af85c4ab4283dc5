"""What every encoder offers, so that a method never has to ask which one it has."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from acclimate.data.corpus import Sentence
from acclimate.data.pieces import Window, overlapping
from acclimate.model.parts import LONGEST_PART, PIECES_AT_ONCE, SHARED_PART

Inputs = Mapping[str, Tensor]
Embeddings = Mapping[str, Tensor]


@dataclass(frozen=True)
class Change:
    """One word of a batch that is read as another one, or hidden."""

    sentence: int
    word: int  # its place in the sentence
    number: int  # its place among all words of the batch, counted through
    by: str | None  # None: hidden


class Encoder(nn.Module):
    """Sentences → numbers → embeddings → one feature vector per word.

    The middle step is apart because that is where adversarial methods put their noise: `encode` takes the embeddings
    as they are handed in.
    """

    width: int  # of the features
    vocabulary_size: int | None = None  # of pieces, where such are read
    # the most that a CPU reads at once where pieces are read: it gains nothing from large batches, smaller ones are
    # padded less and stay in its cache (6 layers of width 384 read half as many words again per second as with 8,192)
    pieces_at_once = PIECES_AT_ONCE
    longest_part = LONGEST_PART  # the longest sentence that is tagged in one part: words, or what `count_pieces` counts
    shared_part = SHARED_PART  # of it, by which neighbouring parts overlap

    def tensorize(self, sentences: Sequence[Sentence]) -> dict[str, Tensor]:
        """Sentences as tensors on the CPU. `lengths` (sentence) stays there; the rest may travel."""
        raise NotImplementedError

    def count_pieces(self, sentences: Iterable[Sentence]) -> list[int] | None:
        """How many pieces each sentence is read as: what its place in a batch costs. None where none are read, and
        words tell the price."""
        return None

    def parts(self, sentence: Sentence) -> list[Window]:
        """A sentence longer than `longest_part` in overlapping parts, each with the words that it decides on."""
        return overlapping([1] * len(sentence), self.longest_part, self.shared_part)

    def drawn(self, inputs: Inputs) -> Inputs:
        """The inputs as they are read in one update: what is left to chance before the embeddings is settled here, so
        that a second reading of the same sentences reads the same words."""
        return inputs

    def embed(self, inputs: Inputs, but: Collection[str] = ()) -> dict[str, Tensor]:
        """The continuous inputs by name: `words` and `characters` (and `context`), or `pieces`; `but` some of them."""
        raise NotImplementedError

    def embedding_parameters(self) -> list[nn.Parameter]:
        """What `embed` uses, and nothing else does: the loss depends on it through the embeddings alone."""
        raise NotImplementedError

    def first_pieces(self, inputs: Inputs) -> Tensor | None:
        """The first piece of each word as it is read, (sentence, word); None where no pieces are read."""
        return None

    @property
    def shared_width(self) -> int:
        """Of the part of the features that both domains have in common: the last so many, or all of them."""
        return self.width

    def last_layer(self, embeddings: Embeddings, inputs: Inputs) -> Tensor:
        """What features and sentence vectors are made from: the features themselves, unless pieces are read."""
        raise NotImplementedError

    def features_of(self, states: Tensor, inputs: Inputs) -> Tensor:
        """Features (sentence, word, feature) from the last layer."""
        return states

    def encode(self, embeddings: Embeddings, inputs: Inputs) -> Tensor:
        """Features (sentence, word, feature): the last layer and what follows it."""
        return self.features_of(self.last_layer(embeddings, inputs), inputs)

    def sentence_vectors(self, states: Tensor, inputs: Inputs) -> Tensor:
        """One vector for each whole sentence, (sentence, size), from the last layer."""
        raise NotImplementedError

    @property
    def sentence_width(self) -> int:
        """Of the sentence vectors."""
        return self.width

    def split(self, shared: int | None = None, private: int | None = None) -> None:
        """Give the encoder a last layer with a part of its own beside the one that it shares; `width` changes. New
        weights are drawn. Sizes that are not given are chosen to fit; a private part of size 0 is none."""
        raise NotImplementedError

    def sibling(self, text: Iterable[Sentence], vectors: str | None = None) -> Encoder:
        """Another encoder for the words of this text: what belongs to the words is new, the rest is the very same.
        `vectors` are the words' own, where there is a table of words."""
        raise NotImplementedError

    def owners(self, inputs: Inputs) -> dict[str, Tensor]:
        """To which sentence each row of each embedding belongs. Rows that several sentences share have no owner, and
        asking for it is an error."""
        raise NotImplementedError

    def inside(self, inputs: Inputs) -> dict[str, Tensor]:
        """Which places of each embedding hold something: (row, place), False on padding."""
        raise NotImplementedError

    def stand_alone(self, alone: bool = True) -> None:
        """From now on no row of an embedding is shared between sentences; or where it saves time, it is again."""

    def replaced(self, inputs: Inputs, changes: Sequence[Change], originals: Sequence[Sentence] = ()) -> Inputs:
        """The inputs with some words hidden or read as others; every embedding keeps its rows.

        Frozen features of the context stay as they were, and there the old word shows through. Given the `originals`,
        the sentences before the change, they are made anew.
        """
        raise NotImplementedError

    def vectors_of(self, words: Sequence[str]) -> Tensor:
        """What is known of each word apart from any sentence, (word, size), as it stands in the table."""
        raise NotImplementedError

    def sizes_of(self, words: Sequence[str]) -> list[int]:
        """Words of the same size may take each other's place (`replaced`)."""
        return [1] * len(words)

    def rows_of(self, words: Sequence[str]) -> list[int | None]:
        """Which words are told apart (`vectors_of`): those that are read alike have the same number, and a word that is
        read as unknown has none."""
        raise NotImplementedError

    def description(self) -> dict[str, Any]:
        """What `from_description` needs, weights apart, as plain JSON."""
        raise NotImplementedError

    def save_extras(self, folder: Path) -> None:
        """Files beside the weights: vocabularies, tokenizers, frozen parts."""

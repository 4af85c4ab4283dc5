"""Layers of the CNN-LSTM: its words and their vectors, embedding tables that may be normalised, and a
bidirectional LSTM."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn

from acclimate.data.corpus import Corpus
from acclimate.data.words import PADDING, SPECIAL, Vocabulary
from acclimate.model.encoders.vectors import read_vectors, vectors_width

if TYPE_CHECKING:
    from acclimate.model.encoders.character_cnn_lstm import CharacterCnnLstmSettings

_DIGIT = re.compile(r"\d")

Normalise = Literal["none", "weighted", "unweighted"]
_TINY = 1e-6  # a dimension that never varies is not blown up


class _Moments(torch.autograd.Function):
    """Mean and variance of each dimension of a table (row, size), rows weighted by shares, which sum to 1. Autograd's
    own backward pass would read the whole table eight times."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
        mean = shares @ table
        centred = table - mean
        ctx.save_for_backward(centred, shares)
        return mean, shares @ centred.square()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, by_mean: Tensor, by_variance: Tensor) -> tuple[Tensor, None]:
        centred, shares = ctx.saved_tensors
        return torch.addcmul(by_mean, centred, 2 * by_variance).mul_(shares.unsqueeze(1)), None


class Table(nn.Embedding):
    """Vectors by number. With shares the rows are normalised. In a frozen table only the special rows learn."""

    shares: Tensor | None

    def __init__(self, rows: int, width: int, frozen: bool = False) -> None:
        super().__init__(rows, width, padding_idx=PADDING)
        reach = (3 / max(1, width)) ** 0.5
        nn.init.uniform_(self.weight, -reach, reach)
        self.weight.data[PADDING] = 0
        self.weight.requires_grad_(not frozen)
        self.special = nn.Parameter(self.weight.data[: len(SPECIAL)].clone()) if frozen else None
        self.register_buffer("shares", None)
        self._known: tuple[tuple[int, ...], tuple[Tensor, Tensor, Tensor]] | None = None

    def forward(self, numbers: Tensor) -> Tensor:
        rows = super().forward(numbers)
        if self.special is not None:
            special = nn.functional.embedding(numbers.clamp(max=len(SPECIAL) - 1), self.special, PADDING)
            rows = torch.where((numbers < len(SPECIAL)).unsqueeze(-1), special, rows)
        if self.shares is None:
            return rows
        with torch.autocast(rows.device.type, enabled=False):
            mean, variance = self._moments(self.shares)
            rows = (rows - mean) * (variance + _TINY).rsqrt()
        return rows.masked_fill((numbers == PADDING).unsqueeze(-1), 0)

    def _moments(self, shares: Tensor) -> tuple[Tensor, Tensor]:
        if self.special is None:
            moments: tuple[Tensor, Tensor] = _Moments.apply(self.weight, shares)  # type: ignore[no-untyped-call]
            return moments
        count = len(SPECIAL)
        rest, mean_of_rest, spread_of_rest = self._frozen_moments(shares)
        mean = shares[:count] @ self.special + rest * mean_of_rest
        spread = shares[:count] @ (self.special - mean).square() + spread_of_rest
        return mean, spread + rest * (mean_of_rest - mean).square()

    def _frozen_moments(self, shares: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Share, mean and summed squared deviation of the frozen rows, computed once."""
        state = (self.weight.data_ptr(), self.weight._version, shares.data_ptr(), shares._version)
        if self._known is None or self._known[0] != state:
            rows, weights = self.weight.detach()[len(SPECIAL) :], shares[len(SPECIAL) :]
            total = weights.sum()
            mean = weights @ rows / total.clamp_min(_TINY)
            self._known = state, (total, mean, weights @ (rows - mean).square())
        return self._known[1]

    def grow(self, rows: int) -> None:
        """Add rows at the end, for all who share the table."""
        old = self.weight
        weight = Table(rows, self.embedding_dim).weight.data.to(old)
        weight[: len(old)] = old.data
        self.weight = nn.Parameter(weight, requires_grad=old.requires_grad)
        self.num_embeddings = rows

    def raw(self) -> Tensor:
        """All rows before normalisation."""
        return self.weight if self.special is None else torch.cat([self.special, self.weight[len(SPECIAL) :]])


def shares_of(kind: Normalise, counts: Mapping[int, float], rows: int) -> Tensor:
    """The weight of each row: its frequency, or the same for all rows that occur."""
    shares = torch.zeros(rows)
    for row, count in counts.items():
        shares[row] = count if kind == "weighted" else float(count > 0)
    return shares / shares.sum().clamp_min(_TINY)


class VariationalDropout(nn.Module):
    """Dropout of the same features at every word of a sentence (Gal and Ghahramani 2016)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, states: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return states
        keep = torch.empty_like(states[:, :1]).bernoulli_(1 - self.rate)  # (sentence, 1, feature)
        return states * keep / (1 - self.rate)


class BidirectionalLstm(nn.Module):
    """Layers of two LSTMs, with variational dropout between. The leftward one reads each sentence reversed within its
    length, so that padding always comes last and no (slow) packed sequences are needed."""

    def __init__(
        self, input_width: int, width: int, layers: int = 1, dropout: float = 0.0, input_dropout: float | None = None
    ) -> None:
        super().__init__()
        widths = [input_width, *[2 * width] * (layers - 1)]
        self.rightward = nn.ModuleList(nn.LSTM(size, width, batch_first=True) for size in widths)
        self.leftward = nn.ModuleList(nn.LSTM(size, width, batch_first=True) for size in widths)
        self.dropout = VariationalDropout(dropout)
        self.input_dropout = VariationalDropout(dropout if input_dropout is None else input_dropout)
        self.width = 2 * width
        for lstm in (*self.rightward, *self.leftward):
            _initialise(lstm)

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """(sentence, word, feature) → (sentence, word, 2 × width); dropout on the input and output of each layer."""
        reversal = reversed_places(lengths.to(states.device), states.size(1))
        first = torch.arange(len(states), device=states.device).unsqueeze(1) * states.size(1)
        mirror = (first + reversal).flatten()  # of all words in one row
        states = self.input_dropout(states)
        for rightward, leftward in zip(self.rightward, self.leftward, strict=True):
            mirrored = _rearranged(states, mirror)
            from_left, _ = rightward(states)
            from_right, _ = leftward(mirrored)
            states = self.dropout(torch.cat([from_left, _rearranged(from_right, mirror)], dim=-1))
        return states


def reversed_places(lengths: Tensor, longest: int) -> Tensor:
    """The place of each word when every sentence is reversed and its padding stays; its own inverse."""
    place = torch.arange(longest, device=lengths.device).expand(len(lengths), longest)
    mirrored = lengths.unsqueeze(1) - 1 - place
    return torch.where(mirrored >= 0, mirrored, place)


def _rearranged(states: Tensor, places: Tensor) -> Tensor:
    """The words in another order; much faster than `gather`."""
    return states.flatten(0, 1).index_select(0, places).view_as(states)


def _initialise(lstm: nn.LSTM) -> None:
    for name, weight in lstm.named_parameters():
        if "weight_hh" in name:
            for gate in weight.data.chunk(4):
                nn.init.orthogonal_(gate)
        elif "weight_ih" in name:
            nn.init.xavier_uniform_(weight)
        else:
            nn.init.zeros_(weight)
            if "bias_ih" in name:  # the forget gate starts open
                weight.data[lstm.hidden_size : 2 * lstm.hidden_size] = 1.0


def in_table(word: str, lower_case: bool) -> str:
    """The entry of a word in a tagger's table: all digits are alike, and case may be, too."""
    return _DIGIT.sub("0", word.lower() if lower_case else word)


def find_vectors(path: str | Path, counts: Mapping[str, int], lower_case: bool) -> dict[str, Tensor]:
    """The vector of each table entry that these words make, under the first name in the file: the commonest spelling in
    the table's case, the entry itself, a spelling of the text, or one in lower case."""
    names: dict[str, list[str]] = {}
    for word in sorted(counts, key=lambda word: (-counts[word], word)):
        names.setdefault(in_table(word, lower_case), []).append(word)
    for entry, words in names.items():
        cased = [word.lower() if lower_case else word for word in words]
        names[entry] = list(dict.fromkeys([*cased, entry, *words, *(word.lower() for word in words), entry.lower()]))
    vectors = read_vectors(path, {name for tried in names.values() for name in tried})
    hits = {entry: next((name for name in tried if name in vectors), None) for entry, tried in names.items()}
    return {entry: vectors[name] for entry, name in hits.items() if name is not None}


@dataclass(frozen=True)
class Coverage:
    """How many words of a text have a vector."""

    words: int  # different ones
    words_found: int
    running_words: int
    running_words_found: int

    def __str__(self) -> str:
        share, running = self.words_found / self.words, self.running_words_found / self.running_words
        return (
            f"{self.words_found:,} of {self.words:,} different words of the text found ({100 * share:.1f} %), "
            f"{100 * running:.1f} % of its running words"
        )


@dataclass(frozen=True)
class Lexicon:
    """A vocabulary with the known vectors of its words."""

    words: Vocabulary
    rare: list[int]  # seen once, and without a vector
    vectors: dict[str, Tensor]
    width: int
    coverage: Coverage | None

    def fill(self, table: Tensor) -> None:
        """Write the vectors into their rows."""
        for word, vector in self.vectors.items():
            if word in self.words:
                table[self.words.number(word)] = vector

    @classmethod
    def of(cls, settings: CharacterCnnLstmSettings, text: Corpus, more: Corpus | None = None) -> Lexicon:
        """Words of the text, and those of `more` text that have a vector. With frozen vectors only words that have
        one."""
        counts: Counter[str] = Counter()
        others: Counter[str] = Counter()
        vectors: dict[str, Tensor] = {}
        width, coverage = settings.word_width, None
        if width > 0 or settings.vectors is not None:
            for word, count in text.vocabulary.items():
                counts[in_table(word, settings.lower_case_words)] += count
        if settings.vectors is not None:
            spellings = text.vocabulary if more is None else text.vocabulary + more.vocabulary
            vectors = find_vectors(settings.vectors, spellings, settings.lower_case_words)
            width = vectors_width(settings.vectors)
            for word, count in () if more is None else more.vocabulary.items():
                others[in_table(word, settings.lower_case_words)] += count
            every = counts + others
            hits = [count for word, count in every.items() if word in vectors]
            coverage = Coverage(len(every), len(hits), every.total(), sum(hits))
        added = sorted((others.keys() & vectors.keys()) - counts.keys())
        only_vectors = settings.vectors is not None and not settings.train_vectors
        for word in [word for word in counts if word not in vectors]:
            if only_vectors or counts[word] < settings.least_seen:
                del counts[word]
        words = Vocabulary((*Vocabulary.of_counts(counts).items, *added))
        rare = [words.number(word) for word, count in counts.items() if count == 1 and word not in vectors]
        return cls(words, rare, vectors, width, coverage)

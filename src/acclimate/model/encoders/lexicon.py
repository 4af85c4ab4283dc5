"""The words that a word table holds: taken from the training text, and from a file of vectors."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

from acclimate.data.corpus import Corpus
from acclimate.data.vocabulary import Vocabulary
from acclimate.model.encoders.vectors import Coverage, find_vectors, in_table, vectors_width

if TYPE_CHECKING:
    from acclimate.model.encoders.character_cnn_lstm import CharacterCnnLstmSettings


@dataclass(frozen=True)
class Lexicon:
    """A vocabulary, and what is known of its words before training."""

    words: Vocabulary
    rare: list[int]  # seen once, and without a vector
    vectors: dict[str, Tensor]
    width: int
    coverage: Coverage | None  # how much of the text the vectors knew

    def fill(self, table: Tensor) -> None:
        """Write the vectors into their rows."""
        for word, vector in self.vectors.items():
            if word in self.words:
                table[self.words.number(word)] = vector

    @classmethod
    def of(cls, settings: CharacterCnnLstmSettings, text: Corpus, more: Corpus | None = None) -> Lexicon:
        """Words of the text, and those of `more` text that the vectors know: a word that is neither in the labelled
        text nor in the vectors would keep its random vector, and "unknown" says more than that. So does a frozen table
        of vectors: there, only words with a vector are known."""
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
            coverage = Coverage.of(counts + others, vectors)
        only_vectors = settings.vectors is not None and not settings.train_vectors
        kept = Counter(
            {
                word: count
                for word, count in counts.items()
                if word in vectors or (count >= settings.least_seen and not only_vectors)
            }
        )
        added = sorted((others.keys() & vectors.keys()) - counts.keys())
        words = Vocabulary((*Vocabulary.of_counts(kept).items, *added))
        rare = [words.number(word) for word, count in kept.items() if count == 1 and word not in vectors]
        return cls(words, rare, vectors, width, coverage)

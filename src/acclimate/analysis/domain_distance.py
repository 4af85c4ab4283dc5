"""How far apart two kinds of text are: the words that they share, and the words that one of them is made of.

The vocabulary overlap is mlm4uda's Figure 2; the density ratio is the measure of its Figure 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from acclimate.data.corpus import Corpus
from acclimate.data.stop_words import STOP_WORDS
from acclimate.evaluation.tally import ratio
from acclimate.evaluation.unseen import fold


@dataclass(frozen=True, slots=True)
class Overlap:
    """How many words each pair of corpora shares, in percent of the words of both together (Jaccard).

    `words` says how many different words of each corpus were compared. Two corpora without a word share 0 %.
    """

    names: tuple[str, ...]
    words: tuple[int, ...]
    percents: tuple[tuple[float, ...], ...]

    def as_dict(self) -> dict[str, Any]:
        """By name, so that nobody has to count columns."""
        rows = zip(self.names, self.percents, strict=True)
        return {
            "words": dict(zip(self.names, self.words, strict=True)),
            "percents": {name: dict(zip(self.names, row, strict=True)) for name, row in rows},
        }

    def as_rows(self) -> list[dict[str, Any]]:
        """One row per ordered pair, for a CSV file."""
        pairs = self.as_dict()["percents"].items()
        return [
            {"corpus": one, "other": other, "percent": shared} for one, row in pairs for other, shared in row.items()
        ]


def vocabulary_overlap(
    corpora: Mapping[str, Corpus],
    *,
    lower_case: bool = True,
    least_sentences: int = 3,
    stop_words: Collection[str] = STOP_WORDS,
) -> Overlap:
    """The overlap of all pairs. The defaults are those of the paper's code; `stop_words=()` keeps every word."""
    return overlap_of_sets(
        {
            name: frequent_words(corpus, lower_case=lower_case, least_sentences=least_sentences, stop_words=stop_words)
            for name, corpus in corpora.items()
        }
    )


def overlap_of_sets(sets: Mapping[str, Collection[str]]) -> Overlap:
    """The overlap of word sets that are there already."""
    chosen = [frozenset(words) for words in sets.values()]
    percents = tuple(tuple(jaccard_percent(one, other) for other in chosen) for one in chosen)
    return Overlap(tuple(sets), tuple(map(len, chosen)), percents)


def jaccard_percent(one: Collection[str], other: Collection[str]) -> float:
    """100 x shared / all, over two sets of words."""
    first, second = frozenset(one), frozenset(other)
    return 100 * ratio(len(first & second), len(first | second))


def frequent_words(
    corpus: Corpus,
    *,
    lower_case: bool = True,
    least_sentences: int = 3,
    stop_words: Collection[str] = STOP_WORDS,
) -> frozenset[str]:
    """The words that stand in so many sentences at least. A stop word is left out in whatever case it is written."""
    sentences = Counter(word for sentence in corpus for word in {fold(word, lower_case) for word in sentence.words})
    return frozenset(
        word for word, count in sentences.items() if count >= least_sentences and word.lower() not in stop_words
    )


@dataclass(frozen=True)
class DensityRatio:
    """How much more a word is the target's than the source's: r(w) = max(1 - P_source(w) / P_target(w), 0).

    1 for a word that only the target has, 0 for one that is as frequent in the source. A word that the target lacks has
    0 as well: there is nothing of it to learn (the released script divides by zero there).
    """

    source: Counter[str]
    target: Counter[str]
    lower_case: bool

    @classmethod
    def of(
        cls, source: Corpus | Mapping[str, int], target: Corpus | Mapping[str, int], *, lower_case: bool = True
    ) -> DensityRatio:
        """From two corpora, or from how often each word occurs in them."""
        return cls(count_words(source, lower_case), count_words(target, lower_case), lower_case)

    @cached_property
    def of_words(self) -> dict[str, float]:
        """The ratio of every word of the target."""
        of_source, of_target = self.source.total(), self.target.total()
        return {
            word: max(1 - ratio(self.source[word], of_source) * of_target / count, 0.0)
            for word, count in self.target.items()
            if count
        }

    def __call__(self, word: str) -> float:
        return self.of_words.get(fold(word, self.lower_case), 0.0)

    def mean(self, words: Iterable[str]) -> float | None:
        """Over a list of words; None of nothing, since 0 would mean words of the source."""
        values = [self(word) for word in words]
        return sum(values) / len(values) if values else None

    @property
    def distance(self) -> float:
        """The mean over the running words of the target.

        It equals the total variation between the two distributions of words: 0 for the same text, 1 for no word shared.
        """
        return ratio(sum(self.target[word] * value for word, value in self.of_words.items()), self.target.total())

    def top_words(self, most: int = 20, among: Collection[str] | None = None) -> list[TypicalWord]:
        """The words with the highest ratio; of equal ones the more frequent in the target, then by spelling."""
        ratios = self.of_words
        words = ratios if among is None else [word for word in ratios if word in among]
        ranked = sorted(words, key=lambda word: (-ratios[word], -self.target[word], word))
        return [TypicalWord(word, ratios[word], self.source[word], self.target[word]) for word in ranked[:most]]


@dataclass(frozen=True, slots=True)
class TypicalWord:
    """A word, its density ratio, and how often the source and the target have it."""

    word: str
    density_ratio: float
    in_source: int
    in_target: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def count_words(text: Corpus | Mapping[str, int], lower_case: bool) -> Counter[str]:
    """How often each word occurs, with capitals or without."""
    counts: Counter[str] = Counter()
    for word, count in (text.vocabulary if isinstance(text, Corpus) else text).items():
        counts[fold(word, lower_case)] += count
    return counts

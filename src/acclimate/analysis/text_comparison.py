"""Corpora side by side: sizes, words in common, and the words that set the last one apart from the first.

mlm4uda, Table 1 and Figure 2 (vocabulary overlap); the density ratio is the measure of its Figure 3. MSLM, Tables 2
and 9.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from random import Random
from typing import Any

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.words import STOP_WORDS
from acclimate.evaluation.counts import ratio
from acclimate.evaluation.seen import fold
from acclimate.evaluation.table import align_records


def sampled(corpus: Corpus, most: int, seed: int = 0) -> Corpus:
    """So many sentences at most, in random order: the first ones of a sample are a sample, too."""
    return corpus.select(Random(seed).sample(range(len(corpus)), min(most, len(corpus))))


@dataclass(frozen=True, slots=True)
class Overlap:
    """How many words each pair of corpora shares, in percent of the words of both together (Jaccard).

    `words` says how many different words of each corpus were compared. Two corpora without a word share 0 %.
    """

    names: tuple[str, ...]
    words: tuple[int, ...]
    percents: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, sets: Mapping[str, Collection[str]]) -> Overlap:
        """Of all pairs of word sets."""
        chosen = [frozenset(words) for words in sets.values()]
        percents = [tuple(100 * ratio(len(one & other), len(one | other)) for other in chosen) for one in chosen]
        return cls(tuple(sets), tuple(map(len, chosen)), tuple(percents))

    def as_dict(self) -> dict[str, Any]:
        """By name, so that nobody has to count columns."""
        rows = zip(self.names, self.percents, strict=True)
        percents = {name: dict(zip(self.names, row, strict=True)) for name, row in rows}
        return {"words": dict(zip(self.names, self.words, strict=True)), "percents": percents}


def frequent_words(corpus: Corpus, least_sentences: int = 3) -> frozenset[str]:
    """The words that stand in so many sentences at least, in lower case and without stop words, as the paper's code
    compares them."""
    sentences = Counter(word for sentence in corpus for word in {word.lower() for word in sentence.words})
    return frozenset(word for word, count in sentences.items() if count >= least_sentences and word not in STOP_WORDS)


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


def count_words(text: Corpus | Mapping[str, int], lower_case: bool) -> Counter[str]:
    """How often each word occurs, with capitals or without."""
    counts: Counter[str] = Counter()
    for word, count in (text.vocabulary if isinstance(text, Corpus) else text).items():
        counts[fold(word, lower_case)] += count
    return counts


@dataclass(frozen=True, slots=True)
class CorpusStatistics:
    """One corpus in figures. Shares lie between 0 and 1.

    Figures of spans are over the sentences that carry tags, and None where there are none or where tags are plain.
    Those of unseen words are None where no source was named.
    """

    name: str
    sentences: int
    words: int
    distinct_words: int
    mean_length: float  # words per sentence
    labels: Mapping[str, int]
    spans: int | None
    distinct_spans: int | None  # terms: different strings, told apart as words are
    spans_per_sentence: float | None
    share_in_spans: float | None  # of the words
    unseen_words: float | None  # share of the running words that the source does not have
    unseen_types: float | None  # share of the distinct words

    @classmethod
    def of(cls, name: str, corpus: Corpus, known: Mapping[str, int] | None) -> CorpusStatistics:
        """`known` are the words of the source. Words are told apart in lower case."""
        counts = count_words(corpus, lower_case=True)
        unseen = None if known is None else {word: count for word, count in counts.items() if word not in known}
        tagged = corpus.labelled()
        of_spans: dict[str, Any] = dict.fromkeys(("spans", "distinct_spans", "spans_per_sentence", "share_in_spans"))
        if len(tagged) and corpus.kind != "plain":
            spans = [sentence.words[span.start : span.end] for sentence in tagged for span in sentence.spans]
            terms = {tuple(word.lower() for word in words) for words in spans}
            of_spans |= {"spans": len(spans), "distinct_spans": len(terms)}
            of_spans["spans_per_sentence"] = ratio(len(spans), len(tagged))
            of_spans["share_in_spans"] = ratio(sum(map(len, spans)), tagged.word_count)
        return cls(
            name=name,
            sentences=len(corpus),
            words=corpus.word_count,
            distinct_words=len(counts),
            mean_length=ratio(corpus.word_count, len(corpus)),
            labels=dict(corpus.label_counts.most_common()),
            **of_spans,
            unseen_words=None if unseen is None else ratio(sum(unseen.values()), corpus.word_count),
            unseen_types=None if unseen is None else ratio(len(unseen), len(counts)),
        )


def corpus_statistics(corpora: Mapping[str, Corpus], source: Corpus | None = None) -> list[CorpusStatistics]:
    """Each corpus in figures; with a source, also what it has not shown of them."""
    known = None if source is None else count_words(source, lower_case=True)
    return [CorpusStatistics.of(name, corpus, known) for name, corpus in corpora.items()]


@dataclass(frozen=True, slots=True)
class TextComparison:
    """The first corpus is the source, the last one the target that is set against it."""

    statistics: tuple[CorpusStatistics, ...]
    overlap: Overlap
    words_compared: str  # which words count for the overlap, said in words
    source: str
    target: str
    distance: float  # mean density ratio of the target's running words
    top_words: tuple[TypicalWord, ...]

    def as_dict(self) -> dict[str, Any]:
        words = list(map(asdict, self.top_words))
        return {
            "statistics": list(map(asdict, self.statistics)),
            "overlap": {"words_compared": self.words_compared, **self.overlap.as_dict()},
            "density_ratio": {"source": self.source, "target": self.target, "mean": self.distance, "top_words": words},
        }

    def render_top_words(self) -> list[str]:
        """The words that set the target apart, and how far apart the texts are, for people."""
        title = f"words that set {self.target} apart from {self.source}"
        mean = f"mean density ratio over all its words: {self.distance:.3f} (0: the same mix of words, 1: none shared)"
        return [title, *align_records(list(map(asdict, self.top_words))), mean]


def compare_text(corpora: Mapping[str, Corpus], *, least_sentences: int = 3, most: int = 10) -> TextComparison:
    """Compare two corpora or more. Overlap and top words leave out stop words and words that stand in few sentences."""
    if len(corpora) < 2:
        raise InputError(f"text is compared with other text; corpora given: {', '.join(corpora) or 'none'}.")
    names = list(corpora)
    source, target = corpora[names[0]], corpora[names[-1]]
    words = {name: frequent_words(corpus, least_sentences) for name, corpus in corpora.items()}
    ratio = DensityRatio.of(source, target)
    return TextComparison(
        statistics=tuple(corpus_statistics(corpora, source)),
        overlap=Overlap.of(words),
        words_compared=f"in lower case, in {least_sentences} sentences or more, without stop words",
        source=names[0],
        target=names[-1],
        distance=ratio.distance,
        top_words=tuple(ratio.top_words(most, words[names[-1]])),
    )

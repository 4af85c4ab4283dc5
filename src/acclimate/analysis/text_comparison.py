"""Corpora side by side: sizes, words in common, and the words that set the last one apart from the first."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acclimate.analysis.corpus_statistics import CorpusStatistics, corpus_statistics
from acclimate.analysis.domain_distance import DensityRatio, Overlap, TypicalWord, frequent_words, overlap_of_sets
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.stop_words import STOP_WORDS
from acclimate.evaluation.table import Row, align

UNKNOWN = "-"
_HEADER = (
    *("", "sentences", "words", "distinct", "length", "spans", "per sentence"),
    *("% in spans", "% unseen words", "% unseen types"),
)


@dataclass(frozen=True, slots=True)
class TextComparison:
    """The first corpus is the source, the last one the target that is set against it; alone, a corpus has none."""

    statistics: tuple[CorpusStatistics, ...]
    overlap: Overlap
    words_compared: str  # which words count for the overlap, said in words
    source: str
    target: str | None
    distance: float | None  # mean density ratio of the target's running words
    top_words: tuple[TypicalWord, ...]

    def as_dict(self) -> dict[str, Any]:
        words = [item.as_dict() for item in self.top_words]
        apart = {"source": self.source, "target": self.target, "mean": self.distance, "top_words": words}
        return {
            "statistics": [row.as_dict() for row in self.statistics],
            "overlap": {"words_compared": self.words_compared, **self.overlap.as_dict()},
            "density_ratio": None if self.target is None else apart,
        }

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Flat rows, for CSV files."""
        return {
            "statistics": [row.as_row() for row in self.statistics],
            "overlap": self.overlap.as_rows(),
            "top-words": [item.as_dict() for item in self.top_words],
        }

    def render(self) -> str:
        """The same for people."""
        lines = [*_render_statistics(self.statistics, self.source), ""]
        lines += [f"words in common, % ({self.words_compared})", *_render_overlap(self.overlap)]
        return "\n".join(lines if self.target is None else [*lines, "", *self._render_top_words()])

    def _render_top_words(self) -> list[str]:
        table: list[Row] = [("", "density ratio", f"in {self.source}", f"in {self.target}")]
        for item in self.top_words:
            table.append((item.word, f"{item.density_ratio:.3f}", f"{item.in_source:,}", f"{item.in_target:,}"))
        mean = f"mean density ratio over all its words: {self.distance:.3f} (0: the same mix of words, 1: none shared)"
        return [
            f"words that set {self.target} apart from {self.source}",
            *(align(table) if self.top_words else []),
            mean,
        ]


def compare_text(
    corpora: Mapping[str, Corpus],
    *,
    lower_case: bool = True,
    least_sentences: int = 3,
    stop_words: Collection[str] = STOP_WORDS,
    most: int = 10,
) -> TextComparison:
    """Compare corpora. Overlap and top words leave out stop words and words that stand in few sentences."""
    if not corpora:
        raise InputError("there is no corpus to compare.")
    names = list(corpora)
    source, target = corpora[names[0]], corpora[names[-1]]
    words = {
        name: frequent_words(corpus, lower_case=lower_case, least_sentences=least_sentences, stop_words=stop_words)
        for name, corpus in corpora.items()
    }
    ratio = DensityRatio.of(source, target, lower_case=lower_case) if len(names) > 1 else None
    return TextComparison(
        statistics=tuple(corpus_statistics(corpora, source, lower_case=lower_case)),
        overlap=overlap_of_sets(words),
        words_compared=_words_compared(lower_case, least_sentences, bool(stop_words)),
        source=names[0],
        target=None if ratio is None else names[-1],
        distance=None if ratio is None else ratio.distance,
        top_words=() if ratio is None else tuple(ratio.top_words(most, words[names[-1]])),
    )


def _words_compared(lower_case: bool, least_sentences: int, without_stop_words: bool) -> str:
    how = ["in lower case" if lower_case else "as written"]
    how += [f"in {least_sentences} sentences or more"] if least_sentences > 1 else []
    return ", ".join([*how, "without stop words"] if without_stop_words else how)


def _render_statistics(rows: Sequence[CorpusStatistics], source: str) -> list[str]:
    table: list[Row] = [_HEADER]
    for row in rows:
        sizes = [f"{number:,}" for number in (row.sentences, row.words, row.distinct_words)]
        spans = [UNKNOWN if row.spans is None else f"{row.spans:,}", _decimal(row.spans_per_sentence, 2)]
        shares = (row.share_in_spans, row.unseen_words, row.unseen_types)
        percents = [_decimal(None if share is None else 100 * share, 1) for share in shares]
        table.append([row.name, *sizes, _decimal(row.mean_length, 1), *spans, *percents])
    meaning = f"length: words per sentence; unseen: not in {source}, of running words and of distinct ones (types)"
    labels = [f"  {row.name}: {_listed(row.labels)}" for row in rows if row.labels]
    return [*align(table), meaning, *(["", "labels", *labels] if labels else [])]


def _render_overlap(overlap: Overlap) -> list[str]:
    """The columns are numbered, since names of files are too wide for them."""
    numbers = [str(number) for number in range(1, len(overlap.names) + 1)]
    table: list[Row] = [("", "words", *numbers)]
    for number, name, words, row in zip(numbers, overlap.names, overlap.words, overlap.percents, strict=True):
        table.append((f"{number} {name}", f"{words:,}", *(f"{value:.1f}" for value in row)))
    return align(table)


def _decimal(value: float | None, digits: int) -> str:
    return UNKNOWN if value is None else f"{value:.{digits}f}"


def _listed(labels: Mapping[str, int]) -> str:
    return ", ".join(f"{label} {count:,}" for label, count in labels.items())

"""What a corpus is made of: sizes, labels, and how much of it is new to somebody who has read the source.

mlm4uda's Table 1; MSLM's Tables 2 and 9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from acclimate.analysis.domain_distance import count_words
from acclimate.data.corpus import Corpus
from acclimate.evaluation.tally import ratio


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

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def as_row(self) -> dict[str, Any]:
        """The same on one line, for a CSV file."""
        return {**asdict(self), "labels": " ".join(f"{label}={count}" for label, count in self.labels.items())}


def corpus_statistics(
    corpora: Mapping[str, Corpus], source: Corpus | None = None, *, lower_case: bool = True
) -> list[CorpusStatistics]:
    """Each corpus in figures. Distinct and unseen words are told apart in lower case, unless said otherwise."""
    known = None if source is None else count_words(source, lower_case)
    return [_describe(name, corpus, known, lower_case) for name, corpus in corpora.items()]


def _describe(name: str, corpus: Corpus, known: Mapping[str, int] | None, lower_case: bool) -> CorpusStatistics:
    counts = count_words(corpus, lower_case)
    spans, terms, spans_per_sentence, share_in_spans = _spans(corpus, lower_case)
    unseen = None if known is None else {word: count for word, count in counts.items() if word not in known}
    return CorpusStatistics(
        name=name,
        sentences=len(corpus),
        words=corpus.word_count,
        distinct_words=len(counts),
        mean_length=ratio(corpus.word_count, len(corpus)),
        labels=dict(corpus.label_counts.most_common()),
        spans=spans,
        distinct_spans=terms,
        spans_per_sentence=spans_per_sentence,
        share_in_spans=share_in_spans,
        unseen_words=None if unseen is None else ratio(sum(unseen.values()), corpus.word_count),
        unseen_types=None if unseen is None else ratio(len(unseen), len(counts)),
    )


def _spans(corpus: Corpus, lower_case: bool) -> tuple[int, int, float, float] | tuple[None, None, None, None]:
    """How many, how many different ones, how many per sentence, and the share of words inside; sentences without tags
    tell nothing of it."""
    tagged = corpus.labelled()
    if not len(tagged) or corpus.kind == "plain":
        return None, None, None, None
    spans = [sentence.words[span.start : span.end] for sentence in tagged for span in sentence.spans]
    terms = {tuple(word.lower() for word in words) if lower_case else words for words in spans}
    inside = sum(map(len, spans))
    return len(spans), len(terms), ratio(len(spans), len(tagged)), ratio(inside, tagged.word_count)

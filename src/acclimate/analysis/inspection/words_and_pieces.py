"""Which words of the target the source has, and what an encoder makes of them: does it know this domain?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from acclimate.analysis.text_comparison import DensityRatio, TypicalWord, count_words, frequent_words, jaccard_percent
from acclimate.data.corpus import Corpus
from acclimate.evaluation.tally import ratio

MANY = 3  # pieces: a word in so many is spelled out rather than known
PiecesOf = Callable[[Sequence[str]], list[list[int]]]


@dataclass(frozen=True, slots=True)
class WordFigures:
    """Words are compared in lower case. Shares lie between 0 and 1."""

    overlap: float  # words of both in percent of all, as `compare-text` counts them
    unseen_words: float  # of the target's running words: not in the whole source
    unseen_types: float  # of its distinct words
    distance: float  # mean density ratio: 0 for the same mix of words, 1 for none shared
    typical: tuple[TypicalWord, ...]  # what sets the target apart

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class PieceFigures:
    """Pieces per running word, and how the encoder reads those words of the target that the source does not have."""

    source: float
    target: float
    unseen_whole: float  # share of the unseen running words that are one piece
    unseen_broken: float  # that are MANY pieces or more
    source_unknown: float  # share of running words with a piece that stands for anything unknown
    target_unknown: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def compare_words(
    source: Corpus, samples: tuple[Corpus, Corpus], least_sentences: int = 3, most: int = 8
) -> WordFigures:
    """The samples of both, of like size; what is unseen is told by the whole source."""
    one, other = samples
    frequent = [frequent_words(sample, least_sentences=least_sentences) for sample in samples]
    ratios = DensityRatio.of(one, other)
    counts, unseen = count_words(other, lower_case=True), unseen_counts(source, other, lower_case=True)
    return WordFigures(
        overlap=jaccard_percent(*frequent),
        unseen_words=ratio(unseen.total(), counts.total()),
        unseen_types=ratio(len(unseen), len(counts)),
        distance=ratios.distance,
        typical=tuple(ratios.top_words(most, frequent[1])),
    )


def compare_pieces(
    source: Corpus, samples: tuple[Corpus, Corpus], pieces_of: PiecesOf, unknown: int | None
) -> PieceFigures:
    one, other = (_counted(sample.vocabulary, pieces_of) for sample in samples)
    unseen = _counted(unseen_counts(source, samples[1], lower_case=False), pieces_of)
    return PieceFigures(
        source=_mean(one),
        target=_mean(other),
        unseen_whole=_share(unseen, lambda pieces: len(pieces) == 1 and unknown not in pieces),
        unseen_broken=_share(unseen, lambda pieces: len(pieces) >= MANY),
        source_unknown=_share(one, lambda pieces: unknown in pieces),
        target_unknown=_share(other, lambda pieces: unknown in pieces),
    )


def unseen_counts(source: Corpus, target: Corpus, lower_case: bool) -> Counter[str]:
    """How often each word of the target occurs that the source has in no spelling; in lower case, or as written."""
    known = count_words(source, lower_case=True)
    return Counter({w: count for w, count in count_words(target, lower_case).items() if w.lower() not in known})


_Counted = list[tuple[list[int], int]]  # the pieces of a word, and how often it occurs


def _counted(counts: Mapping[str, int], pieces_of: PiecesOf) -> _Counted:
    return list(zip(pieces_of(list(counts)), counts.values(), strict=True))


def _mean(words: Iterable[tuple[list[int], int]]) -> float:
    listed = list(words)
    return ratio(sum(len(pieces) * count for pieces, count in listed), sum(count for _, count in listed))


def _share(words: _Counted, test: Callable[[list[int]], bool]) -> float:
    return ratio(sum(count for pieces, count in words if test(pieces)), sum(count for _, count in words))

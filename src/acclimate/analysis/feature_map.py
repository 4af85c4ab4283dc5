"""Features of several corpora as one tagger sees them, and where they lie on a flat map (DATNet's Figure 4).

Of features in parts, the part that all domains share is taken. How far two corpora can be told apart is a number, too:
`separability.domain_separability`. A map alone may deceive: t-SNE keeps neighbours together and distances not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from itertools import groupby
from random import Random
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.inference.predict import answers
from acclimate.model.encoders.character_cnn_lstm import CharacterCnnLstm
from acclimate.model.tagger import Tagger

Unit = Literal["word", "sentence"]
PERPLEXITY = 30.0
FEW = 500  # points whose forces t-SNE counts one by one; with more, far ones are taken together
MOST_UNKNOWN = 0.5  # share of a corpus's words that a word table need not know
_Pick = tuple[int, int]  # numbers of a sentence and of a word in it


class UnknownWords(InputError):
    """Text that a tagger cannot be asked about: its word table knows too little of it."""


@dataclass(frozen=True, slots=True)
class FeaturePoints:
    """Points as a tagger sees them. Points of one sentence, and of any that reads the same, have one number."""

    points: NDArray[np.float32]  # (point, feature)
    domains: tuple[str, ...]  # the name of the corpus, for every point
    labels: tuple[str, ...]  # the word, or the words of the sentence
    sentences: tuple[int, ...]
    unit: Unit = "word"

    def __len__(self) -> int:
        return len(self.domains)

    @property
    def names(self) -> tuple[str, ...]:
        """The corpora, in the order they came in."""
        return tuple(dict.fromkeys(self.domains))

    def of(self, *names: str) -> FeaturePoints:
        """Only the points of these corpora."""
        kept = [number for number, domain in enumerate(self.domains) if domain in names]
        return replace(
            self,
            points=self.points[kept],
            domains=tuple(self.domains[number] for number in kept),
            labels=tuple(self.labels[number] for number in kept),
            sentences=tuple(self.sentences[number] for number in kept),
        )

    def as_rows(self, places: NDArray[np.float32] | None = None) -> list[dict[str, Any]]:
        """Flat rows, for CSV files; `places` on the map come with them where there is one."""
        rows = []
        for number, (domain, sentence, label) in enumerate(zip(self.domains, self.sentences, self.labels, strict=True)):
            row: dict[str, Any] = {"corpus": domain, "sentence": sentence, self.unit: label}
            if places is not None:
                row |= {"x": float(places[number, 0]), "y": float(places[number, 1])}
            features = (float(f"{value:.7g}") for value in self.points[number])  # all that 32 bits hold
            rows.append(row | {f"feature_{at}": value for at, value in enumerate(features, start=1)})
        return rows


def feature_points(
    tagger: Tagger | Mapping[str, Tagger],
    corpora: Mapping[str, Corpus],
    unit: Unit = "word",
    most: int = 2000,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> FeaturePoints:
    """Features of random words, or of random sentences (the mean of their words), as many from each corpus.

    That is `most` of each, or all of the smallest one. Where domains have words of their own (DATNet's taggers), each
    corpus may be read by its own tagger: `{"source": …, "target": …}`. `progress` hears how many sentences were read.
    """
    readers = dict.fromkeys(corpora, tagger) if isinstance(tagger, Tagger) else tagger
    size = _size(corpora, unit, most)
    points: list[NDArray[np.float32]] = []
    domains, labels, sentences = [], [], []
    texts: dict[tuple[str, ...], int] = {}
    for name, corpus in corpora.items():
        picks = _picks(corpus, unit, size, seed)
        points += _features(readers[name], corpus, picks, unit, progress)
        for number, word in picks:
            words = corpus[number].words
            domains.append(name)
            labels.append(words[word] if unit == "word" else " ".join(words))
            sentences.append(texts.setdefault(words, len(texts)))
    found = np.stack(points)
    if not np.isfinite(found).all():
        raise InputError("this tagger's features are not all numbers: its training went wrong.")
    return FeaturePoints(found, tuple(domains), tuple(labels), tuple(sentences), unit)


def readers_of(
    tagger: Tagger, source_tagger: Tagger | None, corpora: Mapping[str, Corpus], source: str
) -> dict[str, Tagger]:
    """Who reads each corpus: the tagger itself; the one named `source`, the tagger that was trained for it, if there is
    one beside (DATNet's).

    Refuses a tagger of the target's own whose word table knows less than half of the source: its features would show
    unknown words, and not the domain.
    """
    readers = dict.fromkeys(corpora, tagger)
    if source not in corpora:
        return readers
    readers[source] = source_tagger or tagger
    unknown = unknown_share(readers[source], corpora[source])
    if unknown > MOST_UNKNOWN:
        raise UnknownWords(
            f"{100 * unknown:.0f} % of the words of {source} are unknown to this tagger, which has not learnt from it. "
            "Its features would tell known words from unknown ones, and not the domains: they cannot be shown."
        )
    return readers


def unknown_share(tagger: Tagger, corpus: Corpus) -> float:
    """Of the running words, how many have no row in the tagger's word table; 0 for a pre-trained encoder, which has
    pieces."""
    if not isinstance(tagger.encoder, CharacterCnnLstm) or not corpus.word_count:
        return 0.0
    words = corpus.vocabulary
    rows = tagger.encoder.rows_of(list(words))
    return sum(count for count, row in zip(words.values(), rows, strict=True) if row is None) / corpus.word_count


def project(points: NDArray[np.float32], seed: int = 0, perplexity: float = PERPLEXITY) -> NDArray[np.float32]:
    """Places on a flat map, (point, 2), by t-SNE from the two main axes on. Neighbours stay neighbours.

    `perplexity` is about the number of neighbours that count; where there are few points, it is a third of them.
    """
    require_scikit_learn()
    from sklearn.manifold import TSNE

    count, width = points.shape
    if count < 4:
        raise InputError(f"a map needs four points or more, not {count}.")
    if not np.ptp(points, axis=0).any():
        return np.zeros((count, 2), np.float32)  # all of them in one place: there is no direction to spread them in
    way = TSNE(
        perplexity=min(perplexity, (count - 1) / 3),
        init="pca" if width > 1 else "random",
        method="exact" if count <= FEW else "barnes_hut",
        random_state=seed,
    )
    places: NDArray[np.float32] = way.fit_transform(points.astype(np.float64)).astype(np.float32)
    return places


def require_scikit_learn() -> None:
    """Refuse, and say what to install, where it is missing."""
    try:
        import sklearn.manifold  # noqa: F401
    except ImportError:
        raise InputError("a map of features needs scikit-learn: pip install 'acclimate[plots]'.") from None


def _size(corpora: Mapping[str, Corpus], unit: Unit, most: int) -> int:
    """How many points each corpus gives."""
    if unit not in get_args(Unit):
        raise InputError(f"{unit!r} is no unit of a map: expected {' or '.join(get_args(Unit))}.")
    if most < 1:
        raise InputError(f"a map needs one point of each corpus at least, not {most}.")
    if not corpora:
        raise InputError("there is no corpus to take points from.")
    for name, corpus in corpora.items():
        if not len(corpus):
            raise InputError(f"{name} has no sentences to take points from.")
    return min(most, *(corpus.word_count if unit == "word" else len(corpus) for corpus in corpora.values()))


def _picks(corpus: Corpus, unit: Unit, size: int, seed: int) -> list[_Pick]:
    """Random words, or sentences, in the order of the corpus. Of a smaller number, all are in a larger one, too."""
    dice = Random(seed)
    count = corpus.word_count if unit == "word" else len(corpus)
    numbers = sorted(nsmallest(size, range(count), key=lambda number: dice.random()))
    if unit == "sentence":
        return [(number, 0) for number in numbers]
    ends = np.cumsum([len(sentence) for sentence in corpus])
    homes = np.searchsorted(ends, numbers, side="right").tolist()
    return [(home, number - int(ends[home]) + len(corpus[home])) for home, number in zip(homes, numbers, strict=True)]


def _features(
    tagger: Tagger, corpus: Corpus, picks: Sequence[_Pick], unit: Unit, progress: Callable[[int], None] | None
) -> list[NDArray[np.float32]]:
    """A vector for every pick. Only sentences that one fell on are read."""
    words = {number: [word for _, word in group] for number, group in groupby(picks, key=lambda pick: pick[0])}
    read, picked = corpus.select(words), list(words.values())
    found: dict[int, NDArray[np.float32]] = {}
    for number, row in answers(tagger, read, lambda view: view.shared_features.float(), progress=progress):
        features = row.numpy()  # (word, feature)
        found[number] = features[picked[number]] if unit == "word" else features.mean(0, keepdims=True)
    return [vector for number in sorted(found) for vector in found[number]]

"""Features of several corpora as one tagger sees them, how far they can be told apart, and where they lie on a map.

DATNet, Figure 4. Of features in parts, the part that all domains share is taken. A map alone may deceive: t-SNE keeps
neighbours together and distances not at all. So a linear classifier learns to tell the two domains on one half of the
sentences and is tried on the other, then the other way round. Points of one sentence never stand on both sides, nor do
sentences that read the same: a classifier that remembered sentences would seem to know domains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from heapq import nsmallest
from itertools import groupby
from random import Random
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.model.encoders.character_cnn_lstm import CharacterCnnLstm
from acclimate.model.tagger import Tagger, answers
from acclimate.spelling import count

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
        chosen = [number for number, domain in enumerate(self.domains) if domain in names]
        domains, labels = (tuple(of_all[number] for number in chosen) for of_all in (self.domains, self.labels))
        sentences = tuple(self.sentences[number] for number in chosen)
        return FeaturePoints(self.points[chosen], domains, labels, sentences, self.unit)

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
    """Features of random words, or of random sentences (the mean of their words): `most` of each corpus, or as many as
    the smallest one has.

    Where domains have words of their own (DATNet), each corpus may be read by its own tagger: `{"source": …, "target":
    …}`. `progress` gets the number of sentences read.
    """
    taggers = dict.fromkeys(corpora, tagger) if isinstance(tagger, Tagger) else tagger
    size = _size(corpora, unit, most)
    vectors: list[NDArray[np.float32]] = []
    domains, labels, sentences = [], [], []
    texts: dict[tuple[str, ...], int] = {}
    for name, corpus in corpora.items():
        picks = _picks(corpus, unit, size, seed)
        vectors += _features(taggers[name], corpus, picks, unit, progress)
        for number, word in picks:
            words = corpus[number].words
            domains.append(name)
            labels.append(words[word] if unit == "word" else " ".join(words))
            sentences.append(texts.setdefault(words, len(texts)))
    points = np.stack(vectors)
    if not np.isfinite(points).all():
        raise InputError("this tagger's features are not all numbers: its training went wrong.")
    return FeaturePoints(points, tuple(domains), tuple(labels), tuple(sentences), unit)


def readers_of(
    tagger: Tagger, source_tagger: Tagger | None, corpora: Mapping[str, Corpus], source: str
) -> dict[str, Tagger]:
    """The tagger of each corpus: the source is read by the one that was trained for it, if there is one (DATNet).

    Refuses a tagger whose word table knows less than half of the source: its features would show unknown words, and not
    the domain. A pre-trained encoder has pieces, and no such table.
    """
    taggers = dict.fromkeys(corpora, tagger)
    if source not in corpora:
        return taggers
    taggers[source] = source_tagger or tagger
    encoder, text = taggers[source].encoder, corpora[source]
    if not isinstance(encoder, CharacterCnnLstm) or not text.word_count:
        return taggers
    rows = zip(text.vocabulary.values(), encoder.rows_of(list(text.vocabulary)), strict=True)
    unknown = sum(times for times, row in rows if row is None) / text.word_count
    if unknown > MOST_UNKNOWN:
        raise UnknownWords(
            f"{100 * unknown:.0f} % of the words of {source} are unknown to this tagger, which has not learnt from it. "
            "Its features would tell known words from unknown ones, and not the domains: they cannot be shown."
        )
    return taggers


def project(points: NDArray[np.float32], seed: int = 0) -> NDArray[np.float32]:
    """Places on a flat map, (point, 2), by t-SNE that starts from the two main axes."""
    require_scikit_learn()
    from sklearn.manifold import TSNE

    count, width = points.shape
    if count < 4:
        raise InputError(f"a map needs four points or more, not {count}.")
    if not np.ptp(points, axis=0).any():
        return np.zeros((count, 2), np.float32)  # all points are equal
    way = TSNE(
        perplexity=min(PERPLEXITY, (count - 1) / 3),  # about the number of neighbours that count
        init="pca" if width > 1 else "random",
        method="exact" if count <= FEW else "barnes_hut",
        random_state=seed,
    )
    places: NDArray[np.float32] = way.fit_transform(points.astype(np.float64)).astype(np.float32)
    return places


def require_scikit_learn() -> None:
    try:
        import sklearn.manifold  # noqa: F401
    except ImportError:
        raise InputError("a map of features needs scikit-learn: pip install 'acclimate[maps]'.") from None


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
    vectors: dict[int, NDArray[np.float32]] = {}
    for number, row in answers(tagger, read, lambda view: view.shared_features.float(), progress=progress):
        features = row.numpy()  # (word, feature)
        vectors[number] = features[picked[number]] if unit == "word" else features.mean(0, keepdims=True)
    return [vector for number in sorted(vectors) for vector in vectors[number]]


Floats = NDArray[np.float64]
CHANCE = 0.5
STRENGTH = 0.001  # of the penalty on large weights, beside the mean loss of a point; ten times more tells less apart


@dataclass(frozen=True, slots=True)
class Separability:
    """Balanced accuracy on held-out sentences: 0.5 where the domains cannot be told apart, 1 where they always can."""

    accuracy: float
    folds: tuple[float, float]  # learnt on one half, tried on the other
    points: int
    sentences: int  # different ones

    @property
    def a_distance(self) -> float:
        """The proxy A-distance, from 0 (alike) to 2. A classifier worse than chance has learnt nothing: 0, too."""
        return max(0.0, 2 * (2 * self.accuracy - 1))

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "a_distance": self.a_distance}

    def render(self, names: Sequence[str], unit: str) -> str:
        one, other = (f"{fold:.3f}" for fold in self.folds)
        return (
            f"{' against '.join(names)}: {count(self.points, unit)}; {self.sentences:,} different sentences\n"
            f"accuracy of a linear classifier: {self.accuracy:.3f} (halves {one} and {other}; 0.5: cannot be told "
            f"apart, 1: always)\nproxy A-distance: {self.a_distance:.3f} (0: alike, 2: apart)"
        )


def domain_separability(points: FeaturePoints, seed: int = 0) -> Separability:
    """How far the two corpora of these points can be told apart. The seed decides on the halves."""
    names = points.names
    if len(names) != 2:
        given = ", ".join(names) or "none"
        raise InputError(f"two corpora are told apart, not {len(names)} ({given}). Choose two: points.of(one, other).")
    is_second = np.array([domain == names[1] for domain in points.domains])
    in_first_half = halves(is_second, points.sentences, seed)
    for name, inside in zip(names, (~is_second, is_second), strict=True):
        if not in_first_half[inside].any() or in_first_half[inside].all():
            raise InputError(f"{name} has too few different sentences: both halves need some of it.")
    vectors = points.points.astype(np.float64)
    one, other = (_accuracy(vectors, is_second, learnt) for learnt in (in_first_half, ~in_first_half))
    return Separability((one + other) / 2, (one, other), len(points), len(set(points.sentences)))


def halves(is_second: NDArray[np.bool_], sentences: Sequence[int], seed: int) -> NDArray[np.bool_]:
    """Which points are in the first half. Sentences are dealt out in turns, those of both corpora between those of one,
    so that each corpus with two different sentences has some in both halves."""
    homes: dict[int, set[bool]] = {}
    for sentence, second in zip(sentences, is_second.tolist(), strict=True):
        homes.setdefault(sentence, set()).add(second)
    dice = Random(seed)
    order = sorted(homes, key=lambda sentence: (sorted(homes[sentence]), dice.random()))
    first = set(order[::2])
    return np.array([sentence in first for sentence in sentences])


def _accuracy(points: Floats, is_second: NDArray[np.bool_], learnt: NDArray[np.bool_]) -> float:
    """Learn on some points; the balanced accuracy on the others."""
    centre, spread = points[learnt].mean(0), points[learnt].std(0)
    scaled = (points - centre) / np.where(spread > 0, spread, 1.0)
    weights = fit(scaled[learnt], is_second[learnt])
    says_second = scaled[~learnt] @ weights[:-1] + weights[-1] > 0
    truth = is_second[~learnt]
    return float((says_second[truth].mean() + (~says_second[~truth]).mean()) / 2)


def fit(points: Floats, is_second: NDArray[np.bool_], strength: float = STRENGTH, most: int = 100) -> Floats:
    """Logistic regression by Newton's method, both domains with the same weight: a weight per feature, and the offset
    behind them, which is not regularized."""
    inputs = np.column_stack([points, np.ones(len(points))])
    signs = np.where(is_second, 1.0, -1.0)
    shares = np.where(is_second, 0.5 / is_second.sum(), 0.5 / (~is_second).sum())
    penalties = np.array([strength] * points.shape[1] + [1e-9])  # not 0: the curvature must have an inverse

    def loss(weights: Floats) -> float:
        return float(shares @ np.logaddexp(0, -signs * (inputs @ weights)) + penalties @ weights**2 / 2)

    weights = np.zeros(inputs.shape[1])
    for _ in range(most):
        wrong = np.exp(-np.logaddexp(0, signs * (inputs @ weights)))  # the chance given to the other domain
        slope = penalties * weights - inputs.T @ (shares * signs * wrong)
        curvature = (inputs.T * (shares * wrong * (1 - wrong))) @ inputs + np.diag(penalties)
        step = np.linalg.solve(curvature, slope)
        gain = float(slope @ step)
        if gain < 1e-10:
            break
        length = 1.0
        while loss(weights - length * step) > loss(weights) - 0.25 * length * gain and length > 1e-6:
            length /= 2  # a whole step may go too far
        weights = weights - length * step
    return weights

"""Cheap features of sentences: hashed character n-grams, weighted by how rare they are (tf-idf), as unit vectors.

An n-gram falls into one of SIZE buckets, with a sign, both by its hash (Weinberger et al. 2009). So no vocabulary is
kept, the time is linear in the text, and the product of two vectors is close to the cosine over all n-grams.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

SIZE = 512
LENGTHS = (3, 4)


def sentence_features(sentences: Sequence[Sequence[str]]) -> NDArray[np.float32]:
    """A unit vector for each sentence, (sentence, SIZE)."""
    hashed = [np.fromiter(map(_hash, ngrams(words)), np.uint32) for words in sentences]
    weights = _inverse_frequencies(hashed)
    features = np.zeros((len(sentences), SIZE), np.float32)
    for row, codes in zip(features, hashed, strict=True):
        distinct, counts = np.unique(codes, return_counts=True)
        signs = np.where(distinct & np.uint32(1 << 31), 1.0, -1.0)
        values = signs * np.log1p(counts) * weights[distinct % len(weights)]
        np.add.at(row, distinct % SIZE, values.astype(np.float32))
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    return np.asarray(features / np.maximum(norms, 1e-12), np.float32)


def ngrams(words: Sequence[str]) -> Iterator[str]:
    """The character n-grams of a sentence in lower case, across blanks."""
    text = f" {' '.join(words).lower()} "
    for length in LENGTHS:
        yield from (text[start : start + length] for start in range(max(1, len(text) - length + 1)))


_BUCKETS = 1 << 18  # in which n-grams are counted


def _inverse_frequencies(hashed: Sequence[NDArray[np.uint32]]) -> NDArray[np.float64]:
    """log((1 + sentences) / (1 + those with the n-gram)) + 1, by bucket."""
    counts = np.zeros(_BUCKETS)
    for codes in hashed:
        counts[np.unique(codes % _BUCKETS)] += 1
    return np.asarray(np.log((1 + len(hashed)) / (1 + counts)) + 1)


def _hash(ngram: str) -> int:
    return zlib.crc32(ngram.encode("utf-8", "surrogatepass"))

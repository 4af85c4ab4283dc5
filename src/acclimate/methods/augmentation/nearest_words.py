"""Words of like use for synonyms, where nothing better is at hand: the nearest ones by the cosine of word vectors.

They are less than synonyms: `good` and `bad` are used alike. For a substitute that is like a word by chance and degree,
and drawn anew as vectors are trained, see `similar_words.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import normalize

from acclimate.data.problems import InputError
from acclimate.data.stop_words import STOP_WORDS
from acclimate.methods.augmentation.synonyms import in_any_case
from acclimate.model.encoders.vectors import read_vectors

_COSINES_AT_ONCE = 1 << 22  # of several words with all others: word by word it would take ten times as long


class NearestWords:
    """At most `most` words whose cosine with the word is `least` or above, the nearest first.

    Candidates are words of letters in lower case that are not in `skip`: a number, a comma or a name would not do.
    """

    def __init__(
        self,
        vectors: Mapping[str, Tensor],
        most: int = 5,
        least: float = 0.6,
        skip: Collection[str] = STOP_WORDS,
    ) -> None:
        if most < 1:
            raise ValueError(f"At least one word must be the nearest, not {most}.")
        self.most, self.least = most, least
        self.words = [word for word in vectors if word.isalpha() and word == word.lower() and word not in skip]
        self._numbers = {word: number for number, word in enumerate(self.words)}
        rows = [vectors[word].float() for word in self.words]
        self._directions = normalize(torch.stack(rows), dim=-1) if rows else torch.zeros(0, 1)  # (word, size)
        self._known: dict[str, Sequence[str]] = {}
        self._found: dict[int, list[str]] = {}

    @classmethod
    def read(
        cls,
        path: str | Path,
        words: Collection[str] | None = None,
        most: int = 5,
        least: float = 0.6,
        skip: Collection[str] = STOP_WORDS,
    ) -> NearestWords:
        """From a file of vectors, or `glove`. Of all its words only `words`, those of the text, are kept if given."""
        found = read_vectors(path, None if words is None else {word.lower() for word in words})
        if not found:
            raise InputError("no word of the text has a vector. Are they for another language?", file=path)
        return cls(found, most, least, skip)

    def of(self, word: str) -> Sequence[str]:
        if word not in self._known:
            self._known[word] = in_any_case(word, self._nearest)
        return self._known[word]

    def _nearest(self, word: str) -> list[str]:
        number = self._numbers.get(word)
        if number is None:
            return []
        if number not in self._found:
            self._find(number)
        return self._found[number]

    def _find(self, number: int) -> None:
        """The neighbours of a word, and of those that stand beside it in the list: they will be asked for, too."""
        size = max(1, _COSINES_AT_ONCE // len(self.words))
        first = number // size * size
        cosines = self._directions[first : first + size] @ self._directions.T  # (word of these, word)
        cosines.diagonal(first).fill_(-torch.inf)  # the word itself
        lowest = cosines.topk(min(self.most, len(self.words))).values[:, -1:].clamp_min(self.least)
        places, others = (cosines >= lowest).nonzero(as_tuple=True)
        values = cosines[places, others]
        self._found |= {first + place: [] for place in range(len(cosines))}
        # the nearest first, and of equally near ones the first in the list
        near = sorted(zip(places.tolist(), (-values).tolist(), others.tolist(), strict=True))
        for place, _, other in near:
            if len(self._found[first + place]) < self.most:
                self._found[first + place].append(self.words[other])

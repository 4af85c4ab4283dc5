"""A CRF without torch, for one sentence or a batch: the best legal path, and probabilities of tags and spans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acclimate.data.schemes import Scheme, Span, legal_moves, split_tag

Array = NDArray[Any]
_IMPOSSIBLE = np.float32(-1e30)


@dataclass(frozen=True)
class TagChain:
    """Scores of the first tag (tag), of moves (from tag, to tag) and of the last tag (tag); -1e30 where forbidden."""

    tags: tuple[str, ...]
    start: Array
    moves: Array
    end: Array

    @classmethod
    def of(cls, tags: Sequence[str], start: Array, moves: Array, end: Array) -> TagChain:
        made = (np.maximum(np.asarray(each, np.float32), _IMPOSSIBLE) for each in (start, moves, end))
        return cls(tuple(tags), *made)

    def legal(self, scheme: Scheme) -> TagChain:
        """The chain with the moves that the scheme forbids left out."""
        start, moves, end = map(np.array, legal_moves(self.tags, scheme))
        return TagChain(
            self.tags,
            np.where(start, self.start, _IMPOSSIBLE),
            np.where(moves, self.moves, _IMPOSSIBLE),
            np.where(end, self.end, _IMPOSSIBLE),
        )

    def best_path(self, scores: Array, lengths: Array) -> Array:
        """The best tags (sentence, word), of equal paths the first in the order of tags; any number at padding."""
        places = np.arange(scores.shape[1])
        words = np.where((places < lengths[:, None])[..., None], scores.astype(np.float32), 0)
        words[:, 0] += self.start
        words[np.arange(len(words)), lengths - 1] += self.end
        words -= words.max(-1, keepdims=True)  # keeps small differences in long sentences
        moves = self.moves - self.moves.max()
        reach = words.copy()  # the best that can follow each tag
        for place in reversed(places[:-1]):
            further = (reach[:, place + 1, None] + moves).max(2) + words[:, place]
            reach[:, place] = np.where((place + 1 < lengths)[:, None], further, words[:, place])
        path = np.empty(scores.shape[:2], np.int64)
        path[:, 0] = reach[:, 0].argmax(-1)
        for place in places[1:]:
            path[:, place] = (moves[path[:, place - 1]] + reach[:, place]).argmax(-1)
        return path

    def marginals(self, scores: Array) -> Array:
        """The probability of each tag at each word of one sentence, (word, tag)."""
        before, after, total = self._sums(scores)
        marginals: Array = np.exp(before + after - total)
        return marginals

    def span_probabilities(self, scores: Array, spans: Sequence[Span]) -> list[float]:
        """The probability of each span: that exactly these words are a span of this label."""
        if not spans:
            return []
        before, after, total = self._sums(scores)
        return [self._span_probability(scores, span, before, after, total) for span in spans]

    def _span_probability(self, scores: Array, span: Span, before: Array, after: Array, total: float) -> float:
        letters, labels = zip(*map(split_tag, self.tags), strict=True)
        of_label = np.array([label == span.label for label in labels])
        ahead, behind = np.isin(letters, ("B", "I")) & of_label, np.isin(letters, ("I", "E")) & of_label
        goes_on = ahead[:, None] & behind
        moves = self.moves.astype(np.float64)
        inside, breaks = np.where(goes_on, moves, -np.inf), np.where(goes_on, -np.inf, moves)
        first = span.start
        state = self.start if first == 0 else _log_sum(before[first - 1][:, None] + breaks, 0)
        state = np.where(of_label, state + scores[first], -np.inf)
        for word in range(first + 1, span.end):
            state = _log_sum(state[:, None] + inside, 0) + scores[word]
        if span.end == len(scores):
            ways = state + self.end
        else:
            ways = _log_sum(state[:, None] + breaks + (scores[span.end] + after[span.end])[None], 1)
        return float(np.exp(min(_log_sum(ways, 0) - total, 0.0)))

    def _sums(self, scores: Array) -> tuple[Array, Array, float]:
        """The log sums of paths up to each tag with its word, from each tag on without it, and of all."""
        scores = scores.astype(np.float64)
        before, after = np.empty_like(scores), np.empty_like(scores)
        before[0], after[-1] = self.start + scores[0], self.end
        for word in range(1, len(scores)):
            before[word] = _log_sum(before[word - 1][:, None] + self.moves, 0) + scores[word]
        for word in reversed(range(len(scores) - 1)):
            after[word] = _log_sum(self.moves + (scores[word + 1] + after[word + 1])[None], 1)
        return before, after, float(_log_sum(before[-1] + after[-1], 0))


def _log_sum(values: Array, axis: int) -> Any:
    most = np.maximum(values.max(axis, keepdims=True), _IMPOSSIBLE)
    return np.squeeze(most, axis) + np.log(np.maximum(np.exp(values - most).sum(axis), 1e-300))

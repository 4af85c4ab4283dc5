"""Typical of the target and not of everything: cross-entropy difference (Moore and Lewis 2010).

Two bigram models of the same size are learnt, one of the target and one of a sample of the pool. A line's score says
how much more readily the target's model would have written it, word by word on the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from acclimate.data.selection.keys import KeyTable, Numbers, different, pair_keys
from acclimate.data.selection.ngram_scores import LINE_END, Scores, Target
from acclimate.data.selection.text_files import Piece, read_blocks
from acclimate.data.selection.word_numbers import NumberedLines, WordNumbers

_SHARE = 0.5  # of the bigrams in a probability; the rest is the single words'
_SAMPLED_PIECES = 64
_FEWEST_SAMPLED = 100_000  # words of the pool, however small the target is


def with_sample(target: Target, pool: Sequence[Piece]) -> Target:
    """The target, and beside it lines from all over the pool: about as many words as the target has."""
    numbers = WordNumbers(target.keys, lower_case=target.lower_case, tokenize=target.tokenize, most=1 << 20)
    chosen = pool[:: -(-len(pool) // _SAMPLED_PIECES)]
    wanted = max(len(target.words), _FEWEST_SAMPLED) // len(chosen) + 1  # words of each piece
    rows: list[NDArray[np.int32]] = []
    for piece in chosen:
        block = numbers.read(next(read_blocks(piece)).text)
        lines = numbers.number(block, np.arange(len(block)))
        step = max(1, int(lines.lengths.sum()) // wanted)
        lines = numbers.number(block, np.arange(0, len(block), step))
        words = np.minimum(lines.words, len(target.keys))  # all that the target lacks is one word
        rows.append(np.insert(words, np.cumsum(lines.lengths), LINE_END).astype(np.int32))
    return replace(target, pool=np.concatenate(rows))


class Contrast:
    """Scores between 0 and 1. 0.5: either model would have written the line as readily."""

    def __init__(self, target: Target) -> None:
        unknown = len(target.keys)
        counts = np.bincount(target.words[target.words != LINE_END], minlength=unknown + 1)
        # what the target has once says little of it: it is as unknown as what the target lacks
        self._numbers: Numbers = np.where(counts > 1, np.arange(unknown + 1), unknown)
        self._target, self._pool = (
            _Bigrams(*self._followed(words.astype(np.int64)), unknown + 1) for words in (target.words, target.pool)
        )

    def scores(self, lines: NumberedLines) -> Scores:
        words = np.insert(np.minimum(lines.words, len(self._numbers) - 1), np.cumsum(lines.lengths), LINE_END)
        before, words = self._followed(words)
        gains = self._target.log(before, words) - self._pool.log(before, words)
        line = np.repeat(np.arange(len(lines)), lines.lengths)
        mean = np.bincount(line, gains, len(lines)) / np.maximum(lines.lengths, 1)
        scores: Scores = 1 / (1 + np.exp(-mean))
        return scores

    def _followed(self, words: Numbers) -> tuple[Numbers, Numbers]:
        """Each word that is no line end, and what stands before it: at the beginning of a line a number of its own."""
        known = np.where(words == LINE_END, len(self._numbers), self._numbers[words])
        before = np.concatenate(([len(self._numbers)], known[:-1])) if len(known) else known
        inside = words != LINE_END
        return before[inside], known[inside]


class _Bigrams:
    """The probability of a word after another, half of it by the two, half by the word alone."""

    def __init__(self, before: Numbers, words: Numbers, vocabulary: int) -> None:
        singles = np.bincount(words, minlength=vocabulary)
        self._alone = (singles + 1) / (len(words) + vocabulary)
        self._before = np.bincount(before, minlength=vocabulary + 1)
        firsts, which = different(pair_keys(before, words))
        self._table = KeyTable(max(1, len(firsts)))
        self._table.add(pair_keys(before, words)[firsts], np.arange(len(firsts)))
        self._pairs = np.append(np.bincount(which, minlength=len(firsts)), 0)  # the last for those not found

    def log(self, before: Numbers, words: Numbers) -> Scores:
        follows = self._before[before]
        together = self._pairs[self._table.find(pair_keys(before, words))] / np.maximum(follows, 1)
        alone = self._alone[words]
        found: Scores = np.log(np.where(follows > 0, _SHARE * together + (1 - _SHARE) * alone, alone))
        return found

"""Words to subword pieces with any fast tokenizer.

Every word has at least one piece: the unknown piece where the tokenizer drops it. A sentence that is too long for the
encoder is read in overlapping windows. So a sentence gets as many tags as it has words.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # a compact tagger reads pieces without torch
    from torch import Tensor

Numbers = NDArray[np.int64]
_REMEMBERED = 1 << 17  # words; a stream of text must not fill the memory
_LEARNING = threading.Lock()  # a tokenizer serves one thread at a time


@dataclass(frozen=True, slots=True)
class Window:
    """The words `start` to `end` of a sentence, read together; `keep_from` to `keep_to` have their features from it."""

    start: int
    end: int
    keep_from: int
    keep_to: int


def windows(counts: Sequence[int], room: int) -> list[Window]:
    """Cover a sentence whose words have `counts` pieces with windows of at most `room` pieces.

    Neighbours share about half their pieces; a word belongs to the window in which it is further from the edge.
    """
    if sum(counts) <= room:
        return [Window(0, len(counts), 0, len(counts))]
    parts: list[tuple[int, int]] = []
    start = 0
    while True:
        end, used = start, 0
        while end < len(counts) and (used + counts[end] <= room or end == start):
            used += counts[end]
            end += 1
        parts.append((start, end))
        if end == len(counts):
            break
        step, moved = start, 0
        while step < end - 1 and moved + counts[step] <= room // 2:
            moved += counts[step]
            step += 1
        start = max(step, start + 1)
    return _keeping(parts, _overlaps(parts))


class Pieces:
    """Turns sentences of words into rows of piece numbers, and remembers where each word's first piece went."""

    def __init__(self, tokenizer: Any, longest_row: int) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise ValueError(f"{type(tokenizer).__name__} is not a fast tokenizer; Acclimate needs word numbers.")
        self.tokenizer = tokenizer
        self.before, self.after = _special_pieces(tokenizer)
        self.longest = longest_row
        self.room = longest_row - len(self.before) - len(self.after)
        if self.room < 1:
            raise ValueError(f"Rows of {longest_row} pieces leave no room for words.")
        self.padding = 0 if tokenizer.pad_token_id is None else int(tokenizer.pad_token_id)
        self._known: dict[str, list[int]] = {}

    def of_words(self, words: Sequence[str]) -> list[list[int]]:
        """The pieces of each word on its own. Never empty; a word longer than a row is read by its beginning."""
        try:
            return list(map(self._known.__getitem__, words))
        except KeyError:
            return list(map(self._learnt(words).__getitem__, words))

    def _learnt(self, words: Sequence[str]) -> dict[str, list[int]]:
        """The pieces of all known words, these among them. Other threads may still use the former dictionary."""
        with _LEARNING:
            known = self._known
            fresh = list(dict.fromkeys(word for word in words if word not in known))
            if len(known) > _REMEMBERED:
                known, fresh = {}, list(dict.fromkeys(words))
            texts = [[_valid(word)] for word in fresh]
            # not verbose: it would warn of a word longer than a row, which is cut below
            rows = self.tokenizer(texts, is_split_into_words=True, add_special_tokens=False, verbose=False)
            unknown = self.tokenizer.unk_token_id
            instead = self.padding if unknown is None else int(unknown)
            for word, row in zip(fresh, rows["input_ids"], strict=True):
                known[word] = row[: self.room] or [instead]
            self._known = known
            return known

    def count(self, sentences: Sequence[Sequence[str]]) -> list[int]:
        """How many pieces each sentence is read as, special ones included: what its place in a batch costs."""
        special = len(self.before) + len(self.after)
        counts = []
        for first in range(0, len(sentences), 1024):
            some = sentences[first : first + 1024]
            self.of_words(list(chain.from_iterable(some)))  # sentence by sentence, tokenizers take five times as long
            counts += [special + sum(map(len, self.of_words(words))) for words in some]
        return counts

    def tensorize(self, sentences: Sequence[Sequence[str]]) -> dict[str, Tensor]:
        """`arrays` as tensors."""
        import torch

        return {name: torch.from_numpy(array) for name, array in self.arrays(sentences).items()}

    def arrays(self, sentences: Sequence[Sequence[str]]) -> dict[str, NDArray[Any]]:
        """`pieces`, `attention` and `words` (row, piece): the number of each piece's word in the batch, -1 for special
        pieces; `first` (sentence, word): each word's place in the flat rows; `sentences` (row): whose row it is.
        """
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        pieces = self.of_words(list(chain.from_iterable(sentences)))
        counts = np.fromiter(map(len, pieces), np.int64, len(pieces))
        flat = np.fromiter(chain.from_iterable(pieces), np.int64, int(counts.sum()))
        starts = np.concatenate(([0], counts.cumsum()))  # of each word in `flat`, and the end of the last

        from_word, to_word, kept = self._rows(lengths, counts, starts)
        begins = starts[from_word]
        sizes = starts[to_word] - begins  # of each row, special pieces apart
        before, after = len(self.before), len(self.after)
        width = int(sizes.max()) + before + after
        column = np.arange(width)
        ends = (before + sizes)[:, None]
        attention = column < ends + after
        table = np.full((len(sizes), width), self.padding)
        table[:, :before] = self.before
        table[(column >= before) & (column < ends)] = flat[ranges(begins, sizes)]
        table[(column >= ends) & attention] = np.tile(self.after, len(sizes))

        words = np.full(table.shape, -1)
        words[(column >= before) & (column < ends)] = np.repeat(np.arange(len(counts)), counts)[ranges(begins, sizes)]

        row = np.repeat(np.arange(len(sizes)), kept)  # of each word: the one row that keeps it
        first = np.zeros((len(lengths), int(lengths.max())), np.int64)
        first[np.arange(first.shape[1]) < lengths[:, None]] = row * width + before + starts[:-1] - begins[row]
        owners = np.searchsorted(lengths.cumsum(), from_word, side="right")
        return {"pieces": table, "attention": attention, "words": words, "first": first, "sentences": owners}

    def _rows(self, lengths: Numbers, counts: Numbers, starts: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """The first word of each row, the end of its words, and how many have their features from it."""
        ends = lengths.cumsum()
        begins = ends - lengths
        too_long = starts[ends] - starts[begins] > self.room
        if not too_long.any():
            return begins, ends, lengths
        rows: list[tuple[int, int, int]] = []
        for begin, end, is_long in zip(begins.tolist(), ends.tolist(), too_long.tolist(), strict=True):
            if is_long:
                parts = windows(counts[begin:end].tolist(), self.room)
                rows += [(begin + row.start, begin + row.end, row.keep_to - row.keep_from) for row in parts]
            else:
                rows.append((begin, end, end - begin))
        from_word, to_word, kept = np.array(rows).T
        return from_word, to_word, kept


def ranges(starts: Numbers, counts: Numbers) -> Numbers:
    """The numbers from each start on, as many as it counts: [5, 8], [2, 3] → 5 6 8 9 10."""
    numbers: Numbers = np.repeat(starts - (counts.cumsum() - counts), counts)
    numbers += np.arange(len(numbers))
    return numbers


def _valid(word: str) -> str:
    """The word with U+FFFD for half a surrogate pair, as broken JSON may bring it: tokenizers refuse those."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return word.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return word


def _special_pieces(tokenizer: Any) -> tuple[list[int], list[int]]:
    """What the tokenizer puts before and after a sentence, read off an example rather than assumed."""
    example = tokenizer([["a"]], is_split_into_words=True)
    pieces, words = example["input_ids"][0], example.word_ids(0)
    inner = [place for place, word in enumerate(words) if word is not None]
    if not inner:
        return list(pieces), []
    return list(pieces[: inner[0]]), list(pieces[inner[-1] + 1 :])


def overlapping(costs: Sequence[int], most: int, shared: int) -> list[Window]:
    """Cover words of these costs with parts of at most `most`, unless a word costs more; neighbours share about
    `shared`."""
    total = np.concatenate(([0], np.cumsum(costs)))  # up to each word
    parts: list[tuple[int, int]] = []
    start = end = 0
    while end < len(costs):
        reached = int(np.searchsorted(total, total[start] + most, side="right")) - 1
        if reached <= end:  # the next word is large: it leaves less room for what is shared
            reached = end + 1
            start = min(max(start, int(np.searchsorted(total, total[reached] - most))), end)
        end = reached
        parts.append((start, end))
        start = max(int(np.searchsorted(total, total[end] - shared)), start + 1)
    return _keeping(parts, _overlaps(parts))


def overlapping_rows(counts: Sequence[int], room: int, most: int, shared: int) -> list[Window]:
    """The same for an encoder that reads words of `counts` pieces in rows of `room` pieces (`windows`).

    Parts begin and end where rows do and share at least `shared` pieces that stand in the same rows in both, so that
    each word has the features that it has when all rows are read at once.
    """
    rows = windows(counts, room)
    total = np.concatenate(([0], np.cumsum(counts)))
    parts: list[tuple[int, int]] = []
    first = 0
    while True:
        last = min(first + 2, len(rows) - 1)
        while last + 1 < len(rows) and total[rows[last + 1].end] - total[rows[first].start] <= most:
            last += 1
        parts.append((first, last))
        if last == len(rows) - 1:
            break
        following = last
        while following > first + 1 and total[rows[last].keep_to] - total[rows[following].keep_from] < shared:
            following -= 1
        first = following
    alike = [(rows[right[0]].keep_from, rows[left[1]].keep_to) for left, right in pairwise(parts)]
    return _keeping([(rows[first].start, rows[last].end) for first, last in parts], alike)


def _overlaps(parts: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(right[0], left[1]) for left, right in pairwise(parts)]


def _keeping(parts: Sequence[tuple[int, int]], alike: Sequence[tuple[int, int]]) -> list[Window]:
    """Neighbours meet in the middle of the words that both read alike."""
    borders = [0, *((start + end + 1) // 2 for start, end in alike), parts[-1][1] if parts else 0]
    return [Window(*edges, borders[i], borders[i + 1]) for i, edges in enumerate(parts)]

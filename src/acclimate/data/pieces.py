"""Words ↔ pieces for any fast tokenizer, through word numbers rather than through the look of the pieces.

Every word keeps at least one piece (one that the tokenizer drops becomes the unknown piece), and a sentence too long
for the encoder is read through overlapping windows, so that words in = tags out whatever the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Window:
    """The words `start` to `end` of a sentence, read together; `keep_from` to `keep_to` have their features from it."""

    start: int
    end: int
    keep_from: int
    keep_to: int


def windows(counts: Sequence[int], room: int) -> list[Window]:
    """Cover a sentence whose words have `counts` pieces with windows of at most `room` pieces.

    Neighbouring windows share about half their pieces, and a word belongs to the window in which it stands further
    from the edge: context on both sides is what an encoder needs.
    """
    if sum(counts) <= room:
        return [Window(0, len(counts), 0, len(counts))]
    found: list[tuple[int, int]] = []
    start = 0
    while True:
        end, used = start, 0
        while end < len(counts) and (used + counts[end] <= room or end == start):
            used += counts[end]
            end += 1
        found.append((start, end))
        if end == len(counts):
            break
        step, moved = start, 0
        while step < end - 1 and moved + counts[step] <= room // 2:
            moved += counts[step]
            step += 1
        start = max(step, start + 1)
    borders = [0, *((left[1] + right[0] + 1) // 2 for left, right in pairwise(found)), len(counts)]
    return [Window(*edges, borders[i], borders[i + 1]) for i, edges in enumerate(found)]


class Pieces:
    """Turns sentences of words into rows of piece numbers, and remembers where each word's first piece went."""

    def __init__(self, tokenizer: Any, longest_row: int) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise ValueError(f"{type(tokenizer).__name__} is not a fast tokenizer; Acclimate needs word numbers.")
        self.tokenizer = tokenizer
        self.before, self.after = _special_pieces(tokenizer)
        self.room = longest_row - len(self.before) - len(self.after)
        if self.room < 1:
            raise ValueError(f"Rows of {longest_row} pieces leave no room for words.")
        self.padding = 0 if tokenizer.pad_token_id is None else int(tokenizer.pad_token_id)
        self._known: dict[str, list[int]] = {}

    def of_words(self, words: Sequence[str]) -> list[list[int]]:
        """The pieces of each word on its own. Never empty; a word longer than a row is read by its beginning."""
        fresh = list(dict.fromkeys(word for word in words if word not in self._known))
        if fresh:
            if len(self._known) > 500_000:  # a stream of text must not fill the memory
                self._known.clear()
                fresh = list(dict.fromkeys(words))
            texts = [[_valid(word)] for word in fresh]
            rows = self.tokenizer(texts, is_split_into_words=True, add_special_tokens=False)
            for word, row in zip(fresh, rows["input_ids"], strict=True):
                self._known[word] = row[: self.room] or [self._unknown()]
        return [self._known[word] for word in words]

    def number(self, sentences: Sequence[Sequence[str]]) -> dict[str, Tensor]:
        """`pieces` and `attention` (row, piece), and `first` (sentence, word): each word's place in the flat rows."""
        rows: list[list[int]] = []
        firsts: list[list[tuple[int, int]]] = []
        for words in sentences:
            pieces = self.of_words(words)
            places: list[tuple[int, int]] = []
            for window in windows([len(piece) for piece in pieces], self.room):
                row = list(self.before)
                for position in range(window.start, window.end):
                    if window.keep_from <= position < window.keep_to:
                        places.append((len(rows), len(row)))
                    row.extend(pieces[position])
                rows.append(row + self.after)
            firsts.append(places)
        width = max(map(len, rows))
        pieces_tensor = torch.full((len(rows), width), self.padding)
        attention = torch.zeros((len(rows), width), dtype=torch.bool)
        for number, row in enumerate(rows):
            pieces_tensor[number, : len(row)] = torch.tensor(row)
            attention[number, : len(row)] = True
        first = torch.zeros((len(firsts), max(map(len, firsts))), dtype=torch.long)
        for number, places in enumerate(firsts):
            first[number, : len(places)] = torch.tensor([row * width + column for row, column in places])
        return {"pieces": pieces_tensor, "attention": attention, "first": first}

    def _unknown(self) -> int:
        unknown = self.tokenizer.unk_token_id
        return self.padding if unknown is None else int(unknown)


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

"""Aho-Corasick over rows of words: every place where any of many rows stands in a text, in one pass over the text.

A trie of all rows; each node knows the node of its longest proper suffix that is in the trie, too (`fail`), and the
nearest such suffix that is a whole row (`shorter`). Nodes are numbers and their properties lie in arrays: a hundred
thousand names take some 30 MB.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

UNKNOWN = -1
_BITS = 32


class Automaton:
    """Add rows, `close`, then ask for matches. A row is known by the number of its last node."""

    def __init__(self) -> None:
        self.words: dict[str, int] = {}
        self.depth = array("i", [0])
        self._next: dict[int, int] = {}  # node and word → node
        self._is_row = bytearray(1)
        self._parent, self._word = array("i", [0]), array("i", [0])
        self._fail, self._shorter = array("i"), array("i")

    def __len__(self) -> int:
        return len(self.depth)

    def add(self, row: Sequence[str]) -> int:
        """The node of a row, which is made if it is new. An empty row has none."""
        if not row:
            raise ValueError("an empty row matches everywhere.")
        node = 0
        for text in row:
            word = self.words.setdefault(text, len(self.words))
            key = node << _BITS | word
            following = self._next.get(key)
            if following is None:
                following = self._next[key] = len(self.depth)
                self.depth.append(self.depth[node] + 1)
                self._parent.append(node)
                self._word.append(word)
                self._is_row.append(0)
            node = following
        self._is_row[node] = 1
        return node

    def close(self) -> None:
        """Find the suffixes, those of short nodes first. No row can be added afterwards."""
        self._fail, self._shorter = array("i", [0]) * len(self), array("i", [0]) * len(self)
        for node in sorted(range(1, len(self)), key=self.depth.__getitem__):
            parent, word = self._parent[node], self._word[node]
            suffix = self._follow(self._fail[parent], word) if parent else 0
            self._fail[node] = suffix
            self._shorter[node] = suffix if self._is_row[suffix] else self._shorter[suffix]
        self._parent = self._word = array("i")  # not needed any more

    def numbers(self, row: Sequence[str]) -> tuple[int, ...]:
        """Words as `matches` takes them; UNKNOWN for one that is in no row."""
        return tuple(self.words.get(word, UNKNOWN) for word in row)

    def matches(self, words: Sequence[int]) -> Iterator[tuple[int, int, int]]:
        """Every row in the text: where it begins, where it ends (exclusive), and its node."""
        following, fail, shorter, is_row, depth = self._next.get, self._fail, self._shorter, self._is_row, self.depth
        node = 0
        for place, word in enumerate(words, start=1):
            if word < 0:
                node = 0
                continue
            found = following(node << _BITS | word, 0)
            while not found and node:
                node = fail[node]
                found = following(node << _BITS | word, 0)
            node = found
            row = node if is_row[node] else shorter[node]
            while row:
                yield place - depth[row], place, row
                row = shorter[row]

    def _follow(self, node: int, word: int) -> int:
        """The node after a word, of the longest suffix that goes on with it."""
        while True:
            found = self._next.get(node << _BITS | word, 0)
            if found or not node:
                return found
            node = self._fail[node]

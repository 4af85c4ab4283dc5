"""Sentences of raw text, one after the other, for whoever need not hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from acclimate.data.readers.ledger import Tokenize
from acclimate.data.text_blocks import Piece, cut_into_pieces, read_blocks
from acclimate.data.words import find_blank_separated, find_sentences, split_words

Watch = Callable[[int, int, int], None]  # bytes read of the files as they lie on disk, of how many, and of text


class SentenceStream:
    """The words of every line of raw text files, plain, .gz or .xz; with `paragraphs`, of every sentence of a line.

    No more than a megabyte of text is in memory. `lines_too_long` counts lines of more than a megabyte, which are no
    sentences and are left out.
    """

    def __init__(
        self,
        files: Sequence[str | Path],
        tokenize: Tokenize = "words",
        paragraphs: bool = False,
        watch: Watch = lambda stored, of, text: None,
    ) -> None:
        self._pieces = cut_into_pieces(files)  # a file that is not there is told of now
        self._tokenize, self._paragraphs, self._watch = tokenize, paragraphs, watch
        self.lines_too_long = 0

    def __iter__(self) -> Iterator[list[str]]:
        done, text, of = 0, 0, sum(piece.size for piece in self._pieces)
        for piece in self._pieces:
            for block, stored in self._blocks(piece):
                for line in block.split("\n"):
                    for sentence in self._sentences(line):
                        words = self._words(sentence)
                        if words:
                            yield words
                text += len(block)
                self._watch(done + stored, of, text)
            done += piece.size

    def _blocks(self, piece: Piece) -> Iterator[tuple[str, int]]:
        for block in read_blocks(piece):
            self.lines_too_long += block.left_out
            yield block.text.decode("utf-8"), block.stored

    def _sentences(self, line: str) -> list[str]:
        return [line[start:end] for start, end in find_sentences(line)] if self._paragraphs else [line]

    def _words(self, sentence: str) -> list[str]:
        if self._tokenize == "words":
            return split_words(sentence)
        return [sentence[start:end] for start, end in find_blank_separated(sentence)]

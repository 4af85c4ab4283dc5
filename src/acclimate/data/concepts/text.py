"""Raw text as a stream of sentences: no more than a megabyte of it is in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from acclimate.data.corpus import Sentence
from acclimate.data.problems import InputError, Place
from acclimate.data.readers.ledger import Tokenize
from acclimate.data.readers.marked_text import grouped
from acclimate.data.readers.opening import inner_name
from acclimate.data.text_blocks import cut_into_pieces, read_blocks
from acclimate.data.words import find_blank_separated, find_sentences, find_words


class RawText:
    """The sentences of a text file (plain, .gz or .xz) or of a folder of .txt files: a line each, or, with
    `paragraphs`, what the lines are split into; a line is then a document. Each file of a folder is one, too.

    `lines_left_out` counts lines of more than a megabyte, which are no sentences.
    """

    def __init__(self, path: str | Path, *, paragraphs: bool = False, tokenize: Tokenize = "words") -> None:
        self.path = Path(path)
        self.paragraphs = paragraphs
        self.lines_left_out = 0
        self._find_words = find_blank_separated if tokenize == "blanks" else find_words
        self.files = self._text_files() if self.path.is_dir() else [self.path]
        self.size = sum(piece.size for piece in cut_into_pieces(self.files))

    def sentences(self, watch: Callable[[int], None] = lambda stored: None) -> Iterator[Sentence]:
        """`watch` hears how many bytes of the files have been read, as they are on disk."""
        before = 0
        for file in self.files:
            number = 0
            for piece in cut_into_pieces([file]):
                for block in read_blocks(piece):
                    self.lines_left_out += block.left_out
                    lines = block.text.decode("utf-8").split("\n")
                    # a block that left out a long line has it at its end
                    for line in lines[:-1] if not lines[-1] else lines:
                        number += 1
                        yield from self._of_line(line.removesuffix("\r"), file, number)
                    number += block.left_out
                    watch(before + block.stored)
                before += piece.size

    def _of_line(self, line: str, file: Path, number: int) -> Iterator[Sentence]:
        words = self._find_words(line)
        document = inner_name(file.name).removesuffix(".txt") if self.path.is_dir() else None
        if self.paragraphs and document is None:
            document = f"line {number}"
        for first, last in grouped(words, find_sentences(line) if self.paragraphs else []):
            offsets = tuple(words[first:last])
            found = tuple(line[start:end] for start, end in offsets)
            yield Sentence(found, None, line, offsets, Place(str(file), number), document)

    def _text_files(self) -> list[Path]:
        files = sorted(path for path in self.path.iterdir() if inner_name(path.name).endswith(".txt"))
        if not files:
            raise InputError("the folder has no .txt files.", file=self.path)
        return files

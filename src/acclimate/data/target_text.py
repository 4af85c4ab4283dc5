"""The text that other text is to be like: raw, or the words of a corpus in any format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from acclimate.data.corpus import Corpus
from acclimate.data.line_ngrams import LINE_END, Target
from acclimate.data.problems import InputError
from acclimate.data.readers.detection import detect_format
from acclimate.data.readers.ledger import Tokenize
from acclimate.data.readers.opening import Source
from acclimate.data.reading import read_corpus
from acclimate.data.text_blocks import cut_into_pieces, read_beginning, read_blocks
from acclimate.data.word_numbers import NumberedLines, WordNumbers

Text = str | Path | Corpus


def read_target(
    like: Text | Sequence[Text], format: str | None = None, *, lower_case: bool = True, tokenize: Tokenize = "words"
) -> Target:
    """The words of all texts. Raw text may be plain, .gz or .xz; whatever else `read_corpus` takes is read by it.

    format: found out for each text when it is not given; standard input (`-`) is then raw text.
    """
    words = WordNumbers(lower_case=lower_case, tokenize=tokenize, most=None)
    rows: list[NDArray[np.int32]] = []
    for text in [like] if isinstance(like, Text) else like:
        for lines in _numbered(text, format, words):
            ending = np.insert(lines.words, np.cumsum(lines.lengths), LINE_END)
            rows.append(ending.astype(np.int32))
    if not len(words.keys()):
        raise InputError("the target text has no words. Is it the right file?")
    return Target(words.keys(), np.concatenate(rows), lower_case, tokenize)


def _numbered(text: Text, format: str | None, words: WordNumbers) -> Iterator[NumberedLines]:
    if not isinstance(text, Corpus):
        format = format or ("text" if str(text) == "-" else detected_format(text))
        if format == "text" and Path(text).is_file():
            for piece in cut_into_pieces([text]):
                for block in read_blocks(piece):
                    read = words.read(block.text)
                    yield words.number(read, np.arange(len(read)))
            return
        text = read_corpus(text, format, tokenize=words.tokenize)
    # raw text is read by lines: a word with a line end in it will not be met, whatever becomes of it here
    spelled = [word.replace("\n", " ") for sentence in text for word in sentence.words]
    yield NumberedLines(words.of(spelled), np.array([len(sentence.words) for sentence in text]))


def detected_format(file: str | Path) -> str:
    """What a file looks like by its name and its first megabyte: the rest need not be read for that."""
    return detect_format(_Beginning(file))


class _Beginning(Source):
    """The first megabyte of a file, from which its format is told."""

    @cached_property
    def data(self) -> bytes:
        return read_beginning(self.path)

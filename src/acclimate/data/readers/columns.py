"""Text files: CoNLL-like columns, and plain text.

Columns: one word per line with its tags behind it, a blank line between sentences. Two, three, four or more columns;
the last is the tag unless another is asked for; one column alone is unlabelled words. If any line of the file holds a
tab, tabs separate the columns (a word may then hold blanks: `10 000`); otherwise runs of ASCII blanks do. Other white
space (the non-breaking space, U+2028 …) is part of a word, as the annotators left it.

Plain text: a sentence per line, or with `paragraphs=True` a paragraph per line that is split into sentences. Words are
found by `words.py`; `tokenize="blanks"` is for text that was split into words already. A folder of .txt files is read
too, each file a document.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from acclimate.data.problems import InputError, shorten
from acclimate.data.readers.source import RawSentence, ReadingLog, ReadingOptions, Source, inner_name
from acclimate.data.schemes import looks_like_span_tag, names_a_span
from acclimate.data.words import find_sentences, grouped
from acclimate.spelling import argument

_DOCUMENT_START = re.compile(r"-DOCSTART-(?:[ \t]|$)")
_BLANK_RUN = re.compile(" +")
_BLANKS = " \t\r"
_LOOKED_AT = 2000  # lines, to find out whether the columns stand the other way round
_ENOUGH, _TIMES_FEWER = 100, 5  # so many lines have five times as many words as tags, or more
_TRIMMED = "words had blanks around them, which were cut off"


def read_columns(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    table = _Table(source, log)
    documents = 0
    block: list[int] = []  # the lines of the sentence that is being collected
    for number, line in enumerate(table.lines, start=1):
        if line and line[0] not in "-# \t\r":  # most lines: no need to look closer
            block.append(number)
        elif _DOCUMENT_START.match(line) or not line.strip(_BLANKS):
            yield from table.sentence(block, documents)
            block = []
            documents += line[:1] == "-"
        elif not (log.options.comments and table.is_comment(line)):
            block.append(number)
    yield from table.sentence(block, documents)


class _Table:
    """The lines of a file, and what is true of all of them: the separator, how many columns, which ones matter."""

    def __init__(self, source: Source, log: ReadingLog) -> None:
        self.source, self.log = source, log
        self.lines = source.checked_lines(log)
        data_lines = [line for line in self.lines if line.strip(_BLANKS) and not _DOCUMENT_START.match(line)]
        if log.options.comments:
            data_lines = [line for line in data_lines if not line.startswith("# ")] or data_lines
        self.by_tab = any("\t" in line for line in data_lines)
        counts = Counter(len(self.split(line)) for line in data_lines)
        # the commonest count is the file's, so that one bad first line does not put the blame on all others
        self.width = max(counts, key=lambda width: (counts[width], width), default=0)
        self.word_column, self.tag_column = _chosen_columns(log.options, self.width, source.name)
        self._check_order(data_lines[:_LOOKED_AT])

    def split(self, line: str) -> list[str]:
        if self.by_tab:
            return line.split("\t")
        return _BLANK_RUN.split(line.strip(" "))  # not str.split(), which also splits at U+00A0 and its kin

    def _check_order(self, lines: list[str]) -> None:
        """Some corpora write the tag first. Taken for words, tags give themselves away: they are spelled in a span
        scheme, or they are few where the words, taken for tags, are many."""
        if self.tag_column is None:
            return
        rows = [cells for line in lines if len(cells := self.split(line)) == self.width]
        words, tags = [row[self.word_column] for row in rows], [row[self.tag_column] for row in rows]
        spelled = sum(map(looks_like_span_tag, words)), sum(map(looks_like_span_tag, tags))
        are_tags = (
            len(rows) > 2
            and any(map(names_a_span, words))
            and spelled[0] >= 0.9 * len(rows)
            and 2 * spelled[1] < len(rows)
        )
        asked = self.log.options.column is not None or self.log.options.words_column is not None
        are_few = not asked and len(rows) >= _ENOUGH and _TIMES_FEWER * len({*words}) <= len({*tags})
        if are_tags or are_few:
            example = next(filter(names_a_span, words), words[0])
            problem = (
                f"column {self.word_column} seems to hold tags ({shorten(example, 40)!r}) and not words, and column "
            )
            problem += f"{self.tag_column} words ({shorten(tags[words.index(example)], 40)!r}) and not tags. "
            advice = (
                f"If so, pass {argument('words_column', self.tag_column)} and {argument('column', self.word_column)}"
            )
            otherwise = "" if are_tags else f"; if not, pass {argument('words_column', self.word_column)}"
            raise InputError(f"{problem}{advice}{otherwise}.", file=self.source.name)

    def is_comment(self, line: str) -> bool:
        """A hashtag with its tag is a word even where comments are allowed."""
        return line.startswith("#") and (line.startswith("# ") or len(self.split(line)) != self.width)

    def sentence(self, block: list[int], documents: int) -> Iterator[RawSentence]:
        if not block:
            return
        words: list[str] = []
        tags: list[str] | None = None if self.tag_column is None else []
        for number in block:
            try:
                cells = self.cells(number)
            except InputError as error:  # never half a sentence
                self.log.refuse(error, file=self.source.name, line=number, text=self.lines[number - 1])
                return
            words.append(cells[self.word_column])
            if tags is not None and self.tag_column is not None:
                tags.append(cells[self.tag_column])
        yield RawSentence(words, tags, lines=block, document=str(documents) if documents else None)

    def cells(self, number: int) -> list[str]:
        if number in self.source.faults:
            raise self.source.faults[number]
        line = self.lines[number - 1]
        cells = self.split(line)
        if len(cells) != self.width:
            raise InputError(self._wrong_width(line, len(cells)))
        word = cells[self.word_column]
        if word[:1] in ("", " ") or word[-1] == " ":
            cells[self.word_column] = trimmed = word.strip(" ")
            if not trimmed:
                raise InputError("the word is empty. Give it a character, or make the line blank to end the sentence.")
            self.log.count(_TRIMMED)
        if self.tag_column is not None:
            cells[self.tag_column] = cells[self.tag_column].strip(" ")
            if not cells[self.tag_column]:
                raise InputError(
                    "the tag is empty. Write O for a word outside of all spans, or choose another column "
                    f"({argument('column', ...)})."
                )
        return cells

    def _wrong_width(self, line: str, width: int) -> str:
        separator = "tabs" if self.by_tab else "blanks"
        hint = (
            f" If lines that begin with # are comments, pass {argument('comments', True)}."
            if line.startswith("#")
            else ""
        )
        return (
            f"{_columns(width)} where the file has {self.width} (separated by {separator}).{hint} "
            f"Mend the line, or pass {argument('skip_bad', True)} to leave its sentence out."
        )


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"


def _chosen_columns(options: ReadingOptions, width: int, file: str) -> tuple[int, int | None]:
    """Which column has the words and which the tags, counted from zero."""
    words = _index(options.words_column, 0, width, "words_column", file)
    if options.column is None and width <= 1:
        return words, None
    tags = _index(options.column, -1 if words != width - 1 else -2, width, "column", file)
    if tags == words:
        raise InputError(
            f"{argument('column', options.column)} and {argument('words_column', words)} are the same column.",
            file=file,
        )
    return words, tags


def _index(wanted: int | str | None, default: int, width: int, option: str, file: str) -> int:
    if wanted is None:
        wanted = default
    try:
        index = int(wanted)
    except ValueError:
        problem = (
            f"{option}={wanted!r}: columns of this format have no names; give a number, from 0 or from -1 backwards."
        )
        raise InputError(problem, file=file) from None
    if width and not -width <= index < width:
        raise InputError(f"{argument(option, index)}, but the file has {_columns(width)} (numbered from 0).", file=file)
    return index % width if width else 0


def read_text(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    if source.is_stdin or not source.path.is_dir():
        yield from _lines(source, None, log)
        return
    files = sorted(path for path in source.path.iterdir() if inner_name(path.name).endswith(".txt"))
    if not files:
        raise InputError("the folder has no .txt files.", file=source.name)
    for path in files:
        yield from _lines(Source(path), inner_name(path.name).removesuffix(".txt"), log)


def _lines(source: Source, document: str | None, log: ReadingLog) -> Iterator[RawSentence]:
    same: dict[str, str] = {}  # one string object per word: a corpus of millions of words has few different ones
    for number, line in enumerate(source.checked_lines(log), start=source.first_line):
        if number in source.faults:
            log.refuse(source.faults[number])
            continue
        words = log.options.find_words(line)
        borders = find_sentences(line) if log.options.paragraphs else []
        for first, last in grouped(words, borders):
            yield RawSentence(
                words=[same.setdefault(word, word) for word in [line[start:end] for start, end in words[first:last]]],
                lines=(number,),
                text=line,
                offsets=words[first:last],
                document=document,
                file=source.name,
            )

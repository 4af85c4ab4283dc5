"""Text files: CoNLL-like columns, CoNLL-U, and plain text.

Columns: one word per line with its tags behind it, a blank line between sentences. The last column is the tag unless
another is asked for; one column alone is unlabelled words. If any line holds a tab, tabs separate the columns (a word
may then hold blanks: `10 000`); otherwise runs of ASCII blanks do. Other white space is part of a word.

CoNLL-U: ten columns. The tag is UPOS, or `column="xpos"`, `"deprel"`, `"ner"` … Named entities stand in the last
column, MISC, as `NER=B-PER` (or `name=`); `column="misc.KEY"` reads any key of it. Multi-word ranges (`3-4`) and empty
nodes (`3.1`) are left out. `# text` is kept, with offsets, if it holds all words of its sentence.

Plain text: a sentence per line, or with `paragraphs=True` a paragraph per line. A folder of .txt files is read too,
each file a document.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from acclimate.data.problems import InputError, shorten
from acclimate.data.readers.source import (
    RawSentence,
    ReadingLog,
    ReadingOptions,
    Source,
    chosen_column,
    inner_name,
    text_files_in,
)
from acclimate.data.schemes import looks_like_span_tag, names_a_span
from acclimate.data.words import find_sentences, grouped
from acclimate.spelling import argument

_DOCUMENT_START = re.compile(r"-DOCSTART-(?:[ \t]|$)")
_BLANK_RUN = re.compile(" +")
_BLANKS = " \t\r"
_LOOKED_AT = 2000  # lines, to find out whether the columns stand the other way round
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
        """Refuse a file with the tag first, whose words are spelled as span tags."""
        if self.tag_column is None:
            return
        rows = [cells for line in lines if len(cells := self.split(line)) == self.width]
        words, tags = [row[self.word_column] for row in rows], [row[self.tag_column] for row in rows]
        example = next(filter(names_a_span, words), None)
        are_tags = sum(map(looks_like_span_tag, words)) >= 0.9 * len(rows)
        if len(rows) > 2 and example and are_tags and 2 * sum(map(looks_like_span_tag, tags)) < len(rows):
            raise InputError(
                f"column {self.word_column} seems to hold tags ({shorten(example, 40)!r}) and not words. If so, pass "
                f"{argument('words_column', self.tag_column)} and {argument('column', self.word_column)}.",
                file=self.source.name,
            )

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
        self.source.require_text(number)
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
                advice = (
                    f"Write O for a word outside of all spans, or choose another column ({argument('column', ...)})."
                )
                raise InputError(f"the tag is empty. {advice}")
        return cells

    def _wrong_width(self, line: str, width: int) -> str:
        separator = "tabs" if self.by_tab else "blanks"
        hint = f" If lines that begin with # are comments, pass {argument('comments', True)}."
        hint = hint if line.startswith("#") else ""
        return (
            f"{_columns(width)} where the file has {self.width} (separated by {separator}).{hint} "
            f"Mend the line, or pass {argument('skip_bad', True)} to leave its sentence out."
        )


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"


def _chosen_columns(options: ReadingOptions, width: int, file: str) -> tuple[int, int | None]:
    """Which column has the words and which the tags, counted from zero."""
    if not width:
        return 0, None
    words = chosen_column(options.words_column or 0, width, "words_column", file)
    if options.column is None and width == 1:
        return words, None
    default = -1 if words != width - 1 else -2
    tags = chosen_column(default if options.column is None else options.column, width, "column", file)
    if tags == words:
        both = f"{argument('column', options.column)} and {argument('words_column', words)}"
        raise InputError(f"{both} are the same column.", file=file)
    return words, tags


CONLLU_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_ENTITY_KEYS = ("NER", "name", "ner", "Name")
_UNKNOWN = "_"
_WORD_ID, _LEFT_OUT_ID = re.compile(r"[0-9]+"), re.compile(r"[0-9]+[-.][0-9]+")
_COMMENT = re.compile(r"#[ \t]*(text|sent_id|newdoc id|newdoc)[ \t]*(?:=[ \t]*(.*))?$")


@dataclass(slots=True)
class _Block:
    """The lines between two blank ones."""

    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    text: str | None = None
    document: str | None = None
    sentence: str | None = None
    bad: bool = False


def read_conllu(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    blocks = list(_blocks(source, log))
    column = _conllu_column(log, blocks, source.name)
    log.kind = "plain"
    if column.startswith("misc."):
        log.kind = "spans" if column == "misc.NER" else None
    for block in blocks:
        yield from _conllu_sentence(block, column, log, source.name)


def _blocks(source: Source, log: ReadingLog) -> Iterator[_Block]:
    block = _Block()
    lines = source.checked_lines(log)
    for number, line in enumerate([*lines, ""], start=1):
        if not line.strip(" \t"):
            if block.rows and not block.bad:
                yield block
            block = _Block(document=block.document)
        elif comment := _COMMENT.match(line):
            name, value = comment.group(1), (comment.group(2) or "").rstrip(" ")
            block.text = value if name == "text" else block.text
            block.sentence = value if name == "sent_id" else block.sentence
            block.document = (value or None) if name.startswith("newdoc") else block.document
        elif not line.startswith("#") and not block.bad:
            try:
                source.require_text(number)
                if cells := _word_cells(line):
                    block.rows.append((number, cells))
            except InputError as error:
                block.bad = True
                log.refuse(error, file=source.name, line=number, text=line)


def _word_cells(line: str) -> list[str] | None:
    """The ten cells of a word; None for a line that is no syntactic word."""
    cells = line.split("\t")
    if len(cells) != len(CONLLU_COLUMNS):
        raise InputError(f"{len(cells)} columns; CoNLL-U has {len(CONLLU_COLUMNS)}, separated by tabs.")
    if _LEFT_OUT_ID.fullmatch(cells[0]):
        return None
    if not _WORD_ID.fullmatch(cells[0]):
        raise InputError(f"the id is {cells[0]!r}; expected a number, a range (3-4) or an empty node (3.1).")
    if not cells[1].strip(" "):
        raise InputError("the word (second column) is empty.")
    return cells


def _conllu_column(log: ReadingLog, blocks: list[_Block], file: str) -> str:
    """The column to read, by its lower-case name. The default is UPOS, or the entities of a file without UPOS."""
    wanted, rows = log.options.column, [cells for block in blocks for _, cells in block.rows]
    key = next((key for key in _ENTITY_KEYS if any(_misc(cells[9], key) for cells in rows)), None)
    if wanted is None:
        return f"misc.{key}" if key and all(cells[3] == _UNKNOWN for cells in rows) else "upos"
    name = str(wanted).lower()
    if name.startswith("misc."):
        return f"misc.{str(wanted)[5:]}"
    if name == "ner":
        return f"misc.{key or 'NER'}"
    if name in CONLLU_COLUMNS[2:]:
        return name
    names = ", ".join((*CONLLU_COLUMNS[2:], "ner", "misc.KEY"))
    raise InputError(f"{argument('column', wanted)}: CoNLL-U has the columns {names}.", file=file)


def _misc(cell: str, key: str) -> str | None:
    return next((part[len(key) + 1 :] for part in cell.split("|") if part.startswith(f"{key}=")), None)


def _conllu_sentence(block: _Block, column: str, log: ReadingLog, file: str) -> Iterator[RawSentence]:
    words = [cells[1] for _, cells in block.rows]
    tags = [_tag(cells, column) for _, cells in block.rows]
    is_tagged = any(tag != _UNKNOWN for tag in tags)
    if is_tagged and _UNKNOWN in tags:
        number, cells = block.rows[tags.index(_UNKNOWN)]
        problem = f"the word has no {column.upper()}, but others of its sentence have. Give it one, or choose another"
        error = InputError(f"{problem} column ({argument('column', ...)}).")
        log.refuse(error, file=file, line=number, text="\t".join(cells))
        return
    offsets = None if block.text is None else _find_in_text(words, block.text)
    if block.text is not None and offsets is None:
        log.count("sentences have words that are not in their `# text` (multi-word tokens); it was not kept")
    yield RawSentence(
        words,
        tags if is_tagged else None,
        lines=[number for number, _ in block.rows],
        text=None if offsets is None else block.text,
        offsets=offsets,
        document=block.document or block.sentence,
    )


def _tag(cells: list[str], column: str) -> str:
    if column.startswith("misc."):
        return _misc(cells[9], column[5:]) or "O"
    return cells[CONLLU_COLUMNS.index(column)].strip(" ") or _UNKNOWN


def _find_in_text(words: list[str], text: str) -> list[tuple[int, int]] | None:
    """The words' offsets in the text; None unless they stand there one after the other with white space between."""
    offsets: list[tuple[int, int]] = []
    reached = 0
    for word in words:
        start = text.find(word, reached)
        if start < 0 or text[reached:start].strip():
            return None
        reached = start + len(word)
        offsets.append((start, reached))
    return None if text[reached:].strip() else offsets


def read_text(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    if source.is_stdin or not source.path.is_dir():
        yield from _text_lines(source, None, log)
        return
    for path in text_files_in(source.path):
        yield from _text_lines(Source(path), inner_name(path.name).removesuffix(".txt"), log)


def _text_lines(source: Source, document: str | None, log: ReadingLog) -> Iterator[RawSentence]:
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

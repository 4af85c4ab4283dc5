"""Rows of cells to sentences, with one word, one sentence or one text per row."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice

from acclimate.data.character_spans import sentences_of_text
from acclimate.data.problems import InputError, Place
from acclimate.data.readers.records import expect, sentence_of_fields
from acclimate.data.readers.source import RawSentence, ReadingLog, ReadingOptions, check_characters, chosen_column
from acclimate.spelling import argument

_LOOKED_AT = 1000  # rows, which tell whether rows are raw text
# one word per row …
ONE_WORD = ("word", "token", "form")
ONE_TAG = ("tag", "ner_tag", "ner", "label", "entity", "bio", "iob", "chunk_tag", "chunk", "upos", "pos_tag", "pos")
SENTENCE = ("sentence_id", "sentence_number", "sentence_no", "sent_id", "sentence_idx", "sent", "sentence")
# … or one sentence per row, split into words or, in a column of such a name, perhaps not
RAW_TEXT = ("sentence", "text", "content", "body", "message", "tweet", "post", "comment")
ALL_WORDS = ("words", "tokens", *RAW_TEXT)
DOCUMENT = ("document", "document_id", "doc_id", "id")
ALL_TAGS = ("tags", "ner_tags", "ner", "labels", "tag", "label", "chunk_tags", "pos_tags", "upos", "pos")


def plain_name(name: str) -> str:
    """`Sentence #` → `sentence_number`, `NER Tag` → `ner_tag`."""
    return re.sub(r"[\W_]+", "_", name.lower().replace("#", " number ")).strip("_")


@dataclass(frozen=True, slots=True)
class Layout:
    """Which column holds what (counted from zero), and whether a row is a word or a whole sentence."""

    word_per_row: bool
    words: int  # the column of the words, or of the raw text
    tags: int | None
    sentence: int | None = None
    text: int | None = None
    offsets: int | None = None
    document: int | None = None
    perhaps_raw: bool = False  # whether the words may be raw text, by the column's name


def find_layout(header: Sequence[str], options: ReadingOptions, file: str) -> Layout:
    """Read a header. Singular names (`word`, `tag`) mean one word per row, plural ones one sentence per row."""
    names = [plain_name(name) for name in header]

    def chosen(wanted: int | str | None, option: str) -> int | None:
        return None if wanted is None else chosen_column(wanted, len(header), option, file, header)

    words = chosen(options.words_column, "words_column")
    single = words if words is not None and names[words] not in ALL_WORDS else None
    if words is None:
        single = _first(ONE_WORD, names)
        words = single if single is not None else _first(ALL_WORDS, names)
    if words is None:
        expected, has = ", ".join((*ONE_WORD, *ALL_WORDS[:4])), ", ".join(map(repr, header))
        problem = f"no column of words. The first line must name the columns, one of them {expected}; it names {has}."
        raise InputError(f"{problem} Name it so, or pass {argument('words_column', ...)}.", file=file, line=1)
    tags = chosen(options.column, "column")
    if tags is None:
        tags = _first(ONE_TAG if single is not None else ALL_TAGS, names)
    if tags == words:
        raise InputError(f"column {header[words]!r} cannot hold both the words and the tags.", file=file, line=1)
    if single is not None:
        return Layout(True, words, tags, _first(SENTENCE, names), document=_first(("document",), names))
    text, offsets = _first(("text",), names), _first(("offsets",), names)
    known = text is not None and text != words and offsets is not None
    return Layout(
        False,
        words,
        tags,
        text=text if known else None,
        offsets=offsets if known else None,
        document=_first(DOCUMENT, names),
        perhaps_raw=names[words] in RAW_TEXT,
    )


def _first(wanted: Sequence[str], names: Sequence[str]) -> int | None:
    return next((names.index(name) for name in wanted if name in names), None)


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of a row, the line (or number) of the row, and what is wrong with it if it could not be read."""

    line: int
    cells: Sequence[object]
    fault: InputError | None = None


def sentences_of_rows(
    rows: Iterable[Row],
    layout: Layout,
    log: ReadingLog,
    file: str,
    names: Sequence[str] | None = None,
) -> Iterator[RawSentence]:
    """The sentences of a table. `names`: what the tags mean where they are numbers."""
    rows = iter(rows)
    first = list(islice(rows, _LOOKED_AT))
    is_raw = _is_raw(first, layout, log)
    rows = chain(first, rows)
    if layout.word_per_row and not is_raw:
        yield from _words_by_row(rows, layout, log, file)
        return
    for row in rows:
        with log.refusing(file, row.line, _shown(row)):
            if row.fault is not None:
                raise row.fault
            if is_raw:
                cell = row.cells[layout.words]
                text = "" if cell is None else expect(cell, str, "the text")
                yield from sentences_of_text(text, None, log, Place(file, row.line), _document(row, layout))
            else:
                yield _sentence(row, layout, names)


def _is_raw(rows: Sequence[Row], layout: Layout, log: ReadingLog) -> bool:
    """Whether the cells hold raw text: strings that are no lists, without a tag for each word."""
    good = [row for row in rows if row.fault is None and len(row.cells) > layout.words]
    texts = [cell for row in good if isinstance(cell := row.cells[layout.words], str)]
    if layout.word_per_row:  # by its name; a cell of many words is none
        alone = layout.tags is None and layout.sentence is None
        return alone and sum(len(text.split()) > 1 for text in texts) * 2 > len(good)
    if not layout.perhaps_raw or len(texts) * 2 < len(good) or all(map(_is_list, texts)):
        return False
    if layout.tags is None:
        return True
    if log.options.column is not None or 2 * sum(_is_tagged(row, layout) for row in good) >= len(good):
        return False
    log.count("texts at the beginning have a label, but not one for each word; such labels were not read", len(good))
    return True


def _is_tagged(row: Row, layout: Layout) -> bool:
    try:
        words, tags = _as_list(row.cells[layout.words]), _as_list(row.cells[layout.tags or 0])
    except InputError:
        return False
    return isinstance(words, list) and isinstance(tags, list) and len(words) == len(tags)


def _document(row: Row, layout: Layout) -> str | None:
    cell = None if layout.document is None else row.cells[layout.document]
    return None if cell is None else str(cell).strip() or None


def _shown(row: Row) -> str:
    return " | ".join(map(str, row.cells))


def _sentence(row: Row, layout: Layout, names: Sequence[str] | None) -> RawSentence:
    def cell(column: int | None) -> object:
        return None if column is None else row.cells[column]

    words, tags = _as_list(cell(layout.words)), _as_list(cell(layout.tags))
    offsets = _as_list(cell(layout.offsets))
    text = None if offsets is None else cell(layout.text)
    return sentence_of_fields(words, tags, text, offsets, _document(row, layout), line=row.line, names=names)


_NO_COMMA = re.compile(r"""['"]\s+['"]""")  # as in numpy's ['a' 'b'], which Python would read as 'ab'


def _as_list(cell: object) -> object:
    """A list, however the table spells it: as a list, as JSON, as Python prints it, or with blanks between."""
    if not isinstance(cell, str):
        return cell
    spelled = cell.strip()
    if not _is_list(cell):
        if "\n" in spelled:
            raise InputError("a cell of words holds a line end. Is a quotation mark left open?", text=cell)
        return [part for part in re.split("[ \t]+", cell) if part]
    with suppress(ValueError, RecursionError):
        return json.loads(spelled)
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        if not _NO_COMMA.search(spelled):
            return ast.literal_eval(spelled)
    problem = "this list cannot be read: expected strings in quotes with commas between them"
    raise InputError(f"{problem}, or words with blanks between them.", text=cell)


def _is_list(cell: str) -> bool:
    """Whether a cell spells a list, by its brackets."""
    spelled = cell.strip()
    return spelled.startswith("[") and spelled.endswith("]")


def _words_by_row(rows: Iterable[Row], layout: Layout, log: ReadingLog, file: str) -> Iterator[RawSentence]:
    seen: set[str] = set()
    for key, group in _rows_by_sentence(rows, layout):
        words: list[str] = []
        tags: list[str] = []
        document: str | None = None
        for row in group:
            try:
                if key in seen and not words:
                    advice = "Sort the rows by sentence, or give each its own id."
                    raise InputError(f"sentence {key!r} comes back after others. {advice}")
                words.append(_word(row, layout))
                tags += [] if layout.tags is None else [_tag(row.cells[layout.tags])]
            except InputError as error:  # never half a sentence
                log.refuse(error, file=file, line=row.line, text=_shown(row))
                break
            if layout.document is not None and row.cells[layout.document]:
                document = str(row.cells[layout.document])
        else:
            lines = [row.line for row in group]
            yield RawSentence(words, None if layout.tags is None else tags, lines=lines, document=document)
        seen |= {key} if key else set()


def _rows_by_sentence(rows: Iterable[Row], layout: Layout) -> Iterator[tuple[str | None, list[Row]]]:
    """The rows of each sentence, with its id. An empty row ends a sentence; an empty id means: the same as above."""
    key: str | None = None
    group: list[Row] = []
    column = layout.sentence
    for row in rows:
        is_empty = row.fault is None and not any(str(cell).strip() for cell in row.cells if cell is not None)
        cell = None if column is None or len(row.cells) <= column else row.cells[column]
        own = None if cell is None else str(cell).strip() or None
        if is_empty or (own and own != key):
            if group:
                yield key, group
            key, group = own, []
        if not is_empty:
            group.append(row)
    if group:
        yield key, group


def _word(row: Row, layout: Layout) -> str:
    if row.fault is not None:
        raise row.fault
    word = row.cells[layout.words]
    if not isinstance(word, str) or not word:
        raise InputError(f"the word should be a string with something in it, but is {word!r}.")
    check_characters(word)
    return word


def _tag(tag: object) -> str:
    if not isinstance(tag, str) or not tag.strip():
        raise InputError(f"the tag should be a string with something in it, but is {tag!r}. Write O for none.")
    return tag.strip(" ")

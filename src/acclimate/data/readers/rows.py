"""Rows of a table → sentences: one word per row, one sentence per row, or one raw text per row."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from acclimate.data.problems import InputError, Place
from acclimate.data.readers.fields import sentence_of_fields
from acclimate.data.readers.ledger import Found, Ledger
from acclimate.data.readers.marked_text import check_characters, sentences_of_text
from acclimate.data.readers.naming import Layout
from acclimate.data.readers.records import expect


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of a row, the line (or number) of the row, and what is wrong with it if it could not be read."""

    line: int
    cells: Sequence[object]
    fault: InputError | None = None


def sentences_of_rows(
    rows: Iterable[Row], layout: Layout, ledger: Ledger, file: str, names: Sequence[str] | None = None
) -> Iterator[Found]:
    """The sentences of a table. `names`: what the tags mean where they are numbers."""
    rows = list(rows)
    if _is_raw(rows, layout, ledger):
        yield from _texts_by_row(rows, layout, ledger, file)
        return
    if layout.word_per_row:
        yield from _words_by_row(rows, layout, ledger, file)
        return
    for row in rows:
        try:
            if row.fault is not None:
                raise row.fault
            found = _sentence(row, layout, names)
        except InputError as error:
            ledger.refuse(error, file=file, line=row.line, text=_shown(row))
        else:
            yield found


def _is_raw(rows: Sequence[Row], layout: Layout, ledger: Ledger) -> bool:
    """Whether the words still have to be found: strings that are no lists, and have no tag for each of their words."""
    good = [row for row in rows if row.fault is None and len(row.cells) > layout.words]
    texts = [cell for row in good if isinstance(cell := row.cells[layout.words], str)]
    if layout.word_per_row:  # by its name; a cell of many words is none
        alone = layout.tags is None and layout.sentence is None
        return alone and sum(len(text.split()) > 1 for text in texts) * 2 > len(good)
    if not layout.perhaps_raw or len(texts) * 2 < len(good) or all(map(_is_list, texts)):
        return False
    if layout.tags is None:
        return True
    if ledger.request.column is not None or 2 * sum(_is_tagged(row, layout) for row in good) >= len(good):
        return False
    ledger.count("texts have a label in the table, but not one for each word; those labels were not read", len(good))
    return True


def _is_tagged(row: Row, layout: Layout) -> bool:
    assert layout.tags is not None
    try:
        words, tags = _as_list(row.cells[layout.words]), _as_list(row.cells[layout.tags])
    except InputError:
        return False
    return isinstance(words, list) and isinstance(tags, list) and len(words) == len(tags)


def _texts_by_row(rows: Sequence[Row], layout: Layout, ledger: Ledger, file: str) -> Iterator[Found]:
    for row in rows:
        try:
            if row.fault is not None:
                raise row.fault
            cell = row.cells[layout.words]
            text = "" if cell is None else expect(cell, str, "the text")
            found = sentences_of_text(text, None, ledger, Place(file, row.line), _document(row, layout))
        except InputError as error:
            ledger.refuse(error, file=file, line=row.line, text=_shown(row))
        else:
            yield from found


def _document(row: Row, layout: Layout) -> str | None:
    cell = None if layout.document is None else row.cells[layout.document]
    return None if cell is None else str(cell).strip() or None


def _shown(row: Row) -> str:
    return " | ".join(map(str, row.cells))


def _sentence(row: Row, layout: Layout, names: Sequence[str] | None) -> Found:
    def cell(column: int | None) -> object:
        return None if column is None else row.cells[column]

    words, tags = _as_list(cell(layout.words)), _as_list(cell(layout.tags))
    offsets = _as_list(cell(layout.offsets))
    text = None if offsets is None else cell(layout.text)
    return sentence_of_fields(words, tags, text, offsets, _document(row, layout), line=row.line, names=names)


_STRING = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ITEM = re.compile(rf"\s*({_STRING})\s*(,|$)")


def _as_list(cell: object) -> object:
    """A list, however the table spells it: as a list, as JSON, as Python prints it, or with blanks between."""
    if not isinstance(cell, str):
        return cell
    spelled = cell.strip()
    if not _is_list(cell):
        if "\n" in spelled:
            raise InputError("a cell of words holds a line end. Is a quotation mark left open?", text=cell)
        return [part for part in re.split("[ \t]+", cell) if part]
    try:
        return json.loads(spelled)
    except (ValueError, RecursionError):
        return _python_list(spelled[1:-1])


def _is_list(cell: str) -> bool:
    """Whether a cell spells a list, by its brackets."""
    spelled = cell.strip()
    return spelled.startswith("[") and spelled.endswith("]")


def _python_list(spelled: str) -> list[str]:
    """`'a', 'b'`. Not literal_eval over the whole: it reads numpy's `['a' 'b']` as one string, `ab`."""
    items: list[str] = []
    position = 0
    while position < len(spelled.rstrip()):
        match = _ITEM.match(spelled, position)
        try:
            items.append(str(ast.literal_eval(match.group(1) if match else "")))
        except (SyntaxError, ValueError):  # a line end in a string, or half of `\\u00e9`
            problem = "this list cannot be read: expected strings in quotes with commas between them"
            raise InputError(f"{problem}, or words with blanks between them.", text=spelled) from None
        assert match is not None
        position = match.end()
    return items


@dataclass(slots=True)
class _Collected:
    """The rows of the sentence that is being collected."""

    key: str | None = None
    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    document: str | None = None
    bad: bool = False


def _words_by_row(rows: Iterable[Row], layout: Layout, ledger: Ledger, file: str) -> Iterator[Found]:
    current = _Collected()
    seen: set[str] = set()
    for row in rows:
        if row.fault is None and not any(str(cell).strip() for cell in row.cells if cell is not None):
            yield from _finished(current, layout)  # an empty row ends a sentence
            current = _Collected()
            continue
        key = _key(row, layout)
        if key and key != current.key:
            yield from _finished(current, layout)
            current = _Collected(key)
        try:
            if key and key not in seen and not current.words:
                seen.add(key)
            elif key and not current.words and not current.bad:
                problem = (
                    f"sentence {key!r} comes back after others. Sort the rows by sentence, or give each its own id."
                )
                raise InputError(problem)
            _take(row, layout, current)
        except InputError as error:
            if not current.bad:
                ledger.refuse(error, file=file, line=row.line, text=_shown(row))
            current.bad = True
    yield from _finished(current, layout)


def _key(row: Row, layout: Layout) -> str | None:
    """The sentence that a row says it belongs to; an empty cell says: the same as before."""
    if layout.sentence is None or len(row.cells) <= layout.sentence or row.cells[layout.sentence] is None:
        return None
    return str(row.cells[layout.sentence]).strip() or None


def _take(row: Row, layout: Layout, current: _Collected) -> None:
    if row.fault is not None:
        raise row.fault
    word = row.cells[layout.words]
    if not isinstance(word, str) or not word:
        raise InputError(f"the word should be a string with something in it, but is {word!r}.")
    check_characters(word)
    if layout.tags is not None:
        tag = row.cells[layout.tags]
        if not isinstance(tag, str) or not tag.strip():
            raise InputError(f"the tag should be a string with something in it, but is {tag!r}. Write O for none.")
        current.tags.append(tag.strip(" "))
    if layout.document is not None and row.cells[layout.document]:
        current.document = str(row.cells[layout.document])
    current.words.append(word)
    current.lines.append(row.line)


def _finished(current: _Collected, layout: Layout) -> Iterator[Found]:
    if current.words and not current.bad:
        tags = None if layout.tags is None else current.tags
        yield Found(current.words, tags, lines=current.lines, document=current.document)

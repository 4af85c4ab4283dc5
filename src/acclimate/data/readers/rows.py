"""Rows of a table → sentences: one word per row, or one sentence per row."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from acclimate.data.problems import InputError
from acclimate.data.readers.fields import sentence_of_fields
from acclimate.data.readers.ledger import Found, Ledger
from acclimate.data.readers.marked_text import check_characters
from acclimate.data.readers.naming import Layout


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


def _shown(row: Row) -> str:
    return " | ".join(map(str, row.cells))


def _sentence(row: Row, layout: Layout, names: Sequence[str] | None) -> Found:
    def cell(column: int | None) -> object:
        return None if column is None else row.cells[column]

    words, tags = _as_list(cell(layout.words)), _as_list(cell(layout.tags))
    offsets = _as_list(cell(layout.offsets))
    text = None if offsets is None else cell(layout.text)
    document = cell(layout.document)
    return sentence_of_fields(words, tags, text, offsets, document, line=row.line, names=names)


_STRING = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ITEM = re.compile(rf"\s*({_STRING})\s*(,|$)")


def _as_list(cell: object) -> object:
    """A list, however the table spells it: as a list, as JSON, as Python prints it, or with blanks between."""
    if not isinstance(cell, str):
        return cell
    spelled = cell.strip()
    if not (spelled.startswith("[") and spelled.endswith("]")):
        return [part for part in re.split("[ \t]+", cell) if part]
    try:
        return json.loads(spelled)
    except (ValueError, RecursionError):
        return _python_list(spelled[1:-1])


def _python_list(spelled: str) -> list[str]:
    """`'a', 'b'`. Not literal_eval over the whole: it reads numpy's `['a' 'b']` as one string, `ab`."""
    items: list[str] = []
    position = 0
    while position < len(spelled.rstrip()):
        match = _ITEM.match(spelled, position)
        if match is None:
            problem = "this list cannot be read: expected strings in quotes with commas between them"
            raise InputError(f"{problem}, or words with blanks between them.", text=spelled)
        items.append(str(ast.literal_eval(match.group(1))))
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

"""Files of concepts: CSV or TSV with named columns, JSONL, or plain text with a name per line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from acclimate.data.concepts.concept import Concept
from acclimate.data.problems import InputError, Place
from acclimate.data.readers.ledger import Ledger, Request
from acclimate.data.readers.naming import plain_name
from acclimate.data.readers.opening import Source, inner_name
from acclimate.data.readers.records import expect, expect_strings, json_records
from acclimate.data.readers.rows import Row
from acclimate.data.readers.tables import quoted_rows

# what files call their columns, the likelier name first
NAME = (
    "name",
    "preferred_name",
    "canonical_name",
    "term",
    "concept_name",
    "concept",
    "str",
    "disease",
    "drug",
    "entity",
)
SYNONYMS = ("synonyms", "synonym", "aliases", "alias", "other_names", "alternative_names", "names", "variants", "terms")
TYPE = (
    *("type", "types", "semantic_type", "semantic_types", "sty", "type_name", "category", "group", "label"),
    *("tui", "tuis", "type_id", "type_ids"),
)
FORMATS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".txt")
_LIST = re.compile(r"\s*[|;\t]\s*")  # within a cell; not commas, which are parts of names


def read_concepts(path: str | Path) -> list[Concept]:
    """The concepts of a file, plain, .gz or .xz. What cannot be one is named with its line and what stands there."""
    source = Source(path)
    suffix = Path(inner_name(str(path))).suffix.lower()
    if suffix not in FORMATS:
        raise InputError(
            f"a file of concepts ends in {', '.join(FORMATS)} (and .gz or .xz), not in {suffix!r}.", file=source.name
        )
    found = list(_READERS[suffix](source))
    if not found:
        raise InputError("the file has no concepts.", file=source.name)
    return found


def _from_lines(source: Source) -> Iterator[Concept]:
    for number, line in enumerate(source.checked_lines(Ledger(Request())), start=1):
        if line.strip():
            yield Concept(line.strip(), place=Place(source.name, number))


def _from_csv(source: Source) -> Iterator[Concept]:
    lines = source.checked_lines(Ledger(Request()))
    first = next((line for line in lines if line.strip()), "")
    yield from _from_rows(source, quoted_rows(source, lines, max(",;\t", key=first.count)))


def _from_tsv(source: Source) -> Iterator[Concept]:
    lines = source.checked_lines(Ledger(Request()))
    yield from _from_rows(source, (Row(number, line.split("\t")) for number, line in enumerate(lines, start=1)))


def _from_rows(source: Source, rows: Iterator[Row]) -> Iterator[Concept]:
    columns: Columns | None = None
    for row in rows:
        if row.fault is not None:
            raise row.fault
        cells = [str(cell).strip() for cell in row.cells]
        if not any(cells):
            continue
        if columns is None:
            columns = Columns(cells, source.name, row.line)
            continue
        if len(cells) != columns.width:
            problem = f"{len(cells)} cells, but the first line names {columns.width} columns. A cell that holds the"
            raise InputError(
                f"{problem} separator must stand in quotes.", file=source.name, line=row.line, text=" | ".join(cells)
            )
        yield columns.concept(cells, Place(source.name, row.line))


def _from_records(source: Source) -> Iterator[Concept]:
    for record in json_records(source, Ledger(Request())):
        place = Place(source.name, record.line)
        fields = {plain_name(name): value for name, value in record.fields.items()}
        try:
            name = expect(_first(fields, NAME, "name"), str, "the name")
            yield _concept(name, _strings(fields, SYNONYMS), _strings(fields, TYPE), place)
        except InputError as error:
            raise InputError(error.problem, file=source.name, line=record.line, text=record.spelled) from error


_READERS = {
    ".csv": _from_csv,
    ".tsv": _from_tsv,
    ".jsonl": _from_records,
    ".ndjson": _from_records,
    ".json": _from_records,
    ".txt": _from_lines,
}


class Columns:
    """Which columns of a table hold what."""

    def __init__(self, header: Sequence[str], file: str, line: int) -> None:
        names = [plain_name(name) for name in header]
        self.width = len(header)
        name, self.synonyms, self.types = (
            next((names.index(known) for known in wanted if known in names), None) for wanted in (NAME, SYNONYMS, TYPE)
        )
        if name is None:
            problem = f"no column of names. The first line must name the columns, one of them {', '.join(NAME[:4])};"
            raise InputError(f"{problem} it names {', '.join(map(repr, header))}.", file=file, line=line)
        self.name = name

    def concept(self, cells: Sequence[str], place: Place) -> Concept:
        synonyms, types = (
            [] if column is None else [part for part in _LIST.split(cells[column]) if part]
            for column in (self.synonyms, self.types)
        )
        try:
            return _concept(cells[self.name], synonyms, types, place)
        except InputError as error:
            raise InputError(error.problem, file=place.file, line=place.line, text=" | ".join(cells)) from error


def _concept(name: str, synonyms: Sequence[str], types: Sequence[str], place: Place) -> Concept:
    if not name.strip():
        raise InputError("the name is empty. Every concept needs one; delete the line, or fill it in.")
    others = dict.fromkeys(synonym.strip() for synonym in synonyms if synonym.strip())
    return Concept(name.strip(), tuple(other for other in others if other != name.strip()), tuple(types), place)


def _first(fields: Mapping[str, object], names: Sequence[str], what: str) -> object:
    for name in names:
        if fields.get(name) is not None:
            return fields[name]
    raise InputError(f"the record has no {what}; it has {', '.join(map(repr, fields)) or 'nothing'}.")


def _strings(fields: Mapping[str, object], names: Sequence[str]) -> list[str]:
    """A list of strings, or one string with `|` or `;` between; none where no such field is there."""
    name = next((name for name in names if fields.get(name) is not None), None)
    if name is None:
        return []
    value = fields[name]
    return (
        [part for part in _LIST.split(value) if part] if isinstance(value, str) else expect_strings(value, f"{name!r}")
    )


def read_names(path: str | Path) -> list[str]:
    """A list of names, one per line."""
    return [concept.name for concept in _from_lines(Source(path))]

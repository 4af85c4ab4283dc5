"""CSV and TSV tables, whose first line names the columns.

One word per row (`sentence_id, word, tag`; an empty sentence id means: the same as above) or one sentence per row
(`words, tags`, as lists or with blanks between). TSV knows no quotes: a quotation mark there is a word.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator

from acclimate.data.problems import InputError
from acclimate.data.readers.ledger import Found, Ledger
from acclimate.data.readers.naming import find_layout
from acclimate.data.readers.opening import Source
from acclimate.data.readers.rows import Row, sentences_of_rows


def read_csv(source: Source, ledger: Ledger) -> Iterator[Found]:
    lines = source.checked_lines(ledger)
    first = next((line for line in lines if line.strip()), "")
    delimiter = max(",;\t", key=first.count)  # spreadsheets set to some languages write semicolons
    yield from _read(source, ledger, quoted_rows(source, lines, delimiter))


def read_tsv(source: Source, ledger: Ledger) -> Iterator[Found]:
    lines = source.checked_lines(ledger)
    rows = (Row(number, line.split("\t") if line else []) for number, line in enumerate(lines, start=1))
    yield from _read(source, ledger, rows)


def _read(source: Source, ledger: Ledger, rows: Iterator[Row]) -> Iterator[Found]:
    header = next((row for row in rows if row.fault is not None or any(str(cell).strip() for cell in row.cells)), None)
    if header is None:
        return
    if fault := header.fault or source.faults.get(header.line):  # without a header nothing else can be understood
        raise fault
    names = [str(cell).strip() for cell in header.cells]
    layout = find_layout(names, ledger.request, source.name)
    checked = (_checked(row, len(names), source) for row in rows)
    if not layout.word_per_row:
        checked = (row for row in checked if row.cells or row.fault)
    yield from sentences_of_rows(checked, layout, ledger, source.name)


def _checked(row: Row, width: int, source: Source) -> Row:
    fault = row.fault or source.faults.get(row.line)
    if fault is None and row.cells and len(row.cells) != width:
        problem = f"{len(row.cells)} cells, but the first line names {width} columns."
        fault = InputError(f"{problem} A cell that holds the separator must stand in quotes.")
    return Row(row.line, row.cells, fault)


def quoted_rows(source: Source, lines: list[str], delimiter: str) -> Iterator[Row]:
    """Rows with the line on which each begins: a quoted cell may hold line ends."""
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
    while True:
        start = reader.line_num + 1
        try:
            yield Row(start, next(reader))
        except StopIteration:
            return
        except csv.Error as error:
            text = lines[start - 1] if start <= len(lines) else ""
            problem = f"the row cannot be read ({error}). Is a quotation mark left open?"
            yield Row(start, [], InputError(problem, file=source.name, line=start, text=text))

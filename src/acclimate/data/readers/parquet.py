"""Parquet tables (extra `parquet`), laid out like CSV ones; tags that are numbers take their names from the file.

Hugging Face's exports keep those names in the file's metadata.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from acclimate.data.problems import InputError
from acclimate.data.readers.ledger import Found, Ledger
from acclimate.data.readers.naming import find_layout
from acclimate.data.readers.opening import Source
from acclimate.data.readers.rows import Row, sentences_of_rows


def read_parquet(source: Source, ledger: Ledger) -> Iterator[Found]:
    table = _table(source)
    try:
        header = list(table.column_names)
    except UnicodeDecodeError as error:
        problem = f"the name of a column is not UTF-8 ({error}). Write the file again with other names."
        raise InputError(problem, file=source.name) from error
    layout = find_layout(header, ledger.request, source.name)
    names = None if layout.tags is None else _tag_names(table.schema.metadata, header[layout.tags])
    columns = [_cells(column, name, source.name) for column, name in zip(table.columns, header, strict=True)]
    rows = (Row(number, cells) for number, cells in enumerate(zip(*columns, strict=True), start=1))
    yield from sentences_of_rows(rows, layout, ledger, source.name, names)


def _table(source: Source) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        problem = "Parquet needs pyarrow: pip install 'acclimate[parquet]'."
        raise InputError(problem, file=source.name) from error
    try:
        return pyarrow.parquet.read_table(pyarrow.BufferReader(source.data))
    except (pyarrow.ArrowException, OSError, ValueError, TypeError) as error:
        problem = f"this is no whole Parquet file ({error}). Copy or download it again."
        raise InputError(problem, file=source.name) from error


def _cells(column: Any, name: str, file: str) -> list[object]:
    try:
        return list(column.to_pylist())
    except ValueError as error:  # Arrow believes a file that calls its bytes a string
        raise InputError(f"column {name!r} cannot be read ({error}).", file=file, line=1) from error


def _tag_names(metadata: dict[bytes, bytes] | None, column: str) -> list[str] | None:
    """The names of numbered tags, as the `datasets` library notes them."""
    try:
        feature = json.loads((metadata or {})[b"huggingface"])["info"]["features"][column]
        names = feature.get("feature", feature)["names"]
    except (KeyError, ValueError, TypeError, AttributeError):
        return None
    return [str(name) for name in names]

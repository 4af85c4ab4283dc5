"""CSV, TSV, Parquet (extra `parquet`) and Hugging Face `datasets` (extra `datasets`).

The first line of CSV and TSV names the columns. A table has one word per row (`sentence_id, word, tag`; an empty
sentence id means: the same as above), one sentence per row (`words, tags`, as lists or separated by blanks), or one raw
text per row (`id, text`). TSV has no quoting: a quotation mark there is a word. Tags may be numbers where the metadata
name them. A data set is given by its name, `hf:OWNER/NAME[/CONFIG][:SPLIT]` (`train` by default), or as a saved folder.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from acclimate.data.problems import EmptyInput, InputError, optional_library
from acclimate.data.readers.rows import Row, find_layout, sentences_of_rows
from acclimate.data.readers.source import RawSentence, ReadingLog, Source

_LINE_ENDS = "rows run over several lines, since cells in quotes hold line ends"


def read_csv(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    lines = source.checked_lines(log)
    first = next((line for line in lines if line.strip()), "")
    delimiter = max(",;\t", key=first.count)  # spreadsheets set to some languages write semicolons
    yield from _read(source, log, partial(quoted_rows, source, lines, delimiter))


def read_tsv(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    lines = source.checked_lines(log)

    def rows(width: int = 0, line_ends: bool = True) -> Iterator[Row]:
        return (Row(number, line.split("\t") if line else []) for number, line in enumerate(lines, start=1))

    yield from _read(source, log, rows)


def _read(source: Source, log: ReadingLog, read_rows: Callable[..., Iterator[Row]]) -> Iterator[RawSentence]:
    named = (row for row in read_rows() if row.fault is not None or any(str(cell).strip() for cell in row.cells))
    header = next(named, None)
    if header is None:
        return
    if fault := header.fault or source.faults.get(header.line):  # without a header nothing else can be understood
        raise fault
    names = [str(cell).strip() for cell in header.cells]
    layout = find_layout(names, log.options, source.name)
    rows = (row for row in read_rows(len(names), not layout.word_per_row) if row.line > header.line)
    checked = (_checked(row, len(names), source, log) for row in rows)
    if not layout.word_per_row:
        checked = (row for row in checked if row.cells or row.fault)
    yield from sentences_of_rows(checked, layout, log, source.name)


def _checked(row: Row, width: int, source: Source, log: ReadingLog) -> Row:
    fault = row.fault or source.faults.get(row.line)
    if fault is None and not any(str(cell).strip() for cell in row.cells):
        return Row(row.line, [])
    if fault is None and len(row.cells) != width:
        problem = f"{len(row.cells)} cells, but the first line names {width} columns."
        fault = InputError(f"{problem} A cell that holds the separator must stand in quotes.")
    if fault is None and any("\n" in str(cell) for cell in row.cells):
        log.count(_LINE_ENDS)
    return Row(row.line, row.cells, fault)


def quoted_rows(
    source: Source, lines: list[str], delimiter: str, width: int = 0, line_ends: bool = True
) -> Iterator[Row]:
    """Rows with the line on which each begins. A quoted cell may hold line ends, unless `line_ends` is false.

    A quotation mark left open swallows the next rows. Such a row, which cannot be read or has not the right `width`, is
    refused alone.
    """
    begin = 0
    while begin < len(lines):
        reader = csv.reader(
            (f"{lines[place]}\n" for place in range(begin, len(lines))), delimiter=delimiter, strict=True
        )
        reached = begin
        try:
            for cells in reader:
                height = begin + reader.line_num - reached
                if height > 1 and not (line_ends and (not width or len(cells) == width)):
                    raise csv.Error(f"it would run on to line {reached + height}")
                yield Row(reached + 1, cells)
                reached += height
            return
        except csv.Error as error:
            advice = "Is a quotation mark left open? One that is a word is written as four of them: two for itself, in"
            problem = f"the row cannot be read ({error}). {advice} two others."
            fault = InputError(problem, file=source.name, line=reached + 1, text=lines[reached])
            yield Row(reached + 1, [cell.strip('"') for cell in lines[reached].split(delimiter)], fault)
            begin = reached + 1


_BATCH = 1000  # rows that are read at a time


def read_parquet(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    yield from _read_parquet(_parquet(source, in_parts=False), source, log)


def stream_parquet(source: Source, log: ReadingLog) -> tuple[Iterator[RawSentence], int]:
    """The sentences of a file, which is read as they are taken, and how many rows it has."""
    table = _parquet(source, in_parts=True)
    return _read_parquet(table, source, log), table.metadata.num_rows


def _read_parquet(table: Any, source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    if not table.metadata.num_rows:
        raise EmptyInput("the table has no rows. Check the path.", file=source.name)
    try:
        header = list(table.schema_arrow.names)
    except UnicodeDecodeError as error:
        problem = f"the name of a column is not UTF-8 ({error}). Write the file again with other names."
        raise InputError(problem, file=source.name) from error
    layout = find_layout(header, log.options, source.name)
    names = None if layout.tags is None else _parquet_tag_names(table.schema_arrow.metadata, header[layout.tags])
    rows = (Row(number, cells) for number, cells in enumerate(_parquet_rows(table, header, source), start=1))
    yield from sentences_of_rows(rows, layout, log, source.name, names)


def _parquet(source: Source, in_parts: bool) -> Any:
    problem = "Parquet needs pyarrow: pip install 'acclimate[parquet]'."
    parquet = optional_library("pyarrow.parquet", problem, source.name)
    import pyarrow

    with _refusing_damage(source):
        if in_parts:
            return parquet.ParquetFile(source.path, buffer_size=_BUFFER)
        return parquet.ParquetFile(pyarrow.BufferReader(source.data))


_BUFFER = 1 << 20  # bytes of each column that are read at a time


@contextmanager
def _refusing_damage(source: Source) -> Iterator[None]:
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, ValueError, TypeError) as error:
        problem = f"this is no whole Parquet file ({error}). Copy or download it again."
        raise InputError(problem, file=source.name) from error


def _parquet_rows(table: Any, header: Sequence[str], source: Source) -> Iterator[tuple[object, ...]]:
    batches = table.iter_batches(_BATCH)
    while True:
        with _refusing_damage(source):
            batch = next(batches, None)
        if batch is None:
            return
        columns = [_cells(column, name, source.name) for column, name in zip(batch.columns, header, strict=True)]
        yield from zip(*columns, strict=True)


def _cells(column: Any, name: str, file: str) -> list[object]:
    try:
        return list(column.to_pylist())
    except ValueError as error:  # Arrow believes a file that calls its bytes a string
        raise InputError(f"column {name!r} cannot be read ({error}).", file=file, line=1) from error


def _parquet_tag_names(metadata: dict[bytes, bytes] | None, column: str) -> list[str] | None:
    """The names of numbered tags, as the `datasets` library notes them."""
    try:
        feature = json.loads((metadata or {})[b"huggingface"])["info"]["features"][column]
        names = feature.get("feature", feature)["names"]
    except (KeyError, ValueError, TypeError, AttributeError):
        return None
    return [str(name) for name in names]


PREFIX = "hf:"


def read_hub(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    dataset = _from_hub(source.name) if source.name.startswith(PREFIX) else _from_disk(source)
    header = list(dataset.column_names)
    layout = find_layout(header, log.options, source.name)
    names = None if layout.tags is None else _feature_names(dataset.features[header[layout.tags]])
    rows = (Row(number, [row[name] for name in header]) for number, row in enumerate(dataset, start=1))
    yield from sentences_of_rows(rows, layout, log, source.name, names)


def _datasets(name: str) -> Any:
    return optional_library("datasets", "this needs `datasets`: pip install 'acclimate[datasets]'.", name)


def split_name(name: str) -> tuple[str, str | None, str]:
    """The name, configuration and split of `hf:owner/name/config:split`."""
    path, _, split = name.removeprefix(PREFIX).partition(":")
    parts = path.split("/")
    if not all(parts) or len(parts) > 3:
        raise InputError(f"{name!r} names no data set; expected hf:OWNER/NAME, hf:OWNER/NAME/CONFIG, each with :SPLIT.")
    return "/".join(parts[:2]), parts[2] if len(parts) == 3 else None, split or "train"


def _from_hub(name: str) -> Any:
    library = _datasets(name)
    path, config, split = split_name(name)
    try:
        return library.load_dataset(path, config, split=split)
    except Exception as error:  # the network, the hub and every data set have errors of their own
        problem = f"the data set could not be loaded ({type(error).__name__}: {error})."
        raise InputError(f"{problem} Check name, configuration and split, and the network.", file=name) from error


def _from_disk(source: Source) -> Any:
    library = _datasets(source.name)
    try:
        dataset = library.load_from_disk(str(source.path))
    except Exception as error:
        problem = f"this is no folder that `datasets` has saved ({type(error).__name__}: {error})."
        raise InputError(problem, file=source.name) from error
    if isinstance(dataset, dict):
        splits = ", ".join(str(source.path / split) for split in dataset)
        raise InputError(f"the folder holds several splits; name one of them: {splits}.", file=source.name)
    return dataset


def _feature_names(feature: Any) -> list[str] | None:
    """The names of a ClassLabel, alone or in a sequence."""
    inner = getattr(feature, "feature", feature[0] if isinstance(feature, list) else feature)
    names = getattr(inner, "names", None)
    return None if names is None else [str(name) for name in names]

"""Tables as CSV files that any spreadsheet opens."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from acclimate.data.writers.shared import encoded, save

CsvRow = Mapping[str, Any]


def write_csv(rows: Sequence[CsvRow], path: str | Path) -> None:
    """A line per row under the names of the first one. What is not known stays empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    save(encoded(text.getvalue()), path)


def write_tables(tables: Mapping[str, Sequence[CsvRow]], folder: str | Path) -> None:
    """One file per table, under its name."""
    for name, rows in tables.items():
        write_csv(rows, Path(folder) / f"{name}.csv")

"""What the papers print. It stands in the tables of `acclimate papers reproduce`; here it only gets other names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acclimate.reproduction.catalogue import find_table


def number(table: str, row: str, column: str, figure: str | None = None) -> Any:
    """One cell, as it is printed; nothing where the paper has nothing."""
    found = find_table(table).published.get(row, {}).get(column, "")
    return found.get(figure, "") if isinstance(found, dict) and figure is not None else found


def line(table: str, row: str, columns: Mapping[str, str], figure: str | None = None) -> dict[str, Any]:
    """A row, its columns under our names for them; `columns` are the paper's by these."""
    found = {ours: number(table, row, theirs, figure) for ours, theirs in columns.items()}
    return {ours: value for ours, value in found.items() if value != ""}


def with_two_digits(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float | int) else str(value)

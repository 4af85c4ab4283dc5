"""Two settings against each other: the mean of a figure over the runs of every pair (MSLM's ELM × BLM)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any

from acclimate.data.problems import InputError

Value = float | str


@dataclass(frozen=True, slots=True)
class Cell:
    """The runs of one pair of settings. The deviation is None with one run."""

    mean: float
    deviation: float | None
    runs: int


@dataclass(frozen=True, slots=True)
class Grid:
    """A figure by two settings; None where nothing was run."""

    figure: str
    row_setting: str
    column_setting: str
    rows: tuple[Value, ...]
    columns: tuple[Value, ...]
    cells: tuple[tuple[Cell | None, ...], ...]  # (row, column)

    @property
    def means(self) -> list[list[float | None]]:
        return [[None if cell is None else cell.mean for cell in line] for line in self.cells]

    @property
    def best(self) -> tuple[Value, Value]:
        """The settings with the highest mean; of equal ones the first."""
        _, row, column = max(
            (cell.mean, -row, -column)
            for row, line in enumerate(self.cells)
            for column, cell in enumerate(line)
            if cell is not None
        )
        return self.rows[-row], self.columns[-column]

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "best": self.best}

    def as_rows(self) -> list[dict[str, Any]]:
        """Flat rows, for CSV files."""
        return [
            {self.row_setting: row, self.column_setting: column, **asdict(cell)}
            for row, line in zip(self.rows, self.cells, strict=True)
            for column, cell in zip(self.columns, line, strict=True)
            if cell is not None
        ]


def grid_of(results: Iterable[Mapping[str, Any]], row: str, column: str, figure: str) -> Grid:
    """A grid out of results, one per run: mappings that hold both settings and the figure. Several with the same
    settings are runs with other seeds."""
    found: dict[tuple[Value, Value], list[float]] = {}
    for result in results:
        try:
            found.setdefault((result[row], result[column]), []).append(float(result[figure]))
        except (KeyError, TypeError, ValueError):
            raise InputError(f"a result needs {row}, {column} and the number {figure}; got {dict(result)}.") from None
    if not found:
        raise InputError("there is no result to make a grid of.")
    rows, columns = (tuple(sorted({pair[side] for pair in found}, key=_order)) for side in (0, 1))
    cells = tuple(tuple(_cell(found.get((one, other))) for other in columns) for one in rows)
    return Grid(figure, row, column, rows, columns, cells)


def _order(value: Value) -> tuple[bool, Value]:
    return isinstance(value, str), value


def _cell(values: list[float] | None) -> Cell | None:
    if values is None:
        return None
    return Cell(fmean(values), stdev(values) if len(values) > 1 else None, len(values))

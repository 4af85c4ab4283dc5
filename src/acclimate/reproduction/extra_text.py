"""How much extra text the cells of a table really have: a pool may hold less than a row asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from acclimate.evaluation.table import count
from acclimate.reproduction.cells import Cell
from acclimate.reproduction.ground import extra_text
from acclimate.reproduction.sets import DataSets


@dataclass(frozen=True)
class ExtraText:
    """What the cells of a table have of it. `same` are cells that would only repeat another row."""

    lines: Mapping[str, int]  # by cell, where any was asked for
    same: Mapping[str, str]  # by cell: the row that has the same text already

    @classmethod
    def of(cls, cells: Sequence[Cell], sets: DataSets, folder: Path) -> ExtraText:
        """Makes the files that are missing."""
        lines = {
            cell.name: _count_lines(extra_text(cell.settings, cell.settings.extra, sets, folder))
            for cell in cells
            if cell.settings.extra is not None
        }
        rows: dict[str, str] = {}
        same: dict[str, str] = {}
        for cell in cells:
            if cell.name in lines:
                first = rows.setdefault(_apart_from_amount(cell, lines[cell.name]), cell.row)
                if first != cell.row:
                    same[cell.name] = first
        return cls(lines, same)

    def told(self, cells: Sequence[Cell]) -> Iterator[str]:
        """Where there was less text than a row's name says, and which cells were left out for it."""
        short: dict[tuple[str, str, int], list[int]] = {}
        for cell in cells:
            extra = cell.settings.extra
            if extra is not None and self.lines[cell.name] < extra.lines:
                key = (cell.column, extra.text, self.lines[cell.name])
                short.setdefault(key, []).append(extra.lines)
        for (column, text, there), asked in short.items():
            wanted = " and ".join(f"{lines:,}" for lines in sorted(set(asked)))
            held = f"{count(there, 'line')} of {text}, all that there are"
            yield f"Extra text of {column}: {held}, where {wanted} were asked for."
        for name, row in self.same.items():
            yield f"Left out: {name}, which has no more text than {row}."


def _count_lines(file: Path) -> int:
    with file.open("rb") as text:
        return sum(1 for _ in text)


def _apart_from_amount(cell: Cell, lines: int) -> str:
    """Settings that are the same where two rows differ by what they ask for alone, and have the same. Longer training,
    which goes with more text, makes no other row."""
    settings = cell.settings
    assert settings.extra is not None
    extra = settings.extra.model_copy(update={"lines": lines})
    options = {name: value for name, value in settings.options.items() if name != "updates"}
    return f"{cell.column}: {settings.model_copy(update={'extra': extra, 'options': options}).model_dump_json()}"

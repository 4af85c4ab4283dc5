"""Bars that lie: one group per row, one bar per series, its figure at its end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from acclimate.reporting.charts.frame import (
    LETTER,
    STYLES,
    WIDTH,
    Drawing,
    Scale,
    box,
    drawing,
    line,
    room_for,
    sign,
    text,
    x_axis,
)
from acclimate.reporting.figures import short
from acclimate.reporting.markup import Markup

THICK = 11.0
_GAP = 13.0
_LONGEST = 18  # letters of a label


@dataclass(frozen=True)
class BarRow:
    """A label, what is said under it, and a value for each series; None where there is none.

    `marks` are numbers to compare each value with (a paper's), `spreads` how far each may lie off.
    """

    label: str
    values: Sequence[float | None]
    note: str = ""
    marks: Sequence[float | None] = ()
    spreads: Sequence[float | None] = ()


def bars(
    title: str,
    about: str,
    rows: Sequence[BarRow],
    series: Mapping[str, str],
    most: float,
    unit: str = "",
    digits: int = 1,
    powers: bool = False,
) -> Drawing:
    """`series` are the names and classes of the bars; `most` is the value of a bar of full length. With `powers`, a
    step of the scale is ten times as much: for small numbers beside very large ones."""
    left = room_for([short(row.label, _LONGEST) for row in rows] + [row.note for row in rows], least=50)
    ends = [f"{value:,.{digits}f}" for row in rows for value in row.values if value is not None]
    right = WIDTH - LETTER * max(map(len, ends), default=4) - 8
    scale = Scale(0.0, _place(most, powers) or 1.0, left, right)
    tall = max(THICK * len(series) + _GAP, 31.0 if any(row.note for row in rows) else 0.0)
    bottom = tall * len(rows) + 4
    drawn = [] if powers else x_axis(scale, 0, bottom, unit)
    for number, row in enumerate(rows):
        top = number * tall + (tall - THICK * len(series)) / 2 + 2
        drawn += _label(row, left, top + THICK * len(series) / 2)
        for at, class_ in enumerate(series.values()):
            drawn += _bar(row, at, class_, scale, top + at * THICK, digits, powers)
    drawn.append(line(left, 0, left, bottom, "axis"))
    return drawing(bottom + (34 if unit else 20), title, about, drawn)


def series_classes(names: Sequence[str]) -> dict[str, str]:
    """A class of the style sheet for each name."""
    return {name: f"series-{number % STYLES + 1}" for number, name in enumerate(names)}


def bars_legend(series: Mapping[str, str]) -> list[tuple[Drawing, str]]:
    return [(sign(box(0, 1, 18, 10, f"bar {class_}")), name) for name, class_ in series.items()]


def _place(value: float, powers: bool) -> float:
    return math.log10(1 + max(0.0, value)) if powers else value


def _label(row: BarRow, left: float, middle: float) -> list[Markup]:
    lift = 6.5 if row.note else 0
    drawn = [text(left - 7, middle + 4 - lift, row.label, "end", "label", most=_LONGEST)]
    return [*drawn, text(left - 7, middle + 9.5, row.note, "end", "count")] if row.note else drawn


def _bar(row: BarRow, at: int, class_: str, scale: Scale, y: float, digits: int, powers: bool) -> list[Markup]:
    left, value = scale.start, row.values[at]
    drawn = []
    if value is not None:
        length = max(0.0, scale(_place(value, powers)) - left)
        spread = row.spreads[at] if row.spreads else None
        end = left + length
        drawn.append(box(left, y, length, THICK - 1.5, f"bar {class_}"))
        if spread:
            end = scale(_place(value + spread, powers))
            low = scale(_place(value - spread, powers))
            drawn.append(line(low, y + THICK / 2 - 1, end, y + THICK / 2 - 1, "spread"))
        drawn.append(text(end + 4, y + THICK - 2.5, f"{value:,.{digits}f}", class_="value"))
    mark = row.marks[at] if row.marks else None
    if mark is not None:
        x = scale(_place(mark, powers))
        drawn.append(line(x, y - 1, x, y + THICK - 0.5, "mean"))
    return drawn

"""Bars that lie: one group per row, one bar per series, its figure at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from acclimate.reporting.charts.frame import (
    LETTER,
    WIDTH,
    Scale,
    drawing,
    legend,
    line,
    room_for,
    sign,
    text,
    x_axis,
)
from acclimate.reporting.figures import coordinate, short
from acclimate.reporting.markup import Markup, tag

THICK = 11.0
_GAP = 13.0
_LONGEST = 18  # letters of a label


@dataclass(frozen=True)
class BarRow:
    """A label, what is said under it, and a value for each series; None where there is none."""

    label: str
    values: Sequence[float | None]
    note: str = ""


def bars(
    title: str, about: str, rows: Sequence[BarRow], series: Mapping[str, str], most: float, unit: str = ""
) -> Markup:
    """`series` are the names and classes of the bars; `most` is the value of a bar of full length."""
    left = room_for([short(row.label, _LONGEST) for row in rows] + [row.note for row in rows], least=50)
    right = WIDTH - LETTER * 6
    scale = Scale(0.0, most or 1.0, left, right)
    tall = max(THICK * len(series) + _GAP, 31.0 if any(row.note for row in rows) else 0.0)
    bottom = tall * len(rows) + 4
    drawn = x_axis(scale, 0, bottom, unit)
    for number, row in enumerate(rows):
        drawn += _row(row, list(series.values()), scale, number * tall + (tall - THICK * len(series)) / 2 + 2, left)
    drawn.append(line(left, 0, left, bottom, "axis"))
    return drawing(bottom + (34 if unit else 20), title, about, drawn)


def bars_legend(series: Mapping[str, str]) -> Markup:
    marks = [tag("rect", x=0, y=1, width=18, height=10, class_=f"bar {name}") for name in series.values()]
    return legend(*((sign(mark), name) for mark, name in zip(marks, series, strict=True)))


def _row(row: BarRow, classes: Sequence[str], scale: Scale, top: float, left: float) -> list[Markup]:
    middle = top + THICK * len(classes) / 2
    lift = 6.5 if row.note else 0
    label = tag(
        "text",
        tag("title", row.label),
        short(row.label, _LONGEST),
        x=coordinate(left - 7),
        y=coordinate(middle + 4 - lift),
        text_anchor="end",
        class_="label",
    )
    drawn = [label]
    if row.note:
        drawn.append(text(left - 7, middle + 9.5, row.note, "end", "count"))
    for number, (value, class_) in enumerate(zip(row.values, classes, strict=True)):
        if value is None:
            continue
        y, length = top + number * THICK, max(0.0, scale(value) - left)
        drawn += [
            tag(
                "rect",
                x=coordinate(left),
                y=coordinate(y),
                width=coordinate(length),
                height=coordinate(THICK - 1.5),
                class_=f"bar {class_}",
            ),
            text(left + length + 4, y + THICK - 2.5, f"{value:.1f}", class_="value"),
        ]
    return drawn

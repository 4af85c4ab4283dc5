"""Dots along a line of numbers, with the range in which each may lie, one row for each thing compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acclimate.reporting.charts.frame import (
    WIDTH,
    Scale,
    drawing,
    legend,
    line,
    padded,
    room_for,
    sign,
    text,
    x_axis,
)
from acclimate.reporting.figures import coordinate, short
from acclimate.reporting.markup import Markup, tag

SHAPES = ("before", "after", "seed", "mean")  # hollow circle, full circle, small ring, upright stroke
_LANE = 15.0
_GAP = 13.0
_LONGEST = 20


@dataclass(frozen=True)
class Dot:
    value: float
    shape: str
    low: float | None = None
    high: float | None = None
    title: str = ""


@dataclass(frozen=True)
class DotRow:
    """Lanes lie under each other, dots of one lane beside each other. What is told stands at the right."""

    label: str
    lanes: Sequence[Sequence[Dot]]
    told: Sequence[str] = ()


def dots(title: str, about: str, rows: Sequence[DotRow], unit: str, zero: str | None = None) -> Markup:
    """`zero` is what the line at 0 means; with it 0 is always in sight."""
    every = [dot for row in rows for lane in row.lanes for dot in lane]
    values = [value for dot in every for value in (dot.value, dot.low, dot.high) if value is not None]
    low, high = padded([*values, 0.0] if zero is not None or not values else values)
    left = room_for([short(row.label, _LONGEST) for row in rows])
    told = max((len(words) for row in rows for words in row.told), default=0)
    right = WIDTH - (6.8 * told + 8 if told else 12)
    scale = Scale(low, high, left + 6, right - 4)
    head = 16.0 if zero is not None else 4.0
    bottom = head + sum(_height(row) for row in rows)
    drawn = x_axis(scale, head, bottom, unit)
    if zero is not None:
        drawn += [
            line(scale(0), head - 2, scale(0), bottom, "level"),
            text(min(max(scale(0), 60), WIDTH - 60), 10, zero, "middle", "quiet"),
        ]
    top = head
    for row in rows:
        drawn += _row(row, scale, top, left, right)
        top += _height(row)
    return drawing(bottom + 34, title, about, drawn)


def dots_legend(**names: str) -> Markup:
    """What each shape means: `before="before"`."""
    return legend(*((sign(_shape(9, 6, shape)), name) for shape, name in names.items()))


def _height(row: DotRow) -> float:
    return _LANE * max(1, len(row.lanes)) + _GAP


def _row(row: DotRow, scale: Scale, top: float, left: float, right: float) -> list[Markup]:
    middle = top + _height(row) / 2
    label = tag(
        "text",
        tag("title", row.label),
        short(row.label, _LONGEST),
        x=coordinate(left - 6),
        y=coordinate(middle + 4),
        text_anchor="end",
        class_="label",
    )
    drawn = [label]
    for number, lane in enumerate(row.lanes):
        y = top + _GAP / 2 + _LANE * (number + 0.5)
        drawn += [mark for dot in lane for mark in _dot(dot, scale, y)]
        if number < len(row.told):
            drawn.append(text(right + 4, y + 4, row.told[number], "start", "value"))
    return drawn


def _dot(dot: Dot, scale: Scale, y: float) -> list[Markup]:
    drawn = []
    if dot.low is not None and dot.high is not None:
        class_ = f"whisker {dot.shape}"
        drawn += [
            line(scale(dot.low), y, scale(dot.high), y, class_),
            line(scale(dot.low), y - 3.5, scale(dot.low), y + 3.5, class_),
            line(scale(dot.high), y - 3.5, scale(dot.high), y + 3.5, class_),
        ]
    return [*drawn, _shape(scale(dot.value), y, dot.shape, dot.title)]


def _shape(x: float, y: float, shape: str, title: str = "") -> Markup:
    told = tag("title", title) if title else None
    if shape == "mean":
        return tag(
            "line",
            told,
            x1=coordinate(x),
            x2=coordinate(x),
            y1=coordinate(y - 7),
            y2=coordinate(y + 7),
            class_="mean",
        )
    size = {"seed": 3.6}.get(shape, 4.6)
    return tag("circle", told, cx=coordinate(x), cy=coordinate(y), r=size, class_=f"point {shape}")

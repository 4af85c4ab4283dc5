"""Dots along a line of numbers, with the range in which each may lie; and points on a flat map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acclimate.reporting.charts.frame import (
    STYLES,
    WIDTH,
    Drawing,
    Scale,
    drawing,
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
_TALL = 300.0  # of a map
_PLACES = ("source", "target")  # classes of the first two groups on a map


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


def dots(title: str, about: str, rows: Sequence[DotRow], unit: str, zero: str | None = None) -> Drawing:
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


def dots_legend(**names: str) -> list[tuple[Drawing, str]]:
    """What each shape means: `before="before"`."""
    return [(sign(_shape(9, 6, shape)), name) for shape, name in names.items()]


def scatter(
    title: str, about: str, places: Sequence[tuple[float, float]], groups: Sequence[int], words: Sequence[str]
) -> Drawing:
    """A flat map: circles of the source (group 0), triangles of the target (1), others in colours of their own."""
    x_low, x_high = padded([x for x, _ in places], 0.03)
    y_low, y_high = padded([y for _, y in places], 0.03)
    x, y = Scale(x_low, x_high, 2, WIDTH - 2), Scale(y_low, y_high, _TALL - 2, 2)
    drawn = [
        _place(x(place[0]), y(place[1]), group, short(word, 40))
        for place, group, word in zip(places, groups, words, strict=True)
    ]
    border = tag("rect", x=0.5, y=0.5, width=coordinate(WIDTH - 1), height=coordinate(_TALL - 1), class_="border")
    return drawing(_TALL, title, about, border, drawn)


def scatter_legend(names: Sequence[str]) -> list[tuple[Drawing, str]]:
    return [(sign(_place(9, 6, number)), name) for number, name in enumerate(names)]


def _height(row: DotRow) -> float:
    return _LANE * max(1, len(row.lanes)) + _GAP


def _row(row: DotRow, scale: Scale, top: float, left: float, right: float) -> list[Markup]:
    drawn = [text(left - 6, top + _height(row) / 2 + 4, row.label, "end", "label", most=_LONGEST)]
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
        return line(x, y - 7, x, y + 7, "mean", told)
    size = {"seed": 3.6}.get(shape, 4.6)
    return tag("circle", told, cx=coordinate(x), cy=coordinate(y), r=size, class_=f"point {shape}")


def _place(x: float, y: float, group: int, word: str = "") -> Markup:
    told = tag("title", word) if word else None
    class_ = f"place {_PLACES[group] if group < len(_PLACES) else f'series-{group % STYLES + 1}'}"
    if group % 2:
        corners = f"M{coordinate(x)} {coordinate(y - 3.4)}l3.2 5.6h-6.4z"
        return tag("path", told, d=corners, class_=class_)
    return tag("circle", told, cx=coordinate(x), cy=coordinate(y), r=2.4, class_=class_)

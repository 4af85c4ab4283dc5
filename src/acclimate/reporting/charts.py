"""Charts: bars, lines, dots with intervals, flat maps, and numbers in a grid."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from acclimate.reporting.formatting import Markup, short
from acclimate.reporting.svg import (
    LETTER,
    STYLES,
    WIDTH,
    Scale,
    box,
    circle,
    coordinate,
    drawing,
    label_width,
    line,
    padded,
    sign,
    slanted,
    tag,
    text,
    tooltip,
    x_axis,
    y_axis,
)

Legend = list[tuple[Markup, str]]
Point = tuple[float, float | None]
Points = Sequence[Point]
MOST_POINTS = 150  # of a line: more are put together in groups
SHAPES = ("before", "after", "seed", "mean")  # hollow circle, full circle, small ring, upright stroke
_THICK, _GAP, _LANE, _CELL = 11.0, 13.0, 15.0, 26.0  # a bar, the gap between rows, a lane of dots, a cell
_LETTERS, _DOT_LETTERS, _CELL_LETTERS = 18, 20, 12  # the longest labels
_PLOT, _LEFT, _RIGHT = 170.0, 44.0, WIDTH - 12  # the height of lines, and where they begin and end
_MAP = 300.0  # the height of a map
_PLACES = ("source", "target")  # classes of the first two groups on a map


@dataclass(frozen=True)
class BarRow:
    """A label with a note under it, and a value for each series. `marks` are numbers to compare each value with (a
    paper's), `spreads` the deviations."""

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
) -> Markup:
    """Horizontal bars: a group per row, a bar per series, its figure at its end.

    `series` are the names and classes of the bars; `most` is the value of a bar of full length.
    """
    left = label_width([short(row.label, _LETTERS) for row in rows] + [row.note for row in rows], least=50)
    ends = [f"{value:,.{digits}f}" for row in rows for value in row.values if value is not None]
    right = WIDTH - LETTER * max(map(len, ends), default=4) - 8
    scale = Scale(0.0, most or 1.0, left, right)
    height = max(_THICK * len(series) + _GAP, 31.0 if any(row.note for row in rows) else 0.0)
    bottom = height * len(rows) + 4
    drawn = x_axis(scale, 0, bottom, unit)
    for number, row in enumerate(rows):
        top = number * height + (height - _THICK * len(series)) / 2 + 2
        middle = top + _THICK * len(series) / 2
        drawn.append(text(left - 7, middle + (-2.5 if row.note else 4), row.label, "end", "label", most=_LETTERS))
        if row.note:
            drawn.append(text(left - 7, middle + 9.5, row.note, "end", "count"))
        for at, class_ in enumerate(series.values()):
            drawn += _bar(row, at, class_, scale, top + at * _THICK, digits)
    drawn.append(line(left, 0, left, bottom, "axis"))
    return drawing(bottom + (34 if unit else 20), title, about, drawn)


def series_classes(names: Sequence[str]) -> dict[str, str]:
    """A class of the style sheet for each name."""
    return {name: f"series-{number % STYLES + 1}" for number, name in enumerate(names)}


def bars_legend(series: Mapping[str, str]) -> Legend:
    return [(sign(box(0, 1, 18, 10, f"bar {class_}")), name) for name, class_ in series.items()]


def _bar(row: BarRow, at: int, class_: str, scale: Scale, y: float, digits: int) -> list[Markup]:
    value, drawn = row.values[at], []
    if value is not None:
        length = max(0.0, scale(value) - scale.start)
        drawn.append(box(scale.start, y, length, _THICK - 1.5, f"bar {class_}"))
        end = scale.start + length
        spread = row.spreads[at] if row.spreads else None
        if spread:
            low, end = (scale(value + shift) for shift in (-spread, spread))
            drawn.append(line(low, y + _THICK / 2 - 1, end, y + _THICK / 2 - 1, "spread"))
        drawn.append(text(end + 4, y + _THICK - 2.5, f"{value:,.{digits}f}", class_="value"))
    mark = row.marks[at] if row.marks else None
    if mark is not None:
        x = scale(mark)
        drawn.append(line(x, y - 1, x, y + _THICK - 0.5, "mean"))
    return drawn


def heat_map(
    title: str,
    about: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    across: str = "",
    down: str = "",
    *,
    scale: tuple[float, float] | None = None,
    digits: int = 0,
    longest: int = _CELL_LETTERS,
) -> Markup:
    """Numbers in a grid, the darker the larger. `across` and `down` say what columns and rows are; None is no cell.

    Without a `scale` the values are counts, and a cell is the darker the larger its share of the row. With one, a cell
    is the darker the nearer its value lies to the upper end.
    """
    names = [short(name, _CELL_LETTERS) for name in columns]
    letters = max(map(len, names))
    is_slanted = letters > 5
    left = LETTER * max(len(short(row, longest)) for row in rows) + 12
    wide = max(44.0, (WIDTH - left) / len(columns)) if len(columns) < 9 else 44.0
    head = 20 + (LETTER * letters * 0.62 + 12 if is_slanted else 18)
    drawn = [text(left + wide * len(columns) / 2, 11, across, "middle", "quiet")]
    drawn.append(text(0, head - 6, down, class_="quiet"))
    for number, (name, whole) in enumerate(zip(names, columns, strict=True)):
        x, y = left + wide * (number + 0.5), head - 6
        upright = tag("text", tooltip(whole), name, x=x, y=y, text_anchor="middle", class_="label")
        drawn.append(slanted(x, y, name, whole, -4, class_="label") if is_slanted else upright)
    for number, (row, cells) in enumerate(zip(rows, values, strict=True)):
        top = head + number * _CELL
        drawn.append(text(left - 6, top + _CELL / 2 + 4, row, "end", "label", most=longest))
        low, high = scale or (0.0, sum(value or 0 for value in cells))
        for at, value in enumerate(cells):
            if value is not None:
                shown = f"{value:,.{digits}f}"
                share = min(1.0, max(0.0, (value - low) / (high - low))) if high != low else 0.0
                opacity = f"{0.07 + 0.43 * share:.2f}" if value else "0.03"
                cell = box(left + wide * at + 1, top + 1, wide - 2, _CELL - 2, "cell", rx=3, fill_opacity=opacity)
                drawn.append(tag("g", tooltip(f"{row} → {columns[at]}: {shown}"), cell))
                figure = shown if value or digits else "·"
                drawn.append(text(left + wide * (at + 0.5), top + _CELL / 2 + 4, figure, "middle", "label"))
    beyond = max(0.0, LETTER * letters * 0.8 - wide / 2) if is_slanted else 0.0  # of the last slanted name
    width = max(left + wide * len(columns) + beyond, 200.0)
    return drawing(head + _CELL * len(rows) + 2, title, about, drawn, width=width)


def lines(
    title: str,
    about: str,
    series: Mapping[str, Points],
    *,
    across: str = "updates",
    marks: Mapping[float, str] | None = None,
    levels: Mapping[float, str] | None = None,
    span: tuple[float, float] | None = None,
    ranges: Mapping[str, Sequence[tuple[float, float, float]]] | None = None,
    beside: Mapping[str, Points] | None = None,
    names: Mapping[float, str] | None = None,
) -> Markup:
    """Lines along training, each with its dash and colour. A point without a number is a gap.

    `marks` are upright lines at places along training, `levels` lines across; `span` is the range
    of values. `ranges` give places with the lowest and highest value of a line, and `beside` a thin line of the
    same colour. `names` stand below the places in place of numbers.
    """
    marks, levels, ranges, beside = marks or {}, levels or {}, ranges or {}, beside or {}
    shown = {name: thinned(points) for name, points in series.items() if points}
    known = [(x, y) for points in (*shown.values(), *beside.values()) for x, y in points if y is not None]
    places = [place for place, _ in known]
    values = [value for _, value in known] + [end for rows in ranges.values() for _, *ends in rows for end in ends]
    if not values:
        return drawing(24, title, about, text(0, 16, "no numbers"))
    first, last = min([0.0, *places]), max([*places, *marks]) or 1.0
    if names is not None:
        first, last = min(places) - 0.3, max(places) + 0.3 or 1.0
    x = Scale(first, last, _LEFT, _RIGHT)
    y = Scale(*(span or padded([*values, *levels])), _PLOT, 12)
    drawn = y_axis(y, _LEFT, _RIGHT)
    if names is None:
        drawn += x_axis(x, _PLOT - 4, _PLOT, across)
    drawn += [slanted(x(place), _PLOT + 12, name, text_anchor="end") for place, name in (names or {}).items()]
    for value, name in levels.items():
        drawn.append(line(_LEFT, y(value), _RIGHT, y(value), "level"))
        drawn.append(text(_RIGHT - 2, y(value) - 4, name, "end", "quiet"))
    for place, name in marks.items():
        anchor, shift = ("end", -4) if x(place) > WIDTH / 2 else ("start", 4)
        drawn += [line(x(place), 12, x(place), _PLOT, "mark"), text(x(place) + shift, 20, name, anchor, "quiet")]
    for (name, class_), points in zip(series_classes(list(shown)).items(), shown.values(), strict=True):
        drawn += [line(x(at), y(low), x(at), y(high), f"line {class_}") for at, low, high in ranges.get(name, ())]
        drawn += _line(points, x, y, class_, has_dots=len(points) <= 30)
        drawn += _line(beside.get(name, ()), x, y, f"{class_} thin", has_dots=False)
    below = 34 if names is None else 12 + 5.2 * max(map(len, names.values()))
    return drawing(_PLOT + below, title, about, drawn)


def lines_legend(names: Sequence[str]) -> Legend:
    """One sign for each line, dashed as it is."""
    classes = series_classes(names)
    return [(sign(line(0, 6, 26, 6, f"line {class_}"), width=26.0), name) for name, class_ in classes.items()]


def thinned(points: Points, most: int = MOST_POINTS) -> list[Point]:
    """Groups of neighbours as their means, where there are too many to be seen."""
    if len(points) <= most:
        return list(points)
    size = math.ceil(len(points) / most)
    known = [(place, value) for place, value in points if value is not None]
    groups = [known[start : start + size] for start in range(0, len(known), size)]
    return [(sum(x for x, _ in group) / len(group), sum(y for _, y in group) / len(group)) for group in groups]


def _line(points: Points, x: Scale, y: Scale, class_: str, has_dots: bool) -> list[Markup]:
    """The parts of a line between its gaps; a dot for each single evaluation."""
    drawn = []
    for is_known, group in groupby(points, key=lambda point: point[1] is not None):
        if is_known:
            places = [(x(place), y(value)) for place, value in group if value is not None]
            corners = " ".join(f"{coordinate(left)},{coordinate(top)}" for left, top in places)
            drawn.append(tag("polyline", points=corners, class_=f"line {class_}"))
            drawn += [circle(left, top, 2.4, f"dot {class_}") for left, top in places if has_dots]
    return drawn


@dataclass(frozen=True)
class Dot:
    """A value with its interval, if it has one."""

    value: float
    shape: str
    low: float | None = None
    high: float | None = None
    title: str = ""


@dataclass(frozen=True)
class DotRow:
    """Lanes lie under each other, dots of one lane beside each other, and a text stands at the right of each lane."""

    label: str
    lanes: Sequence[Sequence[Dot]]
    texts: Sequence[str] = ()

    @property
    def height(self) -> float:
        return _LANE * max(1, len(self.lanes)) + _GAP


def dots(title: str, about: str, rows: Sequence[DotRow], unit: str, zero: str | None = None) -> Markup:
    """Dots along a line of numbers. `zero` is what the line at 0 means; with it 0 is always in sight."""
    every = [dot for row in rows for lane in row.lanes for dot in lane]
    values = [value for dot in every for value in (dot.value, dot.low, dot.high) if value is not None]
    low, high = padded([*values, 0.0] if zero is not None or not values else values)
    left = label_width([short(row.label, _DOT_LETTERS) for row in rows])
    letters = max((len(words) for row in rows for words in row.texts), default=0)
    right = WIDTH - (6.8 * letters + 8 if letters else 12)
    scale = Scale(low, high, left + 6, right - 4)
    top = 16.0 if zero is not None else 4.0
    bottom = top + sum(row.height for row in rows)
    drawn = x_axis(scale, top, bottom, unit)
    if zero is not None:
        drawn.append(line(scale(0), top - 2, scale(0), bottom, "level"))
        drawn.append(text(min(max(scale(0), 60), WIDTH - 60), 10, zero, "middle", "quiet"))
    for row in rows:
        drawn.append(text(left - 6, top + row.height / 2 + 4, row.label, "end", "label", most=_DOT_LETTERS))
        for number, lane in enumerate(row.lanes):
            y = top + _GAP / 2 + _LANE * (number + 0.5)
            drawn += [mark for dot in lane for mark in _dot(dot, scale, y)]
            if number < len(row.texts):
                drawn.append(text(right + 4, y + 4, row.texts[number], "start", "value"))
        top += row.height
    return drawing(bottom + 34, title, about, drawn)


def dots_legend(**names: str) -> Legend:
    """What each shape means: `before="before"`."""
    return [(sign(_shape(9, 6, shape)), name) for shape, name in names.items()]


def _dot(dot: Dot, scale: Scale, y: float) -> list[Markup]:
    drawn = []
    if dot.low is not None and dot.high is not None:
        low, high, class_ = scale(dot.low), scale(dot.high), f"whisker {dot.shape}"
        drawn.append(line(low, y, high, y, class_))
        drawn += [line(end, y - 3.5, end, y + 3.5, class_) for end in (low, high)]
    return [*drawn, _shape(scale(dot.value), y, dot.shape, dot.title)]


def _shape(x: float, y: float, shape: str, title: str = "") -> Markup:
    if shape == "mean":
        return line(x, y - 7, x, y + 7, "mean", title)
    return circle(x, y, 3.6 if shape == "seed" else 4.6, f"point {shape}", title)


def scatter(
    title: str, about: str, places: Sequence[tuple[float, float]], groups: Sequence[int], words: Sequence[str]
) -> Markup:
    """A flat map: circles of the source (group 0), triangles of the target (1), others in colours of their own."""
    x = Scale(*padded([x for x, _ in places], 0.03), 2, WIDTH - 2)
    y = Scale(*padded([y for _, y in places], 0.03), _MAP - 2, 2)
    points = zip(places, groups, words, strict=True)
    drawn = [_map_point(x(left), y(top), group, short(word, 40)) for (left, top), group, word in points]
    return drawing(_MAP, title, about, box(0.5, 0.5, WIDTH - 1, _MAP - 1, "border"), drawn)


def scatter_legend(names: Sequence[str]) -> Legend:
    return [(sign(_map_point(9, 6, number)), name) for number, name in enumerate(names)]


def _map_point(x: float, y: float, group: int, word: str = "") -> Markup:
    class_ = f"place {_PLACES[group] if group < len(_PLACES) else f'series-{group % STYLES + 1}'}"
    if group % 2:
        corners = f"M{coordinate(x)} {coordinate(y - 3.4)}l3.2 5.6h-6.4z"
        return tag("path", tooltip(word), d=corners, class_=class_)
    return circle(x, y, 2.4, class_, word)

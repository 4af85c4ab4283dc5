"""Lines along training: a dash and a colour for each, and signs where something happened."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby

from acclimate.reporting.charts.frame import (
    STYLES,
    WIDTH,
    Drawing,
    Scale,
    drawing,
    line,
    padded,
    sign,
    text,
    x_axis,
    y_axis,
)
from acclimate.reporting.figures import coordinate
from acclimate.reporting.markup import Markup, tag

Point = tuple[float, float | None]
Points = Sequence[Point]
MOST_POINTS = 150  # of a line: more are put together in groups
_TALL = 170.0
_LEFT, _RIGHT = 44.0, WIDTH - 12


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
    rings: Sequence[tuple[float, float]] = (),
    names: Mapping[float, str] | None = None,
) -> Drawing:
    """A point without a number is a gap.

    `marks` are upright lines at places along training, `levels` lines across, `rings` points to look at; `span` is the
    range of values. `ranges` give places with the lowest and highest value of a line, and `beside` a thin line of the
    same colour. `names` stand below the places in place of numbers.
    """
    drawn_series = {name: thinned(points) for name, points in series.items() if points}
    places, values = _extent([*drawn_series.values(), *(beside or {}).values()], ranges or {})
    if not values:
        return drawing(24, title, about, text(0, 16, "no numbers"))
    low, high = span or padded(values + list(levels or ()))
    first = min([0.0, *places]) if names is None else min(places) - 0.3
    last = max(places + list(marks or ())) if names is None else max(places) + 0.3
    x, y = Scale(first, last or 1.0, _LEFT, _RIGHT), Scale(low, high, _TALL, 12)
    drawn = [*y_axis(y, _LEFT, _RIGHT), *(x_axis(x, _TALL - 4, _TALL, across) if names is None else [])]
    drawn += [_place_name(x(place), name) for place, name in (names or {}).items()]
    drawn += _levels(levels or {}, y) + _marks(marks or {}, x)
    for number, (name, points) in enumerate(drawn_series.items()):
        class_ = f"series-{number % STYLES + 1}"
        for place, lowest, highest in (ranges or {}).get(name, ()):
            drawn.append(line(x(place), y(lowest), x(place), y(highest), f"line {class_}"))
        drawn += _line(points, x, y, class_, has_dots=len(points) <= 30)
        drawn += _line((beside or {}).get(name, ()), x, y, f"{class_} thin", has_dots=False)
    drawn += [tag("circle", cx=coordinate(x(at)), cy=coordinate(y(value)), r=5, class_="ring") for at, value in rings]
    tall = _TALL + (34 if names is None else 12 + 5.2 * max(map(len, names.values())))
    return drawing(tall, title, about, drawn)


def lines_legend(names: Sequence[str]) -> list[tuple[Drawing, str]]:
    """One sign for each line, dashed as it is."""
    return [
        (sign(line(0, 6, 26, 6, f"line series-{number % STYLES + 1}"), width=26), name)
        for number, name in enumerate(names)
    ]


def thinned(points: Points, most: int = MOST_POINTS) -> list[Point]:
    """Groups of neighbours as their means, where there are too many to be seen."""
    if len(points) <= most:
        return list(points)
    size = math.ceil(len(points) / most)
    known = [(place, value) for place, value in points if value is not None]
    groups = [known[start : start + size] for start in range(0, len(known), size)]
    return [
        (sum(place for place, _ in group) / len(group), sum(value for _, value in group) / len(group))
        for group in groups
    ]


def _extent(
    series: Sequence[Points], ranges: Mapping[str, Sequence[tuple[float, float, float]]]
) -> tuple[list[float], list[float]]:
    """All places, and all values there."""
    points = [(place, value) for line in series for place, value in line if value is not None]
    ends = [value for rows in ranges.values() for _, *both in rows for value in both]
    return [place for place, _ in points], [value for _, value in points] + ends


def _place_name(x: float, name: str) -> Markup:
    y = _TALL + 12
    turn = f"rotate(-38 {coordinate(x)} {coordinate(y)})"
    return tag("text", name, x=coordinate(x), y=coordinate(y), text_anchor="end", transform=turn)


def _levels(levels: Mapping[float, str], y: Scale) -> list[Markup]:
    return [
        drawn
        for value, name in levels.items()
        for drawn in (
            line(_LEFT, y(value), _RIGHT, y(value), "level"),
            text(_RIGHT - 2, y(value) - 4, name, "end", "quiet"),
        )
    ]


def _marks(marks: Mapping[float, str], x: Scale) -> list[Markup]:
    drawn = []
    for place, name in marks.items():
        anchor, shift = ("end", -4) if x(place) > WIDTH / 2 else ("start", 4)
        drawn += [line(x(place), 12, x(place), _TALL, "mark"), text(x(place) + shift, 20, name, anchor, "quiet")]
    return drawn


def _line(points: Points, x: Scale, y: Scale, class_: str, has_dots: bool) -> list[Markup]:
    drawn = []
    for is_known, group in groupby(points, key=lambda point: point[1] is not None):
        if is_known:
            places = [(coordinate(x(place)), coordinate(y(value))) for place, value in group if value is not None]
            drawn.append(tag("polyline", points=" ".join(map(",".join, places)), class_=f"line {class_}"))
            if has_dots:  # single evaluations: each is worth a dot
                drawn += [tag("circle", cx=left, cy=top, r=2.4, class_=f"dot {class_}") for left, top in places]
    return drawn

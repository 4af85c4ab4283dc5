"""Lines along training: a dash and a colour for each, and signs where something happened."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from acclimate.reporting.charts.frame import (
    WIDTH,
    Scale,
    drawing,
    legend,
    line,
    padded,
    sign,
    text,
    x_axis,
    y_axis,
)
from acclimate.reporting.figures import coordinate
from acclimate.reporting.markup import Markup, tag

Points = Sequence[tuple[float, float]]
MOST_POINTS = 150  # of a line: more are put together in groups
STYLES = 6  # kinds of lines in the style sheet
_TALL = 170.0
_LEFT = 44.0


def lines(
    title: str,
    about: str,
    series: Mapping[str, Points],
    *,
    marks: Mapping[float, str] | None = None,
    levels: Mapping[float, str] | None = None,
    span: tuple[float, float] | None = None,
) -> Markup:
    """`marks` are upright lines at places along training, `levels` lines across; `span` is the range of values."""
    drawn_series = {name: thinned(points) for name, points in series.items() if points}
    every = [point for points in drawn_series.values() for point in points]
    if not every:
        return drawing(24, title, about, text(0, 16, "no numbers"))
    low, high = span or padded([value for _, value in every] + list(levels or ()))
    last = max([place for place, _ in every] + list(marks or ()))
    x, y = Scale(0.0, last or 1.0, _LEFT, WIDTH - 12), Scale(low, high, _TALL, 12)
    drawn = [*y_axis(y, _LEFT, WIDTH - 12), *x_axis(x, _TALL - 4, _TALL, "updates")]
    for value, name in (levels or {}).items():
        drawn += [
            line(_LEFT, y(value), WIDTH - 12, y(value), "level"),
            text(WIDTH - 14, y(value) - 4, name, "end", "quiet"),
        ]
    for place, name in (marks or {}).items():
        anchor, shift = ("end", -4) if x(place) > WIDTH / 2 else ("start", 4)
        drawn += [line(x(place), 12, x(place), _TALL, "mark"), text(x(place) + shift, 20, name, anchor, "quiet")]
    for number, points in enumerate(drawn_series.values()):
        drawn += _line(points, x, y, number)
    return drawing(_TALL + 34, title, about, drawn)


def lines_legend(names: Sequence[str]) -> Markup:
    """One sign for each line, dashed as it is."""
    return legend(
        *(
            (sign(line(0, 6, 26, 6, f"line series-{number % STYLES + 1}"), width=26), name)
            for number, name in enumerate(names)
        )
    )


def thinned(points: Points, most: int = MOST_POINTS) -> list[tuple[float, float]]:
    """Groups of neighbours as their means, where there are too many to be seen."""
    if len(points) <= most:
        return list(points)
    size = math.ceil(len(points) / most)
    groups = [points[start : start + size] for start in range(0, len(points), size)]
    return [
        (sum(place for place, _ in group) / len(group), sum(value for _, value in group) / len(group))
        for group in groups
    ]


def _line(points: Points, x: Scale, y: Scale, number: int) -> list[Markup]:
    class_ = f"series-{number % STYLES + 1}"
    places = " ".join(f"{coordinate(x(place))},{coordinate(y(value))}" for place, value in points)
    drawn = [tag("polyline", points=places, class_=f"line {class_}")]
    if len(points) <= 30:  # single looks: each is worth a dot
        drawn += [
            tag("circle", cx=coordinate(x(place)), cy=coordinate(y(value)), r=2.4, class_=f"dot {class_}")
            for place, value in points
        ]
    return drawn

"""Points on a flat map: circles of the source, triangles of the target."""

from __future__ import annotations

from collections.abc import Sequence

from acclimate.reporting.charts.frame import WIDTH, Scale, drawing, legend, padded, sign
from acclimate.reporting.figures import coordinate, short
from acclimate.reporting.markup import Markup, tag

_TALL = 300.0


def scatter(
    title: str, about: str, places: Sequence[tuple[float, float]], is_target: Sequence[bool], words: Sequence[str]
) -> Markup:
    x_low, x_high = padded([x for x, _ in places], 0.03)
    y_low, y_high = padded([y for _, y in places], 0.03)
    x, y = Scale(x_low, x_high, 2, WIDTH - 2), Scale(y_low, y_high, _TALL - 2, 2)
    drawn = [
        _point(x(place[0]), y(place[1]), target, short(word, 40))
        for place, target, word in zip(places, is_target, words, strict=True)
    ]
    border = tag("rect", x=0.5, y=0.5, width=coordinate(WIDTH - 1), height=coordinate(_TALL - 1), class_="border")
    return drawing(_TALL, title, about, border, drawn)


def scatter_legend(source: str, target: str) -> Markup:
    return legend((sign(_point(9, 6, False)), source), (sign(_point(9, 6, True)), target))


def _point(x: float, y: float, is_target: bool, word: str = "") -> Markup:
    told = tag("title", word) if word else None
    if is_target:
        corners = f"M{coordinate(x)} {coordinate(y - 3.4)}l3.2 5.6h-6.4z"
        return tag("path", told, d=corners, class_="place target")
    return tag("circle", told, cx=coordinate(x), cy=coordinate(y), r=2.4, class_="place source")

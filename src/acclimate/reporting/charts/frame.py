"""What all charts stand in: a drawing with a name, axes with round numbers, signs for a legend; and a sheet of figures,
one SVG file that stands alone, with colours for light and dark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from acclimate.data.problems import InputError
from acclimate.data.writers.shared import save
from acclimate.reporting.figures import coordinate, short
from acclimate.reporting.markup import Markup, tag

WIDTH = 360.0  # as wide as a phone shows
LETTER = 7.4  # of the small print, on average, in a wide font
STYLES = 6  # kinds of lines, bars and points in the style sheet


class Drawing(Markup):
    """An SVG element that knows its size."""

    width: float
    height: float


@dataclass(frozen=True)
class Figure:
    """A drawing under its caption. The legend are signs, each with its meaning; a note stands below."""

    caption: str
    drawing: Drawing | None
    legend: Sequence[tuple[Drawing, str]] = ()
    note: str = ""
    scrolls: bool = False  # sideways, where it is wider than a phone


@dataclass(frozen=True)
class Scale:
    """Numbers to places along one axis."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        width = self.high - self.low
        return self.start + (self.end - self.start) * ((value - self.low) / width if width else 0.5)

    def ticks(self, most: int = 5) -> list[float]:
        """Round numbers inside the range."""
        width = self.high - self.low
        if width <= 0 or not math.isfinite(width):
            return [self.low]
        power = 10.0 ** math.floor(math.log10(width / most))
        step = next(power * factor for factor in (1, 2, 2.5, 5, 10, 20) if width / (power * factor) <= most)
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


def padded(values: Sequence[float], share: float = 0.06) -> tuple[float, float]:
    """The range of some values, with a little air at both ends."""
    low, high = min(values), max(values)
    air = (high - low) * share or abs(high) * share or 1.0
    return low - air, high + air


def tick_text(value: float) -> str:
    if value == 0:
        return "0"
    if abs(value) >= 10_000:
        return f"{value / 1000:g}k"
    return f"{value:.3g}".replace("-", "\u2212")


def drawing(height: float, title: str, about: str, *children: Any, width: float = WIDTH) -> Drawing:
    """An SVG with a name and a description for who cannot see it."""
    about_it = tag("desc", about) if about else None
    return _sized(width, height, tag("title", title), about_it, *children, role="img")


def sign(*children: Any, width: float = 18) -> Drawing:
    """A drawing in a line of text."""
    return _sized(width, 12, *children, class_="sign", aria_hidden="true")


def _sized(width: float, height: float, *children: Any, **attributes: Any) -> Drawing:
    drawn = Drawing(tag("svg", *children, viewBox=f"0 0 {coordinate(width)} {coordinate(height)}", **attributes))
    drawn.width, drawn.height = width, height
    return drawn


def text(x: float, y: float, words: str, anchor: str = "start", class_: str | None = None, most: int = 0) -> Markup:
    """With `most`, a long text is cut, and its whole is told to who points at it."""
    whole = tag("title", words) if most else None
    shown = short(words, most) if most else words
    return tag("text", whole, shown, x=coordinate(x), y=coordinate(y), text_anchor=anchor, class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, class_: str, told: Markup | None = None) -> Markup:
    return tag("line", told, x1=coordinate(x1), y1=coordinate(y1), x2=coordinate(x2), y2=coordinate(y2), class_=class_)


def box(x: float, y: float, width: float, height: float, class_: str, **attributes: Any) -> Markup:
    size = {"width": coordinate(width), "height": coordinate(height)}
    return tag("rect", x=coordinate(x), y=coordinate(y), **size, class_=class_, **attributes)


def x_axis(scale: Scale, top: float, bottom: float, name: str = "") -> list[Markup]:
    """Thin lines at round numbers, the numbers under them, and what they count."""
    drawn = []
    for value in scale.ticks():
        drawn += [
            line(scale(value), top, scale(value), bottom, "grid"),
            text(scale(value), bottom + 14, tick_text(value), "middle"),
        ]
    if name:
        drawn.append(text((scale.start + scale.end) / 2, bottom + 29, name, "middle", "quiet"))
    return drawn


def y_axis(scale: Scale, left: float, right: float) -> list[Markup]:
    drawn = []
    for value in scale.ticks():
        drawn += [
            line(left, scale(value), right, scale(value), "grid"),
            text(left - 6, scale(value) + 4, tick_text(value), "end"),
        ]
    return drawn


def room_for(labels: Sequence[str], least: float = 30) -> float:
    """How much place labels at the left need."""
    return min(145.0, max([least, *(LETTER * len(label) + 10 for label in labels)]))


_MARGIN, _GAP, _LINE = 18.0, 26.0, 17.0
_HEAD = 34.0  # of the title


def check_picture(file: Path) -> None:
    """Refuse a name that is not an SVG's before anything is counted."""
    if file.suffix.lower() != ".svg":
        raise InputError(f"{file}: the name of a picture must end in .svg.")


def save_sheet(file: Path, title: str, figures: Sequence[Figure]) -> None:
    check_picture(file)
    save(sheet(title, figures).encode("utf-8"), file)


def chart_style() -> str:
    """The colours of charts, for the head of a page or of a picture."""
    return files("acclimate.reporting").joinpath("charts.css").read_text(encoding="utf-8")


def sheet(title: str, figures: Sequence[Figure], across: int = 2) -> str:
    """Figures side by side and below each other, as they come."""
    figures = [figure for figure in figures if figure.drawing is not None]
    if not figures:
        raise InputError("there is nothing to draw.")
    wide = max(WIDTH, *(figure.drawing.width for figure in figures if figure.drawing is not None))
    across = min(across, len(figures))
    top, drawn = _MARGIN + _HEAD, []
    for start in range(0, len(figures), across):
        tallest = 0.0
        for number, figure in enumerate(figures[start : start + across]):
            parts, tall = _figure(figure, _MARGIN + number * (wide + _GAP), top, wide)
            drawn += parts
            tallest = max(tallest, tall)
        top += tallest + _GAP
    width = max(2 * _MARGIN + across * wide + (across - 1) * _GAP, LETTER * 1.15 * len(title) + 2 * _MARGIN)
    size = {"width": coordinate(width), "height": coordinate(top)}
    root = tag(
        "svg",
        tag("title", title),
        tag("style", Markup(f"\n{chart_style()}")),
        box(0, 0, width, top, "sheet"),
        text(_MARGIN, _MARGIN + 12, title, class_="caption"),
        drawn,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {size['width']} {size['height']}",
        **size,
    )
    return f'<?xml version="1.0" encoding="utf-8"?>\n{root}\n'


def _figure(figure: Figure, left: float, top: float, wide: float) -> tuple[list[Markup], float]:
    """Its parts, and how tall they are together."""
    assert figure.drawing is not None
    drawn = [text(left, top + 12, figure.caption, class_="label caption", most=int(wide / LETTER))]
    y, x = top + _LINE + 6, left
    for sign, name in figure.legend:
        shown = short(name, int(wide / LETTER) - 6)
        room = sign.width + 6 + LETTER * len(shown) + 14
        if x > left and x + room > left + wide:
            x, y = left, y + _LINE
        drawn += [_placed(sign, x, y), text(x + sign.width + 6, y + 10, shown)]
        x += room
    y += _LINE + 2 if figure.legend else 0
    drawn.append(_placed(figure.drawing, left, y))
    y += figure.drawing.height
    if figure.note:
        drawn.append(text(left, y + 12, figure.note, class_="count"))
        y += _LINE
    return drawn, y - top


def _placed(drawn: Drawing, x: float, y: float) -> Markup:
    """A drawing inside another one, at its own size."""
    place = {"x": x, "y": y, "width": drawn.width, "height": drawn.height}
    return tag("svg", drawn, **{name: coordinate(value) for name, value in place.items()})

"""SVG: its elements, and axes with round numbers.

Colours are classes of `charts.css`: light, dark and paper each have their own. A chart is drawn for the width of a
phone and grows with its place. What a colour says is also shown by a shape, a dash or a figure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from acclimate.reporting.formatting import Markup, escape, short

WIDTH = 360.0  # as wide as a phone shows
LETTER = 7.4  # mean width of a letter of the small print in a wide font
STYLES = 6  # kinds of lines, bars and points in the style sheet


@dataclass(frozen=True)
class Figure:
    """A drawing under its caption. The legend are signs, each with its meaning; a note stands below."""

    caption: str
    drawing: Markup | None
    legend: Sequence[tuple[Markup, str]] = ()
    note: str = ""
    scrolls: bool = False  # sideways, where it is wider than a phone


@dataclass(frozen=True)
class Scale:
    """Maps numbers to positions along one axis."""

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
    """The range of some values, with a margin at both ends."""
    low, high = min(values), max(values)
    margin = (high - low) * share or abs(high) * share or 1.0
    return low - margin, high + margin


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element. `class_` is class, `stroke_width` is stroke-width; None leaves an attribute out."""
    spelled = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(coordinate(value) if isinstance(value, float) else value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{spelled}>{join(children)}</{name}>")


def join(children: Iterable[Any]) -> Markup:
    """Children one after the other, with None left out and lists opened."""
    return Markup("".join(_flat(children)))


def _flat(children: Iterable[Any]) -> Iterator[str]:
    for child in children:
        if isinstance(child, str) or not isinstance(child, Iterable):
            yield escape(child)
        else:
            yield from _flat(child)


def coordinate(value: float) -> str:
    """A number with two decimals at most."""
    shown = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if shown in ("-0", "") else shown


def drawing(height: float, title: str, about: str, *children: Any, width: float = WIDTH) -> Markup:
    """An SVG with a name, and a description for readers who cannot see it."""
    description = tag("desc", about) if about else None
    return _sized(width, height, tag("title", title), description, *children, role="img")


def sign(*children: Any, width: float = 18.0) -> Markup:
    """A drawing in a line of text."""
    return _sized(width, 12.0, *children, class_="sign", aria_hidden="true")


def _sized(width: float, height: float, *children: Any, **attributes: Any) -> Markup:
    return tag("svg", *children, viewBox=f"0 0 {coordinate(width)} {coordinate(height)}", **attributes)


def tooltip(words: str) -> Markup | None:
    return tag("title", words) if words else None


def text(
    x: float, y: float, words: str, anchor: str | None = "start", class_: str | None = None, most: int = 0
) -> Markup:
    """With `most`, long text is cut, and a tooltip has the whole."""
    shown = short(words, most) if most else words
    return tag("text", tooltip(words if most else ""), shown, x=float(x), y=float(y), text_anchor=anchor, class_=class_)


def slanted(x: float, y: float, words: str, about: str = "", shift: float = 0.0, **attributes: Any) -> Markup:
    """Text that is turned around a point."""
    turn = f"rotate(-38 {coordinate(x)} {coordinate(y)})"
    return tag("text", tooltip(about), words, x=float(x + shift), y=float(y), transform=turn, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, class_: str, about: str = "") -> Markup:
    return tag("line", tooltip(about), x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=class_)


def box(x: float, y: float, width: float, height: float, class_: str, **attributes: Any) -> Markup:
    size = {"width": float(width), "height": float(height)}
    return tag("rect", x=float(x), y=float(y), **size, class_=class_, **attributes)


def circle(x: float, y: float, r: float, class_: str, about: str = "") -> Markup:
    return tag("circle", tooltip(about), cx=float(x), cy=float(y), r=r, class_=class_)


def x_axis(scale: Scale, top: float, bottom: float, name: str = "") -> list[Markup]:
    """Thin lines at round numbers, the numbers under them, and what they count."""
    drawn = []
    for value in scale.ticks():
        drawn.append(line(scale(value), top, scale(value), bottom, "grid"))
        drawn.append(text(scale(value), bottom + 14, _tick(value), "middle"))
    if name:
        drawn.append(text((scale.start + scale.end) / 2, bottom + 29, name, "middle", "quiet"))
    return drawn


def y_axis(scale: Scale, left: float, right: float) -> list[Markup]:
    drawn = []
    for value in scale.ticks():
        drawn.append(line(left, scale(value), right, scale(value), "grid"))
        drawn.append(text(left - 6, scale(value) + 4, _tick(value), "end"))
    return drawn


def _tick(value: float) -> str:
    return f"{value / 1000:g}k" if abs(value) >= 10_000 else f"{value + 0.0:.3g}".replace("-", "\u2212")


def label_width(labels: Sequence[str], least: float = 30) -> float:
    """The room that labels at the left need."""
    return min(145.0, max([least, *(LETTER * len(label) + 10 for label in labels)]))

"""Figures as one SVG file that stands alone: captions, legends, and colours for light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from acclimate.data.problems import InputError
from acclimate.data.writers.shared import save
from acclimate.reporting.charts.frame import LETTER, WIDTH, Drawing, Figure, box, text
from acclimate.reporting.figures import coordinate, short
from acclimate.reporting.markup import Markup, tag

_MARGIN, _GAP, _LINE = 18.0, 26.0, 17.0
_HEAD = 34.0  # of the title


def check_picture(file: Path) -> None:
    """Refuse a name that is not an SVG's before anything is counted."""
    if file.suffix.lower() != ".svg":
        raise InputError(f"{file}: the name of a picture must end in .svg.")


def save_sheet(file: Path, title: str, figures: Sequence[Figure], across: int = 2) -> None:
    check_picture(file)
    save(sheet(title, figures, across).encode("utf-8"), file)


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

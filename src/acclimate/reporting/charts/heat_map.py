"""Numbers in a grid, the darker the larger; the figures stand in the cells."""

from __future__ import annotations

from collections.abc import Sequence

from acclimate.reporting.charts.frame import LETTER, Drawing, box, drawing, text
from acclimate.reporting.figures import coordinate, short
from acclimate.reporting.markup import Markup, tag

_TALL = 26.0
_LONGEST = 12


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
    longest: int = _LONGEST,
) -> Drawing:
    """`across` and `down` say what columns and rows are. A cell that cannot be (None) stays empty.

    Without a `scale` the values are counts, and a cell is the darker the larger its share of the row. With one, a cell
    is the darker the nearer its value lies to the upper end.
    """
    names = [short(name, _LONGEST) for name in columns]
    left = LETTER * max(len(short(row, longest)) for row in rows) + 12
    slanted = max(len(name) for name in names) > 5
    wide = max(44.0, (360.0 - left) / max(len(columns), 1)) if len(columns) < 9 else 44.0
    head = 20 + (LETTER * max(len(name) for name in names) * 0.62 + 12 if slanted else 18)
    drawn = [
        text(left + wide * len(columns) / 2, 11, across, "middle", "quiet"),
        text(0, head - 6, down, class_="quiet"),
    ]
    for number, name in enumerate(names):
        drawn.append(_head(left + wide * (number + 0.5), head - 6, name, columns[number], slanted))
    for line, (row, found) in enumerate(zip(rows, values, strict=True)):
        top = head + line * _TALL
        drawn.append(text(left - 6, top + _TALL / 2 + 4, row, "end", "label", most=longest))
        total = sum(value or 0 for value in found)
        low, width = (0.0, total) if scale is None else (scale[0], scale[1] - scale[0])
        for number, value in enumerate(found):
            if value is not None:
                shown = f"{value:,.{digits}f}" if value or digits else "·"
                told = f"{row} → {columns[number]}: {value:,.{digits}f}"
                share = min(1.0, max(0.0, (value - low) / width)) if width else 0.0
                drawn += _cell(left + wide * number, top, wide, shown, share if value else None, told)
    room = LETTER * max(len(name) for name in names) * 0.8 if slanted else 0.0
    width = left + wide * len(columns) + max(0.0, room - wide / 2)
    return drawing(head + _TALL * len(rows) + 2, title, about, drawn, width=max(width, 200.0))


def _head(x: float, y: float, name: str, whole: str, slanted: bool) -> Markup:
    told = tag("title", whole)
    if not slanted:
        return tag("text", told, name, x=coordinate(x), y=coordinate(y), text_anchor="middle", class_="label")
    turn = f"rotate(-38 {coordinate(x)} {coordinate(y)})"
    return tag("text", told, name, x=coordinate(x - 4), y=coordinate(y), transform=turn, class_="label")


def _cell(left: float, top: float, wide: float, shown: str, share: float | None, told: str) -> list[Markup]:
    strength = "0.03" if share is None else f"{0.07 + 0.43 * share:.2f}"
    cell = tag(
        "g", tag("title", told), box(left + 1, top + 1, wide - 2, _TALL - 2, "cell", rx=3, fill_opacity=strength)
    )
    return [cell, text(left + wide / 2, top + _TALL / 2 + 4, shown, "middle", "label")]

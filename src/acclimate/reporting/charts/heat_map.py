"""Counts in a grid, the darker the larger their share of the row; the figures stand in the cells."""

from __future__ import annotations

from collections.abc import Sequence

from acclimate.reporting.charts.frame import LETTER, drawing, text
from acclimate.reporting.figures import coordinate, short
from acclimate.reporting.markup import Markup, tag

_TALL = 26.0
_LONGEST = 12


def heat_map(
    title: str,
    about: str,
    rows: Sequence[str],
    columns: Sequence[str],
    counts: Sequence[Sequence[int | None]],
    across: str,
    down: str,
) -> Markup:
    """`across` and `down` say what columns and rows are. A cell that cannot be (None) stays empty."""
    names = [short(name, _LONGEST) for name in columns]
    left = LETTER * max(len(short(row, _LONGEST)) for row in rows) + 12
    slanted = max(len(name) for name in names) > 5
    wide = max(40.0, (360.0 - left) / max(len(columns), 1)) if len(columns) < 9 else 40.0
    head = 20 + (LETTER * max(len(name) for name in names) * 0.62 + 12 if slanted else 18)
    drawn = [
        text(left + wide * len(columns) / 2, 11, across, "middle", "quiet"),
        text(0, head - 6, down, class_="quiet"),
    ]
    for number, name in enumerate(names):
        drawn.append(_head(left + wide * (number + 0.5), head - 6, name, columns[number], slanted))
    for line, (row, found) in enumerate(zip(rows, counts, strict=True)):
        top = head + line * _TALL
        drawn.append(text(left - 6, top + _TALL / 2 + 4, short(row, _LONGEST), "end", "label"))
        total = sum(count or 0 for count in found)
        for number, count in enumerate(found):
            if count is not None:
                told = f"{row} → {columns[number]}: {count}"
                drawn += _cell(left + wide * number, top, wide, count, count / total if total else 0.0, told)
    room = LETTER * max(len(name) for name in names) * 0.8 if slanted else 0.0
    width = left + wide * len(columns) + max(0.0, room - wide / 2)
    return drawing(head + _TALL * len(rows) + 2, title, about, drawn, width=max(width, 200.0))


def _head(x: float, y: float, name: str, whole: str, slanted: bool) -> Markup:
    told = tag("title", whole)
    if not slanted:
        return tag("text", told, name, x=coordinate(x), y=coordinate(y), text_anchor="middle", class_="label")
    turn = f"rotate(-38 {coordinate(x)} {coordinate(y)})"
    return tag("text", told, name, x=coordinate(x - 4), y=coordinate(y), transform=turn, class_="label")


def _cell(left: float, top: float, wide: float, count: int, share: float, told: str) -> list[Markup]:
    strength = f"{0.07 + 0.43 * share:.2f}" if count else "0.03"
    box = tag(
        "rect",
        tag("title", told),
        x=coordinate(left + 1),
        y=coordinate(top + 1),
        width=coordinate(wide - 2),
        height=coordinate(_TALL - 2),
        rx=3,
        fill_opacity=strength,
        class_="cell",
    )
    shown = f"{count:,}" if count else "·"
    return [box, text(left + wide / 2, top + _TALL / 2 + 4, shown, "middle", "label")]

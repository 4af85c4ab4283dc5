"""Panels whose places are numbers under a name ("gamma 0.9", "Spanish 200"), as one panel for each name: lines then run
along the numbers, and none from one name's last to the next one's first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from acclimate.reproduction.results import Figure, Panel

_NUMBER = re.compile(r"\d+(\.\d+)?")
_NAMED = re.compile(rf"(?P<name>.+) (?P<number>{_NUMBER.pattern})")


def by_sweep(panel: Panel) -> list[Panel]:
    """Along the places or, where the rows alone are such numbers, along the rows. Any other panel as it is."""
    if panel.across and not all(map(_NUMBER.fullmatch, panel.places)):
        for one in (panel, _turned(panel)):
            named = _named(one.places)
            if named:
                return [_part(one, name, numbers) for name, numbers in named.items()]
    return [panel]


def _named(places: Sequence[str]) -> dict[str, dict[str, str]]:
    """By name, each place and its number; nothing unless all places are such."""
    found: dict[str, dict[str, str]] = {}
    for place in places:
        parts = _NAMED.fullmatch(place)
        if parts is None:
            return {}
        found.setdefault(parts["name"], {})[place] = parts["number"]
    return found


def _turned(panel: Panel) -> Panel:
    lines: dict[str, dict[str, Figure]] = {place: {} for place in panel.places}
    for row, line in panel.lines.items():
        for place, figure in line.items():
            lines[place][row] = figure
    return replace(panel, across="", places=tuple(panel.lines), lines=lines)


def _part(panel: Panel, name: str, numbers: dict[str, str]) -> Panel:
    lines = {
        row: {numbers[place]: figure for place, figure in line.items() if place in numbers}
        for row, line in panel.lines.items()
    }
    shown = {row: line for row, line in lines.items() if line}
    return Panel(f"{panel.title}, {name}", panel.across or name, tuple(numbers.values()), shown)

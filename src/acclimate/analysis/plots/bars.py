"""Bars: parts of speech of hidden words (mlm4uda's Table 4), accuracy on seen and unseen words (Table 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from acclimate.analysis.mask_statistics import ALL_WORDS
from acclimate.analysis.plots.canvas import COLOURS, GREY, INK, add_legend, new_sheet, widest, wrapped
from acclimate.analysis.seen_accuracy import WORDS, SeenAccuracy, Words
from acclimate.data.problems import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GROUP = 0.84  # of the room between two groups of bars
_HATCHES = ("", "//", "..", "xx")


def draw_parts_of_speech(
    shares: Mapping[str, Mapping[str, float]], title: str = "Parts of speech of the hidden words"
) -> Figure:
    """A group of bars per part of speech, a bar per policy; all words of the same rows in grey."""
    if not shares:
        raise InputError("there are no parts of speech to draw: the hidden words were not tagged.")
    names = [wrapped(name) for name in shares]
    parts = list(next(iter(shares.values())))
    width = _GROUP / len(names)
    figure, axes = new_sheet(
        title,
        max(6.0, len(parts) * max(0.75, 0.13 * len(names))) + widest(names) + 0.8,
        max(4.0, 0.6 + 0.32 * sum(name.count("\n") + 1 for name in names)),
    )
    handles = []
    for number, (name, values) in enumerate(shares.items()):
        places = [place + _offset(number, len(names)) for place in range(len(parts))]
        heights = [100 * values[part] for part in parts]
        handles.append(axes.bar(places, heights, width=0.92 * width, **_paint(name, list(shares))))
        if len(names) <= 2:
            _write_values(axes, places, heights)
    axes.set_xticks(range(len(parts)), parts)
    axes.tick_params(axis="x", length=0)
    axes.locator_params(axis="y", integer=True)
    axes.set_ylabel("share of words (%)")
    axes.grid(axis="y", color="#E4E4E4")
    add_legend(figure, handles, names)
    return figure


def draw_seen_accuracy(
    rows: Sequence[SeenAccuracy], title: str = "Accuracy on words that training had, and had not"
) -> Figure:
    """Three bars per tagger, the taggers from top to bottom; a whisker is the standard deviation over runs."""
    if not rows:
        raise InputError("there is no tagger to draw.")
    names = [wrapped(row.name) for row in rows]
    figure, axes = new_sheet(title, 6.2 + widest(names), max(2.8, 1.4 + 0.72 * len(rows)))
    handles = [_draw_accuracy(axes, rows, number, words) for number, words in enumerate(WORDS)]
    axes.set_yticks(range(len(rows)), names)
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.margins(x=0.1)
    axes.set_xlim(left=0)
    spread_told = "\n(whiskers: standard deviation over runs)" if any(row.runs > 1 for row in rows) else ""
    axes.set_xlabel(f"accuracy over words with a gold tag other than O (%){spread_told}")
    axes.grid(axis="x", color="#E4E4E4")
    add_legend(figure, handles, [f"{words} words" for words in WORDS])
    return figure


def _draw_accuracy(axes: Axes, rows: Sequence[SeenAccuracy], number: int, words: Words) -> Any:
    """The bars of one kind of words, with their figures behind them."""
    places = [place + _offset(number, len(WORDS)) for place in range(len(rows))]
    found = [row.of(words) for row in rows]
    values = [100 * accuracy.mean for accuracy in found]
    spread = [100 * (accuracy.deviation or 0.0) for accuracy in found]
    bars = axes.barh(places, values, height=0.9 * _GROUP / len(WORDS), color=(GREY, *COLOURS)[number])
    if any(spread):
        axes.errorbar(values, places, xerr=spread, fmt="none", ecolor=INK, elinewidth=1, capsize=2)
    for place, value, away in zip(places, values, spread, strict=True):
        end = (value + away, place)
        axes.annotate(f"{value:.1f}", end, (4, 0), textcoords="offset points", va="center", fontsize=8, color=INK)
    return bars


def _offset(number: int, bars: int) -> float:
    """Where the bar of this number stands, from the middle of its group."""
    return (number - (bars - 1) / 2) * _GROUP / bars


def _paint(name: str, names: Sequence[str]) -> dict[str, Any]:
    if name == ALL_WORDS:
        return {"color": GREY}
    number = [other for other in names if other != ALL_WORDS].index(name)
    hatch = _HATCHES[number // len(COLOURS) % len(_HATCHES)]
    return {"color": COLOURS[number % len(COLOURS)], "hatch": hatch, "edgecolor": "white", "linewidth": 0}


def _write_values(axes: Axes, places: Sequence[float], heights: Sequence[float]) -> None:
    for place, height in zip(places, heights, strict=True):
        axes.annotate(
            f"{height:.1f}", (place, height), (0, 2), textcoords="offset points", ha="center", fontsize=8, color=INK
        )

"""Which run each selector would have chosen without target labels, and what that would have cost."""

from __future__ import annotations

from typing import Any

from acclimate.reporting.charts.bars import BarRow, bars
from acclimate.reporting.charts.frame import figure
from acclimate.reporting.comparison_data import ComparisonData
from acclimate.reporting.figures import MINUS, UNKNOWN, percent
from acclimate.reporting.markup import join, paragraph, table, tag
from acclimate.reporting.section import Section, no_such

_TITLE = "What the selectors would choose"


def chosen_section(found: ComparisonData) -> Section:
    choices = found.found.get("selectors") or []
    if not choices:
        return no_such("chosen", _TITLE, "No selector was asked, or none could judge a run (no target text).")
    about = (
        "In practice there are no target labels to choose by. Each selector gives every run a number without any; the "
        "highest is its choice. Regret is how much better the best run is on the test: 0 is a perfect choice."
    )
    rows: list[list[Any]] = []
    notes = []
    for choice in choices:
        who = f"{choice['recipe']}, seed {choice['seed']}"
        figures = [percent(choice["target_f1"]), percent(choice["regret"])]
        rows.append([choice["selector"], who, *figures, f"{choice['value']:.4g}".replace("-", MINUS)])
        if choice.get("tied"):
            notes.append(f"{choice['selector']}: {choice['tied']} more with the same value; the first is named.")
        if choice.get("silent"):
            notes.append(f"{choice['selector']}: {choice['silent']} runs could not be judged.")
    body: list[Any] = [table(["selector", "would choose", found.measure, "regret", "its value"], rows, words=2)]
    scored = [choice for choice in choices if choice["regret"] is not None]
    if scored:
        ranked = sorted(scored, key=lambda choice: (choice["regret"], choice["selector"]))
        bar_rows = [BarRow(choice["selector"], [100 * choice["regret"]]) for choice in ranked]
        most = max(100 * choice["regret"] for choice in scored)
        told = "; ".join(f"{choice['selector']}: {percent(choice['regret'])}" for choice in ranked)
        drawn = bars("Regret of the selectors", told, bar_rows, {"regret": "after"}, most, "points")
        body.append(tag("div", figure("Regret, the best selector first", drawn), class_="charts"))
    else:
        body.append(paragraph(f"{UNKNOWN} without gold tags there is no regret to tell.", class_="note"))
    body += [paragraph(note, class_="note") for note in notes]
    return Section("chosen", _TITLE, about, join(body))

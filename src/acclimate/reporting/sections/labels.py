"""F1 of each label, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acclimate.reporting.charts.bars import BarRow, bars, bars_legend
from acclimate.reporting.charts.frame import figure
from acclimate.reporting.markup import Markup, paragraph, tag
from acclimate.reporting.run_data import DOMAIN_NAMES, RunData
from acclimate.reporting.section import Section, no_such

MOST = 25


def labels_section(run: RunData) -> Section:
    if not run.changes:
        return no_such("labels", "Label by label", "There are no labelled test sentences, so no label has a score.")
    about = (
        "F1 of each label, in percent, on the test sentences. Under a label: how often it occurs there. A label that "
        "is rare moves much by chance."
    )
    charts = [_chart(domain, run.changes[domain]) for domain in DOMAIN_NAMES if domain in run.changes]
    return Section("labels", "Label by label", about, tag("div", charts, class_="charts"))


def _chart(domain: str, change: Mapping[str, Any]) -> Markup:
    before, after = change["before"]["by_label"], change["after"]["by_label"]
    adapted = change["change"] is not None
    counts = {label: (after.get(label) or before[label])["gold"] for label in {*before, *after}}
    order = sorted(counts, key=lambda label: (-counts[label], label))
    rows = []
    for label in order[:MOST]:
        values = [100 * found[label]["f1"] if label in found else None for found in (before, after)]
        rows.append(BarRow(label, values if adapted else values[1:], f"{counts[label]:,}"))
    series = {"before": "before", "after": "after"} if adapted else {"F1": "after"}
    told = "; ".join(f"{row.label}: {_spoken(row.values)}" for row in rows)
    drawn = bars(f"F1 by label, {domain}", told, rows, series, 100.0)
    caption = f"{domain}: {change['corpus']}"
    more = len(order) - len(rows)
    if more:
        rest = f"The {MOST} most frequent labels are drawn; the {more} others are in report.json."
        return tag("div", figure(caption, drawn, bars_legend(series)), paragraph(rest, class_="note"))
    return figure(caption, drawn, bars_legend(series))


def _spoken(values: Any) -> str:
    return " to ".join("none" if value is None else f"{value:.1f}" for value in values)

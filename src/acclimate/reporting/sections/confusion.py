"""Which label was taken for which, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acclimate.reporting.charts.frame import figure
from acclimate.reporting.charts.heat_map import heat_map
from acclimate.reporting.markup import Markup, join, paragraph, tag
from acclimate.reporting.run_data import DOMAIN_NAMES, RunData
from acclimate.reporting.section import Section, no_such

MOST = 16
_MISSED, _SPURIOUS = "nothing", "nothing"


def confusion_section(run: RunData) -> Section:
    domain = next((name for name in DOMAIN_NAMES if name in run.changes), None)
    if domain is None:
        why = "There are no labelled test sentences, so it is not known which labels are taken for which."
        return no_such("confusion", "Confusion between labels", why)
    about = (
        f"Entities of the {domain} test: the row is what they are, the column what they were taken for. Right ones "
        "stand on the diagonal. The column “nothing” holds entities that were not found, the row “nothing” what was "
        "found where nothing is. Cells are the darker the larger their share of the row. Only labels are compared, not "
        "the exact borders."
    )
    change = run.changes[domain]
    times = ("before", "after") if change["change"] is not None else ("after",)
    labels, left_out = _labels(change)
    charts = [_chart(when, change[when]["confusion"], labels, len(times) > 1) for when in times]
    body: list[Any] = [tag("div", charts, class_="charts")]
    if left_out:
        told = f"The {MOST} most frequent labels are drawn; the {left_out} others are in report.json."
        body.append(paragraph(told, class_="note"))
    return Section("confusion", "Confusion between labels", about, join(body))


def _labels(change: Mapping[str, Any]) -> tuple[list[str], int]:
    counts: dict[str, int] = {}
    for when in ("before", "after"):
        for label, tally in change[when]["by_label"].items():
            counts[label] = max(counts.get(label, 0), tally["gold"])
    ranked = sorted(counts, key=lambda label: (-counts[label], label))
    return sorted(ranked[:MOST]), len(ranked[MOST:])


def _chart(when: str, found: Mapping[str, Any], labels: list[str], both: bool) -> Markup:
    pairs, missed, spurious = found["pairs"], found["missed"], found["spurious"]
    counts: list[list[int | None]] = [
        [*(pairs.get(label, {}).get(other, 0) for other in labels), missed.get(label, 0)] for label in labels
    ]
    counts.append([*(spurious.get(label, 0) for label in labels), None])
    right = sum(pairs.get(label, {}).get(label, 0) for label in labels)
    total = sum(sum(count or 0 for count in row) for row in counts[:-1])
    about = f"{right} of {total} entities were given their own label; {sum(missed.values())} were not found."
    rows, columns = [*labels, _SPURIOUS], [*labels, _MISSED]
    drawn = heat_map(f"Confusion {when}", about, rows, columns, counts, "taken for", "is")
    return figure(f"{when}: {about}" if both else about, tag("div", drawn, class_="scroll"))

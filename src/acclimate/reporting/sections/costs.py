"""What a recipe costs: the source that is forgotten, time, memory."""

from __future__ import annotations

from typing import Any

from acclimate.reporting.charts.dots import Dot, DotRow, dots, dots_legend
from acclimate.reporting.charts.frame import figure
from acclimate.reporting.comparison_data import ComparisonData
from acclimate.reporting.figures import UNKNOWN, percent, signed
from acclimate.reporting.markup import Markup, join, paragraph, table, tag
from acclimate.reporting.section import Section
from acclimate.reporting.sections.recipes import spread


def costs_section(found: ComparisonData) -> Section:
    about = (
        f"What was forgotten: {found.measure} on the source test, by the tagger that was not adapted and by the "
        "adapted one. Time is that of training; the baseline's is counted only for recipes that start from it. Memory "
        "is the peak: of the GPU's tensors, or of the whole process."
    )
    of = {run.get("memory_of") for run in found.runs}
    memory = "MB (GPU)" if of == {"gpu"} else "MB (process)" if of == {"process"} else "MB"
    head = ["recipe", "source before", "source after", "change", "seen names", "unseen names", "seconds", memory]
    rows: list[list[Any]] = []
    for row in found.recipes:
        change = row.get("source_change")
        rows.append(
            [
                row["recipe"],
                spread(row.get("source_before")),
                spread(row.get("source_after")),
                UNKNOWN if change is None else signed(change["mean"]),
                spread(row.get("seen_f1")),
                spread(row.get("unseen_f1")),
                spread(row.get("seconds"), 1.0, 1),
                spread(row.get("megabytes"), 1.0, 0),
            ]
        )
    body: list[Any] = [table(head, rows, class_="tight")]
    chart = _chart(found)
    none = paragraph("No run has a source score, so what was forgotten is not known.", class_="note")
    body.append(none if chart is None else chart)
    return Section("costs", "Forgetting, time and memory", about, join(body))


def _chart(found: ComparisonData) -> Markup | None:
    rows, told = [], []
    for row in found.recipes:
        before, after = row.get("source_before"), row.get("source_after")
        if before is None or after is None:
            continue
        lanes = [[Dot(100 * before["mean"], "before")], [Dot(100 * after["mean"], "after")]]
        rows.append(DotRow(row["recipe"], lanes, [percent(before["mean"]), percent(after["mean"])]))
        told.append(f"{row['recipe']}: {percent(before['mean'])} to {percent(after['mean'])}")
    if not rows:
        return None
    drawn = dots("Source score before and after", "; ".join(told), rows, "percent")
    shown = figure(f"source {found.measure}, means over seeds", drawn, dots_legend(before="before", after="after"))
    return tag("div", shown, class_="charts")

"""Every run as a dot: how much the seeds of one recipe differ, beside how much recipes differ."""

from __future__ import annotations

from acclimate.reporting.charts.dots import Dot, DotRow, dots, dots_legend
from acclimate.reporting.charts.frame import figure
from acclimate.reporting.comparison_data import ComparisonData
from acclimate.reporting.figures import percent
from acclimate.reporting.markup import Markup, tag
from acclimate.reporting.section import Section, no_such

_PARTS = {"target_f1": "all", "seen_f1": "names seen in training", "unseen_f1": "names not seen"}


def seeds_section(found: ComparisonData) -> Section:
    charts = [chart for key, name in _PARTS.items() if (chart := _chart(found, key, name)) is not None]
    if not charts:
        return no_such("seeds", "Seed by seed", "There are no scores on the target, so there is nothing to draw.")
    about = (
        "Every ring is a run, the stroke their mean. Where the rings of two recipes mix, a single run says little "
        "about which is better. Apart: entities whose very words training had seen with a label, and those it had not."
    )
    return Section("seeds", "Seed by seed", about, tag("div", charts, class_="charts"))


def _chart(found: ComparisonData, key: str, name: str) -> Markup | None:
    rows, told = [], []
    for row in found.recipes:
        runs = [run for run in found.runs_of(row["recipe"]) if run.get(key) is not None]
        if not runs:
            continue
        mean = sum(run[key] for run in runs) / len(runs)
        lane = [Dot(100 * run[key], "seed", title=f"seed {run['seed']}: {percent(run[key])}") for run in runs]
        lane.append(Dot(100 * mean, "mean", title=f"mean: {percent(mean)}"))
        rows.append(DotRow(row["recipe"], [lane], [percent(mean)]))
        told.append(f"{row['recipe']}: mean {percent(mean)} of {len(runs)} runs")
    if not rows:
        return None
    drawn = dots(f"Target {found.measure} by seed, {name}", "; ".join(told), rows, "percent")
    return figure(f"target {found.measure}: {name}", drawn, dots_legend(seed="a run", mean="mean"))

"""Learning curves: losses and held-out scores, stage by stage."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from acclimate.analysis.curves import Series, StageCurves
from acclimate.reporting.charts.frame import figure
from acclimate.reporting.charts.lines import MOST_POINTS, Points, lines, lines_legend
from acclimate.reporting.figures import decimal
from acclimate.reporting.markup import Markup, details, join, paragraph, tag
from acclimate.reporting.run_data import RunData
from acclimate.reporting.section import Section, no_such

MOST_STAGES = 6  # shown at once; the others are folded


def curves_section(run: RunData) -> Section:
    if not run.curves:
        why = "Nothing of the training is recorded in this folder (training/*/records.jsonl is not there)."
        return no_such("curves", "Learning curves", why)
    charts = [chart for stage in run.curves for chart in _stage(stage, run)]
    shown, folded = charts[: 2 * MOST_STAGES], charts[2 * MOST_STAGES :]
    body = [tag("div", shown, class_="charts")]
    if folded:
        body.append(details(f"{len(folded)} more charts of later stages", tag("div", folded, class_="charts")))
    if any(len(series.updates) > MOST_POINTS for stage in run.curves for _, _, series in stage.series):
        told = f"Long curves are drawn as means of neighbours, {MOST_POINTS} points at most. All of them: "
        body.append(
            paragraph(told, tag("code", f"acclimate curves {shlex.quote(str(run.folder))} --csv DIR"), class_="note")
        )
    about = (
        "Losses should fall and settle. The score is that of held-out sentences, by which the state to keep was "
        "chosen; the upright line is the state that was kept."
    )
    return Section("curves", "Learning curves", about, join(body))


def _stage(stage: StageCurves, run: RunData) -> Iterator[Markup]:
    losses = {name: _points(series) for name, series in stage.losses.items()}
    losses = {name: points for name, points in losses.items() if points}
    if losses:
        drawn = lines(f"Losses of {stage.name}", _told(losses), losses)
        yield figure(f"{stage.name}: losses", drawn, lines_legend(list(losses)))
    scores = {name: _points(series, _factor(series)) for name, series in stage.scores.items()}
    scores = {name: points for name, points in scores.items() if points}
    what = "held-out loss" if any(_factor(series) < 0 for series in stage.scores.values()) else "held-out score"
    if scores and all(len(points) == 1 for points in scores.values()):
        told = "; ".join(f"{name}: {points[0][1]:.1f}, measured once" for name, points in scores.items())
        yield figure(f"{stage.name}: {what}", paragraph(told, class_="note"))
    elif scores:
        drawn = lines(f"{stage.name}: {what}", _told(scores), scores, marks=_kept(stage, run))
        yield figure(f"{stage.name}: {what}", drawn, lines_legend(list(scores)))


def _points(series: Series, factor: float = 1.0) -> Points:
    return [(float(update), factor * value) for value, update in series.known]


def _factor(series: Series) -> float:
    """Scores are shares, shown in percent. A loss is recorded as its negative, so that more is better."""
    values = [value for value, _ in series.known]
    if all(0 <= value <= 1 for value in values):
        return 100.0
    return -1.0 if max(values) <= 0 else 1.0


def _kept(stage: StageCurves, run: RunData) -> dict[float, str]:
    rows: list[Mapping[str, Any]] = [row for row in run.report.get("stages", ()) if row.get("stage") == stage.stage]
    return {float(rows[0]["kept_update"]): "kept"} if len(rows) == 1 and "kept_update" in rows[0] else {}


def _told(series: Mapping[str, Points]) -> str:
    """The curves for who cannot see them."""
    return "; ".join(
        f"{name}: from {decimal(points[0][1])} to {decimal(points[-1][1])}" for name, points in series.items()
    )

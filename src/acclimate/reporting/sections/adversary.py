"""Adversary health: how well a discriminator tells the domains apart while the encoder tries to hide them."""

from __future__ import annotations

from acclimate.analysis.curves import CHANCE, StageCurves, game_verdict
from acclimate.reporting.charts.frame import figure
from acclimate.reporting.charts.lines import lines, lines_legend
from acclimate.reporting.markup import Markup, join, paragraph, tag
from acclimate.reporting.run_data import RunData
from acclimate.reporting.section import Section, no_such

_TITLE = "Health of the adversary"
_SHOWN = ("accuracy", "source_accuracy", "target_accuracy")


def adversary_sections(run: RunData) -> list[Section]:
    """None where no discriminator played."""
    stages = [stage for stage in run.curves if stage.game]
    if not stages and run.curves:
        return []
    if not stages:
        why = "Nothing of the training is recorded in this folder, so it is not known whether a discriminator played."
        return [no_such("adversary", _TITLE, why)]
    about = (
        "A discriminator learns to tell source from target, and the encoder learns to deceive it. Near chance, the "
        "domains look alike to it; near 100 %, it sees through the encoder; far below chance, the encoder outruns it."
    )
    body = [part for stage in stages for part in _stage(stage)]
    return [Section("adversary", _TITLE, about, join(body))]


def _stage(stage: StageCurves) -> list[Markup]:
    series = {
        name.replace("_", " "): [(float(update), 100 * value) for value, update in stage.game[name].known]
        for name in _SHOWN
        if name in stage.game and stage.game[name].known
    }
    verdict = game_verdict(stage)
    told = verdict or "no accuracy was recorded"
    drawn = lines(f"Discriminator of {stage.name}", told, series, levels={100 * CHANCE: "chance"}, span=(-4.0, 104.0))
    chart = figure(f"{stage.name}: accuracy in percent", drawn, lines_legend(list(series)))
    return [paragraph(tag("b", f"{stage.name}: "), told), tag("div", chart, class_="charts")]

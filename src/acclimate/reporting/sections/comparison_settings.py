"""How a comparison was made."""

from __future__ import annotations

from typing import Any

from acclimate.evaluation.table import duration
from acclimate.reporting.comparison_data import ComparisonData
from acclimate.reporting.figures import listed
from acclimate.reporting.markup import join, paragraph, table, tag
from acclimate.reporting.section import Section
from acclimate.reporting.sections.settings import all_settings


def comparison_settings_section(found: ComparisonData) -> Section:
    rows: list[list[Any]] = [
        [
            row["recipe"],
            listed(row["seeds"]),
            _chosen_by(found, row["recipe"]),
            _updates(found, row["recipe"]),
            _time(found, row["recipe"]),
        ]
        for row in found.recipes
    ]
    body: list[Any] = [table(["recipe", "seeds", "state chosen by", "updates", "training, all seeds"], rows, words=3)]
    remarks = dict.fromkeys(f"{run['recipe']}: {remark}" for run in found.runs for remark in run.get("remarks", ()))
    remarks |= dict.fromkeys(found.remarks)
    if remarks:
        body.append(tag("ul", [tag("li", remark) for remark in remarks]))
    if found.settings is None:
        why = "The settings (settings.yaml) are not in this folder; each run holds its own in trial.json."
        body.append(paragraph(why, class_="missing"))
    else:
        command = f"acclimate compare --config {found.folder / 'settings.yaml'} --out DIR"
        body += [paragraph("The same comparison again: ", tag("code", command)), all_settings(found.settings)]
    return Section("settings", "Settings and seeds", "What this page was made from.", join(body))


def _chosen_by(found: ComparisonData, recipe: str) -> str:
    return listed(dict.fromkeys(str(run.get("chosen_by")) for run in found.runs_of(recipe)))


def _updates(found: ComparisonData, recipe: str) -> str:
    counts = sorted({int(run["updates"]) for run in found.runs_of(recipe)})
    return "–" if not counts else f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"


def _time(found: ComparisonData, recipe: str) -> str:
    return duration(sum(float(run["seconds"]) for run in found.runs_of(recipe)))

"""The page of a comparison: which recipe helps, how sure that is, what it costs, and a run of each to look into."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acclimate.comparison.material_file import MATERIAL
from acclimate.reporting.comparison_data import ComparisonData, collect_comparison
from acclimate.reporting.figures import listed, p_equals, percent, signed, signed_between
from acclimate.reporting.markup import Markup, details, join, paragraph, tag
from acclimate.reporting.page import opening, page
from acclimate.reporting.run_page import Look, folded, run_sections
from acclimate.reporting.section import Section, no_such
from acclimate.reporting.sections.chosen import chosen_section
from acclimate.reporting.sections.comparison_settings import comparison_settings_section
from acclimate.reporting.sections.costs import costs_section
from acclimate.reporting.sections.distance import distance_section
from acclimate.reporting.sections.recipes import recipes_section, verdict_of
from acclimate.reporting.sections.seeds import seeds_section
from acclimate.reporting.trial_data import NO_MATERIAL, Known, collect_trial


def comparison_page(folder: Path, look: Look, title: str | None = None) -> str:
    found = collect_comparison(folder)
    text = found.text
    missing = "No target text was given." if (folder / MATERIAL).is_file() else NO_MATERIAL
    sections = [
        recipes_section(found),
        seeds_section(found),
        costs_section(found),
        chosen_section(found),
        distance_section(text, {}, missing, "As the taggers see them: in the details of each run."),
        _runs(found, look),
        comparison_settings_section(found),
    ]
    names = listed(row["recipe"] for row in found.recipes)
    under = f"{len(found.recipes)} recipes ({names}), {len(found.runs)} runs."
    return page(title or found.title, "Acclimate · comparison of recipes", under, _opening(found), sections)


def _opening(found: ComparisonData) -> Markup:
    remarks = [paragraph(remark) for remark in found.remarks]
    if found.best is None:
        return opening("open", "Which recipe is best cannot be said", remarks)
    best = next(row for row in found.recipes if row["recipe"] == found.best)
    mean = best["target_f1"]["mean"]
    tiles = [("best on the target", listed(found.leaders)), (f"its {found.measure}", percent(mean))]
    base = found.base
    if base is not None and base.get("target_f1"):
        tiles.append((found.against, percent(base["target_f1"]["mean"])))
    tiles.append(("seeds", str(max(len(row["seeds"]) for row in found.recipes))))
    reserved = found.reservation
    if reserved is not None:
        return opening("open", reserved.headline, paragraph(reserved.why), remarks, tiles=tiles)
    helping = [row["recipe"] for row in found.recipes if verdict_of(row, found).class_ == "good"]
    told = f"Shown to help against {found.against}: {listed(helping) or 'none'}."
    if found.best == found.against:
        said = f"No recipe is better than {found.against}"
        return opening("open", said, paragraph(told), remarks, tiles=tiles)
    verdict = verdict_of(best, found)
    if len(found.leaders) > 1:
        said = f"{listed(found.leaders)} share the best mean"
        return opening(verdict.class_, said, paragraph(told), remarks, tiles=tiles)
    said = (
        f"{found.best} is best, and it helps"
        if verdict.class_ == "good"
        else f"{found.best} has the best mean, but no difference is shown"
    )
    return opening(verdict.class_, said, paragraph(_change(best, found)), paragraph(told), remarks, tiles=tiles)


def _change(row: Mapping[str, Any], found: ComparisonData) -> str:
    against = row["against"]
    if against is None:
        return f"It could not be compared with {found.against}."
    worst = max(against["bootstrap_p_holm"], against["permutation_p_holm"])
    return (
        f"Mean {found.measure} on the target test: {percent(row['target_f1']['mean'])} percent, "
        f"{signed(against['difference'])} points against {found.against} (95 % interval "
        f"{signed_between(against['low'], against['high'])}, corrected p {p_equals(worst)})."
    )


def _runs(found: ComparisonData, look: Look) -> Section:
    """Of each recipe the run in the middle: the one whose score is the median of its seeds."""
    title = "Run by run"
    parts = []
    known: Known = {}
    for row in found.recipes:
        run = found.median_run(row["recipe"])
        if run is None:
            parts.append(paragraph(f"{row['recipe']}: no finished run.", class_="missing"))
            continue
        place = found.folder_of(run)
        if not place.is_dir():
            parts.append(paragraph(f"{row['recipe']}: its folder {place} is not there any more.", class_="missing"))
            continue
        sections = run_sections(collect_trial(place, known), look)
        shown = run.get("target_f1")
        score = "" if shown is None else f", {percent(shown)} percent"
        inside = tag("div", folded(sections, f"{row['recipe']}-"), class_="run")
        parts.append(details(f"{row['recipe']}, seed {run['seed']}{score}", inside))
    if not parts:
        return no_such("runs", title, "There is no run in this comparison.")
    about = "One run of each recipe, unfolded by a click: that of the seed whose score is the median."
    command = f"acclimate report {shlex.quote(str(found.folder / 'runs' / 'RECIPE' / 'seed-N'))}"
    note = paragraph("A page of any other run: ", tag("code", command), class_="note")
    return Section("runs", title, about, join([tag("div", parts, class_="runs"), note]))

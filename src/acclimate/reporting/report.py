"""Make the page of a folder, or say why there is nothing to report."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from acclimate.comparison.tables import MATERIAL
from acclimate.data.problems import InputError
from acclimate.layout import COMPARISON, REPORT, is_begun, runs_of_comparison
from acclimate.model.storage import MANIFEST
from acclimate.reporting.figures import listed, p_equals, percent, signed, signed_between
from acclimate.reporting.page import Opening, Runs, Section, Text, missing, page
from acclimate.reporting.run_data import NO_MATERIAL, Known, collect_run, read_object
from acclimate.reporting.run_page import Look, chosen, run_page, run_sections
from acclimate.reporting.sections.comparison import (
    ComparisonData,
    collect_comparison,
    comparison_settings_section,
    costs_section,
    recipes_section,
    seeds_section,
    selectors_section,
    verdict_of,
)
from acclimate.reporting.sections.domains import distance_section


def comparison_page(folder: Path, look: Look) -> str:
    comparison = collect_comparison(folder)
    no_text = "No target text was given." if (folder / MATERIAL).is_file() else NO_MATERIAL
    inside = "As the taggers see them: in the details of each run."
    makers = {
        "recipes": lambda: [recipes_section(comparison)],
        "seeds": lambda: [seeds_section(comparison)],
        "costs": lambda: [costs_section(comparison)],
        "selectors": lambda: [selectors_section(comparison)],
        "distance": lambda: [distance_section(comparison.text, {}, no_text, inside)],
        "runs": lambda: [_runs_section(comparison, look)],
        "settings": lambda: [comparison_settings_section(comparison)],
    }
    names = listed(row["recipe"] for row in comparison.recipes)
    under = f"{len(comparison.recipes)} recipes ({names}), {len(comparison.runs)} runs."
    eyebrow, opening = "Acclimate · comparison of recipes", None if look.only else _opening(comparison)
    return page(look.title or comparison.title, eyebrow, under, opening, chosen(makers, look, folder))


def _opening(comparison: ComparisonData) -> Opening:
    """The verdict, in one sentence and a few more."""
    remarks = comparison.remarks
    if comparison.best is None:
        return Opening("open", "Which recipe is best cannot be said", remarks)
    best = next(row for row in comparison.recipes if row["recipe"] == comparison.best)
    tiles = [
        ("best on the target", listed(comparison.leaders)),
        (f"its {comparison.measure}", percent(best["target_f1"]["mean"])),
    ]
    base = comparison.base
    if base is not None and base.get("target_f1"):
        tiles.append((comparison.against, percent(base["target_f1"]["mean"])))
    tiles.append(("seeds", str(max(len(row["seeds"]) for row in comparison.recipes))))
    reserved = comparison.reservation
    if reserved is not None:
        return Opening("open", reserved.headline, [reserved.why, *remarks], tiles)
    helping = [row["recipe"] for row in comparison.recipes if verdict_of(row, comparison).class_ == "good"]
    lines = [f"Shown to help against {comparison.against}: {listed(helping) or 'none'}.", *remarks]
    if comparison.best == comparison.against:
        return Opening("open", f"No recipe is better than {comparison.against}", lines, tiles)
    verdict = verdict_of(best, comparison)
    if len(comparison.leaders) > 1:
        return Opening(verdict.class_, f"{listed(comparison.leaders)} share the best mean", lines, tiles)
    headline = (
        f"{comparison.best} is best, and it helps"
        if verdict.class_ == "good"
        else f"{comparison.best} has the best mean, but no difference is shown"
    )
    return Opening(verdict.class_, headline, [_change(best, comparison), *lines], tiles)


def _change(row: Mapping[str, Any], comparison: ComparisonData) -> str:
    against = row["against"]
    if against is None:
        return f"It could not be compared with {comparison.against}."
    worst = max(against["bootstrap_p_holm"], against["permutation_p_holm"])
    return (
        f"Mean {comparison.measure} on the target test: {percent(row['target_f1']['mean'])} percent, "
        f"{signed(against['difference'])} points against {comparison.against} (95 % interval "
        f"{signed_between(against['low'], against['high'])}, corrected p {p_equals(worst)})."
    )


def _runs_section(comparison: ComparisonData, look: Look) -> Section:
    """Of each recipe the run in the middle: the one whose score is the median of its seeds."""
    title = "Run by run"
    runs: list[tuple[str, str, list[Section], str]] = []
    known: Known = {}
    for row in comparison.recipes:
        recipe, run = row["recipe"], comparison.median_run(row["recipe"])
        if run is None:
            runs.append((recipe, "", [], f"{recipe}: no finished run."))
            continue
        folder = comparison.folder_of(run)
        if not folder.is_dir():
            runs.append((recipe, "", [], f"{recipe}: its folder {folder} is not there any more."))
            continue
        score = "" if run.get("target_f1") is None else f", {percent(run['target_f1'])} percent"
        sections = run_sections(collect_run(folder, known), look.all_parts)
        runs.append((recipe, f"{recipe}, seed {run['seed']}{score}", sections, ""))
    if not runs:
        return missing("runs", title, "There is no run in this comparison.")
    about = "One run of each recipe, unfolded by a click: that of the seed whose score is the median."
    command = f"acclimate report {shlex.quote(str(comparison.folder / 'runs' / 'RECIPE' / 'seed-N'))}"
    return Section("runs", title, about, [Runs(runs), Text("A page of any other run:", "note", command)])


def report_page(folder: str | Path, look: Look | None = None) -> str:
    """One HTML file as a string, of a run folder or of a comparison's. The same folder gives the same page."""
    folder, look = Path(folder), look or Look()
    if kind_of(folder) == "comparison":
        return comparison_page(folder, look)
    return run_page(collect_run(folder), look)


def kind_of(folder: Path) -> Literal["run", "comparison"]:
    """Refuses a folder of which no report can be made, and says what is the matter."""
    if not folder.exists():
        raise InputError("there is no such folder.", file=folder)
    if not folder.is_dir():
        raise InputError("this is a file. Name the folder that `acclimate adapt` or `compare` wrote.", file=folder)
    if (folder / COMPARISON).is_file():
        return "comparison"
    if runs_of_comparison(folder):
        raise InputError(
            "this comparison is not finished. Give its `acclimate compare` command again to go on with it, or name "
            "one of its finished runs.",
            file=folder,
        )
    if is_begun(folder):
        raise InputError("this run is not finished. Give its command again to go on with it.", file=folder)
    if not (folder / REPORT).is_file() or not (folder / MANIFEST).is_file():
        raise InputError(
            "there is no run in this folder. Name one that `acclimate adapt --out` or `compare --out` wrote.",
            file=folder,
        )
    if "recipe" not in read_object(folder / REPORT):
        raise InputError("this is no run of `acclimate adapt` or `compare`: nothing was adapted in it.", file=folder)
    return "run"

"""The pages of a run and of a comparison, and why there is nothing to report of another folder."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from acclimate.analysis.features import FeaturePoints, require_scikit_learn
from acclimate.comparison.tables import MATERIAL
from acclimate.data.problems import InputError
from acclimate.evaluation.table import duration
from acclimate.layout import COMPARISON, REPORT, is_begun, runs_of_comparison
from acclimate.model.storage import MANIFEST
from acclimate.reporting.comparison import (
    ComparisonData,
    collect_comparison,
    comparison_settings_section,
    costs_section,
    recipes_section,
    seeds_section,
    selectors_section,
    verdict_of,
)
from acclimate.reporting.domains import Measures, Places, distance_section, map_of, map_section, measure
from acclimate.reporting.formatting import (
    equals,
    figures_of,
    listed,
    p_of_tests,
    p_value,
    percent,
    signed,
    signed_between,
)
from acclimate.reporting.page import Opening, Section, Text, page
from acclimate.reporting.run_data import NO_MATERIAL, RunData, collect_run, read_object
from acclimate.reporting.scores import ScoreLine, confusion_section, labels_section, score_lines, scores_section
from acclimate.reporting.sentences import gallery_section, masks_section
from acclimate.reporting.training import (
    adversary_sections,
    committee_sections,
    curves_section,
    settings_section,
)
from acclimate.runs.run import SOURCE, TARGET
from acclimate.settings import UsageError

QUICK = "Left out, since the report was asked to be quick (--set quick=true)."


@dataclass(frozen=True)
class Look:
    """What the page is to hold. `sentences` of each group in the gallery, 0 for all; `only` these parts, or all where
    none is named; `tell` hears what takes long."""

    quick: bool = False
    sentences: int = 8
    tell: Callable[[str], Any] = lambda line: None
    title: str | None = None
    only: tuple[str, ...] = ()


Makers = Mapping[str, Callable[[], list[Section]]]


@dataclass(frozen=True)
class Features:
    """The points that a run has kept, what is measured on them, and where they lie on a map; made when asked."""

    run: RunData
    look: Look

    @cached_property
    def _points(self) -> tuple[Mapping[str, FeaturePoints], str | None]:
        if self.look.quick:
            return {}, QUICK
        try:
            points = self.run.points()
        except InputError as problem:
            return {}, f"The features cannot be read: {problem}"
        if points:
            self.look.tell(f"measuring features ({self.run.recipe}, seed {self.run.seed})")
        return points, None if points else self.run.points_missing

    @cached_property
    def _maps(self) -> tuple[Mapping[str, Places], str | None]:
        points, why_not = self._points
        if not points:
            return {}, why_not
        try:
            require_scikit_learn()
            return {when: map_of(kept) for when, kept in points.items()}, None
        except InputError as problem:
            self.look.tell(f"The report has no map of the features: {problem}")
            return {}, str(problem)

    def distance(self) -> Section:
        points, why_not = self._points
        measures: dict[str, Measures] = {when: measure(kept) for when, kept in points.items()}
        return distance_section(self.run.text, measures, self.run.text_missing, why_not or self.run.points_missing)

    def map(self) -> Section:
        return map_section(self.run, self._points[0], *self._maps)


def run_page(run: RunData, look: Look) -> str:
    tagger = f"A tagger for {run.source}" if run.has_source else f"The tagger {run.source}"
    under = f"Recipe {run.recipe}, seed {run.seed}. {tagger} was adapted to {run.target}."
    if not run.is_adapted:
        under = f"Recipe {run.recipe}, seed {run.seed}. Nothing was adapted: the recipe is a baseline."
    opening = None if look.only else _opening(run, score_lines(run))
    return page(
        look.title or run.title, "Acclimate · report of one adaptation", under, opening, run_sections(run, look)
    )


def run_sections(run: RunData, look: Look) -> list[Section]:
    features = Features(run, look)
    makers: Makers = {
        "scores": lambda: [scores_section(run, score_lines(run))],
        "labels": lambda: [labels_section(run)],
        "confusion": lambda: [confusion_section(run)],
        "gallery": lambda: [gallery_section(run, look.sentences)],
        "curves": lambda: [curves_section(run)],
        "adversary": lambda: adversary_sections(run),
        "masks": lambda: [masks_section(run)],
        "distance": lambda: [features.distance()],
        "feature-map": lambda: [features.map()],
        "committee": lambda: committee_sections(run),
        "settings": lambda: [settings_section(run)],
    }
    return chosen(makers, look, run.folder)


def chosen(makers: Makers, look: Look, folder: Path) -> list[Section]:
    """The sections of the parts that are asked for, in the order of the page."""
    unknown = [name for name in look.only if name not in makers]
    if unknown:
        raise UsageError(f"--only {unknown[0]}: the report of {folder} has the parts {', '.join(makers)}.")
    return [section for name, make in makers.items() if not look.only or name in look.only for section in make()]


def _opening(run: RunData, lines: Sequence[ScoreLine]) -> Opening:
    """The verdict, in one sentence and a few more."""
    line = next((line for line in lines if line.domain == TARGET), None)
    tiles = _tiles(run, lines)
    if line is None:
        headline = "Whether this helps on the target cannot be said"
        return Opening("open", headline, ["There are no labelled test sentences of the target."], tiles)
    if line.change is None or line.before is None:
        why = "Nothing was adapted, so there is nothing to compare."
        return Opening("open", f"The target score is {percent(line.after)}", [why, _memory(run)], tiles)
    change = line.change
    moved = (
        f"On the target test, {line.in_a_sentence} went from {percent(line.before)} to {percent(line.after)} percent "
        f"({signed(change['difference'])} points; 95 % interval {signed_between(change['low'], change['high'])}, "
        f"p {equals(p_of_tests(change))})."
    )
    reserved = run.reservation
    if reserved is not None:
        return Opening("open", reserved.headline, [moved, _memory(run), reserved.why], tiles)
    verdict = line.verdict
    headline = {
        "good": "Adapting helps on the target",
        "bad": "Adapting hurts on the target",
        "open": "No difference is shown on the target",
    }[verdict.class_]
    small = "So small a difference may be chance. More test sentences or more seeds would tell."
    more = [moved, small if verdict.class_ == "open" else None, forgetting(line, lines), _memory(run)]
    return Opening(verdict.class_, headline, more, tiles)


def _memory(run: RunData) -> str | None:
    if run.learnt is None or not run.learnt.is_noteworthy:
        return None
    return f"{run.learnt.describe('target test')} were learnt with their labels: the score on them measures memory."


def forgetting(target: ScoreLine, lines: Sequence[ScoreLine]) -> str | None:
    """What became of the source score, beside what became of the target's."""
    line = next((line for line in lines if line.domain == SOURCE and line.change is not None), None)
    if line is None or line.change is None:
        return None
    both = target.verdict.class_ == line.verdict.class_
    moved = {
        "good": "rose, too" if both else "rose",
        "bad": "fell, too: a part of the source was forgotten" if both else "fell: a part of the source was forgotten",
        "open": "shows no difference",
    }
    return f"The source score {moved[line.verdict.class_]} ({signed(line.change['difference'])} points)."


def _tiles(run: RunData, lines: Sequence[ScoreLine]) -> list[tuple[str, str]]:
    tiles: list[tuple[str, str]] = []
    for line in {line.domain: line for line in reversed(lines)}.values():  # the first measure of each domain
        shown = percent(line.after) if line.before is None else f"{percent(line.before)} → {percent(line.after)}"
        tiles.insert(0, (f"{line.domain} {line.measure.split(',')[0]}", shown))
    scores = [(run.changes.get(TARGET, {}).get(when, {}).get("unseen") or {}) for when in ("before", "after")]
    unseen = [figures_of((score.get("mentions") or {}).get("unseen"))[-1] for score in scores]
    if any(value is not None for value in unseen):
        shown = " → ".join(percent(value) for value in (unseen if run.is_adapted else unseen[1:]))
        tiles.append(("target F1, unseen names", shown))
    tiles.append(("time of the run", duration(float(run.report.get("seconds", 0)))))
    return tiles


def comparison_page(folder: Path, look: Look) -> str:
    comparison = collect_comparison(folder)
    no_text = "No target text was given." if (folder / MATERIAL).is_file() else NO_MATERIAL
    inside = "How far apart taggers see them, `acclimate adapt` measures, and `report --only feature-map`."
    makers = {
        "recipes": lambda: [recipes_section(comparison)],
        "seeds": lambda: [seeds_section(comparison)],
        "costs": lambda: [costs_section(comparison)],
        "selectors": lambda: [selectors_section(comparison)],
        "distance": lambda: [distance_section(comparison.text, {}, no_text, inside)],
        "runs": lambda: [_runs_section(comparison)],
        "settings": lambda: [comparison_settings_section(comparison)],
    }
    names = listed(row["recipe"] for row in comparison.recipes)
    under = f"{len(comparison.recipes)} recipes ({names}), {len(comparison.runs)} runs."
    eyebrow, opening = "Acclimate · comparison of recipes", None if look.only else _comparison_opening(comparison)
    return page(look.title or comparison.title, eyebrow, under, opening, chosen(makers, look, folder))


def _comparison_opening(comparison: ComparisonData) -> Opening:
    """The verdict, in one sentence and a few more."""
    remarks, against = comparison.remarks, comparison.against
    if comparison.best is None:
        return Opening("open", "Which recipe is best cannot be said", remarks)
    best = next(row for row in comparison.recipes if row["recipe"] == comparison.best)
    score = percent(best["target_f1"]["mean"])
    tiles = [("best on the target", listed(comparison.leaders)), (f"its {comparison.measure}", score)]
    base = comparison.base
    if base is not None and base.get("target_f1"):
        tiles.append((against, percent(base["target_f1"]["mean"])))
    tiles.append(("seeds", str(max(len(row["seeds"]) for row in comparison.recipes))))
    reserved = comparison.reservation
    if reserved is not None:
        return Opening("open", reserved.headline, [reserved.why, *remarks], tiles)
    helping = [row["recipe"] for row in comparison.recipes if verdict_of(row, comparison).class_ == "good"]
    lines = [f"Shown to help against {against}: {listed(helping) or 'none'}.", *remarks]
    if comparison.best == against:
        return Opening("open", f"No recipe is better than {against}", lines, tiles)
    verdict = verdict_of(best, comparison)
    if len(comparison.leaders) > 1:
        return Opening(verdict.class_, f"{listed(comparison.leaders)} share the best mean", lines, tiles)
    headline = f"{comparison.best} has the best mean, but no difference is shown"
    if verdict.class_ == "good":
        headline = f"{comparison.best} is best, and it helps"
    test, change = best["against"], f"It could not be compared with {against}."
    if test is not None:
        worst = p_value(max(test["bootstrap_p_holm"], test["permutation_p_holm"]))
        change = (
            f"Mean {comparison.measure} on the target test: {score} percent, {signed(test['difference'])} points "
            f"against {against} (95 % interval {signed_between(test['low'], test['high'])}, corrected p "
            f"{equals(worst)})."
        )
    return Opening(verdict.class_, headline, [change, *lines], tiles)


def _runs_section(comparison: ComparisonData) -> Section:
    """How to get the page of each run."""
    command = f"acclimate report {shlex.quote(str(comparison.folder / 'runs' / 'RECIPE' / 'seed-N'))}"
    about = "Errors, curves and features of a run stand on a page of its own."
    return Section("runs", "Run by run", about, [Text("The page of any run:", "note", command)])


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

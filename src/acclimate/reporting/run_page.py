"""The page of one run, and its sections, which the page of a comparison folds up for its runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from acclimate.analysis.features import FeaturePoints, require_scikit_learn
from acclimate.data.problems import InputError
from acclimate.evaluation.table import duration
from acclimate.reporting.figures import equals, figures_of, p_of_tests, percent, signed, signed_between
from acclimate.reporting.page import Opening, Section, page
from acclimate.reporting.run_data import RunData
from acclimate.reporting.sections.domains import Measures, Places, distance_section, map_of, map_section, measure
from acclimate.reporting.sections.gallery import gallery_section
from acclimate.reporting.sections.masks import masks_section
from acclimate.reporting.sections.scores import (
    ScoreLine,
    confusion_section,
    labels_section,
    score_lines,
    scores_section,
)
from acclimate.reporting.sections.training import adversary_sections, curves_section, race_sections, settings_section
from acclimate.runs.evidence import SOURCE, TARGET
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

    @property
    def all_parts(self) -> Look:
        return replace(self, only=())


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
    under = f"Recipe {run.recipe}, seed {run.seed}. A tagger for {run.source} was adapted to {run.target}."
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
        "race": lambda: race_sections(run),
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
    tiles = []
    for domain in (TARGET, SOURCE):
        line = next((line for line in lines if line.domain == domain), None)
        if line is not None:
            shown = percent(line.after) if line.before is None else f"{percent(line.before)} → {percent(line.after)}"
            tiles.append((f"{domain} {line.measure.split(',')[0]}", shown))
    unseen = [_unseen(run, when) for when in ("before", "after")]
    if any(value is not None for value in unseen):
        shown = " → ".join(percent(value) for value in (unseen if run.is_adapted else unseen[1:]))
        tiles.append(("target F1, unseen names", shown))
    tiles.append(("time of the run", duration(float(run.report.get("seconds", 0)))))
    return tiles


def _unseen(run: RunData, when: str) -> float | None:
    unseen = run.changes.get(TARGET, {}).get(when, {}).get("unseen") or {}
    mentions = unseen.get("mentions") or {}
    return figures_of(mentions.get("unseen"))[-1]

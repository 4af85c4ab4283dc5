"""The page of one run, and its sections, which the page of a comparison folds up for its runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from acclimate.analysis.features import FeaturePoints, require_scikit_learn
from acclimate.data.problems import InputError
from acclimate.evaluation.table import duration
from acclimate.reporting.figures import equals, figures_of, p_of_tests, percent, signed, signed_between
from acclimate.reporting.markup import Markup, join, paragraph
from acclimate.reporting.measures import Measures, map_of, measure
from acclimate.reporting.page import opening, page
from acclimate.reporting.run_data import RunData
from acclimate.reporting.score_lines import ScoreLine, score_lines
from acclimate.reporting.section import Section
from acclimate.reporting.sections.adversary import adversary_sections
from acclimate.reporting.sections.changed_words import changed_words_section
from acclimate.reporting.sections.confusion import confusion_section
from acclimate.reporting.sections.curves import curves_section
from acclimate.reporting.sections.distance import distance_section
from acclimate.reporting.sections.feature_map import Places, feature_map_section
from acclimate.reporting.sections.gallery import gallery_section
from acclimate.reporting.sections.labels import labels_section
from acclimate.reporting.sections.race import race_sections
from acclimate.reporting.sections.scores import scores_section
from acclimate.reporting.sections.settings import settings_section
from acclimate.runs.evidence import SOURCE, TARGET

QUICK = "Left out, since the report was asked to be quick (--quick)."


@dataclass(frozen=True)
class Look:
    """What the page is to hold. `sentences` of each group in the gallery, 0 for all; `tell` hears what takes long."""

    quick: bool = False
    sentences: int = 8
    tell: Callable[[str], Any] = lambda line: None


@dataclass(frozen=True)
class Features:
    """The points that were kept, what is measured on them, and where they lie on a map; `why_not` if nowhere."""

    points: Mapping[str, FeaturePoints]
    measures: Mapping[str, Measures]
    maps: Mapping[str, Places]
    why_not: str | None = None
    why_no_map: str | None = None


def run_page(run: RunData, look: Look, title: str | None = None) -> str:
    lines = score_lines(run)
    sections = run_sections(run, look, lines)
    eyebrow = "Acclimate · report of one adaptation"
    under = f"Recipe {run.recipe}, seed {run.seed}. A tagger for {run.source} was adapted to {run.target}."
    if not run.is_adapted:
        under = f"Recipe {run.recipe}, seed {run.seed}. Nothing was adapted: the recipe is a baseline."
    return page(title or run.title, eyebrow, under, _opening(run, lines), sections)


def run_sections(run: RunData, look: Look, lines: list[ScoreLine] | None = None) -> list[Section]:
    features = features_of(run, look)
    return [
        scores_section(run, score_lines(run) if lines is None else lines),
        labels_section(run),
        confusion_section(run),
        gallery_section(run, look.sentences),
        curves_section(run),
        *adversary_sections(run),
        changed_words_section(run),
        distance_section(run.text, features.measures, run.text_missing, features.why_not or run.points_missing),
        feature_map_section(run, features.points, features.maps, features.why_not or features.why_no_map),
        *race_sections(run),
        settings_section(run),
    ]


def features_of(run: RunData, look: Look) -> Features:
    """Measured and mapped, unless that is not wanted or cannot be."""
    if look.quick:
        return Features({}, {}, {}, QUICK)
    try:
        points = run.points()
    except InputError as problem:
        return Features({}, {}, {}, f"The features cannot be read: {problem}")
    if not points:
        return Features({}, {}, {}, run.points_missing)
    look.tell(f"measuring features ({run.recipe}, seed {run.seed})")
    measures = {when: measure(found) for when, found in points.items()}
    try:
        require_scikit_learn()
        maps = {when: map_of(found) for when, found in points.items()}
    except InputError as problem:
        look.tell(f"The report has no map of the features: {problem}")
        return Features(points, measures, {}, None, str(problem))
    return Features(points, measures, maps)


def _opening(run: RunData, lines: list[ScoreLine]) -> Markup:
    line = next((line for line in lines if line.domain == TARGET), None)
    tiles = _tiles(run, lines)
    if line is None:
        said = "Whether this helps on the target cannot be said"
        return opening("open", said, paragraph("There are no labelled test sentences of the target."), tiles=tiles)
    if line.change is None or line.before is None:
        said = f"The target score is {percent(line.after)}"
        told = "Nothing was adapted, so there is nothing to compare."
        return opening("open", said, paragraph(told), _memory(run), tiles=tiles)
    change = line.change
    told = (
        f"On the target test, {line.in_a_sentence} went from {percent(line.before)} to {percent(line.after)} percent "
        f"({signed(change['difference'])} points; 95 % interval {signed_between(change['low'], change['high'])}, "
        f"p {equals(p_of_tests(change))})."
    )
    reserved = run.reservation
    if reserved is not None:
        return opening("open", reserved.headline, paragraph(told), _memory(run), paragraph(reserved.why), tiles=tiles)
    verdict = line.verdict
    said = {
        "good": "Adapting helps on the target",
        "bad": "Adapting hurts on the target",
        "open": "No difference is shown on the target",
    }[verdict.class_]
    small = "So small a difference may be chance: more test sentences or more seeds would tell."
    more = [
        paragraph(told),
        paragraph(small) if verdict.class_ == "open" else None,
        forgetting(line, lines),
        _memory(run),
    ]
    return opening(verdict.class_, said, more, tiles=tiles)


def _memory(run: RunData) -> Markup | None:
    if run.learnt is None or not run.learnt.is_noteworthy:
        return None
    told = run.learnt.describe("target test")
    return paragraph(f"{told} were learnt with their labels: the score on them measures memory.")


def forgetting(target: ScoreLine, lines: list[ScoreLine]) -> Markup | None:
    line = next((line for line in lines if line.domain == SOURCE and line.change is not None), None)
    if line is None or line.change is None:
        return None
    both = target.verdict.class_ == line.verdict.class_
    told = {
        "good": "rose, too" if both else "rose",
        "bad": "fell, too: a part of the source was forgotten" if both else "fell: a part of the source was forgotten",
        "open": "shows no difference",
    }
    return paragraph(f"The source score {told[line.verdict.class_]} ({signed(line.change['difference'])} points).")


def _tiles(run: RunData, lines: list[ScoreLine]) -> list[tuple[str, str]]:
    tiles = []
    for domain in (TARGET, SOURCE):
        line = next((line for line in lines if line.domain == domain), None)
        if line is not None:
            shown = percent(line.after) if line.before is None else f"{percent(line.before)} → {percent(line.after)}"
            tiles.append((f"{domain} {line.measure.split(',')[0]}", shown))
    unseen = [_unseen(run, when) for when in ("before", "after")]
    if any(value is not None for value in unseen):
        told = " → ".join(percent(value) for value in (unseen if run.is_adapted else unseen[1:]))
        tiles.append(("target F1, unseen names", told))
    tiles.append(("time of the run", duration(float(run.report.get("seconds", 0)))))
    return tiles


def _unseen(run: RunData, when: str) -> float | None:
    unseen = run.changes.get(TARGET, {}).get(when, {}).get("unseen") or {}
    mentions = unseen.get("mentions") or {}
    return figures_of(mentions.get("unseen"))[-1]


def folded(sections: list[Section], prefix: str) -> Markup:
    """The sections of a run inside another page, one level down."""
    return join(section.render(prefix, level=4) for section in sections)

"""How far apart the domains are: by their words, and as the tagger sees them, before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from acclimate.analysis.features import FeaturePoints, Separability, domain_separability, project
from acclimate.data.problems import InputError
from acclimate.layout import BEFORE
from acclimate.methods.alignment.mmd import squared_mmd
from acclimate.reporting.charts import scatter, scatter_legend
from acclimate.reporting.formatting import UNKNOWN, decimal, percent
from acclimate.reporting.page import Block, Charts, Chips, Fold, Section, Table, Text, missing
from acclimate.reporting.run_data import RunData
from acclimate.reporting.svg import Figure
from acclimate.runs.run import AFTER, SOURCE, TARGET

Places = Sequence[tuple[float, float]]
_DISTANCE, _MAP = "Distance between the domains", "Map of the features"


@dataclass(frozen=True)
class Measures:
    """`mmd` is squared and unbiased, so that it may fall a little below 0; `mmd_chance` is that between two halves of
    the source. None where there was too little text."""

    mmd: float | None
    mmd_chance: float | None
    separability: Separability | None


def measure(points: FeaturePoints) -> Measures:
    """How far apart the words that a run has kept are, as a tagger sees them."""
    if set(points.names) != {SOURCE, TARGET}:
        return Measures(None, None, None)
    source, target = (torch.from_numpy(points.of(name).points).double() for name in (SOURCE, TARGET))
    mmd, chance = None, None
    if len(source) >= 4 and len(target) >= 2:
        mmd = float(squared_mmd(source, target, unbiased=True))
        chance = float(squared_mmd(source[::2], source[1::2], unbiased=True))
    try:
        separability = domain_separability(points)
    except InputError:
        separability = None
    return Measures(mmd, chance, separability)


def map_of(points: FeaturePoints) -> list[tuple[float, float]]:
    """Places on a flat map, one for each point."""
    return [(float(x), float(y)) for x, y in project(points.points)]


def distance_section(
    text: Mapping[str, Any] | None, measured: Mapping[str, Measures], no_text: str, not_measured: str
) -> Section:
    """`measured` by before and after; empty where the taggers were not looked through, and `not_measured` says why."""
    if text is None and not measured:
        return missing("distance", _DISTANCE, no_text)
    about = (
        "The first lines compare the texts themselves, which no training changes. The others compare source and target "
        "as the tagger sees them, on words drawn at random. Adaptation often makes these smaller, but smaller is not "
        "always better."
    )
    rows = [*_text_rows(text), *_feature_rows(measured)]
    blocks: list[Block] = [Table(["measure", "before", "after", "how to read it"], rows, class_="last-words")]
    if not measured:
        blocks.append(Text(not_measured, "note"))
    blocks.append(Text(no_text, "note") if text is None else _texts(text))
    return Section("distance", _DISTANCE, about, blocks)


def _text_rows(text: Mapping[str, Any] | None) -> list[list[Any]]:
    if text is None:
        return []
    shared = text["overlap"]["percents"][SOURCE][TARGET]
    ratio = text["density_ratio"]["mean"]
    meaning = f"words of both in percent of all ({text['overlap']['words_compared']})"
    return [
        ["vocabulary overlap", f"{shared:.1f} %", "same text", meaning],
        ["density ratio", decimal(ratio), "same text", "0: the same mix of words, 1: no word shared"],
    ]


def _feature_rows(measured: Mapping[str, Measures]) -> list[list[Any]]:
    if not measured:
        return []
    both = [measured.get(BEFORE), measured.get(AFTER)]
    chance = None if both[1] is None else both[1].mmd_chance
    halves = "" if chance is None else f"; between two halves of the source it is {decimal(chance)}"
    mmd = [UNKNOWN if one is None else decimal(one.mmd) for one in both]
    apart = [None if one is None else one.separability for one in both]
    distances = [UNKNOWN if one is None else decimal(one.a_distance) for one in apart]
    accuracies = [UNKNOWN if one is None else decimal(one.accuracy) for one in apart]
    of_accuracy = "linear classifier on held-out sentences; 0.5 is chance"
    return [
        ["MMD, squared", *mmd, f"0: features are spread alike{halves}"],
        ["proxy A-distance", *distances, "0: domains cannot be told apart, 2: always"],
        ["accuracy of telling them apart", *accuracies, of_accuracy],
    ]


def _texts(text: Mapping[str, Any]) -> Fold:
    """Sizes, and the words that are the target's own."""
    rows = [
        [
            f"{row['name']}: {text['names'][row['name']]}",
            f"{row['sentences']:,}",
            f"{row['words']:,}",
            decimal(row["mean_length"], 1),
            UNKNOWN if row["unseen_words"] is None else f"{percent(row['unseen_words'])} %",
        ]
        for row in text["statistics"]
    ]
    blocks: list[Block] = [Table(["text", "sentences", "words", "words per sentence", "words the source lacks"], rows)]
    words = text["density_ratio"]["top_words"]
    if words:
        chips = [(word["word"], f"{word['in_target']:,} : {word['in_source']:,}") for word in words]
        about = "Words that set the target apart (how often there, how often in the source):"
        blocks += [Text(about), Chips(chips)]
    return Fold("The texts themselves", blocks)


def map_section(
    run: RunData, points: Mapping[str, FeaturePoints], maps: Mapping[str, Places], why_not: str | None
) -> Section:
    """`maps` are the places of the points, by before and after; empty where none were made, and `why_not` says why."""
    if not maps:
        return missing("feature-map", _MAP, why_not or run.points_missing)
    about = (
        "Every point is a word, where the tagger puts it (t-SNE). Neighbours on the map are alike to the tagger; "
        "distances between far groups mean little. Where circles and triangles mix, the tagger sees both domains alike."
    )
    names = [f"source ({run.source})", f"target ({run.target})"]
    alone = "as the tagger sees them"
    figures = [
        map_figure(when if len(maps) > 1 else alone, points[when], places, names) for when, places in maps.items()
    ]
    count = len(next(iter(points.values())).of(TARGET))
    drawn = f"Drawn are {count:,} words of each domain, drawn at random."
    blocks: list[Block] = [Charts(figures), Text(drawn, "note")]
    if run.points_problem is not None:
        blocks.append(Text(run.points_problem, "note"))
    return Section("feature-map", _MAP, about, blocks)


def map_figure(caption: str, points: FeaturePoints, places: Places, names: Sequence[str] | None = None) -> Figure:
    """Points by corpus, the first one as circles."""
    corpora = list(points.names)
    spoken = ", ".join(f"{len(points.of(name))} {points.unit}s of {name}" for name in corpora)
    groups = [corpora.index(domain) for domain in points.domains]
    drawn = scatter(f"Features {caption}", spoken, places, groups, points.labels)
    return Figure(caption, drawn, scatter_legend(names or corpora))

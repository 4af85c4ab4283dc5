"""A flat map of source and target words as the tagger sees them, before and after."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from acclimate.analysis.features import FeaturePoints
from acclimate.reporting.charts.frame import figure
from acclimate.reporting.charts.scatter import scatter, scatter_legend
from acclimate.reporting.markup import join, paragraph, tag
from acclimate.reporting.run_data import RunData
from acclimate.reporting.section import Section, no_such
from acclimate.runs.evidence import TARGET

Places = Sequence[tuple[float, float]]


def feature_map_section(
    run: RunData, points: Mapping[str, FeaturePoints], maps: Mapping[str, Places], why_not: str | None
) -> Section:
    """`maps` are the places of the points, by before and after; empty where none were made, and `why_not` says why."""
    title = "Map of the features"
    if not maps:
        return no_such("map", title, why_not or run.points_missing)
    about = (
        "Every point is a word, where the tagger puts it (t-SNE): neighbours on the map are alike to the tagger, "
        "distances between far groups mean little. Where circles and triangles mix, the tagger sees both domains alike."
    )
    charts = []
    for when, places in maps.items():
        found = points[when]
        targets = [domain == TARGET for domain in found.domains]
        told = f"{targets.count(False)} words of the source and {targets.count(True)} of the target"
        drawn = scatter(f"Features {when}", told, places, targets, found.labels)
        charts.append(
            figure(
                when if len(maps) > 1 else "as the tagger sees them",
                drawn,
                scatter_legend(f"source ({run.source})", f"target ({run.target})"),
            )
        )
    count = len(next(iter(points.values())).of(TARGET))
    command = (
        f"acclimate feature-map {shlex.quote(str(run.folder))} --source CORPUS --target CORPUS --most N --out map.svg"
    )
    capped = f"Drawn are {count:,} words of each domain, drawn at random. More of them, of the adapted tagger: "
    body: list[Any] = [tag("div", charts, class_="charts"), paragraph(capped, tag("code", command), class_="note")]
    if run.points_problem is not None:
        body.append(paragraph(run.points_problem, class_="note"))
    return Section("map", title, about, join(body))

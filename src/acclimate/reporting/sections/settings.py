"""How the run was made: settings, seed, stages, and the command that makes it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from acclimate.evaluation.table import duration
from acclimate.reporting.figures import UNKNOWN
from acclimate.reporting.markup import Markup, details, join, paragraph, table, tag
from acclimate.reporting.run_data import RunData
from acclimate.reporting.section import Section

_USUAL = "not set: the usual one of the tagger"


def settings_section(run: RunData) -> Section:
    report = run.report
    given = run.settings or {}
    tagger, training = given.get("tagger") or {}, given.get("training") or {}
    rows = [
        ["recipe", run.recipe],
        ["seed", str(run.seed)],
        ["source", run.source],
        ["target", run.target],
        ["encoder and head", f"{tagger.get('encoder', UNKNOWN)}, {tagger.get('head', UNKNOWN)}"],
        ["learning rate", _rate(training)],
        ["state chosen by", str(report.get("selector", UNKNOWN))],
        ["time", duration(float(report.get("seconds", 0)))],
    ]
    if report.get("data"):
        rows.append(["fingerprint of the data", tag("code", str(report["data"])[:16])])
    body: list[Any] = [table(["", ""], rows, words=2, class_="plain"), _stages(report)]
    remarks = [str(remark) for remark in report.get("remarks", ())]
    if remarks:
        body.append(tag("ul", [tag("li", remark) for remark in remarks]))
    if run.settings is None:
        body.append(paragraph("The settings themselves (settings.yaml) are not in this folder.", class_="missing"))
    else:
        if (run.folder / "settings.yaml").is_file():
            command = f"acclimate adapt --config {run.folder / 'settings.yaml'} --out DIR"
            body.append(paragraph("The same run again: ", tag("code", command)))
        body.append(all_settings(run.settings))
    return Section("settings", "Settings and seeds", "What this page was made from.", join(body))


def _rate(training: Mapping[str, Any]) -> str:
    rate = training.get("learning_rate", UNKNOWN)
    return _USUAL if rate is None else str(rate)


def all_settings(settings: Mapping[str, Any]) -> Markup:
    rows = [[name, tag("code", value)] for name, value in flat(settings)]
    return details("All settings", table(["setting", "value"], rows, words=2))


def flat(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """`training.learning_rate` and its value, for all of a tree."""
    for name, value in settings.items():
        whole = f"{above}{name}"
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{whole}.")
        else:
            yield whole, _spelled(value)


def _spelled(value: Any) -> str:
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _stages(report: Mapping[str, Any]) -> Markup | None:
    stages = report.get("stages") or ()
    rows = [
        [row["stage"], f"{row['updates']:,}", f"{row['kept_update']:,}", duration(row["seconds"])]
        for row in stages
        if {"stage", "updates", "kept_update", "seconds"} <= row.keys()
    ]
    return table(["stage", "updates", "kept", "time"], rows) if rows else None

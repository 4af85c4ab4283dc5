"""How a run was trained: learning curves, the health of an adversary, the settings."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from acclimate.analysis.curves import CHANCE, Series, StageCurves, game_verdict
from acclimate.evaluation.table import duration
from acclimate.reporting.charts import MOST_POINTS, lines, lines_legend
from acclimate.reporting.formatting import UNKNOWN, decimal, percent
from acclimate.reporting.page import Block, Cell, Charts, Fold, Items, Section, Table, Text, missing
from acclimate.reporting.run_data import RunData
from acclimate.reporting.svg import Figure

MOST_STAGES = 6  # shown at once; the others are folded
_ADVERSARY = "Health of the adversary"
_ACCURACIES = ("accuracy", "source_accuracy", "target_accuracy")
_DEFAULT_RATE = "not set: the tagger's own default"
_Points = list[tuple[float, float]]


def curves_section(run: RunData) -> Section:
    title = "Learning curves"
    if not run.curves:
        why = "Nothing of the training is recorded in this folder (training/*/records.jsonl is not there)."
        return missing("curves", title, why)
    figures = curve_figures(run.curves, run.report.get("stages", ()))
    shown, folded = figures[: 2 * MOST_STAGES], figures[2 * MOST_STAGES :]
    blocks: list[Block] = [Charts(shown)]
    if folded:
        blocks.append(Fold(f"{len(folded)} more charts of later stages", [Charts(folded)]))
    if any(len(series.updates) > MOST_POINTS for stage in run.curves for _, _, series in stage.series):
        about = f"Long curves are drawn as means of neighbours, {MOST_POINTS} points at most. All of them:"
        blocks.append(
            Text(about, "note", f"acclimate report {shlex.quote(str(run.folder))} --only curves --set csv=DIR")
        )
    about = (
        "Losses should fall and settle. The score is that of held-out sentences, by which the state to keep was "
        "chosen. The upright line is the state that was kept."
    )
    return Section("curves", title, about, blocks)


def curve_figures(curves: Sequence[StageCurves], stages: Sequence[Mapping[str, Any]] = ()) -> list[Figure]:
    """Losses, held-out scores and watched sentences of each stage. `stages` say which update was kept."""
    return [figure for stage in curves for figure in _stage(stage, stages)]


def _stage(stage: StageCurves, stages: Sequence[Mapping[str, Any]]) -> Iterator[Figure]:
    losses = {name: _points(series) for name, series in stage.losses.items() if series.known}
    if losses:
        drawn = lines(f"Losses of {stage.name}", _spoken(losses), losses)
        yield Figure(f"{stage.name}: losses", drawn, lines_legend(list(losses)))
    scores = {name: _points(series, _factor(series)) for name, series in stage.scores.items() if series.known}
    is_loss = any(_factor(series) < 0 for series in stage.scores.values())
    title = f"{stage.name}: held-out {'loss' if is_loss else 'score'}"
    if scores and all(len(points) == 1 for points in scores.values()):
        once = "; ".join(f"{name}: {points[0][1]:.1f}, measured once" for name, points in scores.items())
        yield Figure(title, None, note=once)
    elif scores:
        drawn = lines(title, _spoken(scores), scores, marks=_kept(stage, stages))
        yield Figure(title, drawn, lines_legend(list(scores)))
    confidences = {words: row.probability for words, row in stage.confidences.items()}
    watched = {words: _points(series) for words, series in confidences.items() if series.known}
    if watched:
        drawn = lines(f"Watched sentences of {stage.name}", _spoken(watched), watched, span=(-0.03, 1.03))
        yield Figure(f"{stage.name}: probability of the gold tags", drawn, lines_legend(list(watched)))


def _points(series: Series, factor: float = 1.0) -> _Points:
    return [(float(update), factor * value) for value, update in series.known]


def _factor(series: Series) -> float:
    """Scores are shares, shown in percent. A loss is recorded as its negative, so that more is better."""
    values = [value for value, _ in series.known]
    if all(0 <= value <= 1 for value in values):
        return 100.0
    return -1.0 if max(values) <= 0 else 1.0


def _kept(stage: StageCurves, stages: Sequence[Mapping[str, Any]]) -> dict[float, str]:
    rows = [row for row in stages if row.get("stage") == stage.stage]
    return {float(rows[0]["kept_update"]): "kept"} if len(rows) == 1 and "kept_update" in rows[0] else {}


def _spoken(series: Mapping[str, _Points]) -> str:
    """The curves for who cannot see them."""
    return "; ".join(
        f"{name}: from {decimal(points[0][1])} to {decimal(points[-1][1])}" for name, points in series.items()
    )


def adversary_sections(run: RunData) -> list[Section]:
    """None where no discriminator played."""
    stages = [stage for stage in run.curves if stage.game]
    if not stages and run.curves:
        return []
    if not stages:
        why = "Nothing of the training is recorded in this folder, so it is not known whether a discriminator played."
        return [missing("adversary", _ADVERSARY, why)]
    about = (
        "A discriminator learns to tell source from target, and the encoder learns to deceive it. Near chance, the "
        "domains look alike to it. Near 100 %, it sees through the encoder. Far below chance, the encoder outruns it."
    )
    verdicts = [Text(game_verdict(stage) or "no accuracy was recorded", strong=f"{stage.name}:") for stage in stages]
    return [Section("adversary", _ADVERSARY, about, [*verdicts, Charts(adversary_figures(stages))])]


def adversary_figures(curves: Sequence[StageCurves]) -> list[Figure]:
    """How well the discriminator of each stage tells the domains apart."""
    figures = []
    for stage in (stage for stage in curves if stage.game):
        known = {name: stage.game[name] for name in _ACCURACIES if name in stage.game and stage.game[name].known}
        series = {name.replace("_", " "): _points(own, 100) for name, own in known.items()}
        levels, span = {100 * CHANCE: "chance"}, (-4.0, 104.0)
        drawn = lines(f"Discriminator of {stage.name}", game_verdict(stage) or "", series, levels=levels, span=span)
        caption = f"{stage.name}: the discriminator's accuracy in percent"
        figures.append(Figure(caption, drawn, lines_legend(list(series))))
    return figures


def committee_sections(run: RunData) -> list[Section]:
    """The taggers that labelled the target's text, and what their student keeps; none where there was no committee."""
    committee = run.report.get("committee")
    if not committee:
        return []
    learnt = "the mean of their probabilities" if committee["labels"] == "marginals" else "what all of them agree on"
    about = (
        f"Several taggers labelled {committee['sentences']:,} target sentences, and one student learnt {learnt}. "
        f"Committee: the spans that most members found. {100 * committee['open_share']:.1f} % of the words were left "
        "open."
    )
    rows: list[list[Any]] = [
        [f"member, {one['recipe']}", str(one["seed"]), percent(one["f1"]), f"{one['seconds']:.1f}"]
        for one in committee["members"]
    ]
    rows.append(["committee, by vote", UNKNOWN, percent(committee["committee_f1"]), UNKNOWN])
    rows.append([Cell("student", is_strong=True), UNKNOWN, percent(committee["student_f1"]), UNKNOWN])
    table = Table(["tagger", "seed", "target F1", "seconds"], rows)
    return [Section("committee", "The committee that taught this tagger", about, [table])]


def settings_section(run: RunData) -> Section:
    """Settings, seed, stages, and the command that makes the run again."""
    report = run.report
    given = run.settings or {}
    tagger, training = given.get("tagger") or {}, given.get("training") or {}
    rate = training.get("learning_rate", UNKNOWN)
    rows: list[list[Any]] = [
        ["recipe", run.recipe],
        ["seed", str(run.seed)],
        ["source", run.source],
        ["target", run.target],
        ["encoder and head", f"{tagger.get('encoder', UNKNOWN)}, {tagger.get('head', UNKNOWN)}"],
        ["learning rate", _DEFAULT_RATE if rate is None else str(rate)],
        ["state chosen by", str(report.get("selector", UNKNOWN))],
        ["time", duration(float(report.get("seconds", 0)))],
    ]
    if report.get("data"):
        rows.append(["fingerprint of the data", Cell(str(report["data"])[:16], is_code=True)])
    blocks: list[Block] = [Table(["", ""], rows, words=2, class_="plain"), *_stages(report)]
    warnings = [str(warning) for warning in report.get("remarks", ())]
    blocks += [Items(warnings)] if warnings else []
    if run.settings is None:
        blocks.append(Text("The settings themselves (settings.yaml) are not in this folder.", "missing"))
    else:
        if (run.folder / "settings.yaml").is_file():
            command = f"acclimate adapt --config {run.folder / 'settings.yaml'} --out DIR"
            blocks.append(Text("The same run again:", code=command))
        blocks.append(all_settings(run.settings))
    return Section("settings", "Settings and seeds", "What this page was made from.", blocks)


def all_settings(settings: Mapping[str, Any]) -> Fold:
    rows = [[name, Cell(value, is_code=True)] for name, value in flat(settings)]
    return Fold("All settings", [Table(["setting", "value"], rows, words=2)])


def flat(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """`training.learning_rate` and its value, for all of a tree."""
    for name, value in settings.items():
        whole = f"{above}{name}"
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{whole}.")
        elif value is None:
            yield whole, "none"
        else:
            yield whole, str(value).lower() if isinstance(value, bool) else str(value)


def _stages(report: Mapping[str, Any]) -> list[Table]:
    rows = [
        [row["stage"], f"{row['updates']:,}", f"{row['kept_update']:,}", duration(row["seconds"])]
        for row in report.get("stages") or ()
        if {"stage", "updates", "kept_update", "seconds"} <= row.keys()
    ]
    return [Table(["stage", "updates", "kept", "time"], rows)] if rows else []

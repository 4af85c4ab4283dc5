"""The outcome of a run, for people: a few lines on the screen, a page in the folder."""

from __future__ import annotations

import shlex
from pathlib import Path

from acclimate.cli.reading import title_of
from acclimate.cli.settings import AdaptSettings
from acclimate.evaluation.scores import Scores
from acclimate.evaluation.significance import SURE
from acclimate.layout import BEFORE, COMMITTEE
from acclimate.recipes.catalogue import BASELINE, START, TARGET_ONLY
from acclimate.runs.result import Advice, Change, Outcome
from acclimate.settings import dump_yaml
from acclimate.spelling import count


def findings(outcome: Outcome, settings: AdaptSettings, origin: str = "") -> str:
    """What happened: how good, compared with what, and how sure. `origin` describes the committee."""
    lines = [origin, ""] if origin else []
    lines += [f"recipe {outcome.recipe}, seed {settings.seed}, model chosen by {outcome.selector}", ""]
    lines += _table(outcome)
    lines += ["", verdict(outcome)]
    if has_no_target(settings):
        lines.append("There was nothing to adapt to: no --target was given.")
    lines += outcome.remarks
    if outcome.advice is not None:
        lines += ["", advice_sentence(outcome.advice)]
    return "\n".join(lines)


def next_steps(outcome: Outcome, folder: Path) -> str:
    """Where the result is, and what to do with it."""
    advice = outcome.advice
    best = folder / BEFORE if advice is not None and advice.tagger == "before" else folder
    lines = [f"Tagger and report:  {folder}"]
    if advice is not None:
        lines.append(f"The tagger before:  {folder / BEFORE}")
    lines.append(f"Tag text:           acclimate predict {shlex.quote(str(best))} TEXT")
    lines.append(f"See what changed:   acclimate report {shlex.quote(str(folder))}")
    return "\n".join(lines)


def markdown(outcome: Outcome, settings: AdaptSettings, findings: str) -> str:
    """The page kept with the tagger. All figures stand in report.json, and in `acclimate report`."""
    begins = settings.tagger.start or "(no source)" if settings.source is None else title_of(settings.source)
    lines = [
        f"# {begins} → {settings.target or settings.target_labelled or '(no target)'}: {outcome.recipe}",
        *("", "```", findings, "```", "", "## Stages", ""),
        *("| stage | updates | kept | seconds |", "|---|---:|---:|---:|"),
    ]
    for stage in outcome.stages:
        figures = f"{stage['updates']:,} | {stage['kept_update']:,} | {stage['seconds']:,.1f}"
        lines.append(f"| {stage['stage']} | {figures} |")
    return "\n".join([*lines, "", "## Settings", "", "```yaml", dump_yaml(settings).rstrip(), "```", ""])


def advice_sentence(advice: Advice) -> str:
    which = {"before": 'the tagger "before", which was not adapted', "after": "the adapted tagger"}[advice.tagger]
    return f"Use {which}: {advice.why}."


def has_no_target(settings: AdaptSettings) -> bool:
    """Who forgot it would otherwise learn only that nothing was adapted, and not why."""
    return settings.target is None and settings.target_labelled is None


def _table(outcome: Outcome) -> list[str]:
    rows = [("", "", "before", "after", "change", "")]
    for domain, change in (("source", outcome.source), ("target", outcome.target)):
        if change is not None:
            rows.append(_row(domain, change.corpus, change))
            rows += [_row("", f"  {name}", part) for name, part in change.parts.items()]
        elif outcome.before != START.name or domain == "target":
            own = outcome.before == TARGET_ONLY.name and domain == "source"
            why = "none: the tagger is the target's own" if own else "no labelled test sentences given"
            rows.append((domain, why, "-", "-", "-", ""))
    for name, sibling in outcome.siblings.items():
        if sibling.scores is not None and sibling.corpus is not None:
            size = count(sibling.scores.sentences, "sentence")
            rows.append((name, sibling.corpus, "-", f"{100 * headline(sibling.scores):.2f}", "-", size))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if 2 <= at <= 4 else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    scored = outcome.target or outcome.source
    if scored is not None:
        lines.append(f"Scores in percent: {scored.after.scorer}.")
    if outcome.advice is not None:
        was = f"trained by recipe {outcome.before}, not adapted"
        start = "the tagger that it started from" if outcome.before == START.name else was
        now = "taught by the committee" if outcome.recipe == COMMITTEE else f"adapted by recipe {outcome.recipe}"
        lines.append(f"Before: {start}. After: {now}.")
    return lines


def _row(domain: str, name: str, change: Change) -> tuple[str, str, str, str, str, str]:
    before, after = headline(change.before), headline(change.after)
    moved = "" if change.comparison is None else f"{100 * (after - before):+.2f}"
    size = count(change.after.sentences, "sentence")
    return domain, name, f"{100 * before:.2f}", f"{100 * after:.2f}", moved, size


def headline(scores: Scores) -> float:
    """Span F1, which for plain tags is the accuracy."""
    return scores.span.f1


def verdict(outcome: Outcome) -> str:
    """Whether it helped, said plainly."""
    change = outcome.target
    if outcome.recipe == BASELINE.name:
        return "Nothing was adapted: this tagger is trained on the source alone, and before and after are the same."
    if outcome.recipe == TARGET_ONLY.name:
        return (
            "Nothing was transferred: this tagger is trained on the labelled target sentences alone, and before and "
            "after are the same."
        )
    if change is None:
        return "Whether this helps on the target cannot be said: give --target-test to find out."
    comparison = change.comparison
    assert comparison is not None  # two taggers were compared
    sure = (
        f"95 % interval [{100 * comparison.low:+.2f}, {100 * comparison.high:+.2f}], p = {comparison.bootstrap_p:.3f}, "
        "paired bootstrap over target sentences, one seed"
    )
    reserved = outcome.reservation
    if reserved is not None:
        moved = f"{100 * headline(change.before):.2f} → {100 * headline(change.after):.2f}"
        return f"{reserved.headline} (target {moved})."
    if comparison.bootstrap_p <= SURE < comparison.permutation_p:
        sure += f"; but p = {comparison.permutation_p:.3f} by a permutation test"
    if comparison.larger_p > SURE:
        return f"No clear effect on the target ({sure})."
    return f"The target score {'rose' if comparison.difference > 0 else 'FELL'} ({sure})."

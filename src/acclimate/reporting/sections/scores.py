"""The score table: source and target, before and after, how sure, and a verdict in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from acclimate.evaluation.significance import Interval
from acclimate.evaluation.table import count
from acclimate.reporting.charts.dots import Dot, DotRow, dots, dots_legend
from acclimate.reporting.charts.frame import figure
from acclimate.reporting.figures import UNKNOWN, between, figures_of, p_of_tests, percent, signed, signed_between
from acclimate.reporting.markup import Markup, details, join, paragraph, table, tag
from acclimate.reporting.run_data import DOMAIN_NAMES, RunData
from acclimate.reporting.score_lines import ScoreLine
from acclimate.reporting.section import Section, no_such


def scores_section(run: RunData, lines: Sequence[ScoreLine]) -> Section:
    if not lines:
        why = "No labelled test sentences were given, of the source or of the target, so nothing could be scored."
        return no_such("scores", "Scores", why)
    about = (
        f"Before is {run.before}; after is the adapted one. An entity counts as found when its borders are right, and "
        "with labels also its type. Figures are percent; in brackets, the range that holds them in 95 % of resampled "
        "test sets. p is how often chance alone would make so large a change (paired bootstrap over sentences, one "
        "seed). A change is claimed when a permutation test agrees."
    )
    if not run.is_adapted:
        about = "Nothing was adapted, so there is one figure and no change. In brackets, the 95 % bootstrap interval."
    return Section("scores", "Scores", about, join([_chart(lines), _table(lines), _more(run)]))


def _chart(lines: Sequence[ScoreLine]) -> Markup:
    rows = []
    for line in lines:
        lanes, told = [], []
        for shape, value, spread in (
            ("before", line.before, line.before_range),
            ("after", line.after, line.after_range),
        ):
            if value is None:
                continue
            low, high = (None, None) if spread is None else (100 * spread.low, 100 * spread.high)
            lanes.append([Dot(100 * value, shape, low, high, f"{shape}: {percent(value)}")])
            told.append(percent(value))
        rows.append(DotRow(f"{line.domain}, {line.measure.replace('F1, ', '')}", lanes, told))
    about = "; ".join(
        f"{line.domain}, {line.measure}: {percent(line.before)} to {percent(line.after)}" for line in lines
    )
    names = (
        {"before": "before", "after": "after"} if any(line.before is not None for line in lines) else {"after": "score"}
    )
    drawn = dots("Scores before and after", about, rows, "percent")
    return tag("div", figure("Scores with their 95 % intervals", drawn, dots_legend(**names)), class_="charts")


def _table(lines: Sequence[ScoreLine]) -> Markup:
    if all(line.before is None for line in lines):
        alone = [[_named(line), _with_range(line.after, line.after_range)] for line in lines]
        return table(["score", "percent"], alone)
    head = ["score", "verdict", "before", "after", "change", "p"]
    rows = []
    for line in lines:
        change = line.change
        moved = UNKNOWN
        if change is not None:
            moved = _bracketed(signed(change["difference"]), signed_between(change["low"], change["high"]))
        rows.append(
            [
                _named(line),
                line.verdict.badge if line.before is not None else UNKNOWN,
                _with_range(line.before, line.before_range),
                _with_range(line.after, line.after_range),
                moved,
                p_of_tests(change),
            ]
        )
    return table(head, rows, words=2)


def _named(line: ScoreLine) -> Markup:
    return join([line.domain, tag("span", line.measure, class_="sub")])


def _with_range(value: float | None, spread: Interval | None) -> Any:
    return percent(value) if spread is None else _bracketed(percent(value), between(spread.low, spread.high))


def _bracketed(shown: str, told: str) -> Markup:
    return join([tag("b", shown), " ", tag("span", f"({told})", class_="range")])


def _more(run: RunData) -> Markup:
    """Everything else that was counted, folded away."""
    parts = []
    for domain in DOMAIN_NAMES:
        if domain not in run.changes:
            parts.append(paragraph(_unscored(domain), class_="note"))
            continue
        change = run.changes[domain]
        after = change["after"]
        times = ("before", "after") if change["change"] is not None else ("after",)
        rows = [
            [name, *(percent(value) for when in times for value in figures(change[when]))]
            for name, figures in _figures(change)
        ]
        head = [
            "",
            *(f"{name} {when}" if len(times) > 1 else name for when in times for name in ("precision", "recall", "F1")),
        ]
        name = f"{domain}: {change['corpus']}, {count(after['sentences'], 'sentence')}, {count(after['words'], 'word')}"
        parts.append(
            details(
                f"All figures of the {domain}",
                paragraph(name),
                table(head, rows),
                paragraph(after["scorer"], class_="note"),
            )
        )
    parts += [_sibling(name, found) for name, found in (run.report.get("siblings") or {}).items()]
    return join(parts)


def _sibling(name: str, found: Mapping[str, Any]) -> Markup:
    """A tagger that was trained beside, such as that of a second task: it has no "before"."""
    told = f"Trained beside, on the same encoder, and kept in siblings/{name}."
    scores = found["scores"]
    if scores is None:
        return paragraph(f"{name}: {told} It has no score.", class_="note")
    labels = ((label, figures_of(tally)) for label, tally in sorted(scores["by_label"].items()))
    rows = [[label, *map(percent, figures)] for label, figures in (("all spans", figures_of(scores["span"])), *labels)]
    size = f"{found['corpus']}, {count(scores['sentences'], 'sentence')}. {told}"
    shown = table(["", "precision", "recall", "F1"], rows)
    return details(f"Scores of the {name} task", paragraph(size), shown, paragraph(scores["scorer"], class_="note"))


def _figures(change: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    def of(*path: str) -> Any:
        def found(scores: Mapping[str, Any]) -> tuple[float | None, ...]:
            inside: Any = scores
            for step in path:
                inside = None if inside is None else inside.get(step)
            return figures_of(inside)

        return found

    yield "all spans", of("span")
    yield "mean over labels", of("macro")
    if change["after"]["typeless"] is not None:
        yield "borders only", of("typeless")
    yield "words", of("token")
    unseen = change["after"].get("unseen")
    if unseen is not None and unseen.get("mentions"):
        yield "mentions seen in training", of("unseen", "mentions", "seen")
        yield "mentions not seen", of("unseen", "mentions", "unseen")


def _unscored(domain: str) -> str:
    return f"The {domain} has no score: no labelled {domain} test sentences were given, or the tagger is not for them."

"""How good a tagger is, before and after: scores, scores by label, and which label was taken for which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acclimate.evaluation.significance import SURE, Interval, Metric, compare_seeds, interval, larger_p
from acclimate.reporting.charts import BarRow, Dot, DotRow, bars, bars_legend, dots, dots_legend, heat_map
from acclimate.reporting.formatting import UNKNOWN, between, figures_of, p_of_tests, percent, signed, signed_between
from acclimate.reporting.page import Block, Cell, Charts, Fold, Section, Table, Text, missing
from acclimate.reporting.run_data import DOMAIN_NAMES, RunData
from acclimate.reporting.svg import Figure
from acclimate.runs.run import SOURCE, TARGET, Answers
from acclimate.spelling import count


@dataclass(frozen=True)
class Verdict:
    word: str
    class_: str
    sign: str

    @property
    def badge(self) -> Cell:
        return Cell(self.word, sign=self.sign, badge=self.class_)


HELPS = Verdict("helps", "good", "▲")
HURTS = Verdict("hurts", "bad", "▼")
OPEN = Verdict("no difference shown", "open", "=")
NOTHING = Verdict("nothing to compare", "open", "○")
RESERVED = Verdict("not claimed", "open", "○")


def judge(difference: float | None, p_value: float | None) -> Verdict:
    """A difference counts when chance would seldom make one as large."""
    if difference is None or p_value is None:
        return NOTHING
    if p_value > SURE or difference == 0:
        return OPEN
    return HELPS if difference > 0 else HURTS


_OF_SPANS: tuple[Metric, ...] = ("span f1", "typeless f1")
_OF_WORDS: tuple[Metric, ...] = ("token accuracy",)
_PLACES: dict[Metric, tuple[str, str, str]] = {  # its name on the page, and where the scores of a run have it
    "span f1": ("F1, with labels", "span", "f1"),
    "typeless f1": ("F1, borders only", "typeless", "f1"),
    "token accuracy": ("accuracy", "token", "accuracy"),
}


@dataclass(frozen=True)
class ScoreLine:
    """One measure on one test. Ranges are None where the run kept no predictions; `before` and `change` also where
    nothing was adapted."""

    domain: str
    measure: str
    before: float | None
    after: float
    before_range: Interval | None
    after_range: Interval | None
    change: Mapping[str, Any] | None
    is_reserved: bool = False  # whether something speaks against any claim

    @property
    def in_a_sentence(self) -> str:
        """The measure, as it stands within a sentence: "F1 with labels"."""
        return self.measure.replace(",", "")

    @property
    def verdict(self) -> Verdict:
        """By the larger of both p-values."""
        if self.is_reserved:
            return RESERVED
        return judge(None, None) if self.change is None else judge(self.change["difference"], larger_p(self.change))


def score_lines(run: RunData) -> list[ScoreLine]:
    """All measures of both domains, the target first."""
    reserved = {TARGET: run.reservation is not None, SOURCE: run.source_before == 0}
    return [
        line
        for domain in DOMAIN_NAMES
        if domain in run.changes
        for line in _lines(domain, run.changes[domain], run.answers.get(domain), reserved[domain])
    ]


def _lines(domain: str, change: Mapping[str, Any], answers: Answers | None, is_reserved: bool) -> Iterator[ScoreLine]:
    is_adapted = change["change"] is not None
    for metric in _OF_WORDS if change["after"]["typeless"] is None else _OF_SPANS:
        name, group, figure = _PLACES[metric]
        before, after = (float(change[when][group][figure]) for when in ("before", "after"))
        before_range = after_range = None
        if answers is not None:
            after_range = interval(answers.gold, answers.after, metric=metric)
            if answers.before is not None:
                before_range = interval(answers.gold, answers.before, metric=metric)
        yield ScoreLine(
            domain,
            name,
            before if is_adapted else None,
            after,
            before_range,
            after_range,
            _change(change["change"], answers, metric),
            is_reserved and is_adapted,
        )


def _change(own: Mapping[str, Any] | None, answers: Answers | None, metric: Metric) -> Mapping[str, Any] | None:
    """The run's own test where it is of this metric; else the same test on the predictions that it kept."""
    if own is None or own["metric"] == metric:
        return own
    if answers is None or answers.before is None:
        return None
    return compare_seeds(answers.gold, [answers.before], [answers.after], metric=metric).as_dict()


MOST_BARS = 25  # labels
MOST_CELLS = 16
_NOTHING = "nothing"


def scores_section(run: RunData, lines: Sequence[ScoreLine]) -> Section:
    if not lines:
        why = "No labelled test sentences were given, of the source or of the target, so nothing could be scored."
        return missing("scores", "Scores", why)
    about = (
        f"Before is {run.before}; after is the adapted one. An entity is right when its borders are right, and with "
        "labels also its type. Scores are in percent. In brackets stands the 95 % bootstrap interval. p is how often "
        "chance alone would make so large a change (paired bootstrap over sentences, one seed). A change counts only "
        "when a permutation test agrees."
    )
    if not run.is_adapted:
        about = "Nothing was adapted, so there is one score and no change. In brackets, the 95 % bootstrap interval."
    return Section("scores", "Scores", about, [_score_chart(lines), _score_table(lines), *_more(run)])


def _score_chart(lines: Sequence[ScoreLine]) -> Charts:
    rows = []
    for line in lines:
        lanes, shown = [], []
        ends = {"before": (line.before, line.before_range), "after": (line.after, line.after_range)}
        for shape, (value, spread) in ends.items():
            if value is not None:
                low, high = (None, None) if spread is None else (100 * spread.low, 100 * spread.high)
                lanes.append([Dot(100 * value, shape, low, high, f"{shape}: {percent(value)}")])
                shown.append(percent(value))
        rows.append(DotRow(f"{line.domain}, {line.measure.replace('F1, ', '')}", lanes, shown))
    about = "; ".join(
        f"{line.domain}, {line.measure}: {percent(line.before)} to {percent(line.after)}" for line in lines
    )
    is_adapted = any(line.before is not None for line in lines)
    legend = dots_legend(before="before", after="after") if is_adapted else dots_legend(after="score")
    drawn = dots("Scores before and after", about, rows, "percent")
    return Charts([Figure("Scores with their 95 % intervals", drawn, legend)])


def _score_table(lines: Sequence[ScoreLine]) -> Table:
    if all(line.before is None for line in lines):
        alone = [[Cell(line.domain, sub=line.measure), _with_range(line.after, line.after_range)] for line in lines]
        return Table(["score", "percent"], alone)
    rows = []
    for line in lines:
        both = [_with_range(line.before, line.before_range), _with_range(line.after, line.after_range)]
        verdict = line.verdict.badge if line.before is not None else UNKNOWN
        name = Cell(line.domain, sub=line.measure)
        rows.append([name, verdict, *both, change_cell(line.change), p_of_tests(line.change)])
    return Table(["score", "verdict", "before", "after", "change", "p"], rows, words=2)


def change_cell(change: Mapping[str, Any] | None) -> Any:
    """A difference with its interval."""
    if change is None:
        return UNKNOWN
    return Cell(signed(change["difference"]), range=f"({signed_between(change['low'], change['high'])})")


def _with_range(value: float | None, spread: Interval | None) -> Any:
    return percent(value) if spread is None else Cell(percent(value), range=f"({between(spread.low, spread.high)})")


def _more(run: RunData) -> Iterator[Block]:
    """Everything else that was counted, folded away."""
    for domain in DOMAIN_NAMES:
        if domain not in run.changes:
            if domain == SOURCE and not run.has_source:
                continue
            why = f"no labelled {domain} test sentences were given, or the tagger is not for them."
            yield Text(f"The {domain} has no score: {why}", "note")
            continue
        change = run.changes[domain]
        yield _all_figures(domain, change)
        yield from (_all_figures(f"{domain} {name}", part) for name, part in (change.get("parts") or {}).items())
    for name, sibling in (run.report.get("siblings") or {}).items():
        yield _sibling(name, sibling)


_PRECISION_RECALL_F1 = ("precision", "recall", "F1")


def _times(change: Mapping[str, Any]) -> tuple[str, ...]:
    return ("before", "after") if change["change"] is not None else ("after",)


def _all_figures(name: str, change: Mapping[str, Any]) -> Block:
    after, times = change["after"], _times(change)
    rows = []
    for measure, path in _measures(change):
        figures: list[str] = []
        for when in times:
            tally: Any = change[when]
            for step in path:
                tally = None if tally is None else tally.get(step)
            figures += map(percent, figures_of(tally))
        rows.append([measure, *figures])
    heads = [f"{each} {when}" if len(times) > 1 else each for when in times for each in _PRECISION_RECALL_F1]
    size = f"{name}: {change['corpus']}, {count(after['sentences'], 'sentence')}, {count(after['words'], 'word')}"
    return Fold(f"All figures of the {name}", [Text(size), Table(["", *heads], rows), Text(after["scorer"], "note")])


def _sibling(name: str, sibling: Mapping[str, Any]) -> Block:
    """A tagger that was trained beside, such as that of a second task: it has no "before"."""
    about = f"Trained beside, on the same encoder, and kept in siblings/{name}."
    scores = sibling["scores"]
    if scores is None:
        return Text(f"{name}: {about} It has no score.", "note")
    tallies = (("all spans", scores["span"]), *sorted(scores["by_label"].items()))
    rows = [[label, *map(percent, figures_of(tally))] for label, tally in tallies]
    size = f"{sibling['corpus']}, {count(scores['sentences'], 'sentence')}. {about}"
    parts = [Text(size), Table(["", *_PRECISION_RECALL_F1], rows), Text(scores["scorer"], "note")]
    return Fold(f"Scores of the {name} task", parts)


def _measures(change: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What was counted, and where it stands in the scores."""
    yield "all spans", ("span",)
    yield "mean over labels", ("macro",)
    if change["after"]["typeless"] is not None:
        yield "borders only", ("typeless",)
    yield "words", ("token",)
    unseen = change["after"].get("unseen")
    if unseen is not None and unseen.get("mentions"):
        yield "mentions seen in training", ("unseen", "mentions", "seen")
        yield "mentions not seen", ("unseen", "mentions", "unseen")


def labels_section(run: RunData) -> Section:
    """F1 of each label, before and after."""
    if not run.changes:
        return missing("labels", "Label by label", "There are no labelled test sentences, so no label has a score.")
    about = (
        "F1 of each label, in percent, on the test sentences. Under a label stands how often it occurs there. The "
        "score of a rare label moves much by chance."
    )
    figures = [_label_chart(domain, run.changes[domain]) for domain in DOMAIN_NAMES if domain in run.changes]
    return Section("labels", "Label by label", about, [Charts(figures)])


def _label_chart(domain: str, change: Mapping[str, Any]) -> Figure:
    before, after = change["before"]["by_label"], change["after"]["by_label"]
    adapted = change["change"] is not None
    counts = {label: (after.get(label) or before[label])["gold"] for label in {*before, *after}}
    order = sorted(counts, key=lambda label: (-counts[label], label))
    rows = []
    for label in order[:MOST_BARS]:
        values = [100 * tallies[label]["f1"] if label in tallies else None for tallies in (before, after)]
        rows.append(BarRow(label, values if adapted else values[1:], f"{counts[label]:,}"))
    series = {"before": "before", "after": "after"} if adapted else {"F1": "after"}
    spoken = "; ".join(
        f"{row.label}: " + " to ".join("none" if value is None else f"{value:.1f}" for value in row.values)
        for row in rows
    )
    drawn = bars(f"F1 by label, {domain}", spoken, rows, series, 100.0)
    return Figure(f"{domain}: {change['corpus']}", drawn, bars_legend(series), _left_out(len(order), MOST_BARS))


def confusion_section(run: RunData) -> Section:
    """Which label was taken for which, before and after."""
    title = "Confusion between labels"
    domain = next((name for name in DOMAIN_NAMES if name in run.changes), None)
    if domain is None:
        why = "There are no labelled test sentences, so it is not known which labels are taken for which."
        return missing("confusion", title, why)
    about = (
        f"Entities of the {domain} test: the row is what they are, the column what they were taken for. Right ones "
        "stand on the diagonal. The column “nothing” holds entities that were missed, the row “nothing” what was "
        "marked where nothing is. A cell is the darker the larger its share of the row. Only labels are compared, not "
        "the exact borders."
    )
    change = run.changes[domain]
    times = ("before", "after") if change["change"] is not None else ("after",)
    counts: dict[str, int] = {}
    for when in ("before", "after"):
        for label, tally in change[when]["by_label"].items():
            counts[label] = max(counts.get(label, 0), tally["gold"])
    labels = sorted(sorted(counts, key=lambda label: (-counts[label], label))[:MOST_CELLS])
    charts = [_confusion_chart(when, change[when]["confusion"], labels, len(times) > 1) for when in times]
    left_out = _left_out(len(counts), MOST_CELLS)
    return Section("confusion", title, about, [Charts(charts), *([Text(left_out, "note")] if left_out else [])])


def _confusion_chart(when: str, confusion: Mapping[str, Any], labels: list[str], both: bool) -> Figure:
    pairs, missed, spurious = confusion["pairs"], confusion["missed"], confusion["spurious"]
    counts: list[list[float | None]] = [
        [*(pairs.get(label, {}).get(other, 0) for other in labels), missed.get(label, 0)] for label in labels
    ]
    counts.append([*(spurious.get(label, 0) for label in labels), None])
    right = sum(pairs.get(label, {}).get(label, 0) for label in labels)
    total = sum(int(value or 0) for row in counts[:-1] for value in row)
    about = f"{right} of {total} entities were given their own label; {sum(missed.values())} were missed."
    names = [*labels, _NOTHING]
    drawn = heat_map(f"Confusion {when}", about, names, names, counts, "taken for", "is")
    return Figure(f"{when}: {about}" if both else about, drawn, scrolls=True)


def _left_out(labels: int, most: int) -> str:
    return f"The {most} most frequent labels are drawn; report.json has the {labels - most} others." * (labels > most)

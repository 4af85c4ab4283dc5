"""The scores of a run with their intervals, and whether a change helps: in words that nobody misreads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from acclimate.evaluation.significance import SURE, Interval, Metric, compare_seeds, interval, larger_p
from acclimate.reporting.page import Cell
from acclimate.reporting.run_data import DOMAIN_NAMES, RunData
from acclimate.runs.evidence import SOURCE, TARGET, Answers


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
        yield ScoreLine(
            domain,
            name,
            before if is_adapted else None,
            after,
            None
            if answers is None or answers.before is None
            else interval(answers.gold, answers.before, metric=metric),
            None if answers is None else interval(answers.gold, answers.after, metric=metric),
            _change(change["change"], answers, metric),
            is_reserved and is_adapted,
        )


def _change(found: Mapping[str, Any] | None, answers: Answers | None, metric: Metric) -> Mapping[str, Any] | None:
    """The run's own tests where it made them of this metric; else the same tests on the answers it kept."""
    own = found if found is not None and found["metric"] == metric else None
    if found is None or own is not None or answers is None or answers.before is None:
        return own
    return compare_seeds(answers.gold, [answers.before], [answers.after], metric=metric).as_dict()

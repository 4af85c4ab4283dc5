"""Training curves of a run by stage: losses, scores, how well a discriminator tells the domains apart, confidences.

They are the rows of `records.jsonl` of the kinds `update` (losses), `evaluation` (the selector's score), `game` (the
discriminator's accuracy) and `confidence` (of watched sentences, MAT, Figure 2: the probability of all gold tags of a
sentence, and of each word's own). Curves of several runs compare: when does one reach another's best score (MSLM,
Figure 3)?
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from acclimate.analysis.run_records import read_records, recipe_of, record_files
from acclimate.data.problems import InputError, shorten
from acclimate.evaluation.table import Row, align
from acclimate.spelling import count

CHANCE = 0.5
GUESSING = (0.47, 0.53)  # a discriminator here has not learnt, or has nothing left to learn
SEEING_THROUGH = (0.95, 1.0)  # the encoder hides nothing from it
OUTRUN = (0.0, 0.25)  # mostly wrong: the encoder moves faster than it can follow, and the domains differ as before
GAME = ("accuracy", "source_accuracy", "target_accuracy", "loss")
NO_SCORE = ("last update", "nothing held out")  # so begin the names of selectors that measure nothing and give 0
UNKNOWN, NEVER = "-", "never"
_LONG = (b'{"kind": "masks"', b'{"kind": "changes"')  # lines with whole sentences, which are not needed here
_HEAD = {"kind", "stage", "update", "time", "learning_rate"}
_COLUMNS = ("", "first", "last", "lowest", "at update", "highest", "at update")
_LONGEST = 60  # letters of a name


@dataclass(slots=True)
class Series:
    """Numbers along training; None where something was measured and no number came out."""

    updates: list[int] = field(default_factory=list)
    values: list[float | None] = field(default_factory=list)

    def add(self, update: int, value: Any) -> None:
        self.updates.append(update)
        self.values.append(_number(value))

    @property
    def known(self) -> list[tuple[float, int]]:
        """The numbers, each with its update."""
        return [(value, update) for update, value in zip(self.updates, self.values, strict=True) if value is not None]


def _number(value: Any) -> float | None:
    """None for NaN and infinity, too: they are no points of a curve, and JSON cannot write them."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    return float(value) if math.isfinite(value) else None


@dataclass(slots=True)
class Confidence:
    """How sure the tagger is of the gold tags of one sentence: of all of them, and of each word's own."""

    probability: Series = field(default_factory=Series)
    marginals: list[list[float | None]] = field(default_factory=list)  # (evaluation, word)


@dataclass(slots=True)
class StageCurves:
    """The curves of one stage: losses by name, scores by selector, accuracies of the game, confidences by sentence."""

    recipe: str | None
    stage: str
    losses: dict[str, Series] = field(default_factory=dict)
    scores: dict[str, Series] = field(default_factory=dict)
    game: dict[str, Series] = field(default_factory=dict)
    confidences: dict[str, Confidence] = field(default_factory=dict)
    epochs: dict[int, float] = field(default_factory=dict)  # update → epoch, for evaluations that tell it

    @property
    def name(self) -> str:
        """The recipe and the stage, or one name where they are called the same."""
        return self.stage if self.recipe in (None, self.stage) else f"{self.recipe}, {self.stage}"

    @property
    def series(self) -> Iterator[tuple[str, str, Series]]:
        """All curves: kind, name, numbers."""
        for kind, group in {"loss": self.losses, "score": self.scores, "game": self.game}.items():
            yield from ((kind, name, series) for name, series in group.items())
        yield from (("confidence", words, sentence.probability) for words, sentence in self.confidences.items())

    @property
    def updates(self) -> int:
        """The last update of which anything is known."""
        return max((update for _, _, series in self.series for update in series.updates), default=0)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def as_rows(self) -> list[dict[str, Any]]:
        """Flat rows, for CSV files."""
        head = {"recipe": self.recipe, "stage": self.stage}
        return [
            {**head, "kind": kind, "name": name, "update": update, "value": value}
            for kind, name, series in self.series
            for update, value in zip(series.updates, series.values, strict=True)
        ]

    def add(self, kind: str, update: int, entry: Mapping[str, Any]) -> None:
        """An entry of the log."""
        if kind == "update":
            for name in (key for key in entry if key not in _HEAD):
                self.losses.setdefault(name, Series()).add(update, entry[name])
        elif kind == "evaluation":
            selector, score = str(entry["selector"]), entry["score"]
            epoch = _number(entry.get("epoch"))
            if epoch is not None:
                self.epochs[update] = epoch
            if not selector.startswith(NO_SCORE):
                self.scores.setdefault(selector, Series()).add(update, score)
        elif kind == "game":
            for name in GAME:
                if name in entry or name == "accuracy":
                    self.game.setdefault(name, Series()).add(update, entry[name])
        elif kind == "confidence":
            for words, sentence in {str(row["words"]): row for row in entry["sentences"]}.items():
                watched = self.confidences.setdefault(words, Confidence())
                watched.probability.add(update, sentence["probability"])
                watched.marginals.append([_number(value) for value in sentence.get("marginals", ())])


def read_curves(place: str | Path) -> list[StageCurves]:
    """The curves of a run folder, or of one `records.jsonl`, in the order in which the stages were begun."""
    begun = [stage for file in record_files(place) for stage in _read_file(file)]
    stages = [curves for _, curves in sorted(begun, key=lambda pair: pair[0]) if any(curves.series)]
    if not stages:
        raise InputError(
            "nothing is recorded here. Name the folder of a run: `acclimate adapt` and `domain-tune` leave one.",
            file=place,
        )
    return stages


def _read_file(file: Path) -> list[tuple[float, StageCurves]]:
    """The stages of one log, each with the time of its first row."""
    stages: dict[str, tuple[float, StageCurves]] = {}
    for number, entry in read_records(file, lambda line: not line.startswith(_LONG)):
        kind = entry.get("kind")
        if kind not in ("update", "evaluation", "game", "confidence"):
            continue
        try:
            stage, update = str(entry["stage"]), int(entry["update"])
            empty = (float(entry.get("time", 0)), StageCurves(recipe_of(file), stage))
            stages.setdefault(stage, empty)[1].add(str(kind), update, entry)
        except (KeyError, TypeError, ValueError) as error:
            wrong = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(f"an entry of kind {kind} cannot be read: {wrong}.", file=file, line=number) from None
    return list(stages.values())


def render_curves(stages: Sequence[StageCurves]) -> str:
    """A table by stage, and in words what a discriminator's accuracy means."""
    return "\n\n".join("\n".join(_stage(curves)) for curves in stages)


def _stage(curves: StageCurves) -> Iterator[str]:
    table: list[Row] = [_COLUMNS]
    for kind, name, series in curves.series:
        title = f"{kind}: {name.replace('_', ' ') if kind == 'game' else name}"
        table.append((f"  {shorten(title, _LONGEST)}", *_figures(series)))
    yield f"{curves.name} ({count(curves.updates, 'update')})"
    yield from align(table)
    verdict = game_verdict(curves)
    if verdict is not None:
        yield verdict


def _figures(series: Series) -> Row:
    known = series.known
    if not known:
        return (UNKNOWN,) * (len(_COLUMNS) - 1)
    low, high = min(known), max(known)
    ends = (f"{known[0][0]:.4g}", f"{known[-1][0]:.4g}")
    return (*ends, f"{low[0]:.4g}", f"{low[1]:,}", f"{high[0]:.4g}", f"{high[1]:,}")


def game_verdict(curves: StageCurves) -> str | None:
    """What the discriminator's accuracy says, over the last quarter of what was recorded."""
    known = [value for value, _ in curves.game["accuracy"].known] if curves.game else []
    if not known:
        return None
    late = known[-max(1, len(known) // 4) :]
    mean = sum(late) / len(late)
    figure = f"discriminator, last quarter: accuracy {mean:.2f} (chance {CHANCE})"
    if mean >= SEEING_THROUGH[0]:
        return f"{figure}. It sees through the encoder: the domains are not brought together."
    if mean <= OUTRUN[1]:
        return f"{figure}. It is mostly wrong: the encoder outruns it, and the domains may differ as before."
    if GUESSING[0] <= mean <= GUESSING[1]:
        why = "the domains look alike to it, or it has not learnt. `acclimate report --only feature-map` tells"
        return f"{figure}. It guesses: {why}."
    return f"{figure}."


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A score along training. The epoch is None where the record does not tell it."""

    update: int
    epoch: float | None
    score: float

    @property
    def when(self) -> str:
        return f"update {self.update:,}" if self.epoch is None else f"epoch {self.epoch:g}"


@dataclass(frozen=True, slots=True)
class ScoreCurve:
    """The scores of one stage of one run."""

    name: str
    evaluations: tuple[Evaluation, ...]

    @classmethod
    def of(cls, name: str, stage: StageCurves, series: Series, factor: float = 1.0) -> ScoreCurve:
        known = series.known
        return cls(name, tuple(Evaluation(at, stage.epochs.get(at), factor * value) for value, at in known))

    @property
    def best(self) -> Evaluation:
        """The highest score; of equal ones the earliest."""
        return max(self.evaluations, key=lambda evaluation: (evaluation.score, -evaluation.update))

    def reaches(self, score: float) -> Evaluation | None:
        """The first evaluation that is as good as this, if there is one."""
        return next((evaluation for evaluation in self.evaluations if evaluation.score >= score), None)


@dataclass(frozen=True, slots=True)
class EpochsToMatch:
    """Curves of scores that one selector gave: the same split, so that they compare."""

    selector: str
    curves: tuple[ScoreCurve, ...]

    @property
    def reached(self) -> list[list[Evaluation | None]]:
        """(curve, other curve): where the curve reaches the other's best."""
        return [[curve.reaches(other.best.score) for other in self.curves] for curve in self.curves]

    def as_dict(self) -> dict[str, Any]:
        names = [curve.name for curve in self.curves]
        reached: dict[str, dict[str, Any]] = {name: {} for name in names}
        for name, row in zip(names, self.reached, strict=True):
            for other, evaluation in zip(names, row, strict=True):
                if other != name:
                    reached[name][other] = None if evaluation is None else asdict(evaluation)
        curves = [{**asdict(curve), "best": asdict(curve.best)} for curve in self.curves]
        return {"selector": self.selector, "curves": curves, "reaches_best_of": reached}

    def as_rows(self) -> list[dict[str, Any]]:
        """Flat rows, for CSV files."""
        return [
            {"selector": self.selector, "curve": curve.name, **asdict(evaluation)}
            for curve in self.curves
            for evaluation in curve.evaluations
        ]

    def render(self) -> str:
        """A row per curve; the columns on the right are numbered like the rows."""
        numbers = range(1, len(self.curves) + 1)
        table: list[Row] = [("", "best", "at", *(f"reaches {number}" for number in numbers))]
        for number, curve, row in zip(numbers, self.curves, self.reached, strict=True):
            cells = [NEVER if evaluation is None else evaluation.when for evaluation in row]
            cells[number - 1] = ""
            table.append((f"{number} {curve.name}", f"{curve.best.score:.4f}", curve.best.when, *cells))
        return "\n".join([self.selector, *align(table)])


def compare_curves(runs: Mapping[str, Sequence[StageCurves]]) -> list[EpochsToMatch]:
    """All curves of runs (`read_curves`) that are scores by the same selector, for each selector that gave several."""
    groups: dict[str, list[tuple[str, StageCurves]]] = {}
    for run, stages in runs.items():
        for stage in stages:
            for selector, series in stage.scores.items():
                if series.known:
                    groups.setdefault(selector, []).append((run, stage))
    compared = [
        EpochsToMatch(selector, tuple(_curves(selector, group, len(runs))))
        for selector, group in groups.items()
        if len(group) > 1
    ]
    if not compared:
        known = "; ".join(groups) or "no selector"
        raise InputError(f"no two curves can be compared: scores come from {known}, and each has one curve only.")
    return compared


def _curves(selector: str, group: Sequence[tuple[str, StageCurves]], runs: int) -> Iterator[ScoreCurve]:
    """A curve is called by its run where that has no other, by its stage where there is but one run, else by both."""
    names = [run for run, _ in group]
    for run, stage in group:
        name = run if runs > 1 and names.count(run) == 1 else stage.name if runs == 1 else f"{run}: {stage.name}"
        yield ScoreCurve.of(name, stage, stage.scores[selector])

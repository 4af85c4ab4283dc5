"""What a run wrote down of its training, as curves by stage: losses, scores, a game's accuracy, confidences.

The rows of `records.jsonl` by their kind: `update` (losses), `look` (the selector's score), `game` (how well a
discriminator tells the domains apart, against the encoder) and `confidence` (of watched sentences, MAT, Figure 2: the
probability of all gold tags of a sentence, and the marginal one of each word's). Curves of several runs compare: when
does one reach another's best score (MSLM, Figure 3)?
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
_LONG = (b'{"kind": "masks"', b'{"kind": "changes"')  # lines with whole sentences, which are not ours
_HEAD = {"kind", "stage", "update", "time", "learning_rate"}


@dataclass(slots=True)
class Series:
    """Numbers along training; None where something was measured and no number came out."""

    updates: list[int] = field(default_factory=list)
    values: list[float | None] = field(default_factory=list)

    def add(self, update: int, value: float | None) -> None:
        self.updates.append(update)
        self.values.append(value)

    @property
    def known(self) -> list[tuple[float, int]]:
        """The numbers, each with its update."""
        return [(value, update) for update, value in zip(self.updates, self.values, strict=True) if value is not None]


@dataclass(slots=True)
class Confidence:
    """How sure the tagger is of the gold tags of one sentence: of all of them, and of each word's own."""

    probability: Series = field(default_factory=Series)
    marginals: list[list[float | None]] = field(default_factory=list)  # (look, word)


@dataclass(slots=True)
class StageCurves:
    """One stage. Losses by their names, scores by the selector, the game by what was counted, sentences by words."""

    recipe: str | None
    stage: str
    losses: dict[str, Series] = field(default_factory=dict)
    scores: dict[str, Series] = field(default_factory=dict)
    game: dict[str, Series] = field(default_factory=dict)
    confidences: dict[str, Confidence] = field(default_factory=dict)
    epochs: dict[int, float] = field(default_factory=dict)  # update → epoch, for the looks of which that is known

    @property
    def name(self) -> str:
        """The recipe and the stage, or one name where they are called the same."""
        return self.stage if self.recipe in (None, self.stage) else f"{self.recipe}, {self.stage}"

    @property
    def series(self) -> Iterator[tuple[str, str, Series]]:
        """All of it, one after the other: kind, name, numbers."""
        groups = {"loss": self.losses, "score": self.scores, "game": self.game}
        for kind, group in groups.items():
            for name, series in group.items():
                yield kind, name, series
        for words, sentence in self.confidences.items():
            yield "confidence", words, sentence.probability

    @property
    def updates(self) -> int:
        """The last one of which anything is known."""
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


def read_curves(place: str | Path) -> list[StageCurves]:
    """The curves of a run folder, or of one `records.jsonl`, in the order in which the stages were begun."""
    begun: list[tuple[float, StageCurves]] = []
    for file in record_files(place):
        begun += _read_file(file)
    found = [curves for _, curves in sorted(begun, key=lambda pair: pair[0]) if any(curves.series)]
    if not found:
        raise InputError(
            "nothing is recorded here. Name the folder of a run: `acclimate adapt` and `domain-tune` leave one.",
            file=place,
        )
    return found


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
            _add(stages.setdefault(stage, empty)[1], str(kind), update, entry)
        except (KeyError, TypeError, ValueError) as error:
            wrong = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(f"an entry of kind {kind} cannot be read: {wrong}.", file=file, line=number) from None
    return list(stages.values())


def _add(curves: StageCurves, kind: str, update: int, entry: Mapping[str, Any]) -> None:
    if kind == "update":
        for name in (key for key in entry if key not in _HEAD):
            curves.losses.setdefault(name, Series()).add(update, _number(entry[name]))
    elif kind == "evaluation":
        selector, score = str(entry["selector"]), _number(entry["score"])
        epoch = _number(entry.get("epoch"))
        if epoch is not None:
            curves.epochs[update] = epoch
        if not selector.startswith(NO_SCORE):
            curves.scores.setdefault(selector, Series()).add(update, score)
    elif kind == "game":
        curves.game.setdefault(GAME[0], Series()).add(update, _number(entry[GAME[0]]))
        for name in GAME[1:]:
            if name in entry:
                curves.game.setdefault(name, Series()).add(update, _number(entry[name]))
    elif kind == "confidence":
        for words, sentence in {str(row["words"]): row for row in entry["sentences"]}.items():
            watched = curves.confidences.setdefault(words, Confidence())
            watched.probability.add(update, _number(sentence["probability"]))
            watched.marginals.append([_number(value) for value in sentence.get("marginals", ())])


def _number(value: Any) -> float | None:
    """Not a number, and infinity, are no points of a curve, and JSON has no way to write them."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    return float(value) if math.isfinite(value) else None


UNKNOWN = "-"
_HEADER = ("", "first", "last", "lowest", "at update", "highest", "at update")
_LONGEST = 60  # letters of a name


def render_curves(stages: Sequence[StageCurves]) -> str:
    """A table by stage, and in words what a game's accuracy means."""
    return "\n\n".join("\n".join(_stage(curves)) for curves in stages)


def game_verdict(curves: StageCurves) -> str | None:
    """What the discriminator's accuracy says of the game, over the last quarter of what was written down."""
    known = [value for value, _ in curves.game["accuracy"].known] if curves.game else []
    if not known:
        return None
    late = known[-max(1, len(known) // 4) :]
    mean = sum(late) / len(late)
    told = f"discriminator, last quarter: accuracy {mean:.2f} (chance {CHANCE})"
    if mean >= SEEING_THROUGH[0]:
        return f"{told}. It sees through the encoder: the domains are not brought together."
    if mean <= OUTRUN[1]:
        return f"{told}. It is mostly wrong: the encoder outruns it, and the domains may differ as before."
    if GUESSING[0] <= mean <= GUESSING[1]:
        why = "the domains look alike to it, or it has not learnt. `acclimate report --only feature-map` tells"
        return f"{told}. It guesses: {why}."
    return f"{told}."


def _stage(curves: StageCurves) -> Iterator[str]:
    table: list[Row] = [_HEADER]
    for kind, name, series in curves.series:
        table.append((f"  {shorten(_told(kind, name), _LONGEST)}", *_figures(series)))
    yield f"{curves.name} ({count(curves.updates, 'update')})"
    yield from align(table)
    verdict = game_verdict(curves)
    if verdict is not None:
        yield verdict


def _told(kind: str, name: str) -> str:
    return f"{kind}: {name.replace('_', ' ') if kind == 'game' else name}"


def _figures(series: Series) -> Row:
    known = series.known
    if not known:
        return (UNKNOWN,) * (len(_HEADER) - 1)
    low, high = min(known), max(known)
    ends = (f"{known[0][0]:.4g}", f"{known[-1][0]:.4g}")
    return (*ends, f"{low[0]:.4g}", f"{low[1]:,}", f"{high[0]:.4g}", f"{high[1]:,}")


NEVER = "never"


@dataclass(frozen=True, slots=True)
class Look:
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
    evaluations: tuple[Look, ...]

    @property
    def best(self) -> Look:
        """The highest score; of equal ones the earliest."""
        return max(self.evaluations, key=lambda look: (look.score, -look.update))

    def reaches(self, score: float) -> Look | None:
        """The first look that is as good as this, if there is one."""
        return next((look for look in self.evaluations if look.score >= score), None)


@dataclass(frozen=True, slots=True)
class EpochsToMatch:
    """Curves of scores that one selector gave: the same split, so that they compare."""

    selector: str
    curves: tuple[ScoreCurve, ...]

    @property
    def reached(self) -> list[list[Look | None]]:
        """(curve, other curve): where the curve reaches the other's best."""
        return [[curve.reaches(other.best.score) for other in self.curves] for curve in self.curves]

    def as_dict(self) -> dict[str, Any]:
        names = [curve.name for curve in self.curves]
        return {
            "selector": self.selector,
            "curves": [{**asdict(curve), "best": asdict(curve.best)} for curve in self.curves],
            "reaches_best_of": {
                name: {
                    other: None if look is None else asdict(look)
                    for other, look in zip(names, row, strict=True)
                    if other != name
                }
                for name, row in zip(names, self.reached, strict=True)
            },
        }

    def as_rows(self) -> list[dict[str, Any]]:
        """Flat rows, for CSV files."""
        return [
            {"selector": self.selector, "curve": curve.name, **asdict(look)}
            for curve in self.curves
            for look in curve.evaluations
        ]

    def render(self) -> str:
        """A row per curve; the columns on the right are numbered like the rows."""
        numbers = range(1, len(self.curves) + 1)
        table: list[Row] = [("", "best", "at", *(f"reaches {number}" for number in numbers))]
        for number, curve, row in zip(numbers, self.curves, self.reached, strict=True):
            told = ["" if one is curve else NEVER if look is None else look.when for one, look in _beside(self, row)]
            table.append((f"{number} {curve.name}", f"{curve.best.score:.4f}", curve.best.when, *told))
        return "\n".join([self.selector, *align(table)])


def compare_curves(runs: Mapping[str, Sequence[StageCurves]]) -> list[EpochsToMatch]:
    """All curves of runs (`read_curves`) that are scores by the same selector, for each selector that gave several."""
    groups: dict[str, list[tuple[str, StageCurves]]] = {}
    for run, stages in runs.items():
        for stage in stages:
            for selector, series in stage.scores.items():
                if series.known:
                    groups.setdefault(selector, []).append((run, stage))
    found = [
        EpochsToMatch(selector, tuple(_curves(selector, group, len(runs))))
        for selector, group in groups.items()
        if len(group) > 1
    ]
    if not found:
        known = "; ".join(groups) or "no selector"
        raise InputError(f"no two curves can be compared: scores come from {known}, and each has one curve only.")
    return found


def _curves(selector: str, group: Sequence[tuple[str, StageCurves]], runs: int) -> list[ScoreCurve]:
    """A curve is called by its run where that has no other, by its stage where there is but one run, else by both."""
    names = [run for run, _ in group]
    curves = []
    for run, stage in group:
        name = run if runs > 1 and names.count(run) == 1 else stage.name if runs == 1 else f"{run}: {stage.name}"
        evaluations = (Look(update, stage.epochs.get(update), value) for value, update in stage.scores[selector].known)
        curves.append(ScoreCurve(name, tuple(evaluations)))
    return curves


def _beside(found: EpochsToMatch, row: Sequence[Look | None]) -> list[tuple[ScoreCurve, Look | None]]:
    return list(zip(found.curves, row, strict=True))

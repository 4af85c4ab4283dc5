"""What a run wrote down of its training, as curves by stage: losses, scores, a game's accuracy, confidences.

The rows of `records.jsonl` by their kind: `update` (losses), `look` (the selector's score), `game` (how well a
discriminator tells the domains apart, against the encoder) and `confidence` (of watched sentences; MAT's Figure 2:
the probability of all gold tags of a sentence, and the marginal one of each word's).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from acclimate.analysis.run_records import read_records, recipe_of, record_files
from acclimate.data.problems import InputError

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
        if kind not in ("update", "look", "game", "confidence"):
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
    elif kind == "look":
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

"""All that the rules may look at: what was given, and what was measured."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

from acclimate.analysis.inspection.encoder_view import EncoderFigures
from acclimate.analysis.inspection.label_support import LabelSupport
from acclimate.analysis.inspection.surface import Surface
from acclimate.analysis.inspection.words_and_pieces import WordFigures
from acclimate.model.tagger import DEFAULT_ENCODER

MAP_FILE = "labels.yaml"  # what a map of the user's own is called in the commands


@dataclass(frozen=True, slots=True)
class Given:
    """The corpora as they were typed, so that commands can be typed again."""

    source: str = "news"
    target: str = "social"
    target_labelled: str | None = None
    extra: tuple[str, ...] = ()
    map_name: str | None = None  # a label map that the target was read with


@dataclass(frozen=True, slots=True)
class ExtraText:
    """Text that may or may not be of the target's kind."""

    sentences: int
    words: int
    distance: float  # mean density ratio of the target's words against this text
    cut: bool = False  # only the beginning was read

    def as_dict(self) -> dict[str, Any]:
        return {"sentences": self.sentences, "words": self.words, "distance": self.distance, "cut": self.cut}


@dataclass(frozen=True, slots=True)
class Facts:
    given: Given
    source: Surface
    target: Surface
    words: WordFigures
    encoder: EncoderFigures
    labels: LabelSupport
    extra: ExtraText | None = None

    @property
    def has_few(self) -> bool:
        """Whether there are labelled target sentences to learn from. Tags of TARGET itself are not."""
        return self.given.target_labelled is not None

    @property
    def foreign(self) -> tuple[str, ...]:
        """Labels of the target that the source does not have, under any name."""
        target = self.labels.target
        if target is None or target.bundled_map is not None:
            return ()
        return tuple(label for label in target.only_target if label not in target.alike)

    @property
    def is_other_task(self) -> bool:
        """Whether nothing that the source teaches is among what the target wants."""
        target = self.labels.target
        if target is None:
            return False
        if target.kind != self.labels.kind:
            return True
        return bool(target.counts) and not target.both and len(self.foreign) == len(target.counts)

    @property
    def map_name(self) -> str | None:
        """The label map that the commands need."""
        target = self.labels.target
        if self.given.map_name is not None:
            return self.given.map_name
        if target is None or not target.only_target or target.kind != self.labels.kind:
            return None
        return target.bundled_map or (MAP_FILE if target.alike else None)

    def adapt(self, recipe: str, *more: str, use_map: bool = True) -> str:
        """The command to type."""
        given = self.given
        words = ["acclimate", "adapt", "--source", given.source, "--target", given.target]
        if given.target_labelled is not None:
            words += ["--target-labelled", given.target_labelled]
        if use_map and self.map_name is not None:
            words += ["--map", self.map_name]
        if self.encoder.encoder != DEFAULT_ENCODER:
            words += ["--encoder", self.encoder.encoder]
        return shlex.join([*words, "--recipe", recipe, *more])

"""What a selector of runs may look at. There is no place for target labels in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

from acclimate.data.corpus import Corpus
from acclimate.data.subsets import take_sentences
from acclimate.inference.predict import predict
from acclimate.model.tagger import Tagger
from acclimate.runs.settings import TaggerSettings
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import DevelopmentScore

T = TypeVar("T")
MOST_SENTENCES = 500  # of the target: enough to tell runs apart, and soon read


@dataclass(frozen=True)
class Material:
    """Text of the target without tags, labelled source sentences that were held out, and what the tagger was made with.

    `source_dev` is None where the tagger cannot be measured on the source: it learnt from all of it, or it is one of
    the target's own.

    What several selectors read is read once (`once`): make a new material for a tagger that was trained further.
    """

    target: Corpus
    source: Corpus | None
    source_dev: Corpus | None
    tagger: TaggerSettings
    training: TrainingSettings
    seed: int = 0
    _read: dict[tuple[str, int], tuple[Tagger, Any]] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.target.is_labelled:
            raise ValueError("A selector without target labels was given some.")

    def once(self, what: str, tagger: Tagger, read: Callable[[], T]) -> T:
        """What `read` gives for this tagger; from memory, the second time."""
        key = (what, id(tagger))
        if key not in self._read:
            self._read[key] = (tagger, read())  # held, or another tagger might get its number
        found: T = self._read[key][1]
        return found

    @cached_property
    def sample(self) -> Corpus:
        """Random sentences of the target, the same for every run. Empty ones say nothing."""
        text = self.target.filter(lambda sentence: len(sentence) > 0)
        return take_sentences(text, MOST_SENTENCES) if len(text) > MOST_SENTENCES else text

    def answers(self, tagger: Tagger) -> Corpus:
        """The sample under the tagger's own tags."""
        return self.once("answers", tagger, lambda: predict(tagger, self.sample))


class RunSelector(Protocol):
    """Gives a finished tagger a number, the higher the better; None where it cannot say anything."""

    def __call__(self, tagger: Tagger, material: Material, /) -> float | None: ...


class SourceDev:
    """Span F1 (accuracy for plain tags) on source sentences that were held out.

    Favours taggers that learnt the task well and kept it. Fails where the domains are far apart: a recipe that gives up
    some of the source for the target is punished for it. A safe guard against runs that went wrong altogether.
    """

    def __call__(self, tagger: Tagger, material: Material) -> float | None:
        return None if material.source_dev is None else DevelopmentScore(material.source_dev)(tagger)

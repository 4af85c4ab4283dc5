"""What an adaptation did: every test corpus before and after, and how sure the difference is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from acclimate.data.corpus import Corpus
from acclimate.data.sources import sizes_of
from acclimate.evaluation.counts import percent
from acclimate.evaluation.scores import Scores, score
from acclimate.evaluation.seen import Reservation, Shared, reservation
from acclimate.evaluation.significance import SURE, Metric, SeedsComparison, compare_seeds
from acclimate.inference.predict import predict
from acclimate.model.learner import Learner
from acclimate.model.tagger import Tagger
from acclimate.recipes.baselines import START
from acclimate.training.settings import TrainingSettings


@dataclass(frozen=True)
class Change:
    """One test corpus before and after; `comparison` is None if nothing was adapted."""

    corpus: str
    before: Scores
    after: Scores
    comparison: SeedsComparison | None
    # gold, before and after
    texts: tuple[Corpus, Corpus | None, Corpus] | None = field(default=None, repr=False, compare=False)
    parts: Mapping[str, Change] = field(default_factory=dict)  # by source, where several were joined

    def __repr__(self) -> str:
        moved = f"{percent(self.before.span.f1)} % → {percent(self.after.span.f1)} %"
        sure = "" if self.comparison is None else f", p = {self.comparison.larger_p:.3f}"
        return f"Change({self.corpus!r}: F1 {moved}{sure})"

    @property
    def difference(self) -> float:
        """After less before, of the score that is compared."""
        return self.after.span.f1 - self.before.span.f1

    @property
    def score_before(self) -> float | None:
        """The score before; None where the test has no span."""
        return self.before.span.f1 if self.before.span.gold else None

    def as_dict(self) -> dict[str, Any]:
        return {
            "corpus": self.corpus,
            "before": self.before.as_dict(),
            "after": self.after.as_dict(),
            "change": None if self.comparison is None else self.comparison.as_dict(),
            "parts": {name: part.as_dict() for name, part in self.parts.items()},
        }


@dataclass(frozen=True)
class SiblingResult:
    """A tagger that was trained beside the one that is adapted. It has no "before"; without a test, no score."""

    tagger: Tagger = field(repr=False, compare=False)
    corpus: str | None
    scores: Scores | None

    @classmethod
    def of(cls, tagger: Tagger, test: Corpus | None) -> SiblingResult:
        if test is None:
            return cls(tagger, None, None)
        return cls(tagger, test.name, score(test, predict(tagger, test)))

    def as_dict(self) -> dict[str, Any]:
        return {"corpus": self.corpus, "scores": None if self.scores is None else self.scores.as_dict()}


@dataclass(frozen=True)
class Advice:
    """Which tagger to use, the adapted one ("after") or the one that it is compared with ("before"), and why."""

    tagger: Literal["before", "after"]
    why: str


@dataclass(frozen=True)
class Outcome:
    """What an adaptation did. `source` and `target` are None where no labelled test sentences were given."""

    recipe: str
    selector: str
    source: Change | None = None
    target: Change | None = None
    stages: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    remarks: tuple[str, ...] = ()
    own_stages: list[dict[str, Any]] = field(default_factory=list, repr=False)  # without those of "before" alone
    learnt: Shared | None = None  # how much of the target's test was learnt with labels
    before: str | None = "source-only"  # the recipe that trained the tagger "before"; None where nothing did
    # what the recipe makes of the tagger, in words, and "before" likewise: a tagger of the settings alone is another
    make: tuple[str, ...] = ()
    siblings: Mapping[str, SiblingResult] = field(default_factory=dict)  # taggers that were trained beside, by name
    tagger_before: Tagger | None = field(default=None, repr=False, compare=False)  # None where nothing was adapted
    tagger: Tagger | None = field(default=None, repr=False, compare=False)  # the trained one
    learner: Learner | None = field(default=None, repr=False, compare=False)  # what the tagger is a part of
    training: TrainingSettings = field(default=TrainingSettings(), repr=False, compare=False)  # as it was completed
    # of source and target test, where there is one: tagged before, where something was adapted, and after
    predicted: Mapping[str, tuple[Corpus | None, Corpus | None]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def __repr__(self) -> str:
        return f"Outcome({self.recipe!r}, source={self.source!r}, target={self.target!r}, seconds={self.seconds:.0f})"

    @property
    def advice(self) -> Advice | None:
        """Which of the two taggers to use; None where there is only one."""
        if self.tagger_before is None:
            return None
        change, reserved = self.target, self.reservation
        if self.before == START.name and not any(stage["kept_update"] for stage in self.stages):
            return Advice("before", "nothing that was learnt is kept, so both are the same")
        if change is None or change.comparison is None:
            return Advice("after", "no labelled target test sentences say which of the two is better")
        if reserved is not None:
            return Advice("after", "the target test cannot say which of the two is better")
        moved = f"from {100 * change.before.span.f1:.2f} to {100 * change.after.span.f1:.2f}"
        if change.comparison.larger_p > SURE:
            no_gain = self.before == START.name and change.comparison.difference <= 0
            why = "which shows no gain" if no_gain else "and neither tagger is clearly better"
            return Advice("before" if no_gain else "after", f"the target score went {moved}, {why}")
        fell = change.comparison.difference < 0
        return Advice("before" if fell else "after", f"the target score {'fell' if fell else 'rose'} clearly, {moved}")

    @property
    def reservation(self) -> Reservation | None:
        """Why nothing may be claimed of the change; None if nothing was adapted."""
        changes = [change for change in (self.source, self.target) if change is not None]
        if not any(change.comparison is not None for change in changes):
            return None
        source, target = (None if change is None else change.score_before for change in (self.source, self.target))
        return reservation(source, target, self.learnt)

    def as_dict(self) -> dict[str, Any]:
        return {
            "recipe": self.recipe,
            "selector": self.selector,
            "source": None if self.source is None else self.source.as_dict(),
            "target": None if self.target is None else self.target.as_dict(),
            "stages": self.stages,
            "seconds": round(self.seconds, 3),
            "remarks": list(self.remarks),
            "target_test_learnt": None if self.learnt is None else self.learnt.as_dict(),
            "before": self.before,
            "make": list(self.make),
            "siblings": {name: found.as_dict() for name, found in self.siblings.items()},
            "use": None if self.advice is None else {"tagger": self.advice.tagger, "why": self.advice.why},
        }


def predict_all(tagger: Tagger, tests: Mapping[str, Corpus | None]) -> dict[str, Corpus]:
    return {name: predict(tagger, test) for name, test in tests.items() if test is not None}


def change_of(gold: Corpus, before: Corpus, after: Corpus, tagger: Tagger) -> Change:
    """Both predictions scored and compared, for all sentences and for each of several sources."""
    first = score(gold, before, seen=tagger.seen)
    parts = _by_source(gold, before, after, tagger)
    if after is before:
        return Change(gold.name, first, first, None, (gold, None, after), parts)
    metric: Metric = "token accuracy" if gold.kind == "plain" else "span f1"
    comparison = compare_seeds(gold, [before], [after], metric=metric)
    scores = score(gold, after, seen=tagger.seen)
    return Change(gold.name, first, scores, comparison, (gold, before, after), parts)


def _by_source(gold: Corpus, before: Corpus, after: Corpus, tagger: Tagger) -> dict[str, Change]:
    names = sizes_of(gold)
    if len(names) < 2:
        return {}
    changes = {}
    for name in names:
        own = [number for number, sentence in enumerate(gold) if sentence.source == name]
        parts = [replace(corpus.select(own), name=name) for corpus in (gold, before, after)]
        parts = [replace(corpus, sentences=tuple(replace(each, source=None) for each in corpus)) for corpus in parts]
        right, one, other = parts
        changes[name] = change_of(right, one, one if after is before else other, tagger)
    return changes

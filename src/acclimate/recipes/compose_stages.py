"""The stages of a composition as settings, and the text that each of them learns from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from acclimate.data.corpus import Corpus, Sentence
from acclimate.methods.augmentation.anchors import Anchored
from acclimate.methods.augmentation.text_edits import delete_span, replace_synonyms
from acclimate.methods.contrastive import Edit
from acclimate.methods.word_edits import Edited
from acclimate.model.tagger import Tagger
from acclimate.recipes.baselines import surest
from acclimate.recipes.compose_objectives import OBJECTIVES, sides_of
from acclimate.recipes.domain_tuning import AdversarialMaskingSettings
from acclimate.recipes.mslm import MslmSettings
from acclimate.recipes.pdaln import AnchorSettings, EditSettings, exchanged, synonyms_for
from acclimate.recipes.recipe import Plan
from acclimate.settings import Settings, complete
from acclimate.spelling import did_you_mean
from acclimate.training.stage import Watch

TextName = Literal["source", "target", "target-labelled", "pseudo-labelled", "anchors", "synonyms", "deletion"]


class Term(Settings):
    """One objective of a stage. A bare number in its place is the weight."""

    weight: float = Field(1.0, gt=0)
    """Weight of the objective in the total loss."""
    settings: Any = None
    """Settings of the objective; which ones there are depends on its name; null: its defaults."""


class StageSettings(Settings):
    """One stage: objectives on text, or else domain tuning, or else MSLM's training on hidden entities."""

    name: str | None = Field(None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")
    """Name of the stage; null: stage-1, stage-2 and so on."""
    objectives: dict[str, Term] = Field(default_factory=dict)
    """Training objectives of the stage, keyed by name, each with its weight."""
    learns: tuple[TextName, ...] | None = None
    """Texts that form the source half of every batch; null: the source, with mslm also the labelled target."""
    beside: tuple[TextName, ...] | None = None
    """Texts that form the target half of every batch; null: the target text, if an objective needs it."""
    # what the stage learns has a head of its own, which begins as the tagger's and ends with the stage: only what
    # stands beside teaches the tagger's own (DATNet's two taggers on one encoder)
    separate_heads: bool = False
    """Train the `learns` texts with a temporary head of their own; the tagger's head learns from `beside` only."""
    domain_tuning: AdversarialMaskingSettings | None = None
    """Settings that make this a domain-tuning stage of the encoder; null: not such a stage."""
    mslm: MslmSettings | None = None
    """Settings that make this a stage of MSLM, training with hidden entities; null: not such a stage."""
    updates: int | None = Field(None, ge=1)
    """Number of updates; null: use epochs or share."""
    epochs: float | None = Field(None, gt=0)
    """Number of passes over the `learns` texts, limited by training.updates; null: use updates or share."""
    share: float = Field(1.0, gt=0)
    """Length as a share of the run's usual number of updates, if neither updates nor epochs is set."""
    learning_rate: float | None = Field(None, gt=0)
    """Learning rate of the stage; null: the run's learning rate."""
    rounds: int = Field(1, ge=1)
    """Number of times to repeat the stage, each time with a new teacher and newly created texts."""
    keep_best: bool = False
    """Undo a round that does not improve the selector's score."""
    patience: int = Field(0, ge=0)
    """With keep_best: number of undone rounds in a row to tolerate; one more ends the rounds. 0: stop at the first."""
    evaluations: int | None = Field(None, ge=1)
    """Minimum number of evaluations by the selector in each round; null: as often as in the rest of the run."""
    to_the_end: bool = False
    """Keep the last state of the stage and ignore the selector."""
    keep: float = Field(0.5, gt=0, le=1)
    """For pseudo-labelled text: share of target sentences to train on, the most confident first."""
    anchors: AnchorSettings = AnchorSettings()
    """Settings for creating the text `anchors`: sentences with entities from the other domain."""
    edits: EditSettings = EditSettings()
    """Settings for creating the texts `synonyms` and `deletion`."""

    @field_validator("objectives", mode="before")
    @classmethod
    def _by_name(cls, given: Any) -> Any:
        """Names alone, names with a weight, names with weight and settings."""
        if isinstance(given, (list, tuple)):
            given = dict.fromkeys(given)
        if not isinstance(given, Mapping):
            return given
        return {known(str(name), OBJECTIVES, "objective"): _term(str(name), value) for name, value in given.items()}

    @model_validator(mode="after")
    def _one_kind(self) -> StageSettings:
        kinds = [bool(self.objectives), self.domain_tuning is not None, self.mslm is not None]
        if sum(kinds) != 1:
            raise ValueError("a stage has objectives, or domain_tuning, or mslm: one of them")
        if self.learns == ():
            raise ValueError("a stage learns from something: name source, for example, in learns")
        if self.updates is not None and self.epochs is not None:
            raise ValueError("a stage has updates or epochs, not both")
        if self.to_the_end and (self.keep_best or self.evaluations is not None):
            raise ValueError("with to_the_end nobody chooses a state: leave out keep_best and evaluations")
        return self


def round_names(stage: StageSettings) -> list[str]:
    """The stage's name, or those of its rounds."""
    name = stage.name or "stage"
    return [name] if stage.rounds == 1 else [f"{name}-{number}" for number in range(1, stage.rounds + 1)]


def known(name: str, names: Iterable[str], what: str) -> str:
    """The name, if there is such a thing."""
    names = list(names)
    if name in names:
        return name
    raise ValueError(f"unknown {what} {name!r}.{did_you_mean(name, names)} Known: {', '.join(names)}")


def _term(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Term):
        value = value.model_dump()
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        value = {} if value is None else {"weight": value}
    if not isinstance(value, Mapping):
        raise ValueError(f"objective {name!r}: a weight, or weight and settings, not {value!r}")
    group = OBJECTIVES[name].settings
    settings = value.get("settings") or {}
    if not isinstance(settings, group):
        if not isinstance(settings, Mapping):
            raise ValueError(f"objective {name!r}: its settings are a mapping, not {settings!r}")
        settings = complete(group, settings, where=f"objective {name!r}")
    return {**value, "settings": settings}


class ComposeSettings(Settings):
    """The stages, one after the other."""

    stages: tuple[StageSettings, ...] = (
        StageSettings.model_validate({"name": "learn", "objectives": ["tagging"]}),
        StageSettings.model_validate(
            {
                "name": "teach",
                "objectives": {"tagging": 1, "distillation": {"weight": 0.5, "settings": {"side": "target"}}},
                "share": 0.25,
                "rounds": 2,
            }
        ),
    )
    """Training stages, in the order in which they run."""

    @field_validator("stages")
    @classmethod
    def _named(cls, stages: tuple[StageSettings, ...]) -> tuple[StageSettings, ...]:
        """Every stage has a name of its own: its folder, and its part of the record, are called by it."""
        if not stages:
            raise ValueError("a composition has one stage at least")
        named = [
            stage if stage.name else stage.model_copy(update={"name": f"stage-{number}"})
            for number, stage in enumerate(stages, start=1)
        ]
        names = [name for stage in named for name in round_names(stage)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"two stages are called {twice!r}")
        return tuple(named)


EditName = Literal["synonyms", "deletion"]
Pair = tuple[Sentence, Sentence]


def edited_pairs(name: EditName, tagger: Tagger, plan: Plan, edits: EditSettings, number: int) -> Iterator[Pair]:
    """The labelled sentences of both domains that can be edited, each as it is and as it becomes. `number` is the
    stage's: each has edits of its own."""
    dice = Random(plan.seed * 1_000 + number)
    edit = edit_by(name, tagger, plan, edits)
    for sentence in plan.source.labelled() + plan.target.labelled():
        edited = edit(sentence, dice)
        if edited is not sentence:
            yield sentence, edited


def edit_by(name: EditName, tagger: Tagger, plan: Plan, edits: EditSettings) -> Edit:
    kind = tagger.labels.kind
    if name == "deletion":
        return lambda sentence, dice: delete_span(sentence, dice, edits.edit_share, kind)
    synonyms = synonyms_for(tagger, replace(plan, options=edits))
    return lambda sentence, dice: replace_synonyms(sentence, synonyms, dice, edits.edit_share, kind)


@dataclass(frozen=True)
class StageText:
    """Text of a stage, and what tells the run's record how it was made."""

    corpus: Corpus
    watches: tuple[Watch, ...] = ()


Text = Callable[[Tagger, Plan, StageSettings, int], StageText]


def unlabelled(plan: Plan) -> Corpus:
    """The target's sentences that nobody has labelled."""
    return plan.target.filter(lambda sentence: sentence.tags is None)


def pseudo_labelled(tagger: Tagger, plan: Plan, stage: StageSettings, number: int) -> StageText:
    """The target under the tagger's own tags, where it is surest of them; true labels stay."""
    return StageText(surest(tagger, plan.target, stage.keep))


def anchored(tagger: Tagger, plan: Plan, stage: StageSettings, number: int) -> StageText:
    """Sentences of both domains with entities of the other one."""
    made = exchanged(plan.source.labelled(), plan.target.labelled(), stage.anchors, plan.seed * 1_000 + number)
    return StageText(made.corpus, (Anchored(made.variants),))


def edited_by(name: EditName) -> Text:
    """Labelled sentences of both domains, edited; those in which nothing can be edited are left out."""

    def found(tagger: Tagger, plan: Plan, stage: StageSettings, number: int) -> StageText:
        pairs = list(edited_pairs(name, tagger, plan, stage.edits, number))
        corpus = Corpus.of((edited for _, edited in pairs), f"{plan.source.name}, {name}", tagger.labels.kind)
        return StageText(corpus, (Edited(name, pairs),))

    return found


TEXTS: dict[str, Text] = {
    "source": lambda tagger, plan, stage, number: StageText(plan.source.labelled()),
    "target": lambda tagger, plan, stage, number: StageText(unlabelled(plan)),
    "target-labelled": lambda tagger, plan, stage, number: StageText(plan.target.labelled()),
    "pseudo-labelled": pseudo_labelled,
    "anchors": anchored,
    "synonyms": edited_by("synonyms"),
    "deletion": edited_by("deletion"),
}
LABELLED = set(TEXTS) - {"target"}  # those that have tags


def learns_of(stage: StageSettings, plan: Plan) -> tuple[str, ...]:
    """What is learnt: what was named, or the source; MSLM learns all that is labelled."""
    if stage.learns is not None:
        return stage.learns
    few = stage.mslm is not None and len(plan.target.labelled())
    return ("source", "target-labelled") if few else ("source",)


def beside_of(stage: StageSettings, plan: Plan) -> tuple[str, ...]:
    """What stands beside: what was named, or the target as it is where an objective looks there."""
    if stage.beside is not None:
        return stage.beside
    evaluations = any(
        OBJECTIVES[name].needs & {"beside", "labels beside", "text beside"} or "target" in sides_of(term.settings)
        for name, term in stage.objectives.items()
    )
    there = (("target-labelled", plan.target.labelled()), ("target", unlabelled(plan)))
    return tuple(name for name, corpus in there if evaluations and len(corpus))

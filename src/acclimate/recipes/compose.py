"""A recipe of one's own: stages with any objectives on any texts, written in settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from acclimate.data.batches import SOURCE, TARGET, Stream
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.methods.masking.catalogue import policy_names
from acclimate.methods.objective import Objective
from acclimate.methods.teachers import frozen_copy
from acclimate.model.encoders.layers import Normalise
from acclimate.model.heads.entity_heads import EntitySettings
from acclimate.model.siblings import Siblings
from acclimate.model.tagger import Tagger
from acclimate.recipes.baselines import most_confident
from acclimate.recipes.compose_parts import (
    OBJECTIVES,
    Built,
    ComposeSettings,
    DiscriminatorTermSettings,
    StageContext,
    StageSettings,
    Term,
    WordMmdSettings,
    round_names,
    sides_of,
)
from acclimate.recipes.datnet import check_rate
from acclimate.recipes.domain_tuning import check_tuning, domain_tuning, require_language_model
from acclimate.recipes.mat import MaskedNoiseSettings, normalise_tables
from acclimate.recipes.mslm import MslmSettings, entity_stage
from acclimate.recipes.mslm import check_plan as check_mslm
from acclimate.recipes.mslm import remodel as remodel_for_entities
from acclimate.recipes.pdaln import ONLY_DELETION, ContrastSettings, check_mu, edit_for, exchanged, only_deletes
from acclimate.recipes.recipe import (
    Plan,
    Recipe,
    chooses,
    evaluated_often,
    same_weights,
    shortened,
    some_passes,
    unlabelled,
)
from acclimate.settings import UsageError
from acclimate.training.settings import Schedule, TrainingSettings
from acclimate.training.stage import LastUpdate, Selector, Stage, Watch

StageText = tuple[Corpus, tuple[Watch, ...]]
"""Text of a stage, and what notes in the record how it was made."""

Text = Callable[[Tagger, Plan, StageSettings, int], StageText]


def anchored(tagger: Tagger, plan: Plan, stage: StageSettings, number: int) -> StageText:
    """Sentences of both domains with entities of the other one."""
    made = exchanged(plan.source.labelled(), plan.target.labelled(), stage.anchors, plan.seed * 1_000 + number)
    return made.corpus, (made.edited(),)


TEXTS: dict[str, Text] = {
    "source": lambda tagger, plan, stage, number: (plan.source.labelled(), ()),
    "target": lambda tagger, plan, stage, number: (unlabelled(plan), ()),
    "target-labelled": lambda tagger, plan, stage, number: (plan.target.labelled(), ()),
    "pseudo-labelled": lambda tagger, plan, stage, number: (most_confident(tagger, plan.target, stage.keep), ()),
    "anchors": anchored,
}
LABELLED = set(TEXTS) - {"target"}  # those that have tags


def learns_of(stage: StageSettings, plan: Plan) -> tuple[str, ...]:
    """The `learns` texts; MSLM's default is all that is labelled."""
    if stage.learns is not None:
        return stage.learns
    few = stage.mslm is not None and len(plan.target.labelled())
    return ("source", "target-labelled") if few else ("source",)


def beside_of(stage: StageSettings, plan: Plan) -> tuple[str, ...]:
    """The `beside` texts; the default is all target text, if an objective reads it."""
    if stage.beside is not None:
        return stage.beside
    if not any(reads_beside(name, term) for name, term in stage.objectives.items()):
        return ()
    texts = (("target-labelled", plan.target.labelled()), ("target", unlabelled(plan)))
    return tuple(name for name, corpus in texts if len(corpus))


def reads_beside(name: str, term: Term) -> bool:
    """Whether an objective reads the `beside` texts."""
    needs: frozenset[str] = OBJECTIVES[name].needs
    return bool(needs & {"beside", "labels beside", "text beside"}) or "target" in sides_of(term.settings)


def parts() -> dict[str, list[str]]:
    """The names that may stand in its options."""
    return {
        "objectives": [f"{name}: {part.summary}" for name, part in OBJECTIVES.items()],
        "learns, beside": list(TEXTS),
        "domain_tuning.masking, masked-words' masking": policy_names(),
    }


def compose(tagger: Tagger, plan: Plan) -> Iterator[Stage]:
    options: ComposeSettings = plan.options
    normalise_for_noise(tagger, plan)
    number = 0
    for stage in options.stages:
        for name in round_names(stage):
            made = made_stage(name, stage, tagger, plan, number)
            before = frozen_copy(tagger) if stage.keep_best else None  # made_stage may have changed the heads
            yield made
            number += 1
            if before is not None and same_weights(before, tagger):
                break  # the round was undone


def made_stage(name: str, stage: StageSettings, tagger: Tagger, plan: Plan, number: int) -> Stage:
    """The stage as it is trained; its random draws depend on `number`, which counts all stages."""
    if stage.domain_tuning is not None:
        return domain_tuning(tagger, plan, stage.domain_tuning, name)
    if stage.mslm is not None:
        return mslm_stage(name, stage, tagger, plan, number)
    text, beside, watches = texts_of(stage, tagger, plan, number)
    batches = plan.batches_beside(tagger, text, beside, number)
    training = training_for(stage, plan, batches)
    updates = training.updates_for(batches.epoch_length)
    context = StageContext(tagger, plan, number, text, sum(beside[1:], beside[0]) if beside else Corpus(()), updates)
    objectives: dict[str, Objective] = {}
    weights: dict[str, float | Schedule] = {}
    for which, term in stage.objectives.items():
        made = OBJECTIVES[which].build(context, term.settings)
        made = Built({"": made}) if isinstance(made, Objective) else made
        objectives |= {f"{which}{suffix}": objective for suffix, objective in made.terms.items()}
        weights[which] = _weight(term.weight, made.schedule)
        watches += made.watches
    learner = two_heads(tagger, plan) if stage.separate_heads else None
    return Stage(name, objectives, batches, training, weights, learner, watches, selector_of(stage, plan))


def two_heads(tagger: Tagger, plan: Plan) -> Siblings:
    """The tagger for the `beside` texts, and another head on the same encoder for the `learns` texts. It starts as a
    copy, unless the target has labels of its own."""
    if plan.for_target:
        source = tagger.sibling(plan.source.labels, tagger.encoder.sibling(plan.source))
        return Siblings({TARGET: tagger, SOURCE: source})
    other = tagger.sibling(tagger.labels, tagger.encoder)
    other.load_state_dict(tagger.state_dict())
    return Siblings({TARGET: tagger, SOURCE: other})


def texts_of(
    stage: StageSettings, tagger: Tagger, plan: Plan, number: int
) -> tuple[Corpus, list[Corpus], tuple[Watch, ...]]:
    """The `learns` texts as one corpus, the `beside` texts, and what notes how they were made."""
    learns, beside = learns_of(stage, plan), beside_of(stage, plan)
    texts = {name: TEXTS[name](tagger, plan, stage, number) for name in (*learns, *beside)}
    learnt = [texts[name][0] for name in learns]
    watches = tuple(watch for _, watches in texts.values() for watch in watches)
    return sum(learnt[1:], learnt[0]), [texts[name][0] for name in beside], watches


def mslm_stage(name: str, stage: StageSettings, tagger: Tagger, plan: Plan, number: int) -> Stage:
    """A stage of MSLM; its heads are built in the first one, and go on learning in the others."""
    text, _, watches = texts_of(stage, tagger, plan, number)
    made = entity_stage(tagger, replace(plan, options=stage.mslm), text, number)
    training = training_for(stage, plan, made.batches)
    return replace(made, name=name, settings=training, watches=watches, selector=selector_of(stage, plan))


def selector_of(stage: StageSettings, plan: Plan) -> Selector | None:
    """Who chooses between the stage's states and the one before it; None: the run's selector, between the former."""
    if stage.to_the_end:
        return LastUpdate()
    return plan.selector if stage.keep_best else None


def training_for(stage: StageSettings, plan: Plan, batches: Stream) -> TrainingSettings:
    """The run's training settings with what the stage says about them."""
    training = length_for(stage, plan.training, batches)
    if stage.evaluations is None or not chooses(plan):
        return training
    return evaluated_often(training, batches, stage.evaluations)


def length_for(stage: StageSettings, training: TrainingSettings, batches: Stream) -> TrainingSettings:
    if stage.learning_rate is not None:
        training = training.model_copy(update={"learning_rate": stage.learning_rate})
    if stage.updates is not None:
        return training.model_copy(update={"updates": stage.updates})
    if stage.epochs is not None:
        return some_passes(training, stage.epochs, batches)
    return training if stage.share == 1 else shortened(training, stage.share, batches)


def remodel(tagger: Tagger, plan: Plan) -> tuple[str, ...]:
    """What all stages together make of the tagger: the heads of the last MSLM stage are those that tag."""
    entities = [replace(plan, options=stage.mslm) for stage in plan.options.stages if stage.mslm is not None]
    made = normalise_for_noise(tagger, plan)
    return made if not entities else (*made, *remodel_for_entities(tagger, entities[-1]))


def normalise_for_noise(tagger: Tagger, plan: Plan) -> tuple[str, ...]:
    """Normalise the embeddings once for all stages."""
    terms = (term.settings for stage in plan.options.stages for term in stage.objectives.values())
    kinds = [settings.normalise for settings in terms if isinstance(settings, MaskedNoiseSettings)]
    wanted: Normalise = next((kind for kind in kinds if kind != "none"), "none")
    few = plan.target.labelled()
    return normalise_tables(tagger, few if plan.for_target else plan.source.labelled() + few, wanted)


def _weight(weight: float, schedule: Schedule | None) -> float | Schedule:
    return weight if schedule is None else lambda update: weight * schedule(update)


# settings of a stage that its domain tuning sets itself or does not know
NOT_IN_TUNING = (
    *("learns", "beside", "separate_heads", "updates", "epochs", "share", "learning_rate"),
    *("keep_best", "evaluations", "to_the_end"),
)


def check_plan(tagger: Tagger, plan: Plan) -> tuple[str, ...]:
    options: ComposeSettings = plan.options
    can_tag = False
    entities = tagger.entities
    for number, stage in enumerate(options.stages):
        where = f"Stage {stage.name}"
        check_stage(tagger, plan, stage, where, can_tag, number)
        if stage.mslm is not None:
            check_heads(stage, stage.mslm, entities, where, can_tag)
            entities = stage.mslm.entities
        can_tag = can_tag or learns_tags(stage)
    if not can_tag:
        tags = ", ".join(name for name, part in OBJECTIVES.items() if part.learns_tags)
        raise UsageError(f"No stage learns tags: one of them needs one of these objectives: {tags}; or mslm.")
    terms = (term.settings for stage in options.stages for term in stage.objectives.values())
    deletes = any(isinstance(settings, ContrastSettings) and only_deletes(tagger, settings) for settings in terms)
    return (ONLY_DELETION,) if deletes else ()


def learns_tags(stage: StageSettings) -> bool:
    return stage.mslm is not None or any(OBJECTIVES[name].learns_tags for name in stage.objectives)


def check_stage(tagger: Tagger, plan: Plan, stage: StageSettings, where: str, can_tag: bool, number: int) -> None:
    if stage.domain_tuning is not None:
        refuse_unused(stage, "domain_tuning", NOT_IN_TUNING, where)
        require_language_model(tagger, where)
        check_tuning(stage.domain_tuning)
        if not len(plan.target):
            raise UsageError(f"{where} tunes the encoder to target text: give --target.")
        return
    if stage.mslm is not None:
        require_language_model(tagger, where)
        refuse_unused(stage, "mslm", ("beside", "separate_heads"), where)
        check_mslm(tagger, replace(plan, options=stage.mslm))
    learns, beside = learns_of(stage, plan), beside_of(stage, plan)
    for name in (*learns, *beside):
        check_text(tagger, plan, stage, name, where, can_tag, number)
    if stage.mslm is not None:
        for name in learns:
            if name not in LABELLED:
                raise UsageError(f"{where}: mslm learns from labelled text, and {name} has no labels.")
        return
    if stage.separate_heads and not any(learns_beside(name, term) for name, term in stage.objectives.items()):
        raise UsageError(
            f"{where}: with separate_heads the tagger learns tags from what stands beside alone, and no objective "
            "does: set a side to both or target, or take target-tagging."
        )
    if not set(learns) & LABELLED and learns_tags(stage):
        raise UsageError(f"{where} learns tags from {', '.join(learns)}, which has none.")
    for name, term in stage.objectives.items():
        check_needs(tagger, name, beside, f"{where}, {name}", can_tag, term)
        check_settings(tagger, plan, term, f"{where}, {name}")


def learns_beside(name: str, term: Term) -> bool:
    return OBJECTIVES[name].learns_tags and "target" in sides_of(term.settings)


def refuse_unused(stage: StageSettings, kind: str, names: Sequence[str], where: str) -> None:
    """Refuse settings that such a stage would not look at."""
    usual = StageSettings.model_validate({kind: {}})
    for name in names:
        if getattr(stage, name) != getattr(usual, name):
            own = f": set {kind}.{name}" if name in ("updates", "epochs", "learning_rate") else ""
            raise UsageError(f"{where}: {name} has no effect beside {kind}{own}.")


def check_heads(
    stage: StageSettings, wanted: MslmSettings, entities: EntitySettings | None, where: str, can_tag: bool
) -> None:
    """MSLM's heads replace those that were there: refuse to lose what these have learnt."""
    if entities is not None and entities != wanted.entities:
        raise UsageError(f"{where}: mslm.entities is not what it was in the stage before: its heads would be lost.")
    if stage.keep_best and can_tag and entities is None:
        raise UsageError(
            f"{where}: keep_best cannot bring back what was before, since mslm puts heads of its own in the place of "
            "those that have learnt tags. Begin with the mslm stage, or leave keep_best out."
        )


def check_text(
    tagger: Tagger, plan: Plan, stage: StageSettings, name: str, where: str, can_tag: bool, number: int
) -> None:
    """Refuse text that the data do not have."""
    if name in ("target-labelled", "anchors") and not len(plan.target.labelled()):
        raise UsageError(f"{where} learns from {name}, which needs labelled target sentences: give --target-labelled.")
    if name in ("target", "pseudo-labelled") and not len(unlabelled(plan)):
        raise UsageError(f"{where} learns from {name}, which needs target text: give --target.")
    if name == "pseudo-labelled" and not can_tag:
        raise UsageError(f"{where} learns from the tagger's own tags, but no stage before it has taught it any.")
    if name == "anchors" and not len(anchored(tagger, plan, stage, number)[0]):
        raise InputError(
            f"{where}: no entity of the labelled target sentences has another one of its type in the source, or the "
            "other way round: there are no anchors."
        )


def check_needs(tagger: Tagger, name: str, beside: tuple[str, ...], where: str, can_tag: bool, term: Term) -> None:
    """Refuse an objective without the data that it needs."""
    needs = OBJECTIVES[name].needs
    if reads_beside(name, term) and not beside:
        raise UsageError(f"{where} looks at target sentences, and there are none: give --target, and name it `beside`.")
    if ("labels beside" in needs or learns_beside(name, term)) and not set(beside) & LABELLED:
        raise UsageError(
            f"{where} needs labelled sentences beside, and {', '.join(beside)} has none: give --target-labelled, or "
            "name pseudo-labelled in `beside`."
        )
    if "text beside" in needs and "target" not in beside:
        raise UsageError(f"{where} learns from unlabelled target text: give --target, and name target in `beside`.")
    if "teacher" in needs and not can_tag:
        raise UsageError(f"{where} learns from the tagger of the stage before, but no stage before it learns tags.")
    if "language model" in needs:
        require_language_model(tagger, where)


def check_settings(tagger: Tagger, plan: Plan, term: Term, where: str) -> None:
    """Refuse settings of an objective that do not fit tagger and data."""
    settings = term.settings
    if isinstance(settings, WordMmdSettings):
        check_mu(tagger, settings.mu, f"{where}: mu")
    if isinstance(settings, DiscriminatorTermSettings):
        check_rate(tagger, plan, settings, f"{where}: settings")
    if isinstance(settings, ContrastSettings):
        try:
            edit_for(tagger, replace(plan, options=settings))
        except UsageError as problem:
            raise UsageError(f"{where}: {problem}") from None
        except (OSError, InputError) as problem:
            raise InputError(f"{where}: {problem}") from None


COMPOSE = Recipe(
    "compose",
    "stages of your own: any objectives, maskings and augmentations by their names",
    compose,
    ComposeSettings,
    needs=frozenset({"target by default"}),
    check=check_plan,
    remodel=remodel,
)

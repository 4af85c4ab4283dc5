"""A recipe of one's own: stages with any objectives, each on the text that is named.

What the papers put together one way can be put together another way. The stages are written in settings, the parts are
the ones that the other recipes are made of.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from acclimate.data.batches import SOURCE, TARGET, Stream
from acclimate.data.corpus import Corpus
from acclimate.methods.distillation import frozen_copy
from acclimate.methods.masking.catalogue import policy_names
from acclimate.methods.objective import Objective
from acclimate.model.encoders.normalisation import Normalise
from acclimate.model.siblings import Siblings
from acclimate.model.tagger import Tagger
from acclimate.recipes.adversarial_masking import domain_tuning
from acclimate.recipes.compose_objectives import OBJECTIVES, Made, Site
from acclimate.recipes.compose_settings import ComposeSettings, StageSettings, round_names
from acclimate.recipes.compose_texts import TEXTS, batches_for, beside_of, learns_of
from acclimate.recipes.mat import MaskedNoiseSettings, normalise_tables
from acclimate.recipes.mslm import entity_stage
from acclimate.recipes.mslm import remodel as remodel_for_entities
from acclimate.recipes.recipe import Plan
from acclimate.recipes.rounds import Patience, chooses, looked_at, same_weights
from acclimate.training.schedules import Schedule
from acclimate.training.selectors import LastUpdate, Selector
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Stage, Watch

PARTS = {
    "objectives": [f"{name}: {part.summary}" for name, part in OBJECTIVES.items()],
    "learns, beside": list(TEXTS),
    "domain_tuning.masking, masked-words' masking": policy_names(),
}


def compose(tagger: Tagger, plan: Plan) -> Iterator[Stage]:
    options: ComposeSettings = plan.options
    normalise_for_noise(tagger, plan)
    number = 0
    for stage in options.stages:
        patience = Patience(stage.patience)
        for name in round_names(stage):
            made = made_stage(name, stage, tagger, plan, number)
            before = frozen_copy(tagger) if stage.keep_best else None  # by now it has the heads that the stage trains
            yield made
            number += 1
            # where the selector has gone back to what was before this round, the next one starts there
            if before is not None and patience.ends_after(undone=same_weights(before, tagger)):
                break


def made_stage(name: str, stage: StageSettings, tagger: Tagger, plan: Plan, number: int) -> Stage:
    """The stage as it is trained. `number` counts all of them: it decides what is drawn."""
    if stage.domain_tuning is not None:
        return domain_tuning(tagger, plan, stage.domain_tuning, name)
    if stage.mslm is not None:
        return mslm_stage(name, stage, tagger, plan, number)
    text, beside, watches = texts_of(stage, tagger, plan, number)
    batches = batches_for(tagger, plan, text, beside, number)
    training = training_for(stage, plan, batches)
    updates = training.updates_for(batches.epoch_length)
    site = Site(tagger, plan, number, text, sum(beside[1:], beside[0]) if beside else Corpus(()), updates)
    objectives: dict[str, Objective] = {}
    weights: dict[str, float | Schedule] = {}
    for which, term in stage.objectives.items():
        made = OBJECTIVES[which].build(site, term.settings)
        objectives |= {f"{which}{behind}": objective for behind, objective in made.terms.items()}
        weights[which] = _weight(term.weight, made)
        watches += made.watches
    learner = two_heads(tagger, plan) if stage.apart else None
    selector = selector_of(stage, plan)
    return Stage(name, objectives, batches, training, weights, learner, watches, selector)


def two_heads(tagger: Tagger, plan: Plan) -> Siblings:
    """The tagger for what stands beside, and a copy of its head on the same encoder for what is learnt. A source beside
    a tagger of the target's own has a new head, for its labels, and words of its own."""
    if plan.for_target:
        source = tagger.sibling(plan.source.labels, tagger.encoder.sibling(plan.source))
        return Siblings({TARGET: tagger, SOURCE: source})
    other = tagger.sibling(tagger.labels, tagger.encoder)
    other.load_state_dict(tagger.state_dict())
    return Siblings({TARGET: tagger, SOURCE: other})


def texts_of(
    stage: StageSettings, tagger: Tagger, plan: Plan, number: int
) -> tuple[Corpus, list[Corpus], tuple[Watch, ...]]:
    """What is learnt, as one corpus, what stands beside, and what notes how they were made."""
    learns, beside = learns_of(stage, plan), beside_of(stage, plan)
    found = {name: TEXTS[name](tagger, plan, stage, number) for name in (*learns, *beside)}
    learnt = [found[name].corpus for name in learns]
    watches = tuple(watch for text in found.values() for watch in text.watches)
    return sum(learnt[1:], learnt[0]), [found[name].corpus for name in beside], watches


def mslm_stage(name: str, stage: StageSettings, tagger: Tagger, plan: Plan, number: int) -> Stage:
    """MSLM's stage: its heads are built in the first one, and go on learning in the others."""
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
    return training if stage.looks is None or not chooses(plan) else looked_at(training, batches, stage.looks)


def length_for(stage: StageSettings, training: TrainingSettings, batches: Stream) -> TrainingSettings:
    if stage.learning_rate is not None:
        training = training.model_copy(update={"learning_rate": stage.learning_rate})
    if stage.updates is not None:
        return training.model_copy(update={"updates": stage.updates})
    if stage.epochs is not None:
        passes = training.model_copy(update={"epochs": stage.epochs, "updates": None})
        updates = passes.updates_for(batches.epoch_length)
        return passes.model_copy(update={"updates": min(updates, training.updates or updates)})
    if stage.share == 1:
        return training
    updates = max(1, round(stage.share * training.updates_for(batches.epoch_length)))
    return training.model_copy(update={"updates": updates})


def remodel(tagger: Tagger, plan: Plan) -> tuple[str, ...]:
    """What all stages together make of the tagger: the last ones' heads are those that tag."""
    entities = [replace(plan, options=stage.mslm) for stage in plan.options.stages if stage.mslm is not None]
    made = normalise_for_noise(tagger, plan)
    return made if not entities else (*made, *remodel_for_entities(tagger, entities[-1]))


def normalise_for_noise(tagger: Tagger, plan: Plan) -> tuple[str, ...]:
    """Once and for all stages, or a later one would change what an earlier one has learnt to read."""
    terms = (term.settings for stage in plan.options.stages for term in stage.objectives.values())
    kinds = [settings.normalise for settings in terms if isinstance(settings, MaskedNoiseSettings)]
    wanted: Normalise = next((kind for kind in kinds if kind != "none"), "none")
    few = plan.target.labelled()
    return normalise_tables(tagger, few if plan.for_target else plan.source.labelled() + few, wanted)


def _weight(weight: float, made: Made) -> float | Schedule:
    rise = made.rise
    return weight if rise is None else lambda update: weight * rise(update)

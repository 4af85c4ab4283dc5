"""Parts of several papers together: domain tuning, MAT, and with labelled target sentences PDALN's rounds on anchors.

Written on the parts of `compose`: every part can be switched, and `composition` shows the stages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pydantic import Field

from acclimate.data.problems import InputError
from acclimate.model.tagger import Tagger
from acclimate.recipes.compose import check_plan as check_composition
from acclimate.recipes.compose import compose
from acclimate.recipes.compose import remodel as remodel_for
from acclimate.recipes.compose_parts import ComposeSettings
from acclimate.recipes.domain_tuning import AdversarialMaskingSettings, is_language_model
from acclimate.recipes.mat import MaskedNoiseSettings
from acclimate.recipes.pdaln import AnchorSettings, exchanged
from acclimate.recipes.recipe import Plan, Recipe, Sibling, chooses_for_target
from acclimate.settings import Settings, complete
from acclimate.training.settings import default_learning_rate
from acclimate.training.stage import Stage


class TuningSettings(AdversarialMaskingSettings):
    """Domain tuning with random masks: the amount of text matters more than which words are hidden."""

    masking: str = "random"
    """Masking policy that chooses the hidden words; see docs/how-to/tune-an-encoder.md."""


class AcclimateSettings(Settings):
    """Which parts there are, and how much each counts."""

    tuning: bool | None = None
    """Tune the encoder to the target domain first; null: yes if the encoder is a masked language model."""
    noise: bool = True
    """Train with adversarial noise on the embeddings and with hidden words (MAT)."""
    anchors: bool = True
    """With target labels: train in rounds on sentences with entities of the other domain."""
    distillation: bool = True
    """In the rounds, distil from the previous tagger."""
    rounds: int = Field(3, ge=0)
    """Number of rounds after the first stage; 0: none."""
    share: float = Field(0.25, gt=0)
    """Length of a round without distillation, as a share of the usual number of updates."""
    teacher: float = Field(0.98, gt=0, lt=1)
    """Weight of the distillation loss; the tagging loss has 1 minus this weight, as in PDALN."""
    round_epochs: float = Field(4.0, gt=0)
    """Passes over the anchors in a round with distillation."""
    round_rate: float = Field(0.25, gt=0)
    """Learning rate of a round, as a factor of the run's learning rate."""
    separate_heads: bool | None = None
    """Add a last stage with one head per domain; null: only with target labels and target-dev."""
    domain_tuning: TuningSettings = TuningSettings()
    """Settings of the domain tuning of the encoder."""
    masked_noise: MaskedNoiseSettings = MaskedNoiseSettings()
    """Settings of the adversarial noise and the hidden words."""
    anchor: AnchorSettings = AnchorSettings()
    """Settings for creating anchors: sentences with entities from the other domain."""


# of the stage with separate heads: its share of the usual updates, and evaluations if the selector looks at the target
SEPARATE_HEADS_SHARE, EVALUATIONS = 0.5, 10


def check_plan(tagger: Tagger, plan: Plan) -> tuple[str, ...]:
    return (*check_composition(tagger, composed(tagger, plan)), *left_out(plan))


def acclimate(tagger: Tagger, plan: Plan) -> Iterator[Stage]:
    return compose(tagger, composed(tagger, plan))


def remodel(tagger: Tagger, plan: Plan) -> tuple[str, ...]:
    return remodel_for(tagger, composed(tagger, plan))


def composed(tagger: Tagger, plan: Plan) -> Plan:
    return replace(plan, options=complete(ComposeSettings, composition(tagger, plan), where="recipe acclimate"))


def composition(tagger: Tagger, plan: Plan) -> dict[str, Any]:
    """The stages as `compose` takes them: what the options ask for and the data allow."""
    options: AcclimateSettings = plan.options
    few = len(plan.target.labelled()) > 0
    stages: list[dict[str, Any]] = []
    if is_language_model(tagger) if options.tuning is None else options.tuning:
        stages.append({"name": "domain-tuning", "domain_tuning": options.domain_tuning.model_dump()})
    if plan.for_target:  # each domain has its own labels: no stage may mix their tags
        two_heads = {"name": "learn", "separate_heads": True, "beside": ["target-labelled"]}
        return {"stages": [*stages, {**two_heads, "objectives": task("both", options)}]}
    stages.append({"name": "learn", "objectives": task("both" if few else "source", options)})
    if options.rounds and options.anchors and has_anchors(plan):
        stages.append(anchor_rounds(tagger, plan))
    if few and (chooses_for_target(plan) if options.separate_heads is None else options.separate_heads):
        stages.append(separate_heads(tagger, plan))
    return {"stages": stages}


def task(side: str, options: AcclimateSettings) -> dict[str, Any]:
    if not options.noise:
        return {"tagging": {"settings": {"side": side}}}
    return {"mat": {"settings": {"side": side, **options.masked_noise.model_dump()}}}


def anchor_rounds(tagger: Tagger, plan: Plan) -> dict[str, Any]:
    """PDALN's rounds: anchors in the source's place, and the tagger of the last round teaches on them."""
    options: AcclimateSettings = plan.options
    tagging: dict[str, Any] = {"settings": {"side": "both"}}
    stage = {
        "name": "round",
        "learns": ["anchors"],
        "objectives": {"tagging": tagging},
        "rounds": options.rounds,
        "learning_rate": round_rate(tagger, plan),
        "anchors": options.anchor,
    }
    if not options.distillation:
        return {**stage, "share": options.share}
    distillation = {"weight": options.teacher, "settings": {"side": "source"}}
    objectives = {"tagging": {"weight": 1 - options.teacher, **tagging}, "distillation": distillation}
    return {**stage, "objectives": objectives, "epochs": options.round_epochs}


def separate_heads(tagger: Tagger, plan: Plan) -> dict[str, Any]:
    """Both corpora on one encoder, with a head each: the source's annotation rules no longer bind the target's head."""
    options: AcclimateSettings = plan.options
    on_target = chooses_for_target(plan)  # a selector that looks at the source would undo this stage
    return {
        "name": "separate_heads",
        "separate_heads": True,
        "objectives": task("both", options),
        "share": SEPARATE_HEADS_SHARE,
        "learning_rate": round_rate(tagger, plan),
        "keep_best": on_target,
        "evaluations": EVALUATIONS if on_target else None,
        "to_the_end": not on_target,
    }


def round_rate(tagger: Tagger, plan: Plan) -> float:
    """The learning rate after the first stage."""
    options: AcclimateSettings = plan.options
    return options.round_rate * (plan.training.learning_rate or default_learning_rate(tagger))


def left_out(plan: Plan) -> tuple[str, ...]:
    """Warnings about parts that were asked for and that the data do not allow."""
    options: AcclimateSettings = plan.options
    if plan.for_target:
        return ("Left out, since source and target have labels of their own: rounds.",) if options.rounds else ()
    if options.separate_heads and not len(plan.target.labelled()):
        return ("There was no stage separate_heads: no target sentence is labelled.",)
    return ()


def has_anchors(plan: Plan) -> bool:
    """Whether an entity can be exchanged at all."""
    options: AcclimateSettings = plan.options
    few = plan.target.labelled()
    if not len(few):
        return False
    try:
        return len(exchanged(plan.source.labelled(), few, options.anchor, plan.seed * 1_000).variants) > 0
    except InputError:  # plain tags, or no label in common
        return False


ACCLIMATE = Recipe(
    "acclimate",
    "parts of several papers together: domain tuning, masked noise; with labels anchors and teaching in rounds",
    acclimate,
    AcclimateSettings,
    own_tagger="other labels",
    check=check_plan,
    remodel=remodel,
    sibling=Sibling("source"),
)

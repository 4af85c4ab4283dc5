"""Parts of several papers, put together: tune the encoder to the target's text, learn to tag under masked noise, and,
where a few target sentences are labelled, learn anchors in rounds, taught by the last round's tagger. Where others of
them choose the state, both corpora are learnt once more, the source with a head of its own.

On request both domains are made alike, sentences are told from one another, and there are rounds without labels, too:
taught by the last round's tagger or by its own labels; and the labelled target sentences come last, alone. What has not
shown a gain is off (docs/how-to/compose-a-recipe.md).

Written on the parts of `compose`: every part can be switched, and `composition` shows what is left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pydantic import Field

from acclimate.data.problems import InputError
from acclimate.model.tagger import Tagger
from acclimate.recipes.compose import check_plan as check_composition
from acclimate.recipes.compose import compose
from acclimate.recipes.compose import remodel as remodel_for
from acclimate.recipes.compose_stages import ComposeSettings, unlabelled
from acclimate.recipes.domain_tuning import AdversarialMaskingSettings, is_language_model
from acclimate.recipes.mat import MaskedNoiseSettings
from acclimate.recipes.pdaln import AnchorSettings, exchanged
from acclimate.recipes.recipe import Plan, Recipe, Sibling, chooses_for_target
from acclimate.settings import Settings, complete
from acclimate.training.optimizers import default_learning_rate
from acclimate.training.stage import Stage


class TuningSettings(AdversarialMaskingSettings):
    """Domain tuning as it pays best: how much is read matters more than which words are hidden."""

    masking: str = "random"
    """Masking policy that chooses the hidden words; see docs/how-to/tune-an-encoder.md."""


class AcclimateSettings(Settings):
    """Which parts there are, and how much each counts."""

    tuning: bool | None = None
    """Tune the encoder to the target domain first; null: yes if the encoder is a masked language model."""
    alignment: bool = False
    """Align the features of both domains by MMD: sentences, and with target labels also words of the same tag."""
    contrast: bool = False
    """Add a contrastive loss between each sentence and an edited copy of it."""
    noise: bool = True
    """Train with adversarial noise on the embeddings and with hidden words (MAT)."""
    anchors: bool | None = None
    """In the rounds, train on sentences with entities of the other domain; null: with target labels, unless finish."""
    self_labels: bool = False
    """In the rounds, train on the tagger's own predictions for the target sentences it is most confident about."""
    distillation: bool | None = None
    """In the rounds, distil from the previous tagger, on anchors or else on target text; null: only on anchors."""
    rounds: int = Field(3, ge=0)
    """Number of rounds after the first stage; 0: none."""
    share: float = Field(0.25, gt=0)
    """Length of a round without a teacher on anchors, as a share of the usual number of updates."""
    keep: float = Field(0.5, gt=0, le=1)
    """With self_labels: share of target sentences to train on, the most confident first."""
    alpha: float = Field(0.1, gt=0)
    """With alignment: weight of the loss that aligns sentences."""
    beta: float = Field(0.1, gt=0)
    """With alignment: weight of the loss that aligns words of the same tag."""
    believe: float = Field(0.5, gt=0)
    """With self_labels: weight of the loss on the tagger's own predictions."""
    gamma: float = Field(0.5, gt=0)
    """Weight of the distillation loss on target text, beside the tagging loss."""
    teacher: float = Field(0.98, gt=0, lt=1)
    """Weight of the distillation loss on anchors; the other losses share 1 minus this weight, as in PDALN."""
    round_epochs: float = Field(4.0, gt=0)
    """Passes over the anchors in a round with a teacher on anchors."""
    round_rate: float = Field(0.25, gt=0)
    """Learning rate of a round, as a factor of the run's learning rate."""
    separate_heads: bool | None = None
    """Add a last stage with one head per domain; null: only with target labels, target-dev and no finish."""
    apart_share: float = Field(0.5, gt=0)
    """With separate_heads: length of that stage, as a share of the usual number of updates."""
    finish: bool = False
    """Train on the source without target labels first, and end with a stage on the labelled target sentences alone."""
    finish_updates: int = Field(100, ge=1)
    """With finish: minimum number of updates in the last stage; it makes at least two passes over its sentences."""
    finish_rate: float = Field(0.5, gt=0)
    """With finish: learning rate of the last stage, as a factor of the run's learning rate."""
    finish_noise: bool = True
    """With finish: keep the noise on in the last stage, if `noise` is on."""
    domain_tuning: TuningSettings = TuningSettings()
    """Settings of the domain tuning of the encoder."""
    masked_noise: MaskedNoiseSettings = MaskedNoiseSettings()
    """Settings of the adversarial noise and the hidden words."""
    anchor: AnchorSettings = AnchorSettings()
    """Settings for creating anchors: sentences with entities from the other domain."""


FINISH_PASSES = 2  # over the labelled target sentences, at least
EVALUATIONS = 10  # at stages that only a selector which looks at the target may choose in


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
    stages: list[dict[str, Any]] = []
    if is_language_model(tagger) if options.tuning is None else options.tuning:
        stages.append({"name": "domain-tuning", "domain_tuning": options.domain_tuning.model_dump()})
    if plan.for_target:
        return {"stages": [*stages, with_two_heads(plan), *([finishing(tagger, plan)] if finishes(plan) else [])]}
    stages.append({"name": "learn", "objectives": task(plan) | alignment(plan)})
    rounds = rounds_of(tagger, plan)
    if rounds is not None:
        stages.append(rounds)
    if parts(plan):
        stages.append(parting(tagger, plan))
    if finishes(plan):
        stages.append(finishing(tagger, plan))
    return {"stages": stages}


def with_two_heads(plan: Plan) -> dict[str, Any]:
    """Both corpora on one encoder from the first, each with a head for its own labels: no stage may mix their tags."""
    options: AcclimateSettings = plan.options
    return {
        "name": "learn",
        "separate_heads": True,
        "beside": ["target-labelled"],
        "objectives": task_on("both", options, options.noise),
    }


def parts(plan: Plan) -> bool:
    """Left to the data: where it was measured, with a selector that may take it back
    (docs/explanation/results/leaderboard.md)."""
    options: AcclimateSettings = plan.options
    wanted = (
        chooses_for_target(plan) and not finishes(plan) if options.separate_heads is None else options.separate_heads
    )
    return wanted and len(plan.target.labelled()) > 0


def parting(tagger: Tagger, plan: Plan) -> dict[str, Any]:
    """Both corpora on one encoder, each with a head of its own: what the source calls an entity no longer binds."""
    options: AcclimateSettings = plan.options
    return {
        "name": "separate_heads",
        "separate_heads": True,
        "objectives": task_on("both", options, options.noise),
        "share": options.apart_share,
        "learning_rate": round_rate(tagger, plan),
        **chosen_by_target(plan),
    }


def chosen_by_target(plan: Plan) -> dict[str, Any]:
    """For stages that leave the source behind: a selector that looks at the source would undo them."""
    knows = chooses_for_target(plan)
    return {"keep_best": knows, "evaluations": EVALUATIONS if knows else None, "to_the_end": not knows}


def finishes(plan: Plan) -> bool:
    options: AcclimateSettings = plan.options
    return options.finish and len(plan.target.labelled()) > 0


def finishing(tagger: Tagger, plan: Plan) -> dict[str, Any]:
    """The labelled target sentences alone: what the source's annotators did otherwise is unlearnt."""
    options: AcclimateSettings = plan.options
    words = sum(map(len, plan.target.labelled()))
    passes = math.ceil(FINISH_PASSES * words / plan.training.words_per_batch)
    updates = max(options.finish_updates, passes)
    return {
        "name": "finish",
        "learns": ["target-labelled"],
        "objectives": task_on("source", options, options.noise and options.finish_noise),
        "updates": updates if plan.training.updates is None else min(updates, plan.training.updates),
        "learning_rate": options.finish_rate * usual_rate(tagger, plan),
        **chosen_by_target(plan),
    }


def rounds_of(tagger: Tagger, plan: Plan) -> dict[str, Any] | None:
    """What is left to the data: anchors where there are any, and a teacher on them. What one brings without labels is
    not settled (docs/explanation/results/leaderboard.md)."""
    options: AcclimateSettings = plan.options
    if not options.rounds:
        return None
    wants_anchors = not finishes(plan) if options.anchors is None else options.anchors
    on_anchors = wants_anchors and has_anchors(plan)
    has_teacher = on_anchors if options.distillation is None else options.distillation
    if on_anchors and has_teacher and not options.self_labels:
        return taught_on_anchors(tagger, plan)
    return teaching(tagger, plan, on_anchors, has_teacher)


def task(plan: Plan) -> dict[str, Any]:
    """Tags of the source, and of the labelled target sentences, which are in every batch unless they come last."""
    options: AcclimateSettings = plan.options
    alone = finishes(plan) or not len(plan.target.labelled())
    return task_on("source" if alone else "both", options, options.noise)


def task_on(side: str, options: AcclimateSettings, noise: bool) -> dict[str, Any]:
    if not noise:
        return {"tagging": {"settings": {"side": side}}}
    return {"mat": {"settings": {"side": side, **options.masked_noise.model_dump()}}}


def alignment(plan: Plan) -> dict[str, Any]:
    options: AcclimateSettings = plan.options
    told_apart = {"contrast": 1.0} if options.contrast else {}
    if not options.alignment:
        return told_apart
    words = {"word-mmd": options.beta} if len(plan.target.labelled()) else {}
    return {"sentence-mmd": options.alpha, **words, **told_apart}


def taught_on_anchors(tagger: Tagger, plan: Plan) -> dict[str, Any]:
    """PDALN's rounds: anchors in the source's place, and the last round's tagger teaches on them."""
    options: AcclimateSettings = plan.options
    rest = 1 - options.teacher
    others = {name: rest * weight for name, weight in alignment(plan).items()}
    return {
        "name": "round",
        "learns": ["anchors"],
        "objectives": {
            "tagging": {"weight": rest, "settings": {"side": "both"}},
            **others,
            "distillation": {"weight": options.teacher, "settings": {"side": "source"}},
        },
        "rounds": options.rounds,
        "epochs": options.round_epochs,
        "learning_rate": round_rate(tagger, plan),
        "anchors": options.anchor,
    }


def teaching(tagger: Tagger, plan: Plan, on_anchors: bool, has_teacher: bool) -> dict[str, Any] | None:
    """The rounds: the source, or anchors in its place, and the target under the tagger's own tags. None without any
    of that."""
    options: AcclimateSettings = plan.options
    text = len(unlabelled(plan)) > 0
    learns = ["anchors"] if on_anchors else ["source"]
    taught: dict[str, Any] = {"target-tagging": options.believe} if options.self_labels and text else {}
    if has_teacher:
        taught["distillation"] = {"weight": options.gamma, "settings": {"side": "target"}}
    if not (taught or on_anchors):
        return None
    beside = ["pseudo-labelled"] if options.self_labels and text else None
    few = len(plan.target.labelled()) > 0 and "target-tagging" not in taught
    objectives = {"tagging": {"settings": {"side": "both" if few else "source"}}, **taught}
    return {
        "name": "round",
        "learns": learns,
        "beside": beside,
        "objectives": objectives,
        "rounds": options.rounds,
        "share": options.share,
        "learning_rate": round_rate(tagger, plan),
        "keep": options.keep,
        "anchors": options.anchor,
    }


def round_rate(tagger: Tagger, plan: Plan) -> float:
    """Learning rate of a round: a tagger that has learnt is taught with care."""
    options: AcclimateSettings = plan.options
    return options.round_rate * usual_rate(tagger, plan)


def usual_rate(tagger: Tagger, plan: Plan) -> float:
    return plan.training.learning_rate or default_learning_rate(tagger)


def left_out(plan: Plan) -> tuple[str, ...]:
    """Parts that were asked for, and that the data do not allow: they are not left out without a word."""
    options: AcclimateSettings = plan.options
    said = []
    if plan.for_target:
        asked = {"rounds": options.rounds > 0, "alignment": options.alignment, "contrast": options.contrast}
        names = ", ".join(name for name, is_asked in asked.items() if is_asked)
        return (f"Left out, since source and target have labels of their own: {names}.",) if names else ()
    if options.rounds and options.anchors and not has_anchors(plan):
        why = "no entity can be exchanged" if len(plan.target.labelled()) else "no target sentence is labelled"
        said.append(f"No anchors were learnt from: {why}.")
    for part in ("separate_heads", "finish"):
        if getattr(options, part) and not len(plan.target.labelled()):
            said.append(f"There was no stage {part}: no target sentence is labelled.")
    if options.rounds and options.self_labels and not len(unlabelled(plan)):
        said.append("The tagger labelled nothing itself: every target sentence has labels.")
    return tuple(said)


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

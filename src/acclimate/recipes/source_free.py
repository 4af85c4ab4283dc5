"""Adapt a trained tagger on target text alone: it predicts hidden words (domain tuning), and a moving-average teacher
teaches it on harder readings, while its weights stay near the start. A guard without labels chooses the state, or else
labelled target sentences. With a source it begins with plain training on it.

A few labelled sentences are learnt first. Fine-tuning on few sentences learns them by heart and forgets much else.
Weights between the start and the end of fine-tuning often tag better than both ends (Wortsman et al. 2022, "Robust
fine-tuning of zero-shot models"). How far to go is chosen by cross-validation: each fold of the sentences is tagged by
what was learnt from the others."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean

import torch
from pydantic import Field
from torch import Tensor

from acclimate.data.batches import SOURCE, TARGET
from acclimate.data.corpus import Corpus
from acclimate.evaluation.counts import Tally
from acclimate.evaluation.scores import score
from acclimate.inference.predict import predict
from acclimate.methods.masking.policy import Uniform
from acclimate.methods.objective import Objective, Tagging
from acclimate.methods.teachers import HarderReading, NearStart, Teaching, lower_cased
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.language_model import mlm_head_for
from acclimate.model.tagger import Tagger
from acclimate.recipes.baselines import long_enough
from acclimate.recipes.domain_tuning import MaskingSettings, is_language_model, masked_words
from acclimate.recipes.recipe import Plan, Recipe, chooses_for_target, unlabelled
from acclimate.recipes.tuning_text import held_out
from acclimate.settings import Settings, UsageError
from acclimate.spelling import count
from acclimate.training.settings import TrainingSettings, default_learning_rate
from acclimate.training.stage import LastUpdate, Selector, Stage


@dataclass(frozen=True)
class Agreement(Selector):
    """Scores a tagger by how far its answers to these sentences are those of another tagger, its teacher."""

    answers: Corpus  # the teacher's

    @property
    def name(self) -> str:
        return f"agreement with the teacher ({count(len(self.answers), 'sentence')})"

    def __call__(self, tagger: Tagger) -> float:
        return agreement(self.answers, predict(tagger, self.answers))

    def describe(self, score: float) -> str:
        return f"agreement {100 * score:.2f}"


@dataclass(frozen=True)
class Guard(Agreement):
    """Scores a tagger without labels: the agreement of its answers on lower-cased target text with the first answers on
    the text as it is. 0 for a tagger that has drifted: whose answers on the text as it is no longer agree with the
    first ones."""

    text: Corpus  # without tags; the answers are those of the tagger as it began
    least: float  # agreement below this is drift

    @classmethod
    def of(cls, tagger: Tagger, text: Corpus, least: float) -> Guard:
        return cls(predict(tagger, text), text, least)

    @property
    def name(self) -> str:
        return f"steadiness on target text ({count(len(self.text), 'sentence')})"

    def __call__(self, tagger: Tagger) -> float:
        if agreement(self.answers, predict(tagger, self.text), by_type=True) < self.least:
            return 0.0
        return agreement(self.answers, predict(tagger, self.text.map(lower_cased)))

    def describe(self, score: float) -> str:
        return f"steadiness {100 * score:.2f}" if score else "drifted"


def agreement(one: Corpus, other: Corpus, by_type: bool = False) -> float:
    """Agreement of two answers to the same sentences: span F1 (or its mean over types), for plain tags accuracy."""
    pairs = list(zip(one, other, strict=True))
    if one.kind == "plain":
        words = [a == b for mine, theirs in pairs for a, b in zip(mine.tags or (), theirs.tags or (), strict=True)]
        return sum(words) / len(words)
    tallies: dict[str, Tally] = defaultdict(Tally)
    for mine, theirs in pairs:
        for label in {span.label for span in (*mine.spans, *theirs.spans)}:
            spans = ([span for span in each.spans if span.label == label] for each in (mine, theirs))
            tallies[label] += Tally.of(*spans)
    if not tallies:
        return 1.0
    return fmean(tally.f1 for tally in tallies.values()) if by_type else sum(tallies.values(), Tally()).f1


EVALUATIONS = 5
HELD_OUT = 0.1  # share of the text for the guard


class SourceFreeSettings(Settings):
    """How long and how fast to learn from the target's text, and what keeps the tagger from drifting."""

    updates: int = Field(200, ge=1)
    """Number of updates, if training.updates is not set."""
    rate: float = Field(0.05, gt=0)
    """Learning rate on the text, as a factor of the run's learning rate."""
    labelled_updates: int = Field(150, ge=1)
    """Minimum number of updates on the labelled target sentences, if training.updates is not set."""
    share: float | None = Field(None, ge=0, le=1)
    """How far the weights go from the start to those after the labelled sentences; null: cross-validation chooses."""
    teaching: float = Field(1.0, ge=0)
    """Weight of the loss on the teacher's guesses for the target text; 0: no teaching."""
    tuning: float = Field(0.1, ge=0)
    """Weight of guessing hidden words of the target text, if the encoder is a masked language model; 0: no tuning."""
    stay: float = Field(0.01, ge=0)
    """Weight of half the squared distance of all weights from the start; 0: nothing holds them."""
    decay: float = Field(0.999, ge=0, le=1)
    """Decay of the teacher's moving average; 1: the teacher stays the tagger at the start."""
    hidden: float = Field(0.15, ge=0, lt=1)
    """Share of the words hidden from the student."""
    lower_cased: float = Field(0.3, ge=0, le=1)
    """Share of the sentences that the student reads without capitals."""
    balance: float = Field(0.5, ge=0, le=1)
    """How far rare types count more than frequent ones: 0 counts words alike, 1 counts types alike."""
    guard: float = Field(0.5, ge=0, le=1)
    """Minimum F1 (mean of types) between the tagger's answers before and after the text is learnt; 0: no guard."""


def source_free(tagger: Tagger, plan: Plan) -> Iterator[Stage]:
    options: SourceFreeSettings = plan.options
    few, (text, watched) = plan.target.labelled(), text_of(plan)
    if len(few):
        yield from learn_labels(tagger, plan, few)
    if not learns_text(tagger, plan):
        return
    objectives: dict[str, Objective] = {}
    if len(few):
        objectives["tag"] = Tagging()
    if len(text) and options.teaching:
        harder = HarderReading(options.hidden, options.lower_cased)
        objectives["teach"] = Teaching(tagger, harder, options.decay, options.balance, plan.new_labels)
    if tunes(tagger, plan):
        encoder = tagger.encoder
        assert isinstance(encoder, Transformer)
        objectives["words"] = masked_words(encoder, mlm_head_for(encoder), Uniform(), MaskingSettings())
    if options.stay:
        objectives["near"] = NearStart(tagger)
    weights = {"teach": options.teaching, "words": options.tuning, "near": options.stay}
    yield Stage(
        "source-free",
        objectives,
        plan.batches(tagger, {domain: corpus for domain, corpus in ((SOURCE, few), (TARGET, text)) if len(corpus)}),
        training_of(tagger, plan),
        {name: weight for name, weight in weights.items() if name in objectives},
        selector=selector_of(tagger, plan, watched),
    )


def text_of(plan: Plan) -> tuple[Corpus, Corpus]:
    """The target text to learn from, and the text that the guard watches: held out, unless there is too little."""
    text = unlabelled(plan)
    if not is_guarded(plan):
        return text, Corpus(())
    learnt, watched = held_out(text, HELD_OUT, plan.seed)
    return learnt, watched if len(watched) else text


def is_guarded(plan: Plan) -> bool:
    """Whether the guard chooses the state."""
    options: SourceFreeSettings = plan.options
    return bool(options.guard) and not chooses_for_target(plan)


def selector_of(tagger: Tagger, plan: Plan, watched: Corpus) -> Selector:
    """The run's selector if it scores the target, or else the guard."""
    if plan.selector is not None and chooses_for_target(plan):
        return plan.selector
    return Guard.of(tagger, watched, plan.options.guard) if len(watched) else LastUpdate()


def training_of(tagger: Tagger, plan: Plan) -> TrainingSettings:
    options: SourceFreeSettings = plan.options
    updates = plan.training.updates or options.updates
    return plan.training.model_copy(
        update={
            "updates": updates,
            "learning_rate": options.rate * (plan.training.learning_rate or default_learning_rate(tagger)),
            "evaluate_every": plan.training.evaluate_every or max(1, updates // EVALUATIONS),
        }
    )


def tunes(tagger: Tagger, plan: Plan) -> bool:
    """Whether hidden words are predicted."""
    options: SourceFreeSettings = plan.options
    return options.tuning > 0 and len(unlabelled(plan)) > 0 and is_language_model(tagger)


def learns_text(tagger: Tagger, plan: Plan) -> bool:
    options: SourceFreeSettings = plan.options
    return len(unlabelled(plan)) > 0 and (options.teaching > 0 or tunes(tagger, plan))


def check_plan(tagger: Tagger, plan: Plan) -> tuple[str, ...]:
    options: SourceFreeSettings = plan.options
    if not len(plan.target.labelled()) and not learns_text(tagger, plan):
        raise UsageError(
            "There is nothing to learn: no target sentence is labelled, and nothing is learnt from the text. Set "
            "options.teaching above 0."
        )
    if len(unlabelled(plan)) and options.tuning and not is_language_model(tagger):
        return ("No hidden words are guessed: the language model of this tagger's encoder is not at hand.",)
    return ()


# ------------------------------------------------------------------------------------------- a few labelled sentences

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
RATE = 1 / 3  # of the run's learning rate: the tagger is trained already
FOLDS = 5
FEWEST = 10  # labelled sentences for cross-validation; with fewer the share is DEFAULT_SHARE
DEFAULT_SHARE = 0.5

Weights = dict[str, Tensor]


def learn_labels(tagger: Tagger, plan: Plan, few: Corpus) -> Iterator[Stage]:
    """The stages of fine-tuning. Afterwards the tagger has gone the share of the way that is set or chosen."""
    start, share, how = weights_of(tagger), plan.options.share, "as options.share says"
    if share is None and not chooses_for_target(plan):
        share, how = yield from cross_validated(tagger, plan, few)
    yield fine_tuning(tagger, plan, few, "labels")
    end = weights_of(tagger)
    if share is None:
        assert plan.selector is not None
        share = best_of({each: plan.selector(tagger) for each in interpolated(tagger, start)})
        how = f"chosen by {plan.selector.name}"
    tagger.load_state_dict(between(start, end, share))
    labels = count(len(few), "labelled sentence")
    plan.remarks.append(f"The weights went {share:.0%} of the way from the start to what {labels} teach: {how}.")


def cross_validated(tagger: Tagger, plan: Plan, few: Corpus) -> Generator[Stage, None, tuple[float, str]]:
    """The share after which each fold is tagged best by what was learnt from the others, and how it was chosen."""
    if len(few) < FEWEST:
        return DEFAULT_SHARE, f"fewer than {FEWEST} sentences are too few to choose"
    start = weights_of(tagger)
    tallies = dict.fromkeys(SHARES, Tally())
    for number, (learnt, fold) in enumerate(folds(few, FOLDS, plan.seed), 1):
        yield fine_tuning(tagger, plan, learnt, f"fold-{number}")
        for share in interpolated(tagger, start):
            tallies[share] += score(fold, predict(tagger, fold)).span
        tagger.load_state_dict(start)
    f1 = {share: tally.f1 for share, tally in tallies.items()}
    found = ", ".join(f"{100 * f1[share]:.1f} at {share:.0%}" for share in SHARES)
    return best_of(f1), f"chosen by {FOLDS}-fold cross-validation (F1 {found})"


def best_of(scores: Mapping[float, float]) -> float:
    """The share with the best score; of equal ones the nearest to the start."""
    return max(SHARES, key=lambda share: scores[share])


def fine_tuning(tagger: Tagger, plan: Plan, few: Corpus, name: str) -> Stage:
    batches = plan.batches(tagger, {SOURCE: few})
    training = long_enough(plan.training, batches.epoch_length, plan.options.labelled_updates)
    rate = RATE * (training.learning_rate or default_learning_rate(tagger))
    training = training.model_copy(update={"learning_rate": rate})
    return Stage(name, {"tag": Tagging()}, batches, training, selector=LastUpdate())


def interpolated(tagger: Tagger, start: Weights) -> Iterator[float]:
    """Give the tagger the weights at each share of the way from the start to its own, one after the other."""
    end = weights_of(tagger)
    for share in SHARES:
        tagger.load_state_dict(between(start, end, share))
        yield share


def between(start: Weights, end: Weights, share: float) -> Weights:
    return {name: torch.lerp(start[name], own, share) if own.is_floating_point() else own for name, own in end.items()}


def weights_of(tagger: Tagger) -> Weights:
    return {name: weight.detach().clone() for name, weight in tagger.state_dict().items()}


def folds(few: Corpus, number: int, seed: int) -> list[tuple[Corpus, Corpus]]:
    """Random folds with nearly as many labelled spans each: the sentences of the others, and those of the fold."""
    order = list(range(len(few)))
    random.Random(seed).shuffle(order)
    if few.kind != "plain":
        order.sort(key=lambda place: len(few[place].spans))
    parts = [order[first::number] for first in range(number)]
    return [(few.select([place for place in order if place not in part]), few.select(part)) for part in parts]


SOURCE_FREE = Recipe(
    "source-free",
    "adapt a trained tagger without its source: from a few labels, from target text, or both",
    source_free,
    SourceFreeSettings,
    needs_source=False,
    starts_from_baseline=True,
    check=check_plan,
)

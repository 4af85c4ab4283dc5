"""Learn a few labelled sentences and forget little: fine-tune, then go back part of the way to the start.

Fine-tuning on few sentences learns them by heart and forgets much else. Weights between the start and the end of
fine-tuning often tag better than both ends (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models"). How far to
go is chosen by cross-validation: each fold of the sentences is tagged by what was learnt from the others.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator, Mapping

import torch
from torch import Tensor

from acclimate.data.batches import SOURCE
from acclimate.data.corpus import Corpus
from acclimate.evaluation.counts import Tally
from acclimate.evaluation.scores import score
from acclimate.inference.predict import predict
from acclimate.methods.objective import Tagging
from acclimate.model.tagger import Tagger
from acclimate.recipes.baselines import long_enough
from acclimate.recipes.recipe import Plan, chooses_for_target
from acclimate.spelling import count
from acclimate.training.settings import default_learning_rate
from acclimate.training.stage import LastUpdate, Stage

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
RATE = 1 / 3  # of the run's learning rate: the tagger is trained already
FOLDS = 5
FEWEST = 10  # labelled sentences for cross-validation; with fewer the share is DEFAULT_SHARE
DEFAULT_SHARE = 0.5

Weights = dict[str, Tensor]


def learn_labels(tagger: Tagger, plan: Plan, few: Corpus, least_updates: int, share: float | None) -> Iterator[Stage]:
    """The stages of fine-tuning. Afterwards the tagger has the weights at `share` of the way; None: a chosen share."""
    start, how = weights_of(tagger), "as options.share says"
    if share is None and not chooses_for_target(plan):
        share, how = yield from cross_validated(tagger, plan, few, least_updates)
    yield fine_tuning(tagger, plan, few, least_updates, "labels")
    end = weights_of(tagger)
    if share is None:
        assert plan.selector is not None
        share = best_of({each: plan.selector(tagger) for each in interpolated(tagger, start)})
        how = f"chosen by {plan.selector.name}"
    tagger.load_state_dict(between(start, end, share))
    labels = count(len(few), "labelled sentence")
    plan.remarks.append(f"The weights went {share:.0%} of the way from the start to what {labels} teach: {how}.")


def cross_validated(
    tagger: Tagger, plan: Plan, few: Corpus, least_updates: int
) -> Generator[Stage, None, tuple[float, str]]:
    """The share after which each fold is tagged best by what was learnt from the others, and how it was chosen."""
    if len(few) < FEWEST:
        return DEFAULT_SHARE, f"fewer than {FEWEST} sentences are too few to choose"
    start = weights_of(tagger)
    tallies = dict.fromkeys(SHARES, Tally())
    for number, (learnt, held_out) in enumerate(folds(few, FOLDS, plan.seed), 1):
        yield fine_tuning(tagger, plan, learnt, least_updates, f"fold-{number}")
        for share in interpolated(tagger, start):
            tallies[share] += score(held_out, predict(tagger, held_out)).span
        tagger.load_state_dict(start)
    f1 = {share: tally.f1 for share, tally in tallies.items()}
    found = ", ".join(f"{100 * f1[share]:.1f} at {share:.0%}" for share in SHARES)
    return best_of(f1), f"chosen by {FOLDS}-fold cross-validation (F1 {found})"


def best_of(scores: Mapping[float, float]) -> float:
    """The share with the best score; of equal ones the nearest to the start."""
    return max(SHARES, key=lambda share: scores[share])


def fine_tuning(tagger: Tagger, plan: Plan, few: Corpus, least_updates: int, name: str) -> Stage:
    batches = plan.batches(tagger, {SOURCE: few})
    training = long_enough(plan.training, batches.epoch_length, least_updates)
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

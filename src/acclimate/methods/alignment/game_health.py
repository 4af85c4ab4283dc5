"""How the game of encoder against discriminator goes, watched on sentences that neither has learnt from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from acclimate.data.batches import SOURCE, TARGET
from acclimate.data.corpus import Sentence
from acclimate.methods.alignment.domain_discriminator import DomainDiscriminator
from acclimate.model.learner import Learner
from acclimate.model.listening import listening
from acclimate.model.view import View

FEWEST_LOOKS = 3  # fewer may all fall into a passing phase: such games swing
NEAR_CHANCE = 0.03  # a discriminator that is right 53 times in 100 has hardly a direction to push features in
WON = 0.95  # one that errs once in twenty has its way: the features still say where a sentence comes from
OUTRUN = 0.25  # one that is mostly wrong cannot keep up: the features differ as before, only the other way round
STANDARD_ERRORS = 2.0  # the accuracy of pure guessing strays so far, and seldom further
WIDEST = 0.1  # where guessing may stray further than this, a fair discriminator cannot be told from a guessing one
FEWEST_SENTENCES = 20  # a fairly good discriminator may be right on all of fewer by luck
_AT_ONCE = 64  # sentences


@dataclass(frozen=True)
class Game:
    """Looks at the discriminator from time to time; it changes nothing and draws no random numbers."""

    discriminator: DomainDiscriminator
    held_out: Mapping[str, Sequence[Sentence]]  # by domain
    kind: str = "game"  # of the rows in a run's record

    def __post_init__(self) -> None:
        if set(self.held_out) != {SOURCE, TARGET} or not all(map(len, self.held_out.values())):
            found = ", ".join(f"{len(part)} of {domain!r}" for domain, part in self.held_out.items()) or "none"
            raise ValueError(f"Watching the game takes held-out sentences of source and target; given: {found}.")

    def __call__(self, learner: Learner) -> dict[str, float]:
        """`source_accuracy`, `target_accuracy`, and their mean `accuracy`: 0.5 is chance whatever the sizes. `loss` is
        the mean of both domains' as well. `sentences` is how many were looked at; for domains of unlike size, how many
        of like size would be as sure."""
        accuracies, losses = {}, {}
        with listening(learner), listening(self.discriminator), torch.no_grad():
            for domain in (SOURCE, TARGET):
                logits = torch.cat(list(self._logits(learner, domain)))  # (sentence)
                right = (logits > self.discriminator.border) == (domain == SOURCE)
                accuracies[domain] = float(right.double().mean())
                losses[domain] = float(self.discriminator.losses(logits, domain == SOURCE).double().mean())
        return {
            "accuracy": sum(accuracies.values()) / 2,
            "source_accuracy": accuracies[SOURCE],
            "target_accuracy": accuracies[TARGET],
            "loss": sum(losses.values()) / 2,
            "sentences": round(4 / sum(1 / len(part) for part in self.held_out.values())),
        }

    def _logits(self, learner: Learner, domain: str) -> Iterator[Tensor]:
        sentences = self.held_out[domain]
        for start in range(0, len(sentences), _AT_ONCE):
            # without tags: they do not matter here, and the learner may not know those of the other domain
            part = [sentence.with_tags(None) for sentence in sentences[start : start + _AT_ONCE]]
            view = learner.view(part, domain)
            assert isinstance(view, View)
            yield self.discriminator.logits(view, reverse=False)


def verdict(rows: Sequence[Mapping[str, Any]]) -> str | None:
    """What is wrong with the game that these rows of a record tell of, and what to try; None when nothing is, or when
    there is too little to judge by. Rows of other kinds, or without an accuracy, are passed over."""
    looks = [row for row in rows if row.get("kind", "game") == "game" and isinstance(row.get("accuracy"), (int, float))]
    if len(looks) < FEWEST_LOOKS:
        return None
    accuracies = [float(row["accuracy"]) for row in looks]
    sentences = min(float(row.get("sentences", math.inf)) for row in looks)
    last = accuracies[-FEWEST_LOOKS:]
    is_enough = sentences >= FEWEST_SENTENCES
    if is_enough and min(last) > WON:
        return (
            f"The discriminator told the domains apart to the end (accuracy {last[-1]:.2f}): the shared features were "
            "not made alike, so try a larger options.strength, or switch options.ramp off if it is on."
        )
    if is_enough and max(last) < OUTRUN:
        return (
            f"The discriminator was wrong about most sentences to the end (accuracy {last[-1]:.2f}): the features "
            "move away faster than it can follow, so try a smaller options.strength, or options.ramp so that it learns "
            "first."
        )
    margin = max(NEAR_CHANCE, STANDARD_ERRORS * 0.5 / math.sqrt(sentences))
    if max(abs(accuracy - 0.5) for accuracy in accuracies) <= margin <= WIDEST:
        return (
            f"The discriminator was no better than chance at any of {len(looks)} looks (accuracy {min(accuracies):.2f} "
            f"to {max(accuracies):.2f}), so it had nothing to teach the features: try a smaller options.strength, or "
            "options.ramp so that it learns first; if that changes nothing, the domains may already look alike to it."
        )
    return None

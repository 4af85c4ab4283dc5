"""Which state of a training run to keep, on which split that is decided, and what else to write down on the way."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from acclimate.data.corpus import Corpus, Sentence
from acclimate.evaluation.scores import score
from acclimate.inference.predict import predict
from acclimate.methods.masked_words import MaskedWords
from acclimate.methods.masking.masked_batch import hide
from acclimate.model.learner import Learner, View, eval_mode
from acclimate.model.tagger import Tagger
from acclimate.spelling import count


class Selector(Protocol):
    """Gives a learner a number, the higher the better. Its name goes into every report."""

    @property
    def name(self) -> str: ...

    @property
    def is_blind(self) -> bool:
        """True when it prefers nothing: the last state is kept."""
        ...

    @property
    def lowest(self) -> float:
        """The number of a learner that has learnt nothing yet. Patience begins above it."""
        ...

    def told(self, score: float) -> str:
        """The number as people read it; empty when there is nothing to say."""
        ...

    def __call__(self, learner: Any, /) -> float: ...


@dataclass(frozen=True)
class DevelopmentScore:
    """Span F1 (accuracy for plain tags) on held-out labelled sentences of a named split."""

    corpus: Corpus
    split: str = "source dev"
    is_blind: bool = False
    lowest: float = 0.0
    of_target: bool = False  # these are sentences of the target

    @property
    def _measure(self) -> str:
        return "accuracy" if self.corpus.kind == "plain" else "span F1"

    @property
    def name(self) -> str:
        return f"{self._measure} on {self.split} ({count(len(self.corpus), 'sentence')})"

    def __call__(self, tagger: Tagger) -> float:
        found = score(self.corpus, predict(tagger, self.corpus))
        return found.token.accuracy if self.corpus.kind == "plain" else found.span.f1

    def told(self, score: float) -> str:
        return f"{self._measure} {100 * score:.2f} on {self.split}"


@dataclass(frozen=True)
class HeldOutLoss:
    """Minus the loss of guessing hidden pieces of held-out text, in nats per piece, always with the same ones hidden.

    Blind in pre-training, where the last state is kept; in domain tuning it chooses.
    """

    parts: Callable[[], Iterable[Any]]  # one after the other, each what the learner's `view` takes
    objective: MaskedWords
    size: str  # how much text that is, for people
    is_blind: bool = False
    lowest: float = -math.inf  # a loss has no such bound

    @property
    def name(self) -> str:
        return f"loss on held-out text ({self.size})"

    @torch.no_grad()
    def __call__(self, learner: Learner) -> float:
        objective = self.objective.to(learner.device)
        devices = [learner.device] if learner.device.type == "cuda" else []
        total, count = torch.zeros(2, device=learner.device)
        # the training's own stream of random numbers goes on undisturbed
        with eval_mode(objective), eval_mode(learner), torch.random.fork_rng(devices):
            torch.manual_seed(0)
            for part in self.parts():
                batch = objective.batch(learner.view(part))
                hidden = hide(batch, objective.policy(batch))
                mean, _ = objective.losses(*batch.model, batch.pieces, hidden, batch.attention)
                total += mean * hidden.counts.sum()
                count += hidden.counts.sum()
        return -float(total / count.clamp(min=1))

    def told(self, score: float) -> str:
        return f"held-out loss {-score:.3f}, perplexity {math.exp(-score):.2f}"


@dataclass(frozen=True)
class LastUpdate:
    """No choice at all: train to the end and keep that."""

    name: str = "last update"
    is_blind: bool = True
    lowest: float = 0.0

    def __call__(self, learner: object) -> float:
        return 0.0

    def told(self, score: float) -> str:
        return ""


@dataclass(frozen=True)
class Confidence:
    """How sure the tagger is of the right tags of a few chosen sentences (MAT, Figure 2).

    For each: the probability of all its tags together, as the head has it, and that of each word's own tag.
    """

    corpus: Corpus
    tagger: Tagger
    kind: str = "confidence"

    @torch.no_grad()
    def __call__(self, learner: Learner) -> dict[str, Any]:
        with eval_mode(self.tagger):
            return {"sentences": [self._sure_of(sentence) for sentence in self.corpus]}

    def _sure_of(self, sentence: Sentence) -> dict[str, Any]:
        view = View(self.tagger, self.tagger.tensorize([sentence]).to(self.tagger.device))
        right = view.marginals[0].gather(-1, view.sentences.tags[0].unsqueeze(-1)).squeeze(-1)  # (word)
        probability = math.exp(-float(view.losses[0]))  # of a long sentence too small for float32
        marginals = [round(value, 6) for value in right.tolist()]
        return {"words": " ".join(sentence.words), "probability": probability, "marginals": marginals}

"""Stages: what is trained on which batches, for how long, and what chooses the state that is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from acclimate.data.batches import SOURCE, TARGET, Batch, Stream
from acclimate.data.corpus import Corpus, Sentence
from acclimate.evaluation.scores import score
from acclimate.inference.predict import predict
from acclimate.methods.masked_words import MaskedWords
from acclimate.methods.masking.masked_batch import hide
from acclimate.methods.objective import Objective
from acclimate.model.acceleration import Acceleration
from acclimate.model.learner import Learner, NoView, View, eval_mode
from acclimate.model.tagger import Tagger
from acclimate.spelling import count
from acclimate.training.settings import LoopSettings, Schedule, TrainingSettings


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

    For each: the probability of all its tags together, as the head has it, and that of each word's own tag, or of all
    that it may have.
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
        tags, odds = view.sentences.tags[0], view.sentences.odds
        known = one_hot(tags, view.marginals.shape[-1]) if odds is None else (odds[0] > 0).float()
        right = (view.marginals[0] * known).sum(-1)  # (word)
        probability = math.exp(-float(view.losses[0]))  # of a long sentence too small for float32
        marginals = [round(value, 6) for value in right.tolist()]
        return {"words": " ".join(sentence.words), "probability": probability, "marginals": marginals}


class TrainingStep(nn.Module):
    """The learner and every term of its loss as one module: one forward call is the whole step.

    So data parallelism, mixed precision and checkpoints see every parameter, and no objective has to know of them.
    """

    def __init__(
        self, learner: Learner, objectives: Mapping[str, Objective], acceleration: Acceleration | None = None
    ) -> None:
        super().__init__()
        self.learner, self.objectives = learner, nn.ModuleDict(dict(objectives))
        self.acceleration = acceleration or Acceleration()

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        with self.acceleration.step():
            source, target = self._view(batch, SOURCE), self._view(batch, TARGET)
            return {name: objective(source, target) for name, objective in self.objectives.items()}

    def scale_losses(self, scale: float) -> None:
        """Tell every objective by what losses are multiplied on their way back."""
        for module in self.objectives.modules():
            if isinstance(module, Objective):
                module.loss_scale = scale

    def before_update(self, update: int) -> None:
        for objective in self.objectives.values():
            assert isinstance(objective, Objective)
            objective.before_update(update)

    def after_update(self) -> None:
        for objective in self.objectives.values():
            assert isinstance(objective, Objective)
            objective.after_update(self.learner)

    def _view(self, batch: Batch, domain: str) -> Any:
        return self.learner.view(batch[domain], domain) if domain in batch else NoView(domain)


class Watch(Protocol):
    """Something to write down along training: numbers, or what JSON can hold, under its kind."""

    @property
    def kind(self) -> str: ...

    def __call__(self, learner: Any, /) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Stage:
    """A named dictionary of objectives with weights, batches, and a number of updates.

    A weight is a number or a schedule; one that is not given is 1.
    """

    name: str
    objectives: Mapping[str, Objective]
    batches: Stream
    settings: LoopSettings = field(default_factory=TrainingSettings)
    weights: Mapping[str, float | Schedule] = field(default_factory=dict)
    learner: Learner | None = None  # what is trained, where it is more than the tagger: the tagger is a part of it
    watches: tuple[Watch, ...] = ()  # asked at every evaluation, for the record
    selector: Selector | None = None  # chooses the state to keep, where the run's own would choose by the wrong thing

    def __post_init__(self) -> None:
        unknown = set(self.weights) - set(self.objectives)
        if unknown or not self.objectives:
            known = ", ".join(self.objectives) or "none"
            raise ValueError(f"Stage {self.name}: weights for {sorted(unknown)}, but its objectives are: {known}.")

    @property
    def updates(self) -> int:
        return self.settings.updates_for(self.batches.epoch_length)

    @property
    def updates_per_epoch(self) -> float:
        return self.settings.updates_per_epoch(self.batches.epoch_length)

    @property
    def evaluate_every(self) -> int:
        return self.settings.evaluate_every or max(1, round(self.updates_per_epoch))

    def shortened(self, share: float) -> Stage:
        """The same with so much of its updates, and evaluations that come as much sooner."""
        if share == 1:
            return self
        less = {name: max(1, round(share * getattr(self, name))) for name in ("updates", "evaluate_every")}
        return replace(self, settings=self.settings.model_copy(update=less))

    def schedule(self) -> Schedule:
        return self.settings.schedule(self.updates, self.batches.epoch_length)

    def total(self, losses: Mapping[str, Tensor], update: int) -> Tensor:
        """The weighted sum that is differentiated. A term of weight 0 is left out altogether."""
        terms = []
        for name, loss in losses.items():
            weight = self.weights.get(name, 1.0)
            value = weight(update) if callable(weight) else weight
            if value != 0:
                terms.append(value * loss)
        if not terms:
            raise ValueError(f"Stage {self.name}: every objective has weight 0 at update {update}.")
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

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
from acclimate.methods.perturbation.adversarial import AdversarialTraining
from acclimate.model.encoders.encoder import Acceleration
from acclimate.model.learner import Learner, NoView, View, eval_mode
from acclimate.model.tagger import Tagger
from acclimate.spelling import count
from acclimate.training.settings import LoopSettings, Schedule, TrainingSettings


class Selector:
    """Gives a learner a score, the higher the better. Its name goes into every report."""

    is_blind: bool = False  # it prefers nothing: the last state is kept
    lowest: float = 0.0  # the score of a learner that has learnt nothing; patience begins above it

    @property
    def name(self) -> str:
        raise NotImplementedError

    def describe(self, score: float) -> str:
        """The score as text for people; may be empty."""
        return ""

    def __call__(self, learner: Any, /) -> float:
        raise NotImplementedError


@dataclass(frozen=True)
class DevelopmentScore(Selector):
    """Span F1 (accuracy for plain tags) on held-out labelled sentences of a named split."""

    corpus: Corpus
    split: str = "source dev"
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

    def describe(self, score: float) -> str:
        return f"{self._measure} {100 * score:.2f} on {self.split}"


@dataclass(frozen=True)
class HeldOutLoss(Selector):
    """Minus the loss of guessing hidden pieces of held-out text, in nats per piece; the same pieces every time."""

    parts: Callable[[], Iterable[Any]]  # batches for the learner's `view`
    objective: MaskedWords
    size: str  # of the text, for people
    is_blind: bool = False  # True in pre-training, where the last state is kept
    lowest: float = -math.inf

    @property
    def name(self) -> str:
        return f"loss on held-out text ({self.size})"

    @torch.no_grad()
    def __call__(self, learner: Learner) -> float:
        objective = self.objective.to(learner.device)
        devices = [learner.device] if learner.device.type == "cuda" else []
        total, count = torch.zeros(2, device=learner.device)
        with eval_mode(objective), eval_mode(learner), torch.random.fork_rng(devices):
            torch.manual_seed(0)
            for part in self.parts():
                batch = objective.batch(learner.view(part))
                hidden = hide(batch, objective.policy(batch))
                mean, _ = objective.losses(*batch.model, batch.pieces, hidden, batch.attention)
                total += mean * hidden.counts.sum()
                count += hidden.counts.sum()
        return -float(total / count.clamp(min=1))

    def describe(self, score: float) -> str:
        return f"held-out loss {-score:.3f}, perplexity {math.exp(-score):.2f}"


@dataclass(frozen=True)
class LastUpdate(Selector):
    """Keeps the last state."""

    name: str = "last update"
    is_blind: bool = True

    def __call__(self, learner: Any, /) -> float:
        return 0.0


@dataclass(frozen=True)
class Confidence:
    """The probability of the gold tags of some sentences, together and word by word (MAT, Figure 2)."""

    corpus: Corpus
    tagger: Tagger
    kind: str = "confidence"

    @torch.no_grad()
    def __call__(self, learner: Learner) -> dict[str, Any]:
        with eval_mode(self.tagger):
            return {"sentences": [self._probabilities(sentence) for sentence in self.corpus]}

    def _probabilities(self, sentence: Sentence) -> dict[str, Any]:
        view = View(self.tagger, self.tagger.tensorize([sentence]).to(self.tagger.device))
        tags, odds = view.sentences.tags[0], view.sentences.odds
        known = one_hot(tags, view.marginals.shape[-1]) if odds is None else (odds[0] > 0).float()
        right = (view.marginals[0] * known).sum(-1)  # (word)
        probability = math.exp(-float(view.losses[0]))  # of a long sentence too small for float32
        marginals = [round(value, 6) for value in right.tolist()]
        return {"words": " ".join(sentence.words), "probability": probability, "marginals": marginals}


class TrainingStep(nn.Module):
    """The learner and its objectives as one module: everything that is trained and saved."""

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
        """Objectives that take a gradient of their own multiply by the scaler's number, too."""
        for module in self.objectives.modules():
            if isinstance(module, AdversarialTraining):
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
    """Measures something of the learner for the record, as JSON under its kind."""

    @property
    def kind(self) -> str: ...

    def __call__(self, learner: Any, /) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Stage:
    """Objectives with weights (a number or a schedule; 1 by default), batches, and a number of updates."""

    name: str
    objectives: Mapping[str, Objective]
    batches: Stream
    settings: LoopSettings = field(default_factory=TrainingSettings)
    weights: Mapping[str, float | Schedule] = field(default_factory=dict)
    learner: Learner | None = None  # what is trained, if that is more than the tagger
    watches: tuple[Watch, ...] = ()  # asked at every evaluation
    selector: Selector | None = None  # in place of the run's own

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
        """The same with a share of its updates, and evaluations that come as much sooner."""
        if share == 1:
            return self
        less = {name: max(1, round(share * getattr(self, name))) for name in ("updates", "evaluate_every")}
        return replace(self, settings=self.settings.model_copy(update=less))

    def schedule(self) -> Schedule:
        return self.settings.schedule(self.updates, self.batches.epoch_length)

    def total(self, losses: Mapping[str, Tensor], update: int) -> Tensor:
        """The weighted sum of the losses; a term of weight 0 is left out."""
        terms = []
        for name, loss in losses.items():
            weight = self.weights.get(name, 1.0)
            value = weight(update) if callable(weight) else weight
            if value != 0:
                terms.append(value * loss)
        if not terms:
            raise ValueError(f"Stage {self.name}: every objective has weight 0 at update {update}.")
        return sum(terms[1:], start=terms[0])

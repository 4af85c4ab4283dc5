"""Domain discriminators with a reversed gradient (Ganin et al. 2016): plain, and DATNet's GRAD (Zhou et al. 2019,
2021)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from acclimate.data.batches import SOURCE, TARGET
from acclimate.data.corpus import Sentence
from acclimate.methods.objective import Objective, present
from acclimate.model.learner import Learner, NoView, View, eval_mode


def reverse_gradient(features: Tensor, strength: float) -> Tensor:
    """The features unchanged; the gradient that comes back to them is multiplied by -strength."""
    reversed_: Tensor = _Reversal.apply(features, strength)  # type: ignore[no-untyped-call]
    return reversed_


class _Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, features: Tensor, strength: float) -> Tensor:
        ctx.strength = strength
        return features.view_as(features)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return -ctx.strength * gradient, None


def attention_weights(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the words of each sentence, (sentence, word); 0 at padding."""
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)  # not -inf: a row of those gives NaN
    return scores.softmax(1) * mask


class AttentionPooling(nn.Module):
    """Words weighed by a softmax of v · tanh(W h) over their sentence (Zhou et al. 2019, section 3.2.3)."""

    def __init__(self, width: int, inner: int | None = None) -> None:
        """`width` of the states; `inner` rows of W, `width` by default."""
        super().__init__()
        inner = inner or width
        self.inner = nn.Linear(width, inner, bias=False)  # W
        self.score = nn.Linear(inner, 1, bias=False)  # v

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """(sentence, word, feature), (sentence, word) → (sentence, feature)"""
        with torch.autocast(states.device.type, enabled=False):
            states = states.to(self.inner.weight.dtype).masked_fill(~mask.unsqueeze(2), 0)
            scores: Tensor = self.score(self.inner(states).tanh()).squeeze(2)  # (sentence, word)
            return (attention_weights(scores, mask).unsqueeze(1) @ states).squeeze(1)


Kind = Literal["grad", "plain"]


def grad_loss(logits: Tensor, is_source: Tensor, alpha: float, gamma: float) -> Tensor:
    """DATNet, equation 1, (sentence): -alpha (1 - r)^gamma log r for a source sentence, -(1 - alpha) r^gamma log(1 - r)
    for a target sentence, where r = sigmoid(logit). With a softmax of two outputs alpha would cancel out."""
    right, wrong = _log_probabilities(logits, is_source)
    weights = torch.full_like(right, 1 - alpha).masked_fill(is_source, alpha)
    # the power as exp of a log: r^gamma has an infinite gradient at 0 when gamma is below 1
    return -weights * (gamma * wrong).exp() * right


def plain_loss(logits: Tensor, is_source: Tensor) -> Tensor:
    """Cross-entropy of the right domain, (sentence)."""
    right, _ = _log_probabilities(logits, is_source)
    return -right


def _log_probabilities(logits: Tensor, is_source: Tensor) -> tuple[Tensor, Tensor]:
    """Log probability of the right domain and of the wrong one."""
    if logits.dtype != torch.float64:
        logits = logits.float()
    towards_right = torch.where(is_source, logits, -logits)
    return functional.logsigmoid(towards_right), functional.logsigmoid(-towards_right)


def undecided_logit(alpha: float, gamma: float) -> float:
    """The logit that `grad_loss` makes of even odds: below 0 when target sentences weigh more."""

    def log_slope(logit: float) -> float:
        """Log gradient of a sentence with this logit in favour of its own domain, without alpha."""
        wrong, surprise = 1 / (1 + math.exp(logit)), math.log1p(math.exp(-logit))
        return gamma * math.log(wrong) + math.log(gamma * (1 - wrong) * surprise + wrong)

    low, high = -100.0, 100.0
    for _ in range(80):  # halving; the two pulls cross once
        middle = (low + high) / 2
        up = math.log(alpha) + log_slope(middle) > math.log(1 - alpha) + log_slope(-middle)
        low, high = (middle, high) if up else (low, middle)
    return (low + high) / 2


class DomainDiscriminator(Objective):
    """Loss of telling the domain of a sentence from its shared features, whose gradient is reversed for the shared
    layers. `grad` weighs source sentences by alpha, and hard sentences more the larger gamma is; `plain` is
    cross-entropy. `strength` times `ramp(update)` is the weight of the reversed gradient."""

    def __init__(
        self,
        width: int,
        kind: Kind = "grad",
        alpha: float = 0.25,
        gamma: float = 2.0,
        strength: float = 0.7,
        ramp: Callable[[int], float] | None = None,
        rate: float = 1.0,
    ) -> None:
        """`width` of the shared features; `rate` is the discriminator's learning rate, as a factor of the encoder's."""
        super().__init__()
        self.rate = rate
        self.kind, self.alpha, self.gamma, self.strength, self.ramp = kind, alpha, gamma, strength, ramp
        self.pooling = AttentionPooling(width)
        self.score = nn.Linear(width, 1)
        self.border = undecided_logit(alpha, gamma) if kind == "grad" else 0.0  # source above it, target below
        self.before_update(0)

    def forward(self, source: View, target: View, reverse: bool = True) -> Tensor:
        present(source, target)
        domains = ((source, True), (target, False))
        losses = [
            self.losses(self.logits(view, reverse), is_source)
            for view, is_source in domains
            if not isinstance(view, NoView)
        ]
        return torch.cat(losses).mean()

    def logits(self, view: View, reverse: bool = True) -> Tensor:
        """Log odds of being a source sentence, (sentence); only the gradient of the features is reversed."""
        features, mask = view.shared_features, view.sentences.mask
        with torch.autocast(features.device.type, enabled=False):
            features = features.to(self.score.weight.dtype)
            if reverse:
                # below the pooling: that is a part of the discriminator and wants what it wants
                features = reverse_gradient(features, self.strength_now)
            logits: Tensor = self.score(self.pooling(features, mask)).squeeze(1)
        return logits

    def losses(self, logits: Tensor, from_source: bool) -> Tensor:
        """Of sentences that all come from one domain, (sentence)."""
        is_source = torch.full_like(logits, from_source, dtype=torch.bool)
        if self.kind == "plain":
            return plain_loss(logits, is_source)
        return grad_loss(logits, is_source, self.alpha, self.gamma)

    def separate_parameters(self) -> list[list[nn.Parameter]]:
        """Its gradient is clipped apart from the learner's."""
        return [list(self.parameters())]

    def before_update(self, update: int) -> None:
        self.strength_now = self.strength * (1.0 if self.ramp is None else self.ramp(update))


FEWEST_EVALUATIONS = 3  # accuracies swing: fewer say nothing
NEAR_CHANCE = 0.03
WON = 0.95  # the features still tell the domains apart
OUTRUN = 0.25  # the discriminator cannot follow the features
STANDARD_ERRORS = 2.0
WIDEST = 0.1  # with a wider range around chance, guessing cannot be recognised
FEWEST_SENTENCES = 20
_AT_ONCE = 64  # sentences


@dataclass(frozen=True)
class DiscriminatorDiagnostics:
    """Evaluates the discriminator on held-out sentences, without random draws."""

    discriminator: DomainDiscriminator
    held_out: Mapping[str, Sequence[Sentence]]  # by domain
    kind: str = "game"  # of the rows in a run's record

    def __call__(self, learner: Learner) -> dict[str, float]:
        """Accuracy by domain, and the mean over domains of accuracy and loss. `sentences` is the equivalent number of
        sentences for domains of equal size."""
        accuracies, losses = {}, {}
        with eval_mode(learner), eval_mode(self.discriminator), torch.no_grad():
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
            part = [sentence.with_tags(None) for sentence in sentences[start : start + _AT_ONCE]]
            view = learner.view(part, domain)
            assert isinstance(view, View)
            yield self.discriminator.logits(view, reverse=False)


def diagnosis(rows: Sequence[Mapping[str, Any]]) -> str | None:
    """A remark on the discriminator from the rows of a record; None where nothing is wrong, or too little is known."""
    evaluations = [
        row for row in rows if row.get("kind", "game") == "game" and isinstance(row.get("accuracy"), (int, float))
    ]
    if len(evaluations) < FEWEST_EVALUATIONS:
        return None
    accuracies = [float(row["accuracy"]) for row in evaluations]
    sentences = min(float(row.get("sentences", math.inf)) for row in evaluations)
    last = accuracies[-FEWEST_EVALUATIONS:]
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
            f"The discriminator was no better than chance at any of {len(evaluations)} evaluations (accuracy "
            f"{min(accuracies):.2f} to {max(accuracies):.2f}), so it had nothing to teach the features: try a smaller "
            "options.strength, or options.ramp so that it learns first; if that changes nothing, the domains may "
            "already look alike to it."
        )
    return None

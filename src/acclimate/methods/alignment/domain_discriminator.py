"""A discriminator tells the domains apart; the encoder learns to give it nothing to go by (AD, and DATNet's GRAD)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from acclimate.methods.alignment.attention_pooling import AttentionPooling
from acclimate.methods.alignment.reverse_gradient import reverse_gradient
from acclimate.methods.objective import Objective
from acclimate.model.view import NoView, View

Kind = Literal["grad", "plain"]


def grad_loss(logits: Tensor, is_source: Tensor, alpha: float, gamma: float) -> Tensor:
    """Eq. 1 of Zhou et al. (2021), (sentence): -alpha (1 - r)^gamma log r for a source sentence, -(1 - alpha) r^gamma
    log(1 - r) for a target sentence, r = sigmoid(logit) being the probability of "source".

    One sigmoid, not a softmax of two outputs with a term for each: there alpha cancels out.
    """
    right, wrong = _log_chances(logits, is_source)
    weights = torch.full_like(right, 1 - alpha).masked_fill(is_source, alpha)
    # the power by way of its log: r^gamma itself has an infinite slope at 0 when gamma is below 1
    return -weights * (gamma * wrong).exp() * right


def plain_loss(logits: Tensor, is_source: Tensor) -> Tensor:
    """Cross-entropy of the right domain, (sentence): twice the other with alpha = 0.5 and gamma = 0."""
    right, _ = _log_chances(logits, is_source)
    return -right


def _log_chances(logits: Tensor, is_source: Tensor) -> tuple[Tensor, Tensor]:
    """Log probability of the right domain and of the wrong one, in float32 (float64 when given float64)."""
    if logits.dtype != torch.float64:
        logits = logits.float()
    towards_right = torch.where(is_source, logits, -logits)
    return functional.logsigmoid(towards_right), functional.logsigmoid(-towards_right)


def undecided_logit(alpha: float, gamma: float) -> float:
    """The logit that `grad_loss` makes of even odds: below 0 when target sentences weigh more, above when source
    sentences do. Who takes 0 for the border calls doubtful sentences all by one name."""

    def log_slope(logit: float) -> float:
        """How hard a sentence with this logit in favour of its own domain pulls, weights apart."""
        wrong, surprise = 1 / (1 + math.exp(logit)), math.log1p(math.exp(-logit))
        return gamma * math.log(wrong) + math.log(gamma * (1 - wrong) * surprise + wrong)

    low, high = -100.0, 100.0
    for _ in range(80):  # halving; the two pulls cross once
        middle = (low + high) / 2
        up = math.log(alpha) + log_slope(middle) > math.log(1 - alpha) + log_slope(-middle)
        low, high = (middle, high) if up else (low, middle)
    return (low + high) / 2


class DomainDiscriminator(Objective):
    """How badly the domain of a sentence is told from its shared features, averaged over the sentences of both domains.

    The discriminator makes it small; behind it the gradient is turned round, and the shared layers make it large. Needs
    no labels, but sentences of both domains, in one batch or by turns. Zhou et al. (2021).

    `grad` weighs source sentences by alpha and target sentences by 1 - alpha, and hard sentences more than easy ones
    the larger gamma is: for domains of unlike size. Take a smaller alpha the less target text there is. `plain` (AD)
    is cross-entropy. Its gradient is several times as large, so that the same strength does more.

    `strength` times what `ramp` gives for the number of the update is how much of the gradient is turned round; at 0
    the discriminator only looks on.
    """

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
        """`width` of the shared features. `rate`: how fast it learns, in learning rates of the encoder; a pre-trained
        encoder's is too slow for a discriminator that begins from nothing."""
        super().__init__()
        self.rate = rate
        _check(kind, alpha, gamma, strength)
        self.kind, self.alpha, self.gamma, self.strength, self.ramp = kind, alpha, gamma, strength, ramp
        self.pooling = AttentionPooling(width)
        self.score = nn.Linear(width, 1)
        self.border = undecided_logit(alpha, gamma) if kind == "grad" else 0.0  # source above it, target below
        self.before_update(0)

    def forward(self, source: View, target: View, reverse: bool = True) -> Tensor:
        if isinstance(source, NoView) and isinstance(target, NoView):
            source.refuse()
        domains = ((source, True), (target, False))
        losses = [
            self.losses(self.logits(view, reverse), is_source)
            for view, is_source in domains
            if not isinstance(view, NoView)
        ]
        return torch.cat(losses).mean()

    def logits(self, view: View, reverse: bool = True) -> Tensor:
        """Log odds of being a source sentence, (sentence). With `reverse` their gradient makes the shared features
        worse to tell apart; the discriminator's own is never turned round."""
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

    def apart(self) -> list[list[nn.Parameter]]:
        """It plays against the learner: neither may shorten the other's steps."""
        return [list(self.parameters())]

    def before_update(self, update: int) -> None:
        factor = 1.0 if self.ramp is None else self.ramp(update)
        if not 0 <= factor < math.inf:
            raise ValueError(f"The ramp of the discriminator's strength gives {factor} at update {update}; at least 0.")
        self.strength_now = self.strength * factor


class Unreversed(Objective):
    """The same number with its gradient as it is: what noise must follow to make the domains harder to tell apart for
    the discriminator (E4.6). Through the reversal it would make them easier."""

    def __init__(self, discriminator: DomainDiscriminator) -> None:
        super().__init__()
        self._discriminator = (discriminator,)  # an objective of its own, that must not stand twice in a checkpoint

    def forward(self, source: View, target: View) -> Tensor:
        return self._discriminator[0](source, target, reverse=False)  # type: ignore[no-any-return]


def _check(kind: str, alpha: float, gamma: float, strength: float) -> None:
    if kind not in ("grad", "plain"):
        raise ValueError(f"Unknown kind of discriminator {kind!r}: expected grad or plain.")
    if not 0 < alpha < 1:
        raise ValueError(
            f"alpha, the weight of a source sentence, must lie between 0 and 1, not be {alpha}: "
            "a target sentence weighs 1 - alpha, and the discriminator learns nothing from one domain alone."
        )
    if not 0 <= gamma < math.inf:
        raise ValueError(f"gamma, which weighs easy sentences less, must be at least 0, not {gamma}.")
    if not 0 <= strength < math.inf:
        raise ValueError(
            f"The strength of the reversal must be at least 0, not {strength}. "
            "Its sign is turned already: below 0 the features would be made easier to tell apart."
        )

"""A learned adversary chooses what to hide (Vu, Phung, Haffari 2020, sections 3 and 4)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from acclimate.methods.masking.masked_batch import MaskedBatch, policy_autocast
from acclimate.methods.masking.policy import Policy
from acclimate.methods.masking.subset_distribution import SequentialSubsetDistribution, SubsetDistribution, gumbel_path

Estimator = Literal["score", "gumbel-path"]


class MaskGenerator(nn.Module):
    """States of the text → a score for each place: log odds of being hidden."""

    def __init__(self, width: int, inner: int = 256, dropout: float = 0.1) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for size in (width, inner):
            layers += [nn.Linear(size, inner), nn.GELU(), nn.Dropout(dropout), nn.LayerNorm(inner)]
        self.layers = nn.Sequential(*layers, nn.Linear(inner, 1))

    def forward(self, states: Tensor) -> Tensor:
        """(row, piece, feature) → (row, piece)"""
        scores: Tensor = self.layers(states)
        return scores.squeeze(-1).float()


class Adversarial(Policy):
    """Chooses the words to hide so as to raise the language model's loss, of which its own gradient is independent.
    `score`: the score function, unbiased; `gumbel-path`: the paper's Algorithm 2, biased. It learns at a share `beta`
    of the updates. `paper_boundary` uses equation 12 as printed, which prefers early words."""

    name = "adversarial"

    def __init__(
        self,
        width: int,
        inner: int = 256,
        dropout: float = 0.1,
        beta: float = 0.3,
        estimator: Estimator = "score",
        temperature: float = 1.0,
        paper_boundary: bool = False,
    ) -> None:
        """`width` is that of the states."""
        super().__init__()
        self.generator = MaskGenerator(width, inner, dropout)
        self.beta, self.estimator = beta, estimator
        self.temperature, self.paper_boundary = temperature, paper_boundary
        self.register_buffer("usual", torch.zeros(2))  # a moving mean of the losses, and how much of it is filled
        self.usual: Tensor
        self._seed = int(torch.randint(2**31, ()))  # every process draws the same here
        self._learns: bool | None = None  # the coin of this update
        self._drawn: tuple[Tensor, Tensor] | None = None  # the last draw to learn from, without its losses
        self._draws: list[tuple[Tensor, Tensor, Tensor]] = []  # where there is something to hide, log q, losses (row)

    def forward(self, batch: MaskedBatch) -> Tensor:
        toss = bool(torch.rand(()) < self.beta) if self._learns is None else self._learns
        learns = self.training and toss
        states = batch.states.detach()
        with torch.set_grad_enabled(learns), policy_autocast(states.device, quick=False):
            chosen, log_probability = self._draw(batch, self.generator(states), learns)
        self._drawn = (batch.sizes > 0, log_probability) if learns else None
        return chosen.float()

    def before_update(self, update: int) -> None:
        """Toss one coin for the update: a function of its number, the same in every process."""
        dice = torch.Generator().manual_seed(self._seed * 1_000_003 + update)
        self._learns = bool(torch.rand((), generator=dice) < self.beta)
        self._draws.clear()

    def _draw(self, batch: MaskedBatch, scores: Tensor, learns: bool) -> tuple[Tensor, Tensor]:
        """What to hide (row, piece), and its log probability (row), which counts only if the adversary learns from
        it."""
        question = (scores, batch.allowed, batch.sizes, batch.most)
        distribution: SubsetDistribution | SequentialSubsetDistribution
        if self.estimator == "score" and not self.paper_boundary:
            distribution = SubsetDistribution(*question)
        else:
            distribution = SequentialSubsetDistribution(*question, paper_boundary=self.paper_boundary)
            if self.estimator == "gumbel-path":
                path = gumbel_path(distribution, self.temperature)
                return path.chosen, path.log_product
        chosen = distribution.draw()
        return chosen, distribution.log_probability(chosen) if learns else chosen.new_zeros(len(chosen))

    def reward(self, losses: Tensor) -> None:
        if self._drawn is not None:
            self._draws.append((*self._drawn, losses.detach().float()))

    def loss(self) -> Tensor | None:
        draws, self._draws = self._draws, []
        if not draws:
            return None
        posed, logs, losses = (torch.cat(parts) for parts in zip(*draws, strict=True))
        return -(self._advantages(losses, posed) * logs).sum() / posed.sum().clamp(min=1)

    def _advantages(self, losses: Tensor, posed: Tensor) -> Tensor:
        """How much harder each row was than the others, in standard deviations; a single row is compared with a moving
        mean."""
        count = posed.sum()
        mean = torch.where(posed, losses, 0).sum() / count.clamp(min=1)
        away = torch.where(posed, losses - mean, 0)
        spread = (away.square().sum() / (count - 1).clamp(min=1)).sqrt()
        usual = torch.where(self.usual[1] > 0, self.usual[0] / self.usual[1].clamp(min=1e-6), mean)
        alone = torch.where(posed, losses - usual, 0)
        advantages = torch.where(count > 1, away / (spread + 1e-6), alone)
        self.usual.lerp_(torch.stack([mean, torch.ones_like(mean)]), 0.1 * (count > 0).to(mean.dtype))
        return advantages

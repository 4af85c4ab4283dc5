"""A learned adversary chooses what to hide (Vu, Phung, Haffari 2020, sections 3 and 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from acclimate.methods.masking.masked_batch import MaskedBatch, looking
from acclimate.methods.masking.policy import Policy
from acclimate.methods.masking.sequential_subset_distribution import (
    GumbelPath,
    SequentialSubsetDistribution,
    gumbel_path,
)
from acclimate.methods.masking.subset_distribution import SubsetDistribution

Estimator = Literal["score", "gumbel-path", "relaxed"]


class MaskGenerator(nn.Module):
    """States of the text as it is → a score for each place: log odds of being hidden."""

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


@dataclass
class Draw:
    """What was drawn for one batch, and how hard it turned out to be."""

    batch: MaskedBatch
    chosen: Tensor  # (row, piece)
    chance: Tensor | None = None  # log probability of what was chosen, (row), where it is learnt from
    path: GumbelPath | None = None
    losses: Tensor | None = None  # (row)


class Adversarial(Policy):
    """Wants the language model's loss to be large. Its own loss reaches the generator alone: the states it looks at and
    the losses it is rewarded with are numbers to it.

    `score`: minus advantage times log q(S), the advantage being how much harder a row was than its batch-mates, signed.
    Unbiased, but for the batch's own mean and spread in the advantage. `gumbel-path`: the same with the product of
    softened choices along Algorithm 2, which is the paper's and is biased. `relaxed`: softened choices mix the
    embeddings of [MASK] and of the pieces, and the gradient comes back through the language model, whose weights are
    held still.

    It learns at a share `beta` of the updates; at the others it has no gradient at all, since a loss of zero would
    still move Adam. `paper_boundary` gives the distribution of the paper's equation 12, for study (it prefers early
    words).
    """

    name = "adversarial"

    def __init__(
        self,
        width: int,
        mask: int,
        inner: int = 256,
        dropout: float = 0.1,
        beta: float = 0.3,
        estimator: Estimator = "score",
        temperature: float = 1.0,
        paper_boundary: bool = False,
    ) -> None:
        """`width` of the states, `mask` the number of [MASK]."""
        super().__init__()
        if not 0 <= beta <= 1:
            raise ValueError(
                f"The share of updates at which the adversary learns must lie between 0 and 1, not {beta}."
            )
        self.generator = MaskGenerator(width, inner, dropout)
        self.mask, self.beta, self.estimator = mask, beta, estimator
        self.temperature, self.paper_boundary = temperature, paper_boundary
        self.register_buffer("usual", torch.zeros(2))  # a moving mean of the losses, and how much of it is filled
        self.usual: Tensor
        self._seed = int(torch.randint(2**31, ()))  # every process draws the same here
        self._learns: bool | None = None  # the coin of this update
        self._draws: list[Draw] = []
        self._rewarded = False  # whether the last draw is one to learn from

    def forward(self, batch: MaskedBatch) -> Tensor:
        toss = bool(torch.rand(()) < self.beta) if self._learns is None else self._learns
        learns = self.training and toss
        states = batch.states.detach()
        with torch.set_grad_enabled(learns), looking(states.device, quick=False):
            draw = self._draw(batch, self.generator(states), learns)
        if learns:
            self._draws.append(draw)
        self._rewarded = learns
        return draw.chosen.float()

    def before_update(self, update: int) -> None:
        """One coin for the whole update, however many batches and processes it has; a function of its number, so that a
        run that goes on tosses the same."""
        dice = torch.Generator().manual_seed(self._seed * 1_000_003 + update)
        self._learns = bool(torch.rand((), generator=dice) < self.beta)
        self._draws.clear()

    def _draw(self, batch: MaskedBatch, scores: Tensor, learns: bool) -> Draw:
        question = (scores, batch.allowed, batch.sizes, batch.most)
        if self.estimator == "score" and not self.paper_boundary:
            return self._scored(batch, SubsetDistribution(*question), learns)
        slow = SequentialSubsetDistribution(*question, paper_boundary=self.paper_boundary)
        if self.estimator == "score":
            return self._scored(batch, slow, learns)
        path = gumbel_path(slow, self.temperature)
        return Draw(batch, path.chosen, path.log_product, path)

    @staticmethod
    def _scored(
        batch: MaskedBatch, distribution: SubsetDistribution | SequentialSubsetDistribution, learns: bool
    ) -> Draw:
        chosen = distribution.draw()
        return Draw(batch, chosen, distribution.log_probability(chosen) if learns else None)

    def reward(self, losses: Tensor) -> None:
        if self._rewarded:
            self._draws[-1].losses = losses.detach().float()

    def loss(self) -> Tensor | None:
        draws, self._draws = self._draws, []
        if not draws:
            return None
        if self.estimator == "relaxed":
            return torch.stack([self._relaxed(draw) for draw in draws]).mean()
        losses = torch.cat([_required(draw.losses) for draw in draws])
        logs = torch.cat([_required(draw.chance) for draw in draws])
        posed = torch.cat([draw.batch.sizes > 0 for draw in draws])  # a row with nothing to hide had nothing to hide
        return -(self._advantages(losses, posed) * logs).sum() / posed.sum().clamp(min=1)

    def _advantages(self, losses: Tensor, posed: Tensor) -> Tensor:
        """How much harder each row was than the others, in standard deviations; a row alone is held against what was
        usual so far. 0 for rows that had nothing to hide."""
        count = posed.sum()
        mean = torch.where(posed, losses, 0).sum() / count.clamp(min=1)
        away = torch.where(posed, losses - mean, 0)
        spread = (away.square().sum() / (count - 1).clamp(min=1)).sqrt()
        usual = torch.where(self.usual[1] > 0, self.usual[0] / self.usual[1].clamp(min=1e-6), mean)
        alone = torch.where(posed, losses - usual, 0)
        advantages = torch.where(count > 1, away / (spread + 1e-6), alone)
        self.usual.lerp_(torch.stack([mean, torch.ones_like(mean)]), 0.1 * (count > 0).to(mean.dtype))
        return advantages

    def _relaxed(self, draw: Draw) -> Tensor:
        assert draw.path is not None
        encoder, mlm_head = draw.batch.model
        pieces, chosen, soft = draw.batch.pieces, draw.chosen, draw.path.relaxed
        if draw.batch.by_words and draw.batch.first is not None:  # a word's choice is that of all its pieces
            chosen, soft = (values.gather(1, draw.batch.first) for values in (chosen, soft))
        with torch.no_grad():
            shown = encoder.embed({"pieces": pieces})["pieces"]
            masked = encoder.embed({"pieces": torch.full_like(pieces, self.mask)})["pieces"]
        mixed = shown + soft.unsqueeze(2) * (masked - shown)  # (row, piece, width)
        leaf = mixed.detach().requires_grad_()
        with torch.enable_grad(), looking(pieces.device, quick=False):
            states = encoder.states_of(leaf, draw.batch.attention)
            scores = mlm_head(states)
            losses = functional.cross_entropy(scores.flatten(0, 1).float(), pieces.flatten(), reduction="none")
            loss = (losses * chosen.flatten()).sum() / chosen.sum().clamp(min=1)
            (slope,) = torch.autograd.grad(loss, leaf)
        return -(slope * mixed).sum()  # its gradient is minus that of the loss, and reaches nothing but the choices


def _required(found: Tensor | None) -> Tensor:
    if found is None:
        raise ValueError("The adversary was asked for its loss before it was told how hard its batch was (`reward`).")
    return found

"""The distribution over subsets place by place, as the paper has it (Vu, Phung, Haffari 2020, section 4, equations 11
to 14). `SubsetDistribution` gives the same in far fewer steps; this one is for study and tests."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from acclimate.methods.masking.subset_distribution import LARGEST, in_full, possible_sizes, refuse_impossible

IMPOSSIBLE = -1e30  # finite, so that gradients are no NaN


class SequentialSubsetDistribution:
    """It takes what `SubsetDistribution` takes, and leaves gradients to autograd. `paper_boundary` prints equation 12
    as it is: another distribution, which depends on the order of the places and favours early ones."""

    def __init__(
        self, scores: Tensor, allowed: Tensor, sizes: Tensor, most: int, *, paper_boundary: bool = False
    ) -> None:
        refuse_impossible(allowed, sizes, most)
        self.allowed, self.sizes, self.most = allowed, possible_sizes(allowed, sizes, most), most
        with torch.autocast(scores.device.type, enabled=False):
            scores = torch.where(allowed, in_full(scores), 0).clamp(-LARGEST, LARGEST)
            # with the right boundary the probabilities of no cancel, and scores alone do
            self.yes = F.logsigmoid(scores) if paper_boundary else scores  # (row, place)
            self.no = F.logsigmoid(-scores) if paper_boundary else torch.zeros_like(scores)
            self.tables = self._tables()

    def _tables(self) -> list[Tensor]:
        """For each place, and for the end, the log sum over subsets of each size from there on, (row, left) each."""
        none_left = torch.arange(self.most + 1, device=self.yes.device) == 0  # (left)
        ahead = torch.where(none_left, self.yes.new_zeros(()), IMPOSSIBLE).expand(len(self.yes), -1)
        tables = [ahead]
        for yes, no, allowed in reversed(list(zip(self.yes.T, self.no.T, self.allowed.T, strict=True))):
            agree = yes.unsqueeze(1) + F.pad(ahead[:, :-1], (1, 0), value=IMPOSSIBLE)
            counted = torch.logaddexp(agree, no.unsqueeze(1) + ahead)
            ahead = torch.where(allowed.unsqueeze(1) & ~none_left, counted, ahead)
            tables.append(ahead)
        return tables[::-1]

    def log_partition(self) -> Tensor:
        """The log of the sum over all subsets of exponentiated scores, (row); with the paper's boundary, its log Z."""
        return self.tables[0].gather(1, self.sizes.unsqueeze(1)).squeeze(1)

    def log_probability(self, chosen: Tensor) -> Tensor:
        """The log probability of choosing these, (row); -inf where they are not K allowed places."""
        left = self.sizes.unsqueeze(1)  # (row, 1)
        total = self.yes.new_zeros(len(self.yes))
        for place, picked in enumerate(chosen.unbind(1)):
            total = total + torch.where(picked.unsqueeze(1), *self.choice(place, left)).squeeze(1)
            left = (left - picked.unsqueeze(1).long()).clamp(min=0)
        possible = (chosen.sum(1) == self.sizes) & ~(chosen & ~self.allowed).any(1)
        return torch.where(possible, total, -torch.inf)

    def marginals(self) -> Tensor:
        """The probability of each place to be chosen, (row, place)."""
        left = torch.arange(self.most + 1, device=self.yes.device).expand(len(self.yes), -1)
        reached = (left == self.sizes.unsqueeze(1)).to(self.yes.dtype)  # (row, left), the chance to come here so
        marginals = []
        for place in range(self.yes.shape[1]):
            log_yes, log_no = self.choice(place, left)
            picked = reached * log_yes.exp()
            marginals.append(picked.sum(1))
            reached = reached * log_no.exp() + F.pad(picked[:, 1:], (0, 1))
        return torch.stack(marginals, 1)

    def draw(self, generator: torch.Generator | None = None) -> Tensor:
        """Draw a subset for each row, (row, place), True where chosen."""
        with torch.no_grad():
            return gumbel_path(self, generator=generator).chosen

    def choice(self, place: int, left: Tensor) -> tuple[Tensor, Tensor]:
        """The log probabilities of yes and of no at a place while `left` (row, any) are to be chosen, in its shape."""
        here, ahead = self.tables[place].gather(1, left), self.tables[place + 1]
        agree = self.yes[:, place, None] + ahead.gather(1, (left - 1).clamp(min=0)) - here
        refuse = self.no[:, place, None] + ahead.gather(1, left) - here
        asked = self.allowed[:, place, None] & (left > 0)
        return torch.where(asked, agree.clamp(max=0), IMPOSSIBLE), torch.where(asked, refuse.clamp(max=0), 0)


@dataclass(frozen=True)
class GumbelPath:
    """One walk of Algorithm 2."""

    chosen: Tensor  # (row, place), True where the noisy choice was yes
    log_product: Tensor  # (row), log of the soft choices taken, up to the last pick and not beyond


def gumbel_path(
    distribution: SequentialSubsetDistribution, temperature: float = 1.0, generator: torch.Generator | None = None
) -> GumbelPath:
    """Draw a subset by Gumbel noise on the log probabilities of yes and no at each place, and soften each choice to a
    softmax of the same numbers (Algorithm 2, equations 15 and 16). Learning from `log_product` times a reward is
    biased; prefer the score function."""
    if not temperature > 0:
        raise ValueError(f"The temperature must be above 0, not {temperature}.")
    noise = _gumbel_difference(distribution, generator)
    left = distribution.sizes  # (row)
    log_product = distribution.yes.new_zeros(len(distribution.yes))
    chosen = []
    for place, allowed in enumerate(distribution.allowed.unbind(1)):
        log_yes, log_no = distribution.choice(place, left.unsqueeze(1))
        preference = ((log_yes - log_no).squeeze(1) + noise[:, place]) / temperature  # (row)
        asked = allowed & (left > 0)
        picked = asked & (preference > 0)
        taken = F.logsigmoid(torch.where(picked, preference, -preference))
        log_product = log_product + torch.where(asked, taken, 0)
        chosen.append(picked)
        left = left - picked.long()
    return GumbelPath(torch.stack(chosen, 1), log_product)


def _gumbel_difference(distribution: SequentialSubsetDistribution, generator: torch.Generator | None) -> Tensor:
    """The noise of yes less the noise of no, (row, place)."""
    waits = torch.empty(2, *distribution.allowed.shape, dtype=distribution.yes.dtype, device=distribution.yes.device)
    gumbel = -waits.exponential_(generator=generator).clamp(min=torch.finfo(waits.dtype).tiny).log()
    return gumbel[0] - gumbel[1]

"""Virtual adversarial training as BOND has it (Liang et al. 2020): a tiny noise, sized word by word, and both ways."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from acclimate.data.batches import SOURCE, TARGET
from acclimate.methods.averages import Average
from acclimate.methods.perturbation.noise import LETTERS, along
from acclimate.methods.perturbation.virtual_adversarial import VirtualAdversarialTraining, dropout_held_still
from acclimate.model.narrowed import own_weights
from acclimate.model.view import View

EMBEDDINGS = ("words", LETTERS, "pieces")


class SymmetricVirtualTraining(VirtualAdversarialTraining):
    """KL(tags of x ‖ tags of x + noise) + KL(tags of x + noise ‖ tags of x); the gradient goes through both passes.

    The noise is one step along the gradient at a tiny random one. In each token its largest number is `step`, however
    large the embeddings are. It is computed in full precision: half of it would not feel such noise at all.
    """

    def __init__(
        self,
        step: float = 1e-3,
        trial: float = 1e-5,
        domains: Sequence[str] = (SOURCE, TARGET),
        *,
        steps: int = 1,
        average: Average = "word",
    ) -> None:
        """`trial` is the deviation of the first, random noise."""
        if trial <= 0:
            raise ValueError(f"The trial noise is above 0, not {trial}.")
        super().__init__(dict.fromkeys(EMBEDDINGS, step), domains, steps=steps, average=average)
        self.trial = trial

    def divergence(self, view: View) -> Tensor:
        """The sum over all words of the batch."""
        device = view.sentences.mask.device
        with dropout_held_still(view.tagger), torch.autocast(device.type, enabled=False), own_weights(view.tagger):
            clean = View(view.tagger, view.sentences)
            names = [name for name in self.radii if name in clean.embeddings]
            if not names:  # nothing moves
                return torch.zeros((), device=device, requires_grad=True)
            noise = {name: self.trial * torch.randn_like(clean.embeddings[name]) for name in names}
            for _ in range(self.steps):
                leaves = {name: value.detach().requires_grad_() for name, value in noise.items()}
                moved = both_ways(clean.marginals.detach(), View(view.tagger, view.sentences).with_noise(leaves))
                gradients = torch.autograd.grad(moved, list(leaves.values()))
                noise = {
                    name: self.radii[name] * by_largest(gradient * _inside(view, name), name == LETTERS)
                    for name, gradient in zip(leaves, gradients, strict=True)
                }
            return both_ways(clean.marginals, View(view.tagger, view.sentences).with_noise(noise))


def by_largest(values: Tensor, rows_are_words: bool = False) -> Tensor:
    """`values` (row, place, size), so that the largest number of each token is 1 or -1; nothing where all are 0."""
    largest = values.abs().amax((1, 2) if rows_are_words else 2, keepdim=True)
    return along(values, largest, 1.0)


def both_ways(before: Tensor, view: View) -> Tensor:
    """The two divergences of all words, as one sum of products: nothing is lost where they are all but equal."""
    tiny = torch.finfo(torch.float32).tiny
    after = view.marginals
    each = ((before - after) * (before.clamp_min(tiny).log() - after.clamp_min(tiny).log())).sum(-1)  # (sentence, word)
    return each.masked_fill(~view.sentences.mask, 0).sum()


def _inside(view: View, name: str) -> Tensor:
    return view.encoder.inside(view.inputs)[name].unsqueeze(-1)

"""Virtual adversarial training (VAT; Miyato et al. 2018): tags must not change when the embeddings move a little."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from acclimate.data.batches import SOURCE, TARGET
from acclimate.methods.objective import Average, Objective, count_of, present
from acclimate.methods.perturbation.adversarial import LETTERS, along
from acclimate.model.learner import Learner, View, eval_mode

EMBEDDINGS = ("words", LETTERS, "pieces")


class VirtualAdversarialTraining(Objective):
    """KL(tags of x ‖ tags of x + noise) + KL(tags of x + noise ‖ tags of x), as in BOND (Liang et al. 2020). The noise
    follows the gradient at a tiny random one; in each token its largest value is `step`. Needs no labels; all passes
    are without dropout and in full precision."""

    def __init__(
        self,
        step: float = 1e-3,
        trial: float = 1e-5,
        domains: Sequence[str] = (SOURCE, TARGET),
        *,
        average: Average = "word",
    ) -> None:
        """`trial` is the standard deviation of the random noise."""
        super().__init__()
        self.step, self.trial, self.domains = step, trial, tuple(domains)
        self.average: Average = average

    def begin(self, learner: Learner) -> None:
        learner.stand_alone(True)

    def end(self, learner: Learner) -> None:
        learner.stand_alone(False)

    def forward(self, source: View, target: View) -> Tensor:
        views = {SOURCE: source, TARGET: target}
        there = present(*(views[domain] for domain in self.domains))
        divergences = [self.divergence(view) for view in there]
        return torch.stack(divergences).sum() / sum(count_of(view.sentences.mask, self.average) for view in there)

    def divergence(self, view: View) -> Tensor:
        """The sum over all words of the batch."""
        device = view.sentences.mask.device
        # without dropout; but cuDNN refuses the gradient of recurrent layers in evaluation mode
        with eval_mode(view.tagger, but=(nn.RNNBase,)), torch.autocast(device.type, enabled=False):
            clean = View(view.tagger, view.sentences)
            names = [name for name in EMBEDDINGS if name in clean.embeddings]
            trial = {name: self.trial * torch.randn_like(clean.embeddings[name]) for name in names}
            leaves = {name: value.detach().requires_grad_() for name, value in trial.items()}
            moved = both_ways(clean.marginals.detach(), View(view.tagger, view.sentences).with_noise(leaves))
            gradients = torch.autograd.grad(moved, list(leaves.values()))
            rows = view.encoder.embedding_rows(view.inputs)
            noise = {
                name: self.step * by_largest(gradient * rows[name].inside.unsqueeze(-1), name == LETTERS)
                for name, gradient in zip(leaves, gradients, strict=True)
            }
            return both_ways(clean.marginals, View(view.tagger, view.sentences).with_noise(noise))


def by_largest(values: Tensor, rows_are_words: bool = False) -> Tensor:
    """`values` (row, place, size), scaled so that the largest absolute value of each token is 1; 0 where all are 0."""
    largest = values.abs().amax((1, 2) if rows_are_words else 2, keepdim=True)
    return along(values, largest, 1.0)


def both_ways(before: Tensor, view: View) -> Tensor:
    """The two divergences of all words, as one sum of products, which is precise where they are almost equal."""
    tiny = torch.finfo(torch.float32).tiny
    after = view.marginals
    each = ((before - after) * (before.clamp_min(tiny).log() - after.clamp_min(tiny).log())).sum(-1)  # (sentence, word)
    return each.masked_fill(~view.sentences.mask, 0).sum()

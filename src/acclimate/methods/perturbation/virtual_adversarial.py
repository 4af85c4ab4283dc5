"""Virtual adversarial training (VAT; Miyato et al. 2018): tags must not change when the embeddings move a little."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from acclimate.data.batches import SOURCE, TARGET
from acclimate.methods.objective import Average, Objective, count_of
from acclimate.methods.perturbation.adversarial import LETTERS, along
from acclimate.model.learner import Learner, NoView, View

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
        steps: int = 1,
        average: Average = "word",
    ) -> None:
        """`trial` is the standard deviation of the random noise, `steps` how often the gradient is followed."""
        super().__init__()
        if steps < 1:
            raise ValueError(f"The power method needs at least one step, not {steps}.")
        if step <= 0 or trial <= 0:
            raise ValueError(f"step and trial, the sizes of the noise, are above 0, not {step} and {trial}.")
        self.step, self.trial, self.domains, self.steps = step, trial, tuple(domains), steps
        self.average: Average = average

    def begin(self, learner: Learner) -> None:
        for encoder in learner.encoders():
            encoder.stand_alone()

    def end(self, learner: Learner) -> None:
        for encoder in learner.encoders():
            encoder.stand_alone(False)

    def forward(self, source: View, target: View) -> Tensor:
        views = {SOURCE: source, TARGET: target}
        present = [views[domain] for domain in self.domains if not isinstance(views[domain], NoView)]
        if not present:
            views[self.domains[0]].refuse()  # type: ignore[attr-defined]
        divergences = [self.divergence(view) for view in present]
        return torch.stack(divergences).sum() / sum(count_of(view.sentences.mask, self.average) for view in present)

    def divergence(self, view: View) -> Tensor:
        """The sum over all words of the batch."""
        device = view.sentences.mask.device
        with without_dropout(view.tagger), torch.autocast(device.type, enabled=False):
            clean = View(view.tagger, view.sentences)
            names = [name for name in EMBEDDINGS if name in clean.embeddings]
            noise = {name: self.trial * torch.randn_like(clean.embeddings[name]) for name in names}
            for _ in range(self.steps):
                leaves = {name: value.detach().requires_grad_() for name, value in noise.items()}
                moved = both_ways(clean.marginals.detach(), View(view.tagger, view.sentences).with_noise(leaves))
                gradients = torch.autograd.grad(moved, list(leaves.values()))
                noise = {
                    name: self.step * by_largest(gradient * _inside(view, name), name == LETTERS)
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


def _inside(view: View, name: str) -> Tensor:
    return view.encoder.embedding_rows(view.inputs)[name].inside.unsqueeze(-1)


@contextmanager
def without_dropout(module: nn.Module) -> Iterator[None]:
    """Evaluation mode, but for recurrent layers: cuDNN refuses their gradient in that mode."""
    training = [part for part in module.modules() if part.training and not isinstance(part, nn.RNNBase)]
    for part in training:
        part.training = False
    try:
        yield
    finally:
        for part in training:
            part.training = True

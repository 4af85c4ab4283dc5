"""Virtual adversarial training (VAT): tags must not change when the embeddings move a little."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from acclimate.data.batches import SOURCE, TARGET
from acclimate.methods.masking.masked_batch import looking
from acclimate.methods.objective import Objective
from acclimate.methods.perturbation.adversarial import LETTERS, Radii, Scope, along, noise_for
from acclimate.methods.tagging import Average, count_of
from acclimate.model.cuda_graphs.cast_weights import uncast_weights
from acclimate.model.learner import Learner, NoView, View


class VirtualAdversarialTraining(Objective):
    """KL(tags of x ‖ tags of x + noise) under the noise that moves the tag marginals most (Miyato et al. 2018). Needs
    no labels; all passes are without dropout."""

    def __init__(
        self,
        radii: Radii,
        domains: Sequence[str] = (SOURCE, TARGET),
        *,
        scope: Scope = "sentence",
        steps: int = 1,
        first: float = 1e-2,
        by_size: bool = False,
        average: Average = "word",
    ) -> None:
        """`first` is the size of the trial noise, in radii; `steps` those of the power method; `by_size` as in
        `noise_for`."""
        super().__init__()
        if steps < 1:
            raise ValueError(f"The power method needs at least one step, not {steps}.")
        wrong = [radius for radius in radii.values() if radius < 0]
        if wrong:
            raise ValueError(f"A radius is 0 or more, not {wrong[0]}.")
        self.radii = {name: radius for name, radius in radii.items() if radius > 0}
        self.domains, self.scope, self.steps, self.first = tuple(domains), scope, steps, first
        self.by_size, self.average = by_size, average

    def begin(self, learner: Learner) -> None:
        for encoder in learner.encoders():
            encoder.stand_alone()

    def end(self, learner: Learner) -> None:
        for encoder in learner.encoders():
            encoder.stand_alone(False)

    def forward(self, source: View, target: View) -> Tensor:
        views = {SOURCE: source, TARGET: target}
        found = [
            (self.divergence(views[domain]), count_of(views[domain].sentences.mask, self.average))
            for domain in self.domains
            if not isinstance(views[domain], NoView)
        ]
        if not found:
            views[self.domains[0]].refuse()  # type: ignore[attr-defined]
        return torch.stack([divergence for divergence, _ in found]).sum() / sum(count for _, count in found)

    def divergence(self, view: View) -> Tensor:
        """The sum over all words of the batch."""
        with dropout_held_still(view.tagger):
            view = View(view.tagger, view.sentences)
            with torch.no_grad(), looking(view.sentences.mask.device, quick=False):
                names = [name for name in self.radii if name in view.embeddings]
                if not names:  # nothing moves
                    return torch.zeros((), device=view.sentences.mask.device, requires_grad=True)
                clean = view.marginals
            noise = {name: torch.randn_like(view.embeddings[name]) for name in names}
            small = {name: self.first * radius for name, radius in self.radii.items()}
            for _ in range(self.steps):
                trial = noise_for(view, noise, small, self.scope, self.by_size)
                leaves = {name: value.requires_grad_() for name, value in trial.items()}
                moved = _divergence(clean, _anew(view).with_noise(leaves))
                gradients = torch.autograd.grad(self.loss_scale * moved, list(leaves.values()))
                noise = dict(zip(leaves, gradients, strict=True))
            worst = noise_for(view, noise, self.radii, self.scope, self.by_size)
            return _divergence(clean, _anew(view).with_noise(worst))


def _anew(view: View) -> View:
    """The same sentences with nothing computed yet."""
    return View(view.tagger, view.sentences)


def _divergence(clean: Tensor, view: View) -> Tensor:
    with torch.autocast(clean.device.type, enabled=False):
        tiny, exact = torch.finfo(torch.float32).tiny, torch.promote_types(clean.dtype, torch.float32)
        before, after = clean.to(exact), view.marginals.to(exact)
        each = (before * (before.clamp_min(tiny).log() - after.clamp_min(tiny).log())).sum(-1)  # (sentence, word)
        return each.masked_fill(~view.sentences.mask, 0).sum()


@contextmanager
def dropout_held_still(module: nn.Module) -> Iterator[None]:
    """Evaluation mode, but for recurrent layers: cuDNN refuses their gradient in that mode."""
    woken = [part for part in module.modules() if part.training and not isinstance(part, nn.RNNBase)]
    for part in woken:
        part.training = False
    try:
        yield
    finally:
        for part in woken:
            part.training = True


EMBEDDINGS = ("words", LETTERS, "pieces")


class SymmetricVirtualTraining(VirtualAdversarialTraining):
    """KL in both directions, with the gradient through both passes (BOND; Liang et al. 2020). The noise is one step
    along the gradient; in each token its largest value is `step`. It is computed in full precision."""

    def __init__(
        self,
        step: float = 1e-3,
        trial: float = 1e-5,
        domains: Sequence[str] = (SOURCE, TARGET),
        *,
        steps: int = 1,
        average: Average = "word",
    ) -> None:
        """`trial` is the standard deviation of the first, random noise."""
        if trial <= 0:
            raise ValueError(f"The trial noise is above 0, not {trial}.")
        super().__init__(dict.fromkeys(EMBEDDINGS, step), domains, steps=steps, average=average)
        self.trial = trial

    def divergence(self, view: View) -> Tensor:
        """The sum over all words of the batch."""
        device = view.sentences.mask.device
        with dropout_held_still(view.tagger), torch.autocast(device.type, enabled=False), uncast_weights(view.tagger):
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
    return view.encoder.inside(view.inputs)[name].unsqueeze(-1)

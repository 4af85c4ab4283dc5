"""Adversarial training (Miyato et al. 2017; MAT, equations 3 to 9; DATNet, equation 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Literal

import torch
from torch import Tensor, nn

from acclimate.data.batches import SOURCE, TARGET
from acclimate.data.corpus import Sentence
from acclimate.methods.objective import Objective
from acclimate.methods.perturbation.word_changes import WordChanges
from acclimate.methods.word_edits import CHANGES, NOTED, WordEdit, noted_row
from acclimate.model.encoders.encoder import Change
from acclimate.model.learner import Learner, NoView, View

Scope = Literal["sentence", "token", "batch"]
"""What one norm is taken over: a sentence, as in the papers; each word or piece; or the whole batch."""

Radii = Mapping[str, float]
"""Size of the noise by embedding: `words`, `characters`, `pieces`."""

LETTERS = "characters"  # its rows are words; those of other embeddings are sentences, or windows of one


def norms(values: Tensor, scope: Scope, owners: Tensor, sentences: int, rows_are_words: bool = False) -> Tensor:
    """The norm that each value of `values` (row, place, size) shares in, broadcastable to it; `owners` (row) is each
    row's sentence."""
    exact = torch.promote_types(values.dtype, torch.float32)
    # squares of tiny gradients would underflow in single precision
    squares = values.detach().double().square()
    if scope == "batch":
        return squares.sum().sqrt().to(exact)
    if scope == "token":
        return squares.sum((1, 2) if rows_are_words else 2, keepdim=True).sqrt().to(exact)
    whole = squares.new_zeros(sentences).index_add_(0, owners, squares.sum((1, 2)))
    return whole.sqrt().to(exact)[owners].view(-1, 1, 1)


def along(values: Tensor, norm: Tensor, radius: float | Tensor) -> Tensor:
    """`direction` scaled to the radius; 0 where it has no norm, or an overflowed one."""
    direction = values.detach() / norm.clamp_min(torch.finfo(torch.float32).tiny)
    return torch.where((norm > 0) & norm.isfinite(), radius * direction, torch.zeros_like(direction))


def noise_for(
    view: View, directions: Mapping[str, Tensor], radii: Radii, scope: Scope = "sentence"
) -> dict[str, Tensor]:
    """Noise along the directions, by embedding. The radius of `pieces` is relative to the root mean square of the
    sentence's embeddings; the others are absolute."""
    rows, count = view.encoder.embedding_rows(view.inputs), len(view.sentences)
    noise = {}
    for name, direction in directions.items():
        owners, inside = rows[name].owners, rows[name].inside
        direction = direction * inside.unsqueeze(-1)
        norm = norms(direction, scope, owners, count, name == LETTERS)
        radius: float | Tensor = radii[name]
        if name == "pieces":
            places = inside.sum(1).float()
            numbers = places.new_zeros(count).index_add_(0, owners, places) * direction.size(-1)
            embeddings = view.embeddings[name] * inside.unsqueeze(-1)
            whole = norms(embeddings, "sentence", owners, count)  # (row, 1, 1)
            radius = radii[name] * whole / numbers.clamp_min(1).sqrt()[owners].view(-1, 1, 1)
        noise[name] = along(direction, norm, radius)
    return noise


def precomputed_gradient(loss: Tensor, causes: Sequence[Tensor], gradients: Sequence[Tensor | None]) -> Tensor:
    """The same loss, whose gradient by its causes is given instead of computed a second time: the clean loss needs one
    by the embeddings, and that by the parameters comes with it."""
    hand_over: Any = _PrecomputedGradient.apply
    # views may be overwritten by a replayed CUDA graph
    copies = [gradient.clone() if gradient is not None and gradient._is_view() else gradient for gradient in gradients]
    value: Tensor = hand_over(loss.detach(), copies, *causes)
    return value


class _PrecomputedGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, loss: Tensor, gradients: list[Tensor | None], *causes: Tensor) -> Tensor:
        ctx.gradients = gradients
        return loss.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, by_loss: Tensor) -> tuple[Any, ...]:
        if by_loss.device.type == "cpu" and by_loss == 1:  # on a GPU the comparison would synchronise
            return None, None, *ctx.gradients
        return None, None, *(None if gradient is None else by_loss * gradient for gradient in ctx.gradients)


class AdversarialTraining(Objective):
    """task(x) + weight · (task(x' + noise) + carried(x' + noise)). The noise follows the gradient of the task by the
    embeddings; `changes` hide or swap words in x' (MAT); `carried` counts on the noisy sentences only (DATNet, equation
    5)."""

    loss_scale = 1.0  # multiplies the loss before its gradient is taken: in fp16 a small one would vanish

    def __init__(
        self,
        task: Objective,
        radii: Mapping[str, Radii],
        *,
        weight: float = 1.0,
        scope: Scope = "sentence",
        changes: WordChanges | None = None,
        carried: Objective | None = None,
        guide: Callable[[View, View], Tensor] | None = None,
        same_dropout: bool = False,
    ) -> None:
        """`radii` by domain and embedding. The noise follows the gradient of the task plus `guide`, which counts in no
        loss. `same_dropout` draws the noisy pass's dropout like the clean one's."""
        super().__init__()
        self.task, self.weight, self.scope, self.changes = task, weight, scope, changes
        self.radii = {domain: {name: r for name, r in named.items() if r > 0} for domain, named in radii.items()}
        self._carried, self._guide = (carried,), (guide,)  # in tuples: they are objectives of their own
        self.same_dropout = same_dropout
        self._changed: list[tuple[Sentence, Change]] = []  # the first few since the last notes
        self.parts: dict[str, Tensor] = {}  # the last losses, clean and noisy

    def begin(self, learner: Learner) -> None:
        self.task.begin(learner)
        # every sentence has a noise of its own; and a changed word must not add rows, which would shift the dropout
        if any(self.radii.values()) or (self.same_dropout and self.changes is not None):
            learner.stand_alone(True)

    def end(self, learner: Learner) -> None:
        learner.stand_alone(False)
        self.task.end(learner)

    def notes(self) -> Mapping[str, Any] | None:
        """The task's notes, or else the words that were hidden or swapped in a few sentences."""
        notes = self.task.notes()
        if notes is not None or self.changes is None or not self.training:
            return notes
        changed, self._changed = self._changed, []
        rows = [
            noted_row(sentence.words, [WordEdit(at.word, at.word + 1, None if at.by is None else (at.by,))])
            for sentence, at in changed
        ]
        return {"kind": CHANGES, "by": "masked noise", "rows": rows}

    def separate_parameters(self) -> list[list[nn.Parameter]]:
        return self.task.separate_parameters()

    def before_update(self, update: int) -> None:
        self.task.before_update(update)

    def after_update(self, learner: Learner) -> None:
        self.task.after_update(learner)

    def forward(self, source: View, target: View) -> Tensor:
        views = {SOURCE: source, TARGET: target}
        present = {domain: view for domain, view in views.items() if not isinstance(view, NoView)}
        if self.same_dropout:  # features computed before had another dropout
            present = {domain: View(view.tagger, view.sentences) for domain, view in present.items()}
        state = _random_state(present) if self.same_dropout else None
        clean = self.task(*_both(present, views))
        guide = self._guide[0]
        guided = None if guide is None else clean + guide(*_both(present, views))
        clean, noise = self._worst(clean, present, guided)
        others = {domain: self._moved(view, noise.get(domain, {})) for domain, view in present.items()}
        with nullcontext() if state is None else _replayed(state):
            noisy = self.task(*_both(others, views))
            if self._carried[0] is not None:
                noisy = noisy + self._carried[0](*_both(others, views))
        self.parts = {"clean": clean.detach(), "noisy": noisy.detach()}
        total: Tensor = clean + self.weight * noisy
        return total

    def _worst(
        self, clean: Tensor, views: Mapping[str, View], guided: Tensor | None = None
    ) -> tuple[Tensor, dict[str, dict[str, Tensor]]]:
        """The clean loss with its gradient, and the noise that raises it (or else `guided`) most."""
        asked = [
            (domain, name)
            for domain, view in views.items()
            for name in self.radii.get(domain, {})
            if name in view.embeddings and view.embeddings[name].requires_grad
        ]
        if not asked or not clean.requires_grad:
            return clean, {}
        embeddings = [views[domain].embeddings[name] for domain, name in asked]
        if guided is not None:
            return clean, self._noise(views, asked, self._gradients(guided, embeddings))
        causes = [*embeddings, *self._behind(views, embeddings)]
        gradients = self._gradients(clean, causes)
        return precomputed_gradient(clean, causes, gradients), self._noise(views, asked, gradients[: len(asked)])

    def _gradients(self, loss: Tensor, causes: Sequence[Tensor]) -> list[Tensor | None]:
        scaled = loss if self.loss_scale == 1 else self.loss_scale * loss
        gradients = torch.autograd.grad(scaled, causes, retain_graph=True, allow_unused=True)
        if self.loss_scale == 1:
            return list(gradients)
        return [None if gradient is None else gradient / self.loss_scale for gradient in gradients]

    def _behind(self, views: Mapping[str, View], asked: Sequence[Tensor]) -> list[Tensor]:
        """What else the clean loss has a gradient by: the other embeddings, and the parameters that do not stand behind
        embeddings."""
        modules: list[nn.Module] = [self.task, *(view.tagger for view in views.values())]
        tables = {id(table) for view in views.values() for table in view.encoder.embedding_parameters()}
        others = [e for view in views.values() for e in view.embeddings.values() if e.requires_grad]
        known = {id(embedding) for embedding in asked}
        parameters = (p for module in modules for p in module.parameters() if p.requires_grad and id(p) not in tables)
        return [*(other for other in others if id(other) not in known), *dict.fromkeys(parameters)]

    def _noise(
        self, views: Mapping[str, View], asked: Sequence[tuple[str, str]], gradients: Sequence[Tensor | None]
    ) -> dict[str, dict[str, Tensor]]:
        directions: dict[str, dict[str, Tensor]] = {}
        for (domain, name), gradient in zip(asked, gradients, strict=True):
            if gradient is not None:
                directions.setdefault(domain, {})[name] = gradient
        return {
            domain: noise_for(views[domain], named, self.radii[domain], self.scope)
            for domain, named in directions.items()
        }

    def _moved(self, view: View, noise: Mapping[str, Tensor]) -> View:
        if self.changes is not None:
            drawn = self.changes.draw(view)
            if self.training:
                room = NOTED - len(self._changed)
                self._changed += [(view.originals[change.sentence], change) for change in drawn[:room]]
            view = self.changes.made(view, drawn)
        return view.with_noise(noise)


def _both(views: Mapping[str, View], otherwise: Mapping[str, View]) -> tuple[View, View]:
    return views.get(SOURCE, otherwise[SOURCE]), views.get(TARGET, otherwise[TARGET])


def _random_state(views: Mapping[str, View]) -> dict[torch.device, Tensor]:
    """Of the CPU, and of the GPU that the views are on; asking it synchronises."""
    devices = {view.sentences.mask.device for view in views.values()}
    on_gpu = {device: torch.cuda.get_rng_state(device) for device in devices if device.type == "cuda"}
    return {torch.device("cpu"): torch.get_rng_state(), **on_gpu}


@contextmanager
def _replayed(state: Mapping[torch.device, Tensor]) -> Iterator[None]:
    """The random numbers that came from this state on, once more; after that the stream continues."""
    with torch.random.fork_rng([device for device in state if device.type == "cuda"]):
        for device, numbers in state.items():
            if device.type == "cuda":
                torch.cuda.set_rng_state(numbers, device)
            else:
                torch.set_rng_state(numbers)
        yield

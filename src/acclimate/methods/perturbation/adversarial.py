"""Adversarial training (Miyato et al. 2017; MAT, equations 3 to 9; DATNet, equation 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
"""What one norm is taken over: all of a sentence, as the papers have it; each word (the letters of a word together, or
each piece); or the whole batch."""

Radii = Mapping[str, float]
"""How large the noise is, by the name of the embedding: `words`, `characters`, `pieces`."""

LETTERS = "characters"  # whose rows are words; rows of the others are sentences, or windows of one


def norms(values: Tensor, scope: Scope, owners: Tensor, sentences: int, rows_are_words: bool = False) -> Tensor:
    """The norm that each number of `values` (row, place, size) shares in, shaped so that it can be divided by.

    `owners` (row) says which sentence each row belongs to.
    """
    exact = torch.promote_types(values.dtype, torch.float32)
    # the gradient of a sentence that is all but learnt is tiny, and its squares would be lost in single precision
    squares = values.detach().double().square()
    if scope == "batch":
        return squares.sum().sqrt().to(exact)
    if scope == "token":
        return squares.sum((1, 2) if rows_are_words else 2, keepdim=True).sqrt().to(exact)
    if scope != "sentence":
        raise ValueError(f"Unknown scope {scope!r} of a norm: expected sentence, token or batch.")
    whole = squares.new_zeros(sentences).index_add_(0, owners, squares.sum((1, 2)))
    return whole.sqrt().to(exact)[owners].view(-1, 1, 1)


def along(values: Tensor, norm: Tensor, radius: float | Tensor) -> Tensor:
    """As long as the radius where the norm was taken, and nothing where there is no direction; nor is there one
    where a scaled gradient has outgrown half precision, and the update will not be made."""
    direction = values.detach() / norm.clamp_min(torch.finfo(torch.float32).tiny)
    return torch.where((norm > 0) & norm.isfinite(), radius * direction, torch.zeros_like(direction))


def noise_for(
    view: View, directions: Mapping[str, Tensor], radii: Radii, scope: Scope = "sentence", by_size: bool = False
) -> dict[str, Tensor]:
    """Noise for the embeddings of a view, along these directions.

    The radius of `pieces` is counted in typical sizes of a number in the sentence's own embeddings: a pre-trained table
    is not normalised, and one radius would drown the pieces of one encoder and not be felt by another. The radii of
    `words` and `characters` are absolute, as in the papers; or `by_size`, times the square root of how many numbers the
    norm is taken over: a long sentence is then moved as far at each of its numbers as a short one.
    """
    owners, inside = view.encoder.owners(view.inputs), view.encoder.inside(view.inputs)
    count = len(view.sentences)
    noise = {}
    for name, direction in directions.items():
        direction = direction * inside[name].unsqueeze(-1)
        norm = norms(direction, scope, owners[name], count, name == LETTERS)
        radius: float | Tensor = radii[name]
        if name == "pieces":
            places = inside[name].sum(1).float()
            numbers = places.new_zeros(count).index_add_(0, owners[name], places) * direction.size(-1)
            embeddings = view.embeddings[name] * inside[name].unsqueeze(-1)
            whole = norms(embeddings, "sentence", owners[name], count)  # (row, 1, 1)
            radius = radii[name] * whole / numbers.clamp_min(1).sqrt()[owners[name]].view(-1, 1, 1)
        elif by_size:
            ones = inside[name].unsqueeze(-1).expand_as(direction).to(direction.dtype)
            radius = radii[name] * norms(ones, scope, owners[name], count, name == LETTERS)
        noise[name] = along(direction, norm, radius)
    return noise


def precomputed_gradient(loss: Tensor, causes: Sequence[Tensor], gradients: Sequence[Tensor | None]) -> Tensor:
    """The same number, whose gradient by its causes (parameters, or what they make) is handed over instead of computed
    a second time.

    Adversarial training asks for the gradient of the clean loss by the embeddings; the one by the parameters comes with
    it nearly for free, and going back through the network again for it would cost a third of the whole update.
    """
    hand_over: Any = _PrecomputedGradient.apply
    # parts of something larger may be written over before they are asked for (replayed readings share one row)
    kept = [found.clone() if found is not None and found._is_view() else found for found in gradients]
    value: Tensor = hand_over(loss.detach(), kept, *causes)
    return value


class _PrecomputedGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, loss: Tensor, gradients: list[Tensor | None], *causes: Tensor) -> Tensor:
        ctx.gradients = gradients
        return loss.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, by_loss: Tensor) -> tuple[Any, ...]:
        if by_loss.device.type == "cpu" and by_loss == 1:  # asked of a GPU, it would make us wait
            return None, None, *ctx.gradients
        return None, None, *(None if found is None else by_loss * found for found in ctx.gradients)


class AdversarialTraining(Objective):
    """An objective on the sentences, and once more on the same sentences with the noise that raises it most.

    What is made small is task(x) + weight · (task(x' + noise) + carried(x' + noise)). The noise goes along the gradient
    of the task by the embeddings; it is a constant, as large as the radius. x' is x, unless `changes` hide or swap a
    word now and then: that is masked adversarial training (MAT), and with radii of 0 masking alone. Needs whatever
    labels the task needs. `carried` counts on the noisy sentences only (DATNet's equation 5 puts the discriminator
    there too). Use `VirtualAdversarialTraining` where there are no labels.
    """

    def __init__(
        self,
        task: Objective,
        radii: Mapping[str, Radii],
        *,
        weight: float = 1.0,
        scope: Scope = "sentence",
        changes: WordChanges | None = None,
        carried: Objective | None = None,
        same_dropout: bool = False,
        guides: Sequence[Objective] = (),
        by_size: bool = False,
    ) -> None:
        """`radii` by domain and by the name of the embedding, `by_size` as in `noise_for`. The noise follows the
        gradient of the task and of the `guides`; those count in no loss."""
        super().__init__()
        wrong = [radius for named in radii.values() for radius in named.values() if radius < 0]
        if wrong:
            raise ValueError(f"A radius is 0 or more, not {wrong[0]}.")
        self.task, self.weight, self.scope, self.changes = task, weight, scope, changes
        self.radii = {domain: {name: r for name, r in named.items() if r > 0} for domain, named in radii.items()}
        # not as a module: whoever made it has it among the objectives, where it learns from the clean sentences
        self._carried, self._guides = (carried,), tuple(guides)
        self.same_dropout, self.by_size = same_dropout, by_size
        self._changed: list[tuple[Sentence, Change]] = []  # the first few since somebody asked
        self.parts: dict[str, Tensor] = {}  # the last losses, clean and noisy, for whoever wants to look

    def begin(self, learner: Learner) -> None:
        self.task.begin(learner)
        # a noise of its own for every sentence; and a changed word must not make more rows, whose dropout would take
        # the random numbers of those behind
        if any(self.radii.values()) or (self.same_dropout and self.changes is not None):
            self._stand_alone(learner, True)  # and not False otherwise: another objective may need it

    def end(self, learner: Learner) -> None:
        self._stand_alone(learner, False)
        self.task.end(learner)

    def notes(self) -> Mapping[str, Any] | None:
        """What the task has to say; or else which words were hidden or swapped, and for what, in the first few
        sentences since this was last asked: a single batch may have none."""
        said = self.task.notes()
        if said is not None or self.changes is None or not self.training:
            return said
        found, self._changed = self._changed, []
        rows = [noted_row(sentence.words, [_edit(change)]) for sentence, change in found]
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
        if self.same_dropout:  # features that somebody computed before were drawn with another dropout
            present = {domain: View(view.tagger, view.sentences) for domain, view in present.items()}
        begun = _random_state(present) if self.same_dropout else None
        clean = self.task(*_both(present, views))
        clean, noise = self._worst(clean, present, views)
        others = {domain: self._moved(view, noise.get(domain, {})) for domain, view in present.items()}
        with nullcontext() if begun is None else _replayed(begun):
            noisy = self.task(*_both(others, views))
            if self._carried[0] is not None:
                noisy = noisy + self._carried[0](*_both(others, views))
        self.parts = {"clean": clean.detach(), "noisy": noisy.detach()}
        total: Tensor = clean + self.weight * noisy
        return total

    def _worst(
        self, clean: Tensor, views: Mapping[str, View], all_views: Mapping[str, View]
    ) -> tuple[Tensor, dict[str, dict[str, Tensor]]]:
        """The clean loss, its gradient precomputed, and the noise that raises it most."""
        asked = [
            (domain, name)
            for domain, view in views.items()
            for name in self.radii.get(domain, {})
            if name in view.embeddings and view.embeddings[name].requires_grad
        ]
        if not asked or not clean.requires_grad:
            return clean, {}
        embeddings = [views[domain].embeddings[name] for domain, name in asked]
        if self._guides:
            guided = clean + torch.stack([guide(*_both(views, all_views)) for guide in self._guides]).sum()
            found = self._gradients(guided, embeddings)
            return clean, self._noise(views, asked, found)
        behind = self._behind(views, embeddings)
        found = self._gradients(clean, [*embeddings, *behind])
        return precomputed_gradient(clean, [*embeddings, *behind], found), self._noise(
            views, asked, found[: len(asked)]
        )

    def _gradients(self, loss: Tensor, causes: Sequence[Tensor]) -> list[Tensor | None]:
        # what is added to the embeddings goes back to the tables a second time: the graph is kept
        scaled = loss if self.loss_scale == 1 else self.loss_scale * loss
        found = torch.autograd.grad(scaled, causes, retain_graph=True, allow_unused=True)
        if self.loss_scale == 1:
            return list(found)
        return [None if one is None else one / self.loss_scale for one in found]

    def _behind(self, views: Mapping[str, View], asked: Sequence[Tensor]) -> list[Tensor]:
        """What else the clean loss has a gradient by: the other embeddings, and all parameters that are not behind
        embeddings. Those get theirs through the embeddings, together with that of the noisy loss: a table is large, and
        going through it once is enough."""
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
            domain: noise_for(views[domain], named, self.radii[domain], self.scope, self.by_size)
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

    def _stand_alone(self, learner: Learner, alone: bool) -> None:
        for encoder in learner.encoders():
            encoder.stand_alone(alone)


def _edit(change: Change) -> WordEdit:
    return WordEdit(change.word, change.word + 1, None if change.by is None else (change.by,))


def _both(views: Mapping[str, View], otherwise: Mapping[str, View]) -> tuple[View, View]:
    return views.get(SOURCE, otherwise[SOURCE]), views.get(TARGET, otherwise[TARGET])


def _random_state(views: Mapping[str, View]) -> tuple[Tensor, Tensor | None]:
    # asking a GPU makes us wait: only where it is needed
    device = next(iter(views.values())).sentences.mask.device if views else torch.device("cpu")
    return torch.get_rng_state(), torch.cuda.get_rng_state(device) if device.type == "cuda" else None


@contextmanager
def _replayed(state: tuple[Tensor, Tensor | None]) -> Iterator[None]:
    """The random numbers from that point on once more; afterwards they go on from where they were."""
    on_cpu, on_gpu = state
    with torch.random.fork_rng([torch.cuda.current_device()] if on_gpu is not None else []):
        torch.set_rng_state(on_cpu)
        if on_gpu is not None:
            torch.cuda.set_rng_state(on_gpu)
        yield

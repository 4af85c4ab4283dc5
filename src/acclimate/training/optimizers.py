"""Muon, and the optimizer that a stage trains with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from acclimate.model.encoders.transformer import Transformer
from acclimate.model.learner import Learner
from acclimate.model.tagger import Tagger
from acclimate.settings import UsageError
from acclimate.training.settings import LoopSettings, TrainingSettings
from acclimate.training.stage import TrainingStep

_MOMENTUM = 0.95
_ROUNDS = 5
_CURVE = (3.4445, -4.7750, 2.0315)  # a quintic that drives singular values near 1 in few rounds


class Muon(torch.optim.Optimizer):
    """Weight matrices move along the orthogonal matrix nearest to their momentum; other parameters as under AdamW.
    For pre-training. Three to four times as fast as `torch.optim.Muon`, as matrices of one shape go together."""

    def __init__(
        self,
        matrices: Sequence[nn.Parameter],
        others: Sequence[nn.Parameter],
        rate: float,
        betas: tuple[float, float] = (0.9, 0.999),
        weight_decay: float = 0.0,
        compile: bool = False,
    ) -> None:
        """`compile` turns the matrices faster on a GPU, after a slow first step."""
        self._turn: Callable[[Tensor], Tensor] = torch.compile(orthogonal) if compile else orthogonal
        groups: list[dict[str, Any]] = [
            {"params": list(matrices), "orthogonal": True, "weight_decay": weight_decay},
            {"params": list(others), "orthogonal": False, "weight_decay": 0.0},
        ]
        defaults = {"lr": rate, "betas": betas, "eps": 1e-8}
        super().__init__([group for group in groups if group["params"]], defaults)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        if closure is not None:
            raise ValueError("Muon takes no closure.")
        for group in self.param_groups:
            moving = [parameter for parameter in group["params"] if parameter.grad is not None]
            (self._move_matrices if group["orthogonal"] else self._move_others)(moving, group)
        return None

    def _move_matrices(self, matrices: list[Tensor], group: dict[str, Any]) -> None:
        alike: dict[tuple[int, ...], list[Tensor]] = defaultdict(list)
        for matrix in matrices:
            state = self.state[matrix]
            if not state:
                state["momentum"] = torch.zeros_like(matrix)
            alike[tuple(matrix.shape)].append(matrix)
        for shape, members in alike.items():
            momenta = [self.state[matrix]["momentum"] for matrix in members]
            gradients = _gradients(members)
            torch._foreach_lerp_(momenta, gradients, 1 - _MOMENTUM)
            # Nesterov: where the momentum will be, not where it is
            ahead = torch._foreach_lerp(gradients, momenta, _MOMENTUM)
            stack = torch.stack([step.flatten(1) for step in ahead])
            turned = self._turn(stack).to(members[0].dtype).view(len(members), *shape)
            size = 0.2 * max(shape[0], members[0][0].numel()) ** 0.5  # AdamW's steps have about this root mean square
            torch._foreach_mul_(members, 1 - group["lr"] * group["weight_decay"])
            torch._foreach_add_(members, list(turned.unbind()), alpha=-group["lr"] * size)

    def _move_others(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        first, second = group["betas"]
        for parameter in parameters:
            state = self.state[parameter]
            if not state:
                state["updates"] = 0
                state["mean"], state["square"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
            state["updates"] += 1
        if not parameters:
            return
        gradients = _gradients(parameters)
        means = [self.state[parameter]["mean"] for parameter in parameters]
        squares = [self.state[parameter]["square"] for parameter in parameters]
        torch._foreach_lerp_(means, gradients, 1 - first)
        torch._foreach_mul_(squares, second)
        torch._foreach_addcmul_(squares, gradients, gradients, 1 - second)
        counts = [self.state[parameter]["updates"] for parameter in parameters]
        roots = torch._foreach_sqrt(squares)
        torch._foreach_div_(roots, [(1 - second**count) ** 0.5 for count in counts])
        torch._foreach_add_(roots, group["eps"])
        torch._foreach_addcdiv_(parameters, means, roots, [-group["lr"] / (1 - first**count) for count in counts])


def _gradients(parameters: list[Tensor]) -> list[Tensor]:
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def orthogonal(matrices: Tensor) -> Tensor:
    """Nearly the nearest orthogonal matrix to each of a stack (matrix, row, column), by Newton-Schulz iterations."""
    found: Tensor = matrices.bfloat16() if matrices.is_cuda else matrices.float()
    found = found / (found.flatten(1).norm(dim=1)[:, None, None] + 1e-7)
    upright = found.shape[1] > found.shape[2]
    if upright:
        found = found.mT
    a, b, c = _CURVE
    for _ in range(_ROUNDS):
        square = found @ found.mT
        found = a * found + (b * square + c * square @ square) @ found
    return found.mT if upright else found


def parameter_groups(step: TrainingStep) -> list[list[nn.Parameter]]:
    """Trained parameters in groups that are clipped together: the learner's first, then each separate one."""
    separate = [group for _, group in _separate(step)]
    others = {id(parameter) for group in separate for parameter in group}
    rest = [parameter for parameter in step.parameters() if id(parameter) not in others]
    return [[parameter for parameter in group if parameter.requires_grad] for group in (rest, *separate)]


def _separate(step: TrainingStep) -> list[tuple[Any, list[nn.Parameter]]]:
    """Each group of separate parameters with its objective."""
    objectives: Iterable[Any] = step.objectives.values()
    return [(objective, group) for objective in objectives for group in objective.separate_parameters()]


Kind = TypeVar("Kind", bound=LoopSettings)


def completed(settings: Kind, learner: Learner) -> Kind:
    """The settings with the defaults that depend on the learner."""
    pre_trained = isinstance(learner.encoder, Transformer)
    usual = {"epochs": 5.0 if pre_trained else 20.0, "learning_rate": default_learning_rate(learner)}
    if isinstance(settings, TrainingSettings):
        usual |= default_multiples(settings, learner)
    return settings.model_copy(update={name: value for name, value in usual.items() if getattr(settings, name) is None})


def default_learning_rate(learner: Learner) -> float:
    if not isinstance(learner.encoder, Transformer):
        return 3e-3
    return 5e-5 if learner.encoder.state_width >= 512 else 3e-4


def default_multiples(settings: LoopSettings, learner: Learner) -> dict[str, float]:
    """How much faster the heads learn than the encoder (docs/explanation/results/head-rates.md)."""
    faster = isinstance(learner.encoder, Transformer) and settings.optimizer in ("adamw", "adam")
    return {"head_rate": 30.0, "transition_rate": 100.0} if faster else {"head_rate": 1.0, "transition_rate": 1.0}


def _rates(step: nn.Module, settings: LoopSettings) -> dict[int, float]:
    """The learning rate of each parameter whose rate differs, as a multiple of the learner's."""
    if not isinstance(step, TrainingStep):
        return {}
    separate = {
        id(parameter): getattr(objective, "rate", 1.0)
        for objective, group in _separate(step)
        for parameter in group
        if parameter.requires_grad
    }
    if not isinstance(settings, TrainingSettings):
        return separate
    usual = default_multiples(settings, step.learner)
    head = settings.head_rate or usual["head_rate"]
    transitions = settings.transition_rate or usual["transition_rate"]
    rates: dict[int, float] = {}
    for tagger in (module for module in step.learner.modules() if isinstance(module, Tagger)):
        layers: list[nn.Module] = [tagger.scores] if tagger.types is None else [tagger.scores, tagger.types]
        layers += [] if tagger.source_heads is None else [tagger.source_heads]
        rates |= {id(parameter): head for layer in layers for parameter in layer.parameters()}
        rates |= {id(parameter): transitions for parameter in tagger.head.parameters()}
    return rates | separate


def build_optimizer(step: nn.Module, settings: LoopSettings, rate: float) -> torch.optim.Optimizer:
    """Weight decay applies to matrices only, not to tables, biases and norms."""
    embeddings = (module for module in step.modules() if isinstance(module, nn.Embedding))
    tables = {id(weight) for table in embeddings for weight in table.parameters()}
    matrices: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for parameter in step.parameters():
        if parameter.requires_grad:
            (matrices if parameter.ndim > 1 and id(parameter) not in tables else others).append(parameter)
    rates = _rates(step, settings)
    groups: list[dict[str, Any]] = [
        {
            "params": [parameter for parameter in kind if rates.get(id(parameter), 1.0) == times],
            "weight_decay": decay,
            "times": times,
        }
        for kind, decay in ((matrices, settings.shrinking), (others, 0.0))
        for times in sorted({1.0, *rates.values()})
    ]
    if settings.optimizer == "muon":
        if any(times != 1 for times in rates.values()):
            raise UsageError("With training.optimizer=muon all parts learn at one rate: take adamw.")
        compiled = bool(getattr(settings, "compile", False))
        return Muon(matrices, others, rate, settings.betas, settings.shrinking, compiled)
    groups = [group for group in groups if group["params"]]
    if settings.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=rate, momentum=settings.momentum)
    if settings.optimizer == "adamw":
        return torch.optim.AdamW(groups, lr=rate, betas=settings.betas, fused=True)
    return torch.optim.Adam(groups, lr=rate, betas=settings.betas, fused=True)

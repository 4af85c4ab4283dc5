"""Optimizers with little work for the CPU, and the one that a stage trains with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from acclimate.model.encoders.transformer import Transformer
from acclimate.model.learner import Learner
from acclimate.model.tagger import Tagger
from acclimate.settings import UsageError
from acclimate.training.settings import LoopSettings, TrainingSettings
from acclimate.training.stage import TrainingStep


@dataclass(frozen=True)
class _Moved:
    """The parameters of a group that have a gradient, and what the optimizer remembers of each."""

    having: list[bool]  # for every parameter of the group
    parameters: list[Tensor]
    averages: list[Tensor]
    squares: list[Tensor]
    steps: list[Tensor]


class FusedAdamW(torch.optim.AdamW):
    """`torch.optim.AdamW(fused=True)`, which looks through all parameters and sorts them in every step. Here that is
    done once, and again when other parameters have a gradient or another state is loaded. The state is the same."""

    def __init__(self, groups: Sequence[dict[str, Any]], lr: float, betas: tuple[float, float]) -> None:
        self._moved: dict[int, _Moved] = {}  # by the number of the group
        super().__init__(groups, lr=lr, betas=betas, fused=True)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        found = [[parameter.grad for parameter in group["params"]] for group in self.param_groups]
        scaled = any(getattr(self, name, None) is not None for name in ("grad_scale", "found_inf"))  # by a GradScaler
        if closure is not None or scaled or not self._knows(found):
            self._moved = {}
            loss: float | None = super().step(closure)
            self._moved = {number: moved for number in range(len(found)) if (moved := self._sorted(number)) is not None}
            return loss
        for number, gradients in enumerate(found):
            self._move(self.param_groups[number], self._moved[number], [each for each in gradients if each is not None])
        return None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Also on the way of a state that is loaded."""
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._moved = {}

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        self._moved = {}
        super().add_param_group(param_group)

    def _knows(self, found: Sequence[Sequence[Tensor | None]]) -> bool:
        """Whether all that has a gradient is sorted already."""
        return len(self._moved) == len(found) and all(
            self._moved[number].having == [each is not None for each in gradients]
            for number, gradients in enumerate(found)
        )

    def _sorted(self, number: int) -> _Moved | None:
        """None where they are not of one kind on one device, which takes several calls."""
        parameters = self.param_groups[number]["params"]
        having = [parameter.grad is not None for parameter in parameters]
        moving = [parameter for parameter, has in zip(parameters, having, strict=True) if has]
        if len({(each.device, each.dtype, each.grad.dtype) for each in moving}) > 1:
            return None
        states = [self.state[parameter] for parameter in moving]
        kept = ([state[name] for state in states] for name in ("exp_avg", "exp_avg_sq", "step"))
        return _Moved(having, moving, *kept)

    def _move(self, group: dict[str, Any], moved: _Moved, gradients: list[Tensor]) -> None:
        if not gradients:
            return
        beta1, beta2 = group["betas"]
        torch._foreach_add_(moved.steps, 1)
        torch._fused_adamw_(
            moved.parameters,
            gradients,
            moved.averages,
            moved.squares,
            [],
            moved.steps,
            lr=group["lr"],
            beta1=beta1,
            beta2=beta2,
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=False,
            maximize=False,
        )


@torch.no_grad()
def clip(parameters: Sequence[nn.Parameter], most: float) -> None:
    """`clip_grad_norm_` for gradients of one kind on one device, without a look at each."""
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if len({(each.device, each.dtype) for each in gradients}) != 1:
        nn.utils.clip_grad_norm_(parameters, most)
        return
    total = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
    torch._foreach_mul_(gradients, (most / (total + 1e-6)).clamp(max=1.0))


_MOMENTUM = 0.95
_ROUNDS = 5
_CURVE = (3.4445, -4.7750, 2.0315)  # a quintic that drives singular values near 1 in few rounds


class Muon(torch.optim.Optimizer):
    """Weight matrices move along the orthogonal matrix nearest to their momentum, so that every direction of a layer
    learns at the same pace; tables, biases and norms move as under AdamW.

    A matrix's step is scaled to the size that AdamW's would have, so that one learning rate serves both kinds. Learns
    a language model in clearly fewer updates than AdamW at the same rate; for fine-tuning take AdamW.

    `torch.optim.Muon` takes matrices alone, no filters, and turns them one by one. On an H200 with torch 2.11 a step
    takes it 13.9 ms for 6 layers of width 384 and 24.7 ms for 12 of 768. Here matrices of one shape are turned
    together, in 3.4 and 7.1 ms.
    """

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
            if group["orthogonal"]:
                self._move_matrices(moving, group)
            else:
                self._move_others(moving, group)
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
            gradients = [_gradient(matrix) for matrix in members]
            torch._foreach_lerp_(momenta, gradients, 1 - _MOMENTUM)
            # Nesterov: where the momentum will be, not where it is
            ahead = torch._foreach_lerp(gradients, momenta, _MOMENTUM)
            # matrices of one shape are turned together: many small products would leave a GPU idle
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
        gradients = [_gradient(parameter) for parameter in parameters]
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


def _gradient(parameter: Tensor) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad


def orthogonal(matrices: Tensor) -> Tensor:
    """About the nearest orthogonal matrix to each of a stack (matrix, row, column), by Newton-Schulz rounds.

    Singular values end between 0.7 and 1.2, which serves as well as 1 and needs no decomposition.
    """
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
    """All that is trained, in groups that are clipped together: first the learner's, then each player's that has an aim
    of its own."""
    apart = [group for objective in step.objectives.values() for group in objective.separate_parameters()]  # type: ignore[operator]
    others = {id(parameter) for group in apart for parameter in group}
    rest = [parameter for parameter in step.parameters() if id(parameter) not in others]
    return [[parameter for parameter in group if parameter.requires_grad] for group in (rest, *apart)]


Kind = TypeVar("Kind", bound=LoopSettings)


def completed(settings: Kind, learner: Learner) -> Kind:
    """The settings with what depends on the learner filled in: pre-trained weights need fewer passes than random ones,
    and are moved with more care, large ones with the most."""
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
    """How much faster the heads learn than the encoder (docs/explanation/results/head-rates.md). Muon has
    one rate for all, and SGD's steps grow with the gradient, which is large at the heads as it is."""
    faster = isinstance(learner.encoder, Transformer) and settings.optimizer in ("adamw", "adam")
    return {"head_rate": 30.0, "transition_rate": 100.0} if faster else {"head_rate": 1.0, "transition_rate": 1.0}


def _rates(step: nn.Module, settings: LoopSettings) -> dict[int, float]:
    """The learning rate of each parameter that has one of its own, as a multiple of the learner's."""
    if not isinstance(step, TrainingStep):
        return {}
    objectives: Iterable[Any] = step.objectives.values()
    separate = {
        id(parameter): objective.rate
        for objective in objectives
        for group in objective.separate_parameters()
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
    """Weight decay reaches matrices only: shrinking a bias, a norm or a rare word's vector helps nobody."""
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
        return FusedAdamW(groups, lr=rate, betas=settings.betas)
    return torch.optim.Adam(groups, lr=rate, betas=settings.betas, fused=True)

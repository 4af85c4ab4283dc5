"""What a learned policy makes small while the language model learns from its puzzles."""

from __future__ import annotations

import torch
from torch import Tensor

from acclimate.methods.masking.policy import Policy
from acclimate.methods.objective import Objective
from acclimate.model.view import TextView


class PuzzleLesson(Objective):
    """The policy's own loss, beside that of the language model (Vu, Phung, Haffari 2020, Algorithm 1, line 8).

    Stands after `MaskedWords` in a stage. Both are parts of one sum and yet do not meet: the first reaches the encoder
    and its head, this one the policy.
    """

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self._policy = (policy,)  # not a part of this module: it would stand twice in every checkpoint

    def forward(self, source: TextView, target: TextView) -> Tensor:
        (policy,) = self._policy
        lesson = policy.lesson()
        if lesson is not None:
            return lesson
        # a bare number: with a gradient of zero the optimizer would still move the policy
        return torch.zeros((), device=next(policy.parameters()).device)

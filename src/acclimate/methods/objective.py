"""One term of a training loss."""

from __future__ import annotations

from torch import Tensor, nn

from acclimate.model.learner import Learner, View


class Objective(nn.Module):
    """One term of the training loss, with its own parameters. It must not have the tagger as an attribute, which would
    double every checkpoint. It may have `notes()`, which the record then holds."""

    def forward(self, source: View, target: View) -> Tensor:
        """A single number to make small."""
        raise NotImplementedError

    def separate_parameters(self) -> list[list[nn.Parameter]]:
        """Parameters with an aim of their own, in groups. The gradient of each group is clipped by itself."""
        return []

    def begin(self, learner: Learner) -> None:
        """Prepare the learner; called before the first update of a stage, and when a stage is resumed."""

    def end(self, learner: Learner) -> None:
        """Undo `begin`; called when the stage is over, also after a failure, even one before `begin`."""

    def before_update(self, update: int) -> None:
        """Called with the number of the update that begins, the same in every process."""

    def after_update(self, learner: Learner) -> None:
        """Called after the optimizer's step."""

"""Runs that end in the middle, for tests of what goes on from there."""

from __future__ import annotations

from collections.abc import Mapping

from acclimate.training.loop import Progress
from acclimate.training.run import Nobody


class Stopped(Exception):
    pass


class StopAt(Nobody):
    """Stops the run at the n-th update that it sees, counted over all stages."""

    def __init__(self, update: int) -> None:
        self.left = update

    def advance(self, progress: Progress, losses: Mapping[str, float] | None) -> None:
        self.left -= 1
        if self.left == 0:
            raise Stopped

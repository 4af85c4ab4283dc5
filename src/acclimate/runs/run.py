"""One run that was planned: its settings, and a folder of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acclimate.runs.fingerprint import files_read
from acclimate.runs.settings import RunSettings
from acclimate.runs.task import Task

CLAIM = "trial.json"  # what a run is: in `training` while it is under way, sealed with the tagger when it is finished
REPORT = "report.json"
PREDICTIONS = "predictions.json"
JUDGEMENTS = ("selectors.json", "answers.json")  # written when the run is finished: not sealed with it


@dataclass(frozen=True)
class PlannedRun:
    """A recipe with a seed, and the folder of the run. `baseline` is the folder of the source-only run with the same
    seed."""

    settings: RunSettings
    folder: Path
    baseline: Path | None = None

    @property
    def recipe(self) -> str:
        return self.settings.recipe

    @property
    def seed(self) -> int:
        return self.settings.seed

    @property
    def name(self) -> str:
        return f"{self.recipe}, seed {self.seed}"

    def claim(self, task: Task) -> dict[str, Any]:
        """Everything that the run depends on."""
        settings = self.settings.model_dump(mode="json")
        for name in ("checkpoint_every", "tensorboard"):  # change no weight
            del settings["training"][name]
        if settings["share"] == 1:  # as if there were no such thing: most runs know of no race
            del settings["share"]
        labels = None if task.target_labels is None else list(task.target_labels.names)
        made: dict[str, Any] = json.loads(
            json.dumps(
                {
                    "data": task.fingerprints,
                    "target_labels": labels,
                    "files": files_read(self.settings.tagger, self.settings.options),
                    **settings,
                }
            )
        )
        return made

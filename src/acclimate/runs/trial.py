"""One run of a comparison: a recipe with a seed, in a folder of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field

from acclimate.data.corpus import Corpus
from acclimate.data.labels import LabelSet
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import find_recipe
from acclimate.runs.fingerprint import files_read
from acclimate.runs.prepare import Preparation, SelectorName, prepare
from acclimate.runs.task import TaggerSettings, Task
from acclimate.settings import Settings
from acclimate.training.settings import TrainingSettings

CLAIM = "trial.json"  # what a run is: in `training` while it is under way, sealed with the tagger when it is finished
REPORT = "report.json"
PREDICTIONS = "predictions.json"
JUDGEMENTS = ("selectors.json", "answers.json")  # written when the run is finished: not sealed with it


class TrialSettings(Settings):
    """How one recipe is trained."""

    options: dict[str, Any] = Field(default_factory=dict)
    """The recipe's own settings."""
    select: SelectorName = "auto"
    """What chooses the state to keep: source-dev, target-dev or last; auto: what fits the recipe."""
    train_on_dev: bool = False
    """Learn from the source dev sentences, too, and keep the last state."""
    tagger: TaggerSettings = TaggerSettings()
    """The tagger: its encoder and its head."""
    training: TrainingSettings = TrainingSettings()
    """How the tagger is trained."""
    share: float = Field(1.0, gt=0, le=1)
    """Share of every stage's updates that is made; less in a race, or for a first look."""


@dataclass(frozen=True)
class Ground:
    """What all runs of a comparison stand on. The gold tags of the target's test sentences are gone: no run can see
    them, wherever it is made. Which labels the target has at all is told apart from them."""

    task: Task
    target_labels: LabelSet | None

    @classmethod
    def of(cls, task: Task) -> Ground:
        labels = None if task.target_labelled is None else task.target_labels
        test = task.target_test
        return cls(replace(task, target_test=None if test is None else test.unlabelled(), watch=None), labels)

    def labels_for(self, recipe: str) -> LabelSet | None:
        """The labels of a tagger of the target's own; None for any other, whose labels are the source's."""
        task = self.task
        return self.target_labels if find_recipe(recipe).trains_target(task.source, task.target_labelled) else None

    @cached_property
    def fingerprint(self) -> str:
        return self.task.fingerprint()

    @cached_property
    def fingerprints(self) -> dict[str, str | None]:
        """Of each corpus; None where there is none."""
        corpora = {part.name: getattr(self.task, part.name) for part in fields(self.task) if part.name != "watch"}
        return {name: None if corpus is None else corpus.fingerprint for name, corpus in corpora.items()}


@dataclass(frozen=True)
class Trial:
    """A recipe, a seed, and the folder of the run. `baseline` is that of the source-only run with the same seed."""

    recipe: str
    seed: int
    settings: TrialSettings
    folder: Path
    baseline: Path | None = None

    @property
    def name(self) -> str:
        return f"{self.recipe}, seed {self.seed}"

    def claim(self, ground: Ground) -> dict[str, Any]:
        """Everything that the run depends on."""
        settings = self.settings.model_dump(mode="json")
        for name in ("checkpoint_every", "tensorboard"):  # change no weight
            del settings["training"][name]
        if settings["share"] == 1:  # as if there were no such thing: most runs know of no race
            del settings["share"]
        labels = None if ground.target_labels is None else list(ground.target_labels.names)
        made: dict[str, Any] = json.loads(
            json.dumps(
                {
                    "recipe": self.recipe,
                    "seed": self.seed,
                    "data": ground.fingerprints,
                    "target_labels": labels,
                    "files": files_read(self.settings.tagger, self.settings.options),
                    **settings,
                }
            )
        )
        return made


def prepared(trial: Trial, tagger: Tagger, task: Task, watch: Corpus | None = None) -> Preparation:
    """The run's plan and selector as `adapt` would make them, without tests: nothing is scored here."""
    settings = trial.settings
    return prepare(
        tagger,
        task.source,
        task.target,
        trial.recipe,
        target_labelled=task.target_labelled,
        source_dev=task.source_dev,
        source_test=None,
        target_dev=task.target_dev,
        target_test=None,
        select=settings.select,
        train_on_dev=settings.train_on_dev,
        watch=watch,
        training=settings.training,
        seed=trial.seed,
        options=settings.options,
    )

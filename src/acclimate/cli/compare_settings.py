"""The settings of `acclimate compare`: those of `adapt` for all recipes, and changes for single ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from acclimate.cli.settings import AdaptSettings, ReadingSettings, gathered, with_own_source
from acclimate.cli.task import read_task, with_fitting_encoder
from acclimate.comparison.judging import ALL_SELECTORS
from acclimate.comparison.plan import merged
from acclimate.recipes.catalogue import BASELINE, RECIPES, find_recipe
from acclimate.runs.task import TaggerSettings, Task
from acclimate.settings import Settings, SettingsError, complete
from acclimate.training.settings import TrainingSettings

_MOST_SEEDS = 10_000


class CompareSettings(Settings):
    """One comparison."""

    source: str = "news"
    """Labelled sentences to learn from: a file, or a bundled corpus by name."""
    source_dev: str | None = None
    """Labelled source sentences that choose the state to keep; a tenth of the source is held out if none are given."""
    source_test: str | None = None
    """Labelled source sentences, scored at the end."""
    target: str | None = "social"
    """Text of the target domain; tags in it are ignored."""
    target_labelled: str | None = None
    """A few labelled target sentences to learn from."""
    target_dev: str | None = None
    """Labelled target sentences that choose the state, with select=target-dev."""
    target_test: str | None = None
    """Labelled target sentences, scored at the end; no run ever sees their tags."""
    recipes: str | list[str] = "all"
    """The recipes to compare: names with commas between, a list, or all."""
    seeds: int | str | list[int] = 3
    """How many seeds, or which: 3, or a list."""
    against: str = BASELINE.name
    """The recipe that all others are compared with."""
    selectors: str | list[str] = "all"
    """Selectors that judge runs without target labels: names, all, or none."""
    rounds: int = Field(1000, ge=1)
    """Rounds of the bootstrap and of the permutation test."""
    select: Literal["auto", "source-dev", "target-dev", "last"] = "auto"
    """What chooses the state to keep: source-dev, target-dev or last; auto: what fits the recipe."""
    train_on_dev: bool = False
    """Learn from the source dev sentences, too, and keep the last state."""
    share: float = Field(1.0, gt=0, le=1)
    """Share of every recipe's updates that is made; below 1 for a first look."""
    reading: ReadingSettings = ReadingSettings()
    """How files are read."""
    tagger: TaggerSettings = TaggerSettings()
    """The tagger: its encoder and its head."""
    training: TrainingSettings = TrainingSettings()
    """How the tagger is trained."""
    each: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Settings for single recipes, by their names, over the shared ones."""

    @property
    def recipe_names(self) -> list[str]:
        """Empty for all."""
        if self.recipes == "all":
            return []
        names = listed(self.recipes)
        if not names:
            raise SettingsError(f"recipes cannot be {self.recipes!r}: names with commas between, or all.")
        return names

    @property
    def selector_names(self) -> list[str]:
        if self.selectors == "none":
            return []
        return list(ALL_SELECTORS) if self.selectors == "all" else listed(self.selectors)

    @property
    def seed_numbers(self) -> int | list[int]:
        """`3` are three seeds, `3,` and `[3]` are seed 3 alone."""
        found = self.seeds if not isinstance(self.seeds, str) else self._spelled_seeds(self.seeds)
        if isinstance(found, int) and found > _MOST_SEEDS:
            raise SettingsError(
                f"seeds cannot be {found}: nobody trains so often. One seed alone has a comma: {found},"
            )
        return found

    @staticmethod
    def _spelled_seeds(seeds: str) -> int | list[int]:
        try:
            numbers = [int(seed) for seed in listed(seeds)]
        except ValueError:
            raise SettingsError(f"seeds cannot be {seeds!r}: a number, or numbers with commas between.") from None
        return numbers if "," in seeds or not numbers else numbers[0]


def listed(names: str | Sequence[str]) -> list[str]:
    """`a, b` as two names."""
    parts = names.split(",") if isinstance(names, str) else names
    return [part.strip() for part in parts if part.strip()]


def compare_settings(
    config: Path | None, given: Mapping[str, Any], assignments: Sequence[str] | None
) -> CompareSettings:
    """From a file and from the command line. A recipe's name in front makes a setting that recipe's own."""
    values = with_own_source(gathered(config, given, assignments))
    own = {name: values.pop(name) for name in list(values) if name in RECIPES}
    for name, changes in own.items():
        if not isinstance(changes, Mapping):
            raise SettingsError(f"{name}={changes}: name one of its settings, such as {name}.options.….")
    each = values.pop("each", None) or {}  # left empty in a file, it is None
    values["each"] = merged(each, own) if isinstance(each, Mapping) else each
    return complete(CompareSettings, with_fitting_encoder(values), where=str(config or "compare"))


def default_folder(settings: CompareSettings) -> Path:
    ends = [Path(name).name.split(".")[0] for name in (settings.source, settings.target) if name]
    return Path("runs") / f"{'-to-'.join(ends)}-compared"


def task_of(settings: CompareSettings, tell: Callable[[str], Any]) -> Task:
    """The corpora, read as `adapt` reads them. The source's labels are those of the task, unless every recipe trains a
    tagger of the target's own."""
    names = [*settings.recipe_names, settings.against] if settings.recipe_names else list(RECIPES)
    others = [name for name in names if name != BASELINE.name] or names
    own = [name for name in others if find_recipe(name).own_tagger != "never"]
    recipe = next((name for name in others if name not in own), others[0])
    shared = settings.model_dump(include=set(AdaptSettings.model_fields) & set(CompareSettings.model_fields))
    return read_task(AdaptSettings(**{**shared, "recipe": recipe}), tell)

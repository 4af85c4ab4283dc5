"""The settings of `acclimate adapt` and `compare`: saved beside the result, and enough to make it again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from acclimate.cli.reading import PairReadingSettings, ReadingSettings
from acclimate.comparison.selectors import ALL_SELECTORS
from acclimate.data.selection.ngram_scores import Measure
from acclimate.model.shipped import GENERAL
from acclimate.recipes.catalogue import BASELINE
from acclimate.runs.compress import CompressTrainingSettings
from acclimate.runs.settings import CommitteeSettings, RunSettings, SharedSettings
from acclimate.settings import Seed, Settings, SettingsError


class CorporaSettings(Settings):
    """Which corpora, by their part, and how they are read."""

    source: str | tuple[str, ...] | None = "news"
    """Labelled source: a file, bundled corpus or list; ,map=M,annotates=A+B,weight=W may follow; null: none."""
    source_dev: str | tuple[str, ...] | None = None
    """Labelled source sentences for choosing the checkpoint, or a list; null: hold out a tenth of the source."""
    source_test: str | tuple[str, ...] | None = None
    """Labelled source sentences to evaluate on at the end, or a list, one for each source; null: none."""
    target: str | None = "social"
    """Text of the target domain; any tags in it are ignored; null: none."""
    target_labelled: str | None = None
    """A few labelled target sentences to train on; null: none."""
    target_dev: str | None = None
    """Labelled target sentences for choosing the checkpoint, with select=target-dev; null: none."""
    target_test: str | None = None
    """Labelled target sentences to evaluate on at the end, never used in training; null: none."""
    reading: PairReadingSettings = PairReadingSettings()
    """How files are read."""


class PoolSettings(Settings):
    """Text of any kind, of which the sentences most like the target's are tuned on."""

    files: tuple[str, ...] = ()
    """Files of raw text, plain, .gz or .xz; of any size."""
    sentences: int = Field(20_000, ge=1)
    """Number of sentences to select."""
    measure: Measure = "contrast"
    """What counts as alike: contrast, overlap or jaccard; see docs/how-to/find-more-text.md."""


class AdaptSettings(RunSettings, CorporaSettings):
    """One run of `acclimate adapt`."""

    committee: CommitteeSettings = CommitteeSettings()
    """Several taggers whose answers on the target's text one student learns."""
    target_text: tuple[str, ...] = ()
    """Files of more text of the target, read from disk while the encoder is tuned."""
    pool: PoolSettings = PoolSettings()
    """Text from which to select more like the target's."""
    minutes: float | None = Field(None, gt=0)
    """Time that all of the run may take: domain tuning is shortened first, then the other stages; null: no limit."""
    watch: str | None = None
    """Labelled sentences on which the tagger's confidence in the gold tags is recorded during training; null: none."""


class CompressSettings(Settings):
    """One run of `acclimate compress`."""

    tagger: str = GENERAL
    """Tagger to compress: the folder of a run, or a shipped one by name."""
    text: tuple[str, ...] = ()
    """Text to learn on, files or bundled corpora, any tags in it ignored; empty: the text of the tagger's run."""
    sentences: int = Field(50_000, ge=1)
    """Maximum number of sentences of the text, drawn at random."""
    test: str | None = None
    """Labelled sentences to score tagger and student on; null: the target test of the tagger's run, if it had one."""
    layers: int = Field(4, ge=1)
    """Number of layers of the encoder that the student keeps."""
    reading: ReadingSettings = ReadingSettings()
    """How files are read."""
    training: CompressTrainingSettings = CompressTrainingSettings()
    """How the student learns."""
    seed: Seed = 1
    """Random seed."""


_MOST_SEEDS = 10_000


class CompareSettings(SharedSettings, CorporaSettings):
    """One comparison."""

    recipes: str | list[str] = "all"
    """Recipes to compare: comma-separated names, a list, or all."""
    seeds: int | str | list[int] = 3
    """Number of random seeds to run each recipe with, or a list of the seeds themselves."""
    against: str = BASELINE.name
    """The baseline recipe that every other recipe is compared with."""
    selectors: str | list[str] = "all"
    """Model-selection methods to evaluate that need no target labels: names, all, or none."""
    rounds: int = Field(1000, ge=1)
    """Number of resamples in the bootstrap and in the permutation test."""
    each: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Settings for single recipes, keyed by recipe name; they override the shared settings."""

    @property
    def shared(self) -> SharedSettings:
        return SharedSettings(**{name: getattr(self, name) for name in SharedSettings.model_fields})

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
        seeds = self.seeds
        if isinstance(seeds, str):
            try:
                numbers = [int(seed) for seed in listed(seeds)]
            except ValueError:
                raise SettingsError(f"seeds cannot be {seeds!r}: a number, or numbers with commas between.") from None
            seeds = numbers if "," in seeds or not numbers else numbers[0]
        if isinstance(seeds, int) and seeds > _MOST_SEEDS:
            raise SettingsError(
                f"seeds cannot be {seeds}: nobody trains so often. One seed alone has a comma: {seeds},"
            )
        return seeds


def listed(names: str | Sequence[str]) -> list[str]:
    """`a, b` as two names."""
    parts = names.split(",") if isinstance(names, str) else names
    return [part.strip() for part in parts if part.strip()]

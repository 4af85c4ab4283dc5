"""Everything that one `adapt` run depends on, in one tree: saved beside its result, and enough to run it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from acclimate.recipes.catalogue import default_recipe
from acclimate.recipes.task import TaggerSettings
from acclimate.settings import Seed, Settings, load_yaml, with_assignments, with_values
from acclimate.training.settings import TrainingSettings


class ReadingSettings(Settings):
    """How files are read."""

    source_format: str | None = None  # detected when not given
    target_format: str | None = None
    source_column: int | str | None = None  # of the tags: a number from 0, or from -1 backwards, or a name; the last
    target_column: int | str | None = None
    words_column: int | str | None = None  # the first
    labels: Literal["spans", "plain"] | None = None  # plain: one label per word, such as parts of speech
    scheme: Literal["IOB1", "IOB2", "BIOES", "IO"] | None = None
    skip_bad: bool = False
    borders: Literal["split", "error", "expand", "contract", "drop"] = "split"
    comments: bool = False
    pre_split: bool = False
    paragraphs: bool = False
    map_source: str | None = None  # a label map for the source files
    map: str | None = None  # a label map for the target files
    typeless: bool = False


class AdaptSettings(Settings):
    """One run of `acclimate adapt`."""

    source: str = "news"
    source_dev: str | None = None
    source_test: str | None = None
    target: str | None = "social"
    target_labelled: str | None = None
    target_dev: str | None = None
    target_test: str | None = None
    recipe: str = default_recipe()
    options: dict[str, Any] = Field(default_factory=dict)  # the recipe's own settings
    select: Literal["auto", "source-dev", "target-dev", "last"] = "auto"
    train_on_dev: bool = False  # the source dev sentences are learnt from as well; the last state is kept
    watch: str | None = None  # labelled sentences: how sure the tagger is of their tags is written down
    seed: Seed = 1
    reading: ReadingSettings = ReadingSettings()
    tagger: TaggerSettings = TaggerSettings()
    training: TrainingSettings = TrainingSettings()


def gathered(config: Path | None, given: Mapping[str, Any], assignments: Sequence[str] | None) -> dict[str, Any]:
    """The settings of a command, not yet checked: the file's, over them its options, over all what `--set` says."""
    values = load_yaml(config) if config is not None else {}
    return with_assignments(with_values(values, given), assignments or ())


def with_own_source(values: Mapping[str, Any]) -> dict[str, Any]:
    """A source that was named is not adapted to our posts unasked: without a target there is none."""
    return dict(values) if "source" not in values or "target" in values else {**values, "target": None}

"""What `--set` takes in the commands that read, write and label corpora."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

from pydantic import Field

from acclimate.data.reading_settings import PairReadingSettings, ReadingSettings
from acclimate.settings import Seed, Settings, complete, gathered


class CorpusSettings(Settings):
    """A command that has no other settings than how it reads."""

    reading: ReadingSettings = ReadingSettings()
    """How files are read."""


class InspectSettings(Settings):
    """`acclimate data inspect`."""

    sentences: int = Field(2000, ge=4)
    """How many random sentences of each corpus to look at."""
    seed: Seed = 0
    """Which sentences are drawn."""
    reading: PairReadingSettings = PairReadingSettings()
    """How files are read."""


class AugmentSettings(Settings):
    """`acclimate data augment`."""

    seed: Seed = 1
    """Which sentences and entities: the same seed gives the same ones."""
    target_variants: int = Field(4, ge=0)
    """How many new sentences to make of each target sentence."""
    source_variants: int = Field(2, ge=0)
    """How many new sentences to make of each source sentence."""
    source_sentences: int = Field(500, ge=0)
    """How many source sentences to use."""
    ratio: float | None = Field(None, ge=0)
    """How many source sentences to use for each target sentence, instead of source_sentences."""
    all_entities: bool = False
    """Exchange all entities of a sentence, not one."""
    scheme: Literal["IOB1", "IOB2", "BIOES", "IO"] = "IOB2"
    """Tag scheme of the new file, where its format has tags."""
    examples: int = Field(3, ge=0)
    """How many new sentences of each domain to show."""
    reading: PairReadingSettings = PairReadingSettings()
    """How files are read."""


class SelectSettings(Settings):
    """`acclimate data select`."""

    shortest: int = Field(1, ge=1)
    """Take no line with fewer words."""
    longest: int | None = Field(None, ge=1)
    """Take no line with more words."""
    lower_case: bool = True
    """Count `The` and `the` as the same word."""
    jobs: int | None = Field(None, ge=1)
    """How many processes read; one per core if not given."""
    reading: ReadingSettings = ReadingSettings()
    """How the target text is read."""


class WeakLabelSettings(Settings):
    """`acclimate data weak-label`."""

    others: Literal["drop", "keep"] = "drop"
    """Types that the map does not name: drop them, or keep them as labels."""
    case: Literal["smart", "lower", "exact"] = "smart"
    """When capitals count: in short names in capitals such as ALS (smart), never (lower) or always (exact)."""
    shortest: int = Field(2, ge=1)
    """Leave out names with fewer letters and digits."""
    plurals: bool = False
    """A name may take an s at its end."""
    leave_out: str | None = None
    """A file of names that are not to be found, one a line."""
    abbreviations: bool = True
    """Find abbreviations that the text explains, as in: polyposis (FAP)."""
    seed: Seed = 0
    """Which sentences go to which part, with --split."""
    most: int = Field(10, ge=0)
    """How many frequent names, and how many conflicts, to show."""
    reading: ReadingSettings = ReadingSettings()
    """How texts are read; a label map renames the true labels."""


class CollocationSettings(Settings):
    """`acclimate data collocations`."""

    size: int | None = Field(None, ge=1)
    """How many to keep: half of the first length, a quarter of the next, and so on; all if not given."""
    lengths: tuple[int, ...] = (2, 3, 4)
    """How many words a collocation may have."""
    measure: Literal["levine", "squared", "unigrams"] = "levine"
    """Score: at the weakest seam (levine), favouring the frequent (squared), or cut into single words (unigrams)."""
    relative_to: Literal["length", "words"] = "length"
    """Probabilities are shares of all runs of the same length, or of all words."""
    lower_case: bool = False
    """Count `The` and `the` as the same word."""
    most: int = Field(5, ge=0)
    """How many collocations of each length to show."""
    reading: ReadingSettings = ReadingSettings()
    """How texts are read."""


BY_COMMAND: dict[str, type[Settings]] = {
    "inspect": InspectSettings,
    "augment": AugmentSettings,
    "select": SelectSettings,
    "weak-label": WeakLabelSettings,
    "collocations": CollocationSettings,
}

S = TypeVar("S", bound=Settings)


def settings_of(kind: type[S], assignments: Sequence[str] | None, given: Mapping[str, Any] | None = None) -> S:
    """The settings of one of these commands, from `--set` and from options that stand for settings."""
    return complete(kind, gathered(None, given or {}, assignments), "--set")


def reading_of(assignments: Sequence[str] | None, map_name: str | None = None) -> ReadingSettings:
    """How a command reads that has no other settings."""
    return settings_of(CorpusSettings, assignments, {"reading.map": map_name}).reading

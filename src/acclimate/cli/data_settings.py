"""What `--set` takes in the commands that read, write and label corpora: first of all, how files are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, TypeVar

from pydantic import Field

from acclimate.settings import Seed, Settings, UsageError, complete, gathered


class ReadingSettings(Settings):
    """How files are read."""

    format: str | None = None
    """Format of the files, such as conll, jsonl or text; detected if not given."""
    column: int | str | None = None
    """Column of the tags: a number from 0, from -1 backwards, or a name; the last if not given."""
    words_column: int | str | None = None
    """Column of the words; the first if not given."""
    labels: Literal["spans", "plain"] | None = None
    """What the tags are: spans (B-PER, I-PER, O) or plain (one label per word); detected if not given."""
    scheme: Literal["IOB1", "IOB2", "BIOES", "IO"] | None = None
    """Tag scheme of the files; detected if not given."""
    comments: bool = False
    """Lines of column files that begin with # are comments."""
    borders: Literal["split", "error", "expand", "contract", "drop"] = "split"
    """What to do with a span that begins or ends inside a word: split the word, move the border, drop it, or stop."""
    pre_split: bool = False
    """Plain text is already split into words by blanks."""
    paragraphs: bool = False
    """Plain text is running text: split it into sentences."""
    skip_bad: bool = False
    """Leave out sentences with a bad line, and list them."""
    map: str | None = None
    """Label map: a YAML file, or a bundled map by name."""
    typeless: bool = False
    """Make every label the same, so that only borders count."""

    def options(self) -> dict[str, Any]:
        """What `read_corpus` and `stream_corpus` take of it."""
        shared = self.model_dump(
            include={"format", "column", "words_column", "labels", "scheme", "comments", "borders", "paragraphs"}
        )
        return {**shared, "skip_bad": self.skip_bad, "tokenize": "blanks" if self.pre_split else None}

    def require_only(self, *names: str) -> Self:
        """Refuse settings that the command at hand would not look at."""
        for name in sorted(self.model_fields_set - set(names)):
            if getattr(self, name) != type(self).model_fields[name].default:
                known = ", ".join(f"reading.{each}" for each in names)
                raise UsageError(f"This command does not use reading.{name}. It uses {known}.")
        return self


class PairReadingSettings(ReadingSettings):
    """How files of two domains are read. What is set for one domain wins over what is set for both."""

    source_format: str | None = None
    """Format of the source files."""
    target_format: str | None = None
    """Format of the target files."""
    source_column: int | str | None = None
    """Column of the source's tags."""
    target_column: int | str | None = None
    """Column of the target's tags."""
    map: str | None = None
    """Label map for the target files: a YAML file, or a bundled map by name."""
    map_source: str | None = None
    """Label map for the source files: a YAML file, or a bundled map by name."""

    def of_source(self) -> ReadingSettings:
        return self._of(self.source_format, self.source_column, self.map_source)

    def of_target(self) -> ReadingSettings:
        return self._of(self.target_format, self.target_column, self.map)

    def _of(self, format: str | None, column: int | str | None, map: str | None) -> ReadingSettings:
        own = {"format": format or self.format, "column": self.column if column is None else column, "map": map}
        shared = self.model_dump(include=set(ReadingSettings.model_fields))
        return ReadingSettings(**{**shared, **own})


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

"""What `--set` takes in the commands that read, write and label corpora: first of all, how files are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, TypeVar

from pydantic import Field

from acclimate.settings import Seed, Settings, UsageError, complete, gathered


class ReadingSettings(Settings):
    """How files are read."""

    format: str | None = None
    """Format of the files, such as conll, jsonl or text; null: detect it."""
    column: int | str | None = None
    """Column of the tags: a number from 0, a negative number counted from the end, or a name; null: the last."""
    words_column: int | str | None = None
    """Column of the words, given in the same way as the column of the tags; null: the first."""
    labels: Literal["spans", "plain"] | None = None
    """Kind of tags: spans (B-PER, I-PER, O) or plain (one label per word); null: detect it."""
    scheme: Literal["IOB1", "IOB2", "BIOES", "IO"] | None = None
    """Tag scheme of the files; null: detect it."""
    comments: bool = False
    """Treat lines that begin with # in column files as comments."""
    borders: Literal["split", "error", "expand", "contract", "drop"] = "split"
    """If a span begins or ends inside a word: split the word, expand, contract or drop the span, or report an error."""
    pre_split: bool = False
    """Plain text is already tokenized: words are separated by spaces."""
    paragraphs: bool = False
    """Plain text is running text: split it into sentences first."""
    skip_bad: bool = False
    """Skip sentences that contain an invalid line, and list them; false: stop with an error."""
    map: str | None = None
    """Label map that renames entity types: a YAML file, or the name of a bundled map; null: none."""
    typeless: bool = False
    """Replace all entity types by a single one, so that only the span boundaries matter."""

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
    """Format of the source files, in place of `format`; null: use `format`."""
    target_format: str | None = None
    """Format of the target files, in place of `format`; null: use `format`."""
    source_column: int | str | None = None
    """Column of the tags in the source files, in place of `column`; null: use `column`."""
    target_column: int | str | None = None
    """Column of the tags in the target files, in place of `column`; null: use `column`."""
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
    """Number of sentences to sample from each corpus."""
    seed: Seed = 0
    """Random seed for the sample."""
    reading: PairReadingSettings = PairReadingSettings()
    """How files are read."""


class AugmentSettings(Settings):
    """`acclimate data augment`."""

    seed: Seed = 1
    """Random seed for the choice of sentences and replacement entities."""
    target_variants: int = Field(4, ge=0)
    """Number of new sentences to create from each labelled target sentence."""
    source_variants: int = Field(2, ge=0)
    """Number of new sentences to create from each selected source sentence."""
    source_sentences: int = Field(500, ge=0)
    """Number of source sentences to select."""
    ratio: float | None = Field(None, ge=0)
    """Number of source sentences to select per labelled target sentence; null: use source_sentences."""
    all_entities: bool = False
    """Replace every entity of a sentence that has a possible replacement; false: only one."""
    format: str | None = None
    """Format of the output file; null: by its name."""
    scheme: Literal["IOB1", "IOB2", "BIOES", "IO"] = "IOB2"
    """Tag scheme of the output file, for formats that store tags."""
    examples: int = Field(3, ge=0)
    """Number of new sentences to print from each domain."""
    reading: PairReadingSettings = PairReadingSettings()
    """How files are read."""


class SelectSettings(Settings):
    """`acclimate data select`."""

    shortest: int = Field(1, ge=1)
    """Skip lines with fewer words than this."""
    longest: int | None = Field(None, ge=1)
    """Skip lines with more words than this; null: no limit."""
    sentences: bool = False
    """Lines are paragraphs: split them, and select single sentences."""
    scores: str | None = None
    """File that gets the score, file and line of each line taken; null: none."""
    lower_case: bool = True
    """Ignore case: count `The` and `the` as the same word."""
    jobs: int | None = Field(None, ge=1)
    """Number of parallel processes that read the text; null: one per CPU core."""
    reading: ReadingSettings = ReadingSettings()
    """How the target text is read."""


class WeakLabelSettings(Settings):
    """`acclimate data weak-label`."""

    annotator: str = "dictionary"
    """What finds the names: dictionary, spacy:MODEL or medcat:PACK (where these are installed)."""
    others: Literal["drop", "keep"] = "drop"
    """What to do with types that the map does not name: drop them, or keep them as labels."""
    case: Literal["smart", "lower", "exact"] = "smart"
    """Match case: never (lower), always (exact), or only for short names in capitals such as ALS (smart)."""
    shortest: int = Field(2, ge=1)
    """Ignore names with fewer letters and digits than this."""
    plurals: bool = False
    """Also match a name with a plural s at its end."""
    leave_out: str | None = None
    """File with names that are never matched, one per line; null: none."""
    abbreviations: bool = True
    """Also label abbreviations that the text itself defines, as in: polyposis (FAP)."""
    seed: Seed = 0
    """With --split: random seed for dividing the sentences into parts."""
    most: int = Field(10, ge=0)
    """Number of frequent names and of conflicts to print."""
    reading: ReadingSettings = ReadingSettings()
    """How texts are read; a label map renames the gold labels."""


class CollocationSettings(Settings):
    """`acclimate data collocations`."""

    size: int | None = Field(None, ge=1)
    """Number of collocations to keep: half for the first length, a quarter for the next, and so on; null: all."""
    lengths: tuple[int, ...] = (2, 3, 4)
    """Lengths of collocations to count, in words."""
    measure: Literal["levine", "squared", "unigrams"] = "levine"
    """Association score: levine (weakest split point), squared (prefers frequent ones) or unigrams (single words)."""
    relative_to: Literal["length", "words"] = "length"
    """Estimate probabilities relative to all n-grams of the same length (length) or to all words (words)."""
    lower_case: bool = False
    """Ignore case: count `The` and `the` as the same word."""
    most: int = Field(5, ge=0)
    """Number of collocations of each length to print."""
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

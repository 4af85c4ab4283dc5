"""The settings of the data commands: what their `--set` takes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from acclimate.cli.reading import PairReadingSettings, ReadingSettings
from acclimate.data.selection.ngram_scores import Measure
from acclimate.labelling.settings import SessionSettings
from acclimate.methods.acquisition.settings import AcquisitionSettings
from acclimate.serving.settings import AccessSettings
from acclimate.settings import Seed, Settings


class InspectSettings(Settings):
    """`acclimate data inspect`."""

    seed: Seed = 0
    """Random seed for the sample of sentences that the encoder reads."""
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
    reading: PairReadingSettings = PairReadingSettings()
    """How files are read."""


class SelectSettings(Settings):
    """`acclimate data select`."""

    measure: Measure = "overlap"
    """What counts as alike: overlap, jaccard or contrast; see docs/how-to/find-more-text.md."""
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

    label: str | None = None
    """One label for everything that is not dropped; null: the labels of the map."""
    others: Literal["drop", "keep"] = "drop"
    """What to do with types that the map does not name: drop them, or keep them as labels."""
    case: Literal["smart", "lower", "exact"] = "smart"
    """Match case: never (lower), always (exact), or only for short names in capitals such as ALS (smart)."""
    shortest: int = Field(2, ge=1)
    """Ignore names with fewer letters and digits than this."""
    leave_out: str | None = None
    """File with names that are never matched, one per line; null: none."""
    abbreviations: bool = True
    """Also label abbreviations that the text itself defines, as in: polyposis (FAP)."""
    reading: ReadingSettings = ReadingSettings()
    """How texts are read; a label map renames the gold labels."""


class CollocationSettings(Settings):
    """`acclimate data collocations`."""

    at_least: int = Field(5, ge=1)
    """Leave out what was seen less often than this."""
    terms: tuple[str, ...] = ()
    """Labelled corpora: how many collocations are their terms? Without any, the labelled ones of the text."""
    size: int | None = Field(None, ge=1)
    """Number of collocations to keep: half for the first length, a quarter for the next, and so on; null: all."""
    lengths: tuple[Annotated[int, Field(ge=2, le=10)], ...] = Field((2, 3, 4), min_length=1)
    """Lengths of collocations to count, in words."""
    measure: Literal["levine", "squared", "unigrams"] = "levine"
    """Association score: levine (weakest split point), squared (prefers frequent ones) or unigrams (single words)."""
    relative_to: Literal["length", "words"] = "length"
    """Estimate probabilities relative to all n-grams of the same length (length) or to all words (words)."""
    lower_case: bool = False
    """Ignore case: count `The` and `the` as the same word."""
    reading: ReadingSettings = ReadingSettings()
    """How texts are read."""


class LabelSettings(SessionSettings):
    """`acclimate label`."""

    answers: int = Field(100, ge=1)
    """With --simulate: number of sentences to label."""
    at: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """With --simulate: numbers of labelled sentences after which the tagger learns; empty: every learning.every."""
    sentences: int = Field(200, ge=1)
    """With --export: number of sentences in the page."""
    take: Path | None = None
    """File that somebody downloaded from a page without a server: put its answers into the session; null: none."""
    browser: Literal["auto", "always", "never"] = "auto"
    """Open the page in a browser: where somebody sits at a terminal of this machine (auto), always or never."""
    serve: AccessSettings = AccessSettings()
    """Who may ask the server of the page."""
    test: str | None = None
    """With --simulate: labelled sentences to score each round on, which are never learnt; null: none."""
    reading: ReadingSettings = ReadingSettings()
    """How texts are read."""


class SuggestSettings(Settings):
    """`acclimate data suggest`."""

    seed: Seed = 1
    """Random seed for the sample of a large text."""
    labelled: str | None = None
    """Sentences that are labelled already: others are chosen, and unlike these; null: none."""
    acquisition: AcquisitionSettings = AcquisitionSettings()
    """Which sentences come first."""
    reading: ReadingSettings = ReadingSettings()
    """How texts are read."""


LABEL = "label"
BY_COMMAND: dict[str, type[Settings]] = {
    LABEL: LabelSettings,
    "suggest": SuggestSettings,
    "inspect": InspectSettings,
    "augment": AugmentSettings,
    "select": SelectSettings,
    "weak-label": WeakLabelSettings,
    "collocations": CollocationSettings,
}

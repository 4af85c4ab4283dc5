"""Everything that one `adapt` run depends on, in one tree: saved beside its result, and enough to run it again."""

from __future__ import annotations

from pydantic import Field

from acclimate.cli.data_settings import PairReadingSettings
from acclimate.comparison.committee import CommitteeSettings
from acclimate.data.selection.ngram_scores import Measure
from acclimate.runs.settings import RunSettings
from acclimate.settings import Settings


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

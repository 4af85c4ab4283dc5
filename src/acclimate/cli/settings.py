"""Everything that one `adapt` run depends on, in one tree: saved beside its result, and enough to run it again."""

from __future__ import annotations

from acclimate.cli.data_settings import PairReadingSettings
from acclimate.comparison.committee import CommitteeSettings
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


class AdaptSettings(RunSettings, CorporaSettings):
    """One run of `acclimate adapt`."""

    committee: CommitteeSettings = CommitteeSettings()
    """Several taggers whose answers on the target's text one student learns."""
    watch: str | None = None
    """Labelled sentences on which the tagger's confidence in the gold tags is recorded during training; null: none."""

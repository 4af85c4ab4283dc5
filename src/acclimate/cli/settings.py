"""Everything that one `adapt` run depends on, in one tree: saved beside its result, and enough to run it again."""

from __future__ import annotations

from acclimate.cli.data_settings import PairReadingSettings
from acclimate.runs.settings import RunSettings
from acclimate.settings import Settings


class CorporaSettings(Settings):
    """Which corpora, by their part, and how they are read."""

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
    """Labelled target sentences, scored at the end and never seen in training."""
    reading: PairReadingSettings = PairReadingSettings()
    """How files are read."""


class AdaptSettings(RunSettings, CorporaSettings):
    """One run of `acclimate adapt`."""

    watch: str | None = None
    """Labelled sentences; how sure the tagger is of their tags is recorded along training."""

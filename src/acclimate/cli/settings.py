"""Everything that one `adapt` run depends on, in one tree: saved beside its result, and enough to run it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


def with_own_source(values: Mapping[str, Any]) -> dict[str, Any]:
    """A source that was named is not adapted to our posts unasked: without a target there is none."""
    return dict(values) if "source" not in values or "target" in values else {**values, "target": None}

"""Everything that one `adapt` run depends on, in one tree: saved beside its result, and enough to run it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from acclimate.runs.settings import RunSettings
from acclimate.settings import Settings, load_yaml, with_assignments, with_values


class ReadingSettings(Settings):
    """How files are read."""

    source_format: str | None = None
    """Format of the source files; detected if not given."""
    target_format: str | None = None
    """Format of the target files; detected if not given."""
    source_column: int | str | None = None
    """Column of the source's tags: a number from 0, from -1 backwards, or a name; the last if not given."""
    target_column: int | str | None = None
    """Column of the target's tags; the last if not given."""
    words_column: int | str | None = None
    """Column of the words; the first if not given."""
    labels: Literal["spans", "plain"] | None = None
    """What the tags are: spans (B-PER, I-PER, O) or plain (one label per word); detected if not given."""
    scheme: Literal["IOB1", "IOB2", "BIOES", "IO"] | None = None
    """Tag scheme of the files; detected if not given."""
    skip_bad: bool = False
    """Pass over sentences with a bad line, and list them."""
    borders: Literal["split", "error", "expand", "contract", "drop"] = "split"
    """What to do with a character span that begins or ends inside a word."""
    comments: bool = False
    """Lines of column files that begin with # are comments."""
    pre_split: bool = False
    """Plain text is already split into words by blanks."""
    paragraphs: bool = False
    """Plain text is running text: split it into sentences, too."""
    map_source: str | None = None
    """Label map for the source files: a YAML file, or a bundled map by name."""
    map: str | None = None
    """Label map for the target files: a YAML file, or a bundled map by name."""
    typeless: bool = False
    """Make every label the same, so that only borders count."""


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
    reading: ReadingSettings = ReadingSettings()
    """How files are read."""


class AdaptSettings(RunSettings, CorporaSettings):
    """One run of `acclimate adapt`."""

    watch: str | None = None
    """Labelled sentences; how sure the tagger is of their tags is recorded along training."""


def gathered(config: Path | None, given: Mapping[str, Any], assignments: Sequence[str] | None) -> dict[str, Any]:
    """The settings of a command, not yet checked: the file's, over them its options, over all what `--set` says."""
    values = load_yaml(config) if config is not None else {}
    return with_assignments(with_values(values, given), assignments or ())


def with_own_source(values: Mapping[str, Any]) -> dict[str, Any]:
    """A source that was named is not adapted to our posts unasked: without a target there is none."""
    return dict(values) if "source" not in values or "target" in values else {**values, "target": None}

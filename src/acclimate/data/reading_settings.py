"""How files are read, as settings: what `--set reading.NAME=VALUE` takes."""

from __future__ import annotations

from typing import Any, Literal, Self

from acclimate.settings import Settings, UsageError


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

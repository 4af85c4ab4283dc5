"""The command line as a user types it, run in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from acclimate.cli.main import app
from acclimate.training.progress_bar import TrainingBar

TINY = [
    *("--encoder", "character-cnn-lstm"),
    *("--set", "tagger.lstm.word_width=6", "--set", "tagger.lstm.character_width=4"),
    *("--set", "tagger.lstm.character_filters=5", "--set", "tagger.lstm.lstm_width=7"),
    *("--set", "training.words_per_batch=40", "--set", "training.learning_rate=0.02"),
]
QUICK = [*TINY, "--set", "training.updates=6"]


@dataclass(frozen=True)
class Answer:
    """What a command left behind: results, progress, and the exit code."""

    out: str
    err: str
    code: int

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def acclimate(*words: object, stdin: str | bytes | None = None, code: int = 0) -> Answer:
    """Run a command: `acclimate("data", "check", file, code=1)` expects exit code 1."""
    result = CliRunner().invoke(app, [str(word) for word in words], input=stdin, catch_exceptions=False)
    assert result.exit_code == code, result.output
    return Answer(result.stdout, result.stderr, result.exit_code)


@dataclass(frozen=True)
class Files:
    """Toy corpora on disk. `tweets` is raw text, `gold` the same sentences with tags."""

    news: Path
    dev: Path
    tweets: Path
    gold: Path


@contextmanager
def ctrl_c_after(updates: int) -> Iterator[None]:
    """Training that begins here is interrupted after so many updates, counted over all stages."""
    seen = 0

    def advance(self: TrainingBar, progress: Any, losses: Any) -> None:
        nonlocal seen
        seen += 1
        if seen == updates:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TrainingBar, "advance", advance)
        yield

"""What the folders of these tests hold: words, labels and file names that try to be HTML."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

EVIL_WORD = "<script>alert(1)</script>"
EVIL_LABEL = "<b>&"
QUICK_SETTINGS = [
    *("--encoder", "character-cnn-lstm"),
    *("--set", "tagger.lstm.word_width=6", "--set", "tagger.lstm.character_width=4"),
    *("--set", "tagger.lstm.character_filters=5", "--set", "tagger.lstm.lstm_width=7"),
    *("--set", "tagger.lstm.dropout=0"),
    *("--set", "training.words_per_batch=40", "--set", "training.learning_rate=0.05"),
]


@dataclass(frozen=True)
class Folders:
    corpora: list[str]
    run: Path
    comparison: Path

"""The settings of a table's trainings, read off its cells. A page states them from here and never by hand, so that
`--set` and the scale cannot make it wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from acclimate.model.encoders.shipped import OWN_ENCODER
from acclimate.reproduction.cells import Cell
from acclimate.reproduction.table import CellSettings

_OF_LSTM = "tagger.lstm."
_TOLD = (
    "labelled",
    "limit",
    "tagger.encoder",
    "tagger.head",
    f"{_OF_LSTM}vectors",
    f"{_OF_LSTM}lstm_width",
    f"{_OF_LSTM}contextual.encoder",
    "options.updates",
    "training.updates",
    "training.epochs",
    "training.sentences_per_batch",
    "training.words_per_batch",
    "training.optimizer",
    "training.learning_rate",
    "training.decay",
)


def told_settings(cells: Iterable[Cell]) -> dict[str, str]:
    """By name, as `--set` takes it: the value, or the values of several cells. Without what no cell sets."""
    trained = [cell.settings for cell in cells if cell.settings.recipe is not None]
    found = {name: _different(_value(settings, name) for settings in trained) for name in _TOLD}
    return {name: " or ".join(values) for name, values in found.items() if values}


def _different(values: Iterable[Any]) -> Sequence[str]:
    return list(dict.fromkeys(_written(value) for value in values if value is not None))


def _written(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _value(settings: CellSettings, name: str) -> Any:
    """None where it is not set, or belongs to an encoder that the cell has not."""
    if name.startswith(_OF_LSTM) and settings.tagger.encoder != OWN_ENCODER:
        return None
    found: Any = settings
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else getattr(found, part, None)
    return found

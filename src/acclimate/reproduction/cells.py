"""A table as single cells, with all settings resolved: of the file, the scale and the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acclimate.comparison.plan import merged
from acclimate.model.encoders.shipped import CNN_LSTM
from acclimate.recipes.catalogue import RECIPES, find_recipe
from acclimate.reproduction.measures import MEASURES, STATISTICS
from acclimate.reproduction.table import CellSettings, Scale, SmallScale, Table
from acclimate.settings import SettingsError, complete, with_assignments


@dataclass(frozen=True)
class Cell:
    """A place in the table, and what stands there."""

    row: str
    column: str
    settings: CellSettings
    measures: tuple[str, ...]  # empty where something is counted

    @property
    def name(self) -> str:
        return f"{self.row} | {self.column}"


def cells_of(table: Table, scale: Scale = "full", assignments: Sequence[str] = ()) -> list[Cell]:
    """All cells, row by row. `assignments` (`training.updates=100`, `pdaln.options.rounds=1`) win over all else."""
    small = table.small if scale == "small" else None
    rows = _selected(table, "rows", None if small is None else small.rows)
    columns = _selected(table, "columns", None if small is None else small.columns)
    cells = []
    for row, row_settings in rows.items():
        only = row_settings.get("only")
        for column, column_settings in columns.items():
            if only is None or column in map(str, only):
                values = _resolved(table, row_settings, column_settings)
                if small is not None:
                    values = _at_small_scale(values, small)
                cells.append(_cell(table, row, column, with_assignments(values, _assignments_for(assignments, values))))
    _require_recipes(table, cells, assignments)
    return cells


def _resolved(table: Table, row_settings: Mapping[str, Any], column_settings: Mapping[str, Any]) -> dict[str, Any]:
    """What all cells share, over it the column, over that what the column has for the recipe, and over all the row."""
    row = {name: value for name, value in row_settings.items() if name != "only"}
    column = {name: value for name, value in column_settings.items() if name != "of_recipe"}
    recipe = merged(merged(table.all, column), row).get("recipe")
    by_recipe = column_settings.get("of_recipe", {})
    for name in by_recipe:
        find_recipe(name)  # or a slip would have no effect
    column = merged(column, by_recipe.get(recipe or "", {}))
    return merged(merged(table.all, column), row)


def _at_small_scale(values: Mapping[str, Any], small: SmallScale) -> dict[str, Any]:
    """What a row leaves out (labelled: null) is not brought back."""
    less = {name: value for name, value in small.all.items() if values.get(name, name) is not None}
    encoder = values.get("tagger", {}).get("encoder", "")
    of_both = merged(small.of_encoder.get(encoder, {}), small.of_recipe.get(values.get("recipe") or "", {}))
    return merged(merged(values, less), of_both)


def _assignments_for(assignments: Sequence[str], values: Mapping[str, Any]) -> list[str]:
    """Those of all cells, and those of the cell's recipe, without its name in front (`pdaln.options.rounds=1`)."""
    meant = []
    for assignment in assignments:
        name, dot, rest = assignment.partition(".")
        if not dot or name not in RECIPES:
            meant.append(assignment)
        elif name == values.get("recipe"):
            meant.append(rest)
    return meant


def _require_recipes(table: Table, cells: Sequence[Cell], assignments: Sequence[str]) -> None:
    """Settings of a recipe that no cell has would have no effect."""
    made = list(dict.fromkeys(cell.settings.recipe for cell in cells if cell.settings.recipe is not None))
    for assignment in assignments:
        name, dot, _ = assignment.partition(".")
        if dot and name in RECIPES and name not in made:
            known = f"Its recipes: {', '.join(made)}." if made else "It trains nothing."
            raise SettingsError(f"--set {assignment}: {table.name} has no cell of {name} at this scale. {known}")


def _selected(table: Table, side: str, names: Sequence[str] | None) -> Mapping[str, dict[str, Any]]:
    known: Mapping[str, dict[str, Any]] = getattr(table, side)
    for name in names or ():
        if name not in known:
            raise SettingsError(f"{table.name}: small.{side} names {name!r}, which is none of {', '.join(known)}.")
    return known if names is None else {name: known[name] for name in names}


def _cell(table: Table, row: str, column: str, values: Mapping[str, Any]) -> Cell:
    where = f"{table.name}, row {row!r}, column {column!r}"
    settings = complete(CellSettings, values, where=where)
    if (settings.recipe is None) == (settings.count is None):
        raise SettingsError(f"{where}: a cell has either a recipe or something to count.")
    if settings.recipe is not None:
        kind = find_recipe(settings.recipe).options
        options = complete(kind, settings.options, where=f"{where}: options of recipe {settings.recipe}")
        settings = settings.model_copy(update={"options": options.model_dump(mode="json")})
        if settings.source is None and not settings.alone:
            raise SettingsError(f"{where}: a training needs a source, or alone: true.")
        if settings.alone and (settings.target is None or settings.labelled is None):
            raise SettingsError(f"{where}: alone needs a target and how much of it is labelled.")
    elif settings.count not in STATISTICS:
        raise SettingsError(f"{where}: count cannot be {settings.count!r}. Known: {', '.join(STATISTICS)}.")
    measures = () if settings.count is not None else settings.measures or table.measures
    for measure in measures:
        if measure not in MEASURES:
            raise SettingsError(f"{where}: measures cannot have {measure!r}. Known: {', '.join(MEASURES)}.")
    if settings.recipe is not None and not measures:
        raise SettingsError(f"{where}: nothing is measured. Known measures: {', '.join(MEASURES)}.")
    return Cell(row, column, settings, measures)


_LSTM = "tagger.lstm."
_SHOWN = (
    "labelled",
    "limit",
    "tagger.encoder",
    "tagger.head",
    f"{_LSTM}vectors",
    f"{_LSTM}lstm_width",
    f"{_LSTM}contextual.encoder",
    "options.updates",
    "training.updates",
    "training.epochs",
    "training.sentences_per_batch",
    "training.words_per_batch",
    "training.optimizer",
    "training.learning_rate",
    "training.decay",
)


def shared_settings(cells: Iterable[Cell]) -> dict[str, str]:
    """By name, as `--set` takes it: the value, or the values of several cells. Without what no cell sets."""
    trained = [cell.settings for cell in cells if cell.settings.recipe is not None]
    found = {name: _different(_value(settings, name) for settings in trained) for name in _SHOWN}
    return {name: " or ".join(values) for name, values in found.items() if values}


def _different(values: Iterable[Any]) -> Sequence[str]:
    return list(dict.fromkeys(_written(value) for value in values if value is not None))


def _written(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _value(settings: CellSettings, name: str) -> Any:
    """None where it is not set, or belongs to an encoder that the cell has not."""
    if name.startswith(_LSTM) and settings.tagger.encoder != CNN_LSTM:
        return None
    found: Any = settings
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else getattr(found, part, None)
    return found

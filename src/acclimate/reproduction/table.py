"""The tables that can be run: what a table's file may say, and all files in `tables/` by their names.

To add a table is to add a file; what tables of one paper share stands in `tables/shared/`. A table's cells have the
settings of its rows and columns put together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from acclimate.comparison.scheduler import merged
from acclimate.model.encoders.shipped import CNN_LSTM
from acclimate.recipes.catalogue import RECIPES, find_recipe
from acclimate.reproduction.measures import MEASURES, STATISTICS
from acclimate.runs.settings import SelectorName, TaggerSettings
from acclimate.settings import Settings, SettingsError, UsageError, complete, load_yaml, with_assignments
from acclimate.spelling import did_you_mean
from acclimate.training.settings import TrainingSettings

_FILES = files("acclimate.reproduction") / "tables"
_PAPERS = ("mlm4uda", "MAT", "MSLM", "PDALN", "DATNet")  # their tables are listed in this order, and all others behind

Number = float | int | str  # as it is printed: 91.2, or "91.20 ± 0.08"
Printed = dict[str, dict[str, Number | dict[str, Number]]]  # by row and column, and by figure where there are several
Picture = Literal["bars", "lines", "cells"]
Scale = Literal["full", "small"]


class Extra(Settings):
    """More text of the target's kind, without labels."""

    text: str  # a data set with a part `unlabelled`
    lines: int = Field(ge=1)
    by: Literal["likeness", "chance"] = "likeness"  # those most like the target's train text, or any


class Watch(Settings):
    """Sentences of the source's set: how sure the tagger is of their tags is written down along training."""

    sentence: str | None = None  # one of test, word for word
    others: int = Field(0, ge=0)  # so many of dev with an entity


class CellSettings(Settings):
    """One cell: a training that is tested (`recipe`), or something that is counted in corpora (`count`)."""

    source: str | None = None  # a data set: train teaches, dev chooses; without a target its test is the test
    target: str | None = None
    labelled: int | float | Literal["all"] | None = None  # sentences, or a share of the words, of the target's train
    alone: bool = False  # the labelled target sentences are all that is learnt from
    source_sentences: int | None = Field(None, ge=1)
    dev_sentences: int | None = Field(None, ge=1)  # of the target
    typeless: bool = False
    extra: Extra | None = None
    second: str | None = None  # a data set of another task, learnt beside (mat)
    limit: int | None = Field(None, ge=1)  # so many sentences of every part, for a trial
    watch: Watch | None = None
    recipe: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)  # of the recipe, or of what is counted
    tagger: TaggerSettings = TaggerSettings()
    training: TrainingSettings = TrainingSettings()
    select: SelectorName = "auto"
    train_on_dev: bool = False
    count: str | None = None
    corpora: tuple[str, ...] = ()  # that are counted in, behind source and target
    part: Literal["train", "dev", "test", "unlabelled"] = "train"  # of these
    measures: tuple[str, ...] = ()  # of this cell; else the table's

    @property
    def counted_in(self) -> tuple[str, ...]:
        return tuple(name for name in (self.source, self.target, *self.corpora) if name is not None)

    @property
    def sets(self) -> tuple[str, ...]:
        """The data sets that the cell needs."""
        extra = None if self.extra is None else self.extra.text
        named = (self.source, self.target, self.second, extra, *self.corpora)
        return tuple(dict.fromkeys(name for name in named if name is not None))


class SmallScale(Settings):
    """What is different with `--scale small`. Data sets are replaced by bundled corpora."""

    rows: tuple[str, ...] | None = None  # of the table's; all if not said
    columns: tuple[str, ...] | None = None
    all: dict[str, Any] = Field(default_factory=dict)  # over the settings of every cell
    of_encoder: dict[str, dict[str, Any]] = Field(default_factory=dict)  # besides, by the tagger's encoder
    of_recipe: dict[str, dict[str, Any]] = Field(default_factory=dict)  # besides, by recipe


class Table(Settings):
    """One table or figure that can be run."""

    name: str  # its file's, such as datnet-table6
    paper: str
    shows: str  # which tables and figures of the paper
    title: str
    rows_are: str
    columns_are: str
    measures: tuple[str, ...] = ()
    seeds: int = Field(3, ge=1)
    picture: Picture = "bars"
    all: dict[str, Any] = Field(default_factory=dict)  # settings of every cell
    rows: dict[str, dict[str, Any]]  # what a row changes; `only` names the columns that it has
    columns: dict[str, dict[str, Any]]  # what a column changes; `of_recipe` has more of that by recipe
    mean_column: str | None = None  # behind all others, their mean, where every one of them was run
    best: bool = False  # tell the best seed as well
    against: dict[str, str] = Field(default_factory=dict)  # row: the row that it is compared with
    published: Printed = Field(default_factory=dict)
    published_gains: Printed = Field(default_factory=dict)  # differences, as the paper prints them
    differs: tuple[str, ...] = ()  # from the paper
    small: SmallScale = SmallScale()

    @field_validator("published", "published_gains", "rows", "columns", mode="before")
    @classmethod
    def _names_are_words(cls, value: Any) -> Any:
        """YAML reads a name such as 0.1 as a number."""
        return _named(value) if isinstance(value, dict) else value


def _named(value: Any, depth: int = 3) -> Any:
    if not isinstance(value, dict) or not depth:
        return value
    return {str(name): _named(below, depth - 1) for name, below in value.items()}


class Shared(Settings):
    """What tables of a paper have in common."""

    all: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it
    rows: dict[str, dict[str, Any]] = {}  # noqa: RUF012 - a table takes those that it names
    small: dict[str, Any] = {}  # noqa: RUF012
    differs: tuple[str, ...] = ()


@cache
def all_tables() -> dict[str, Table]:
    """By name: paper by paper, and by number."""
    with as_file(_FILES) as folder:
        tables = [read_table(file) for file in folder.glob("*.yaml")]
    return {table.name: table for table in sorted(tables, key=_order)}


def find_table(name: str) -> Table:
    """Upper and lower case are the same."""
    tables = all_tables()
    if name.lower() in tables:
        return tables[name.lower()]
    listing = f"`acclimate papers list` names all {len(tables)} of them."
    raise UsageError(f"Unknown table {name!r}.{did_you_mean(name.lower(), tables)} {listing}")


def read_table(file: str | Path) -> Table:
    """A table's file, completed by what it shares (`like: NAME`); refuses what it does not know."""
    file = Path(file)
    values = load_yaml(file)
    like = values.pop("like", None)
    if like is not None:
        values = _with_shared(values, file.parent / "shared" / f"{like}.yaml", file)
    return complete(Table, {"name": file.stem, **values}, where=file.name)


def _with_shared(values: dict[str, Any], place: Path, file: Path) -> dict[str, Any]:
    shared = complete(Shared, load_yaml(place), where=place.name)
    rows = values.get("rows", {})
    if isinstance(rows, list):
        rows = {name: {} for name in rows}
    if not isinstance(rows, dict):
        raise SettingsError(f"{file.name}: rows must be names, or a mapping, not {type(rows).__name__}.")
    known = {str(name): own for name, own in shared.rows.items()}
    rows = {str(name): _row(str(name), own or {}, known, file) for name, own in rows.items()}
    return {
        **values,
        "rows": rows,
        "all": merged(shared.all, values.get("all", {})),
        "small": merged(shared.small, values.get("small", {})),
        "differs": (*shared.differs, *values.get("differs", ())),
    }


def _row(name: str, own: dict[str, Any], known: dict[str, dict[str, Any]], file: Path) -> dict[str, Any]:
    """A row may be one of the shared ones by its name, or begin as one (`as: NAME`)."""
    own = dict(own)
    begun = own.pop("as", name)
    if begun != name and begun not in known:
        raise SettingsError(f"{file.name}: row {name!r} begins as {begun!r}, which is none of {', '.join(known)}.")
    return merged(known.get(begun, {}), own)


def _order(table: Table) -> tuple[int, str, int]:
    """Tables of a paper before its figures, each kind by number."""
    kind, number = re.fullmatch(r"(.*?)(\d*)", table.name.partition("-")[2]).groups()  # type: ignore[union-attr]
    place = _PAPERS.index(table.paper) if table.paper in _PAPERS else len(_PAPERS)
    return place, "0" if kind == "table" else kind, int(number or 0)


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
    of_recipes = [one for one in assignments if "." in one and one.partition(".")[0] in RECIPES]
    of_all = [one for one in assignments if one not in of_recipes]
    cells = []
    for row, row_settings in rows.items():
        only = row_settings.get("only")
        for column, column_settings in columns.items():
            if only is None or column in map(str, only):
                values = _resolved(table, row_settings, column_settings)
                if small is not None:
                    values = _at_small_scale(values, small)
                prefix = f"{values.get('recipe')}."
                own = [one.removeprefix(prefix) for one in of_recipes if one.startswith(prefix)]
                cells.append(_cell(table, row, column, with_assignments(values, [*of_all, *own])))
    made = dict.fromkeys(cell.settings.recipe for cell in cells if cell.settings.recipe is not None)
    for one in of_recipes:
        name = one.partition(".")[0]
        if name not in made:  # it would have no effect
            known = f"Its recipes: {', '.join(made)}." if made else "It trains nothing."
            raise SettingsError(f"--set {one}: {table.name} has no cell of {name} at this scale. {known}")
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
    shared = {}
    for name in _SHOWN:
        values = [value for value in (_value(settings, name) for settings in trained) if value is not None]
        spelled = dict.fromkeys(f"{value:g}" if isinstance(value, float) else str(value) for value in values)
        if spelled:
            shared[name] = " or ".join(spelled)
    return shared


def _value(settings: CellSettings, name: str) -> Any:
    """None where it is not set, or belongs to an encoder that the cell has not."""
    if name.startswith(_LSTM) and settings.tagger.encoder != CNN_LSTM:
        return None
    value: Any = settings
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else getattr(value, part, None)
    return value

"""The tables that can be run: what a table's file may say, and all files in `tables/` by their names. To add a table is
to add a file; what tables of one paper share stands in `tables/shared/`."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from acclimate.comparison.plan import merged
from acclimate.runs.settings import SelectorName, TaggerSettings
from acclimate.settings import Settings, SettingsError, UsageError, complete, load_yaml
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
    misleading: int = Field(0, ge=0)  # so many of dev with a word that train knows under another label alone


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

"""What a table's file may say: rows, columns, what is measured, the paper's own numbers, and how it is run small."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from acclimate.runs.settings import SelectorName, TaggerSettings
from acclimate.settings import Settings
from acclimate.training.settings import TrainingSettings

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
    """One runner."""

    id: str  # such as S4.17; what ids mean stands in docs/papers/README.md
    alias: str  # such as datnet-table6
    paper: Literal["mlm4uda", "MAT", "MSLM", "PDALN", "DATNet"]
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

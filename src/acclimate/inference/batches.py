"""Tag tables batch by batch, as Ray Data, Spark, Dask and `datasets` hand them over."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from acclimate.data.problems import InputError, optional_library
from acclimate.inference.loading import TaggerPlace
from acclimate.model.text_tagger import Entity
from acclimate.spelling import did_you_mean

Batch = TypeVar("Batch")
_FIELDS = ("label", "text", "start", "end", "score")
_DDL = "array<struct<label: string, text: string, start: bigint, end: bigint, score: double>>"


def _settle_in_copy() -> None:
    """A copy of a process (`datasets` makes some) has none of its threads, for which OpenMP would wait for ever."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_settle_in_copy)


class TagBatches:
    """Takes a batch with a column of texts, and gives the same batch with one more column: the entities of each text.

    A batch is a dict of lists or arrays, a pandas or polars frame, or a pyarrow table. An entity is a dict with label,
    text, start, end and score. Where a text is missing, so are its entities. It can be sent to other processes, which
    load the tagger once each.
    """

    def __init__(
        self, tagger: str | Path, column: str = "text", entities: str = "entities", device: str = "auto"
    ) -> None:
        self._tagger, self._column, self._entities = TaggerPlace.of(tagger, device), column, entities

    def __call__(self, batch: Batch) -> Batch:
        table: Any = batch
        texts = _texts_of(table, self._column)
        tagged = self._tagger.load().pipe(text for text in texts if text is not None)
        found = [None if text is None else [_as_dict(entity) for entity in next(tagged)] for text in texts]
        made: Batch = _with_column(table, self._entities, found)
        return made

    def frames(self, frames: Iterable[Batch]) -> Iterator[Batch]:
        """One batch after the other, as Spark's `mapInPandas` and `mapInArrow` take them."""
        return map(self, frames)

    def arrow_schema(self, schema: Any) -> Any:
        """The pyarrow schema of what is given, by that of what is taken."""
        pyarrow = _arrow()
        return schema.append(pyarrow.field(self._entities, _arrow_type()))

    def spark_schema(self, schema: Any) -> str:
        """The same for Spark, as DDL: `frame.mapInPandas(tag.frames, tag.spark_schema(frame.schema))`."""
        columns = [f"`{field.name.replace('`', '``')}` {field.dataType.simpleString()}" for field in schema.fields]
        return ", ".join([*columns, f"`{self._entities}` {_DDL}"])


def _as_dict(entity: Entity) -> dict[str, Any]:
    return {name: getattr(entity, name) for name in _FIELDS}


def _is_missing(text: Any) -> bool:
    """None, pandas' NA, or a number that is none."""
    return text is None or type(text).__name__ == "NAType" or (isinstance(text, float) and text != text)


def _texts_of(table: Any, column: str) -> list[Any]:
    names = list(table.column_names if _is_arrow(table) else table.columns if hasattr(table, "columns") else table)
    if column not in names:
        there = ", ".join(map(repr, names)) or "nothing"
        raise InputError(f"the batch has no column {column!r}.{did_you_mean(column, map(str, names))} It has {there}.")
    texts = table.column(column).to_pylist() if _is_arrow(table) else list(table[column])
    # numpy and other libraries have strings of their own
    return [None if _is_missing(text) else str(text) if isinstance(text, str) else text for text in texts]


def _with_column(table: Any, name: str, found: list[list[dict[str, Any]] | None]) -> Any:
    kind = type(table).__module__.partition(".")[0]
    if _is_arrow(table):
        column = _arrow().array(found, _arrow_type())
        place = table.schema.get_field_index(name)
        return table.append_column(name, column) if place < 0 else table.set_column(place, name, column)
    if kind == "polars":
        polars = optional_library("polars", "this needs polars.")
        return table.with_columns(polars.Series(name, found, dtype=_polars_type(polars)))
    if hasattr(table, "assign"):  # a pandas frame
        pandas = optional_library("pandas", "this needs pandas.")
        return table.assign(**{name: pandas.Series(found, index=table.index, dtype=object)})
    if isinstance(next(iter(table.values())), list):
        return {**table, name: found}
    import numpy as np

    objects = np.empty(len(found), object)  # a list would become an array of two dimensions where lengths are equal
    for number, entities in enumerate(found):
        objects[number] = entities
    return {**table, name: objects}


def _is_arrow(table: Any) -> bool:
    return type(table).__module__.partition(".")[0] == "pyarrow"


def _arrow() -> Any:
    return optional_library("pyarrow", "this needs pyarrow: pip install 'acclimate[parquet]'.")


def _arrow_type() -> Any:
    pyarrow = _arrow()
    kinds = (pyarrow.string(), pyarrow.string(), pyarrow.int64(), pyarrow.int64(), pyarrow.float64())
    return pyarrow.list_(pyarrow.struct(list(zip(_FIELDS, kinds, strict=True))))


def _polars_type(polars: Any) -> Any:
    kinds = (polars.String, polars.String, polars.Int64, polars.Int64, polars.Float64)
    return polars.List(polars.Struct(dict(zip(_FIELDS, kinds, strict=True))))

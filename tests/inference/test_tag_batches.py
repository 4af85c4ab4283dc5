"""Tables tagged batch by batch: each kind comes back as it was, with the entities of each text."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acclimate.data.problems import InputError
from acclimate.inference.batches import TagBatches
from acclimate.model.storage import StorageError

TEXTS = ["Anna flew to Paris.", None, "It rained. Bob left Oslo!", ""]
ROWS = {"id": [1, 2, 3, 4], "text": TEXTS}


@pytest.fixture(scope="module")
def folder(build: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    place: Path = tmp_path_factory.mktemp("taggers") / "a"
    build().save(place)
    return place


@pytest.fixture
def tag(folder: Path) -> TagBatches:
    """As it arrives in another process."""
    there: TagBatches = pickle.loads(pickle.dumps(TagBatches(folder)))
    return there


@pytest.fixture
def expected(folder: Path) -> list[Any]:
    """What the tagger itself finds."""
    from acclimate.model.tagger import Tagger

    names, tagger = ("label", "text", "start", "end", "score"), Tagger.load(folder)
    found = tagger([text for text in TEXTS if text is not None])
    rows = iter([[{name: getattr(one, name) for name in names} for one in entities] for entities in found])
    return [None if text is None else next(rows) for text in TEXTS]


def test_some_entity_is_there_to_be_found(expected: list[Any]) -> None:
    assert any(expected)


def test_lists_and_arrays_come_back_with_entities(tag: TagBatches, expected: list[Any]) -> None:
    assert tag(ROWS) == {**ROWS, "entities": expected}
    arrays = tag({"id": np.arange(4), "text": np.array(TEXTS, object)})
    assert arrays["entities"].tolist() == expected
    one = tag({"text": np.array(["Anna left Oslo"])})  # of numpy's own strings
    assert len(one["entities"]) == 1
    assert ROWS.keys() == {"id", "text"}


def test_pandas_keeps_its_index_whatever_is_missing(tag: TagBatches, expected: list[Any]) -> None:
    pandas = pytest.importorskip("pandas")
    for missing in (None, float("nan"), pandas.NA):
        texts = [missing if text is None else text for text in TEXTS]
        frame = pandas.DataFrame({"id": ROWS["id"], "text": texts}, index=[7, 8, 8, 9])
        made = tag(frame)
        assert list(made.columns) == ["id", "text", "entities"]
        assert list(made.index) == [7, 8, 8, 9]
        assert list(made["entities"]) == expected
        assert "entities" not in frame
    (first, second) = tag.frames(iter([frame, frame[:0]]))
    assert (len(first), len(second)) == (4, 0)


def test_polars_and_arrow_have_a_type_even_where_nothing_is_found(tag: TagBatches, expected: list[Any]) -> None:
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    frame, table = polars.DataFrame(ROWS), pyarrow.table(ROWS)
    assert tag(frame)["entities"].to_list() == expected
    assert tag(table)["entities"].to_pylist() == expected
    (batch,) = table.to_batches()
    assert tag(batch)["entities"].to_pylist() == expected
    assert tag(frame[:0]).schema == tag(frame).schema
    assert tag(table.slice(1, 1)).schema == tag(table).schema == tag.arrow_schema(table.schema)


def test_datasets_map_in_batches_and_in_processes(tag: TagBatches, expected: list[Any]) -> None:
    datasets = pytest.importorskip("datasets", reason="needs pip install 'acclimate[datasets]'")
    data = datasets.Dataset.from_dict({name: [None, *column] for name, column in ROWS.items()})
    features = datasets.Features.from_arrow_schema(tag.arrow_schema(data.features.arrow_schema))
    for processes in (None, 2):  # copies of this process, in which the tagger has worked by then
        made = data.map(tag, batched=True, batch_size=2, features=features, num_proc=processes)
        assert list(made["entities"]) == [None, *expected]


def test_a_dask_frame_is_tagged_by_partitions(tag: TagBatches, expected: list[Any]) -> None:
    pandas = pytest.importorskip("pandas")
    dask = pytest.importorskip("dask.dataframe", reason="needs pip install 'dask[dataframe]'")
    frame = dask.from_pandas(pandas.DataFrame(ROWS), npartitions=2)
    assert list(frame.map_partitions(tag).compute(scheduler="synchronous")["id"]) == ROWS["id"]


def test_ray_maps_batches(tag: TagBatches, expected: list[Any]) -> None:
    ray = pytest.importorskip("ray", reason="needs pip install 'ray[data]'")
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100 << 20, log_to_driver=False)
    try:
        rows = [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)]
        made = ray.data.from_items(rows).map_batches(tag, batch_format="pyarrow", batch_size=3)
        assert [row["entities"] for row in sorted(made.take_all(), key=lambda row: row["id"])] == expected
    finally:
        ray.shutdown()


def test_spark_maps_frames(tag: TagBatches, expected: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark.core", reason="needs pip install pyspark, and Java")
    import shutil
    import sys

    from pyspark.sql import SparkSession

    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    local = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    spark = SparkSession.builder.master("local[1]").config(map=local).getOrCreate()
    try:
        frame = spark.createDataFrame(list(zip(*ROWS.values(), strict=True)), "`an id` int, text string")
        for made in (
            frame.mapInPandas(tag.frames, tag.spark_schema(frame.schema)),
            frame.mapInArrow(tag.frames, tag.spark_schema(frame.schema)),
        ):
            found = [row["entities"] for row in made.collect()]
            assert [None if one is None else [entity.asDict() for entity in one] for one in found] == expected
    finally:
        spark.stop()


def test_a_column_that_is_not_there_is_told(tag: TagBatches) -> None:
    with pytest.raises(InputError, match=r"no column 'text'. Did you mean 'texts'\? It has 'id', 'texts'"):
        tag({"id": [1], "texts": ["Anna"]})


def test_a_tagger_that_was_replaced_meanwhile_is_not_used(build: Callable[..., Any], tmp_path: Path) -> None:
    build().save(tmp_path / "a")
    tag = TagBatches(tmp_path / "a")
    build(head="softmax").save(tmp_path / "a")
    with pytest.raises(StorageError, match="sees another tagger there"):
        tag(ROWS)

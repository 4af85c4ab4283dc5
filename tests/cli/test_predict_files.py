"""`acclimate predict` of much: in several processes, of many files, in shards, on a Dask cluster, and interrupted."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Answer, Files, acclimate

from acclimate.data.corpus import LabelSet
from acclimate.data.reading import read_corpus, stream_corpus
from acclimate.data.writing import writing_parts
from acclimate.inference.files import FileTask, plan_files, shard_of
from acclimate.inference.predict import predict_stream
from acclimate.model.text_tagger import TextTagger
from acclimate.settings import UsageError

LINES = [f"Line {number}: Anna flew to Oslo with {number} others .\n" for number in range(600)]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Six files, two of which have odd names."""
    folder = tmp_path / "in"
    folder.mkdir()
    for number, name in enumerate(("a.txt", "b.txt.", "c d\u00e9😀.txt", "-e.txt", "[f].text", "g.b.txt")):
        (folder / name).write_text("".join(LINES[100 * number : 100 * number + 100]), encoding="utf-8")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """All outputs, without the records beside them."""
    return {file.name: file.read_bytes() for file in folder.iterdir() if not file.name.startswith(".")}


def serial(tagger: Path, texts: Path, out: Path) -> dict[str, bytes]:
    acclimate("predict", tagger, f"{texts}/*", "--out", out)
    return contents(out)


@pytest.fixture
def tagged(tagger: Path, texts: Path, tmp_path: Path) -> dict[str, bytes]:
    """What one process writes for the files."""
    return serial(tagger, texts, tmp_path / "serial")


def test_two_processes_write_what_one_does(tagger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acclimate.inference.predict.WORDS", 1000)
    (tmp_path / "a.txt").write_text("".join(LINES), encoding="utf-8")
    for jobs in (1, 2):
        told = acclimate("predict", tagger, tmp_path / "a.txt", "--out", tmp_path / f"{jobs}.jsonl", "--jobs", jobs).err
        assert "600 sentences, 6,600 words" in told
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()
    (tmp_path / "a.txt").write_bytes("".join(LINES).encode() + b"\xff\n")
    answer = acclimate("predict", tagger, tmp_path / "a.txt", "--out", tmp_path / "3.conll", "--jobs", "2", code=1)
    assert "line 601: byte" in answer.err
    assert not list(tmp_path.glob("*3.conll*"))


def test_each_file_gets_one_of_its_name_and_is_not_tagged_again(tagger: Path, texts: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    acclimate("predict", tagger, f"{texts}/*", "--out", out)
    names = ["-e.conll", "[f].conll", "a.conll", "b.txt..conll", "c d\u00e9😀.conll", "g.b.conll"]
    assert sorted(contents(out)) == sorted(names)
    alone = acclimate("predict", tagger, texts / "a.txt")
    assert (out / "a.conll").read_text(encoding="utf-8") == alone.out
    before = {file.name: file.stat().st_mtime_ns for file in out.iterdir()}
    again = acclimate("predict", tagger, f"{texts}/*", "--out", out)
    assert "6 files done before" in again.err
    assert "0 files tagged" in again.err
    assert {file.name: file.stat().st_mtime_ns for file in out.iterdir()} == before


def test_what_was_made_from_other_input_or_by_another_tagger_is_made_again(
    tagger: Path, texts: Path, tmp_path: Path, tagged: dict[str, bytes]
) -> None:
    out = tmp_path / "serial"
    (texts / "a.txt").write_text("Anna left Oslo\n", encoding="utf-8")
    assert "1 file tagged" in acclimate("predict", tagger, f"{texts}/*", "--out", out).err
    assert contents(out)["a.conll"].startswith(b"Anna\t")
    assert "6 files tagged" in acclimate("predict", tagger / "before", f"{texts}/*", "--out", out).err
    split = ["--set", "reading.pre_split=true"]
    assert "6 files tagged" in acclimate("predict", tagger / "before", f"{texts}/*", "--out", out, *split).err
    (out / ".a.conll.json").write_text("{", encoding="utf-8")
    told = acclimate("predict", tagger / "before", f"{texts}/*", "--out", out, *split, code=1).err
    assert "1 of 6 files could not be tagged" in told
    assert "a.conll is there already" in told
    told = acclimate("predict", tagger / "before", f"{texts}/*", "--out", out, *split, "--overwrite").err
    assert "1 file tagged" in told


def test_an_output_that_is_cut_short_or_changed_is_not_taken_for_done(
    tagger: Path, texts: Path, tmp_path: Path, tagged: dict[str, bytes]
) -> None:
    out = tmp_path / "serial"
    (out / "a.conll").unlink()  # as where a process dies between the record and the output
    acclimate("predict", tagger, f"{texts}/*", "--out", out)
    assert contents(out) == tagged
    (out / "a.conll").write_bytes(tagged["a.conll"][:-9])
    assert "this command has not written it so" in acclimate("predict", tagger, f"{texts}/*", "--out", out, code=1).err
    assert (out / "a.conll").read_bytes() == tagged["a.conll"][:-9]


def test_shards_share_no_file_and_together_have_all(
    tagger: Path, texts: Path, tmp_path: Path, tagged: dict[str, bytes]
) -> None:
    seen: list[str] = []
    for number in (1, 2, 3, 4):
        out = tmp_path / f"shard-{number}"
        acclimate("predict", tagger, f"{texts}/*", "--out", out, "--shard", f"{number}/4")
        seen += contents(out)
        for file in out.iterdir():
            shutil.copy(file, tmp_path / "serial")
    assert sorted(seen) == sorted(tagged)
    assert contents(tmp_path / "serial") == tagged


@pytest.mark.parametrize("shard", ["0/2", "3/2", "1", "a/b", "1/", "-1/2", "1/2/3"])
def test_a_shard_that_is_none_is_refused(shard: str) -> None:
    with pytest.raises(UsageError, match="expected i/n"):
        shard_of([], shard)


@pytest.mark.parametrize("of", [1, 2, 3, 7, 40])
def test_any_number_of_shards_is_a_partition(of: int) -> None:
    tasks = [FileTask(f"{number}.txt", Path(f"{number}.conll")) for number in range(23)]
    shards = [shard_of(tasks, f"{number}/{of}") for number in range(1, of + 1)]
    assert sorted((task for shard in shards for task in shard), key=tasks.index) == tasks
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


def test_names_that_clash_are_refused_before_anything_is_tagged(tagger: Path, texts: Path, tmp_path: Path) -> None:
    (texts / "a.text").write_text("Anna\n", encoding="utf-8")
    answer = acclimate("predict", tagger, f"{texts}/*", "--out", tmp_path / "out", code=2)
    assert "a.text and " in answer.err
    assert "would both be written to" in answer.err
    assert not (tmp_path / "out").exists()
    with pytest.raises(UsageError, match="is read, and would be lost"):
        plan_files([str(tmp_path / "x.conll"), str(tmp_path / "y.txt")], tmp_path, "conll")


def test_several_files_need_a_folder_and_one_file_no_shard(tagger: Path, texts: Path, tmp_path: Path) -> None:
    two = (texts / "a.txt", texts / "g.b.txt")
    assert "--out DIR" in acclimate("predict", tagger, *two, code=2).err
    assert "--shard divides files" in acclimate("predict", tagger, two[0], "--shard", "1/2", code=2).err
    assert "no file fits" in acclimate("predict", tagger, f"{texts}/*.nothing", "--out", tmp_path / "o", code=1).err
    assert "can only be tagged alone" in acclimate("predict", tagger, "-", two[0], "--out", tmp_path / "o", code=2).err
    assert "the folder that is read" in acclimate("predict", tagger, texts, "--out", texts, code=2).err


def test_a_file_that_cannot_be_read_loses_no_other_and_an_empty_one_is_told(
    tagger: Path, texts: Path, tmp_path: Path, tagged: dict[str, bytes]
) -> None:
    (texts / "a.txt.gz").write_bytes(b"\x1f\x8b damaged")
    (texts / "a.txt").unlink()
    (texts / "h.txt").write_bytes(b"Oslo\nZ\xfcrich\n")
    (texts / "i.txt").write_bytes(b"")
    answer = acclimate("predict", tagger, f"{texts}/*", "--out", tmp_path / "out", "--jobs", "2", code=1)
    assert "2 of 8 files could not be tagged" in answer.err
    assert "h.txt, line 2: byte 0xfc is not UTF-8" in answer.err
    assert "a.txt.gz: the compressed file is cut short or damaged" in answer.err
    assert "i.txt: it is empty" in answer.err
    del tagged["a.conll"]
    assert contents(tmp_path / "out") == {**tagged, "i.conll": b""}
    assert not list((tmp_path / "out").glob(".*.part-*"))


def test_parquet_stays_parquet_and_an_empty_table_too(tagger: Path, tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "in").mkdir()
    for name, texts in {"full": LINES[:5], "none": []}.items():
        table = pyarrow.table({"text": pyarrow.array(texts, pyarrow.string())})
        parquet.write_table(table, tmp_path / "in" / f"{name}.parquet")
    acclimate("predict", tagger, tmp_path / "in" / "*.parquet", "--out", tmp_path / "out")
    assert parquet.read_table(tmp_path / "out" / "none.parquet").num_rows == 0
    assert [len(sentence) for sentence in read_corpus(tmp_path / "out" / "full.parquet")] == [11] * 5


def wait_for(there: Callable[[], bool], what: str) -> None:
    for _ in range(30_000):  # a machine may be very busy
        if there():
            return
        time.sleep(0.02)
    raise AssertionError(f"in vain waited for {what}")


def many(folder: Path) -> Path:
    """So many files that whoever tags them can be killed before the last."""
    folder.mkdir()
    for number in range(40):
        (folder / f"{number:02}.txt").write_text("".join(LINES[:200]), encoding="utf-8")
    return folder


@pytest.mark.skipif(os.name != "posix", reason="there are no such signals")
def test_a_command_that_is_killed_takes_up_where_it_was(tagger: Path, tmp_path: Path) -> None:
    texts, out = many(tmp_path / "many"), tmp_path / "out"
    command = [sys.executable, "-m", "acclimate", "predict", tagger, texts, "--out", f"{out}/", "--quiet"]
    with subprocess.Popen(command) as running:
        wait_for(lambda: len(list(out.glob("*.conll"))) > 2, "outputs")
        running.kill()
    done = contents(out)
    assert 2 < len(done) < 40
    answer = acclimate("predict", tagger, texts, "--out", f"{out}/")
    assert "done before" in answer.err
    expected = acclimate("predict", tagger, texts / "00.txt").out.encode()
    assert contents(out) == {f"{number:02}.conll": expected for number in range(40)}
    assert {name: contents(out)[name] for name in done} == done


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="needs pip install distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster


def test_a_dask_cluster_that_loses_a_worker_writes_the_same(tagger: Path, tmp_path: Path, cluster: Any) -> None:
    texts, out = many(tmp_path / "many"), tmp_path / "out"
    command = [sys.executable, "-m", "acclimate", "predict", tagger, texts, "--out", f"{out}/"]
    command += ["--dask", cluster.scheduler_address]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        wait_for(lambda: len(list(out.glob("*.conll"))) > 2 or running.poll() is not None, "outputs")
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        _, told = running.communicate(timeout=600)
    assert running.returncode == 0, told
    expected = acclimate("predict", tagger, texts / "00.txt").out.encode()
    assert contents(out) == {f"{number:02}.conll": expected for number in range(40)}
    assert "40 files tagged" in told or "done before" in told


def test_one_file_and_a_selection_are_sent_to_the_cluster_too(
    tagger: Path, tmp_path: Path, files: Files, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acclimate.inference.predict.WORDS", 1000)
    (tmp_path / "a.txt").write_text("".join(LINES), encoding="utf-8")
    dask = ["--dask", cluster.scheduler_address]
    here = acclimate("predict", tagger, tmp_path / "a.txt").out
    assert acclimate("predict", tagger, tmp_path / "a.txt", *dask).out == here
    words: list[object] = [
        "data",
        "select",
        "--like",
        files.tweets,
        "--from",
        tmp_path / "a.txt",
        "--top",
        "20",
        "--out",
    ]
    acclimate(*words, tmp_path / "here.txt")
    acclimate(*words, tmp_path / "there.txt", *dask)
    assert (tmp_path / "there.txt").read_bytes() == (tmp_path / "here.txt").read_bytes()


def test_a_cluster_that_is_not_there_is_told(
    tagger: Path, files: Files, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("distributed", reason="needs pip install distributed")
    monkeypatch.setattr("acclimate.cli.cluster._PATIENCE", 0.5)
    answer: Answer = acclimate("predict", tagger, files.tweets, "--dask", "tcp://127.0.0.1:1", code=2)
    assert "no scheduler answers there" in answer.err
    both = ["--dask", "tcp://127.0.0.1:1", "--jobs", "2"]
    assert "give one of them" in acclimate("predict", tagger, files.tweets, *both, code=2).err
    compared = ["compare", "--source", files.news, "--target", files.tweets, "--out", tmp_path / "c", *both]
    assert "give one of them" in acclimate(*compared, code=2).err


class Fast(TextTagger):
    """Tags nothing, at once."""

    labels, tags, scheme, seen = LabelSet(("X",)), ("O", "B-X", "I-X"), "IOB2", None

    def read(self, corpus: Any, what: Any, *others: Any) -> Iterator[tuple[int, Any]]:
        for number, sentence in enumerate(corpus):
            yield number, np.zeros(len(sentence), np.int64)


def peak(lines: int, folder: Path, name: str) -> int:
    """Bytes in use at the worst moment of tagging so many lines."""
    with (folder / "a.txt").open("w", encoding="utf-8") as file:
        file.writelines(LINES[number % len(LINES)] for number in range(lines))
    tracemalloc.start()
    with writing_parts(folder / name) as parts:
        for tagged in predict_stream(Fast(), stream_corpus(folder / "a.txt", words=4000)):
            parts.add(tagged)
    _, found = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return found


@pytest.mark.parametrize("name", ["a.jsonl", "a.conll.gz"])
def test_memory_does_not_grow_with_what_is_tagged(name: str, tmp_path: Path) -> None:
    peak(4000, tmp_path, name)  # what is made once
    assert peak(16_000, tmp_path, name) < 1.2 * peak(4000, tmp_path, name)

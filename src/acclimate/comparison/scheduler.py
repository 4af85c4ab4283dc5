"""Runs side by side: on this machine's processes and GPUs, or on any executor. A run that fails for a reason of its own
does not stop the others."""

from __future__ import annotations

import os
import pickle
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from acclimate.data.problems import InputError
from acclimate.data.processes import CONTEXT, processes
from acclimate.evaluation.table import duration
from acclimate.model.storage import StorageError
from acclimate.runs.cost import expected_cost
from acclimate.runs.run import PlannedRun, using_threads
from acclimate.runs.task import BlindTask
from acclimate.settings import SettingsError, UsageError
from acclimate.training.rehearsal import RULE
from acclimate.training.run import Diverged


def told(failure: Exception) -> str:
    """In words: what the machine says of a file comes with a number that helps nobody."""
    if isinstance(failure, OSError) and failure.strerror:
        return f"{failure.strerror}." if failure.filename is None else f"{failure.filename}: {failure.strerror}."
    return str(failure)


def is_expected(failure: Exception) -> bool:
    """Something about data, settings or the machine, and no fault of the program: other runs may still go well."""
    kinds = (InputError, UsageError, SettingsError, StorageError, Diverged, OSError)
    return isinstance(failure, kinds) or type(failure).__name__ == "OutOfMemoryError"


def sendable(failure: Exception) -> Exception:
    """The failure itself, or, where another process could not open it, one that says the same: in words for an expected
    one, with its traceback for a fault of the program."""
    try:
        pickle.loads(pickle.dumps(failure))
    except Exception:
        if is_expected(failure):
            return InputError(told(failure))
        return RuntimeError("".join(traceback.format_exception(failure)))
    return failure


_ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True)
class Job:
    """A call of a plain function. It waits for the job of the name `after`, done or failed."""

    name: str
    call: Callable[..., Any]
    arguments: tuple[Any, ...]
    after: str | None = None


def do_all(
    jobs: Sequence[Job], executor: Executor | None, done: Callable[[Job, Any], None], failed: Callable[[Job, Any], None]
) -> None:
    """Do all jobs, each as soon as the one it waits for is over. `failed` decides about an exception: it may raise."""
    if executor is None:
        for job in jobs:  # in their order, in which each stands behind the one it waits for
            _settle(job, partial(job.call, *job.arguments), done, failed)
        return
    left = list(jobs)
    over: set[str] = set()
    waiting: dict[Future[Any], Job] = {}
    names = {job.name for job in jobs}
    try:
        while left or waiting:
            ready = [job for job in left if job.after is None or job.after in over or job.after not in names]
            left = [job for job in left if job not in ready]
            waiting |= {_submitted(executor, job): job for job in ready}
            ended, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in ended:
                job = waiting.pop(future)
                over.add(job.name)
                _settle(job, future.result, done, failed)
    finally:
        for future in waiting:
            future.cancel()


def _submitted(executor: Executor, job: Job) -> Future[Any]:
    if isinstance(executor, ProcessPoolExecutor):
        return executor.submit(_answer, job.call, job.arguments)
    return executor.submit(job.call, *job.arguments)


def _answer(call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """A job in another process. A failure that cannot be sent from there would look like the end of the process."""
    try:
        return call(*arguments)
    except Exception as failure:
        from acclimate.comparison.scheduler import sendable  # heavy, and there by now

        sent = sendable(failure)
        if sent is failure:
            raise
        raise sent from None


def _settle(
    job: Job, result: Callable[[], Any], done: Callable[[Job, Any], None], failed: Callable[[Job, Any], None]
) -> None:
    try:
        found = result()
    except BrokenProcessPool:
        raise
    except Exception as failure:
        failed(job, failure)
    else:
        done(job, found)


@contextmanager
def workers(executor: Executor | None, jobs: int, gpus: Sequence[str] = ()) -> Iterator[Executor | None]:
    """The executor that was given; else `jobs` processes with one thread each, each with one of the GPUs in turn; else,
    for one job and one GPU at most, nobody: the work is done here."""
    if executor is not None or jobs < 2:
        yield executor
        return
    numbers = CONTEXT.SimpleQueue()
    for number in range(jobs):
        numbers.put(gpus[number % len(gpus)] if gpus else None)
    advice = "perhaps there was too little memory: name fewer jobs. The same command goes on where it stands"
    with processes(jobs, "made a run", advice, _settle_in, numbers) as pool:  # what is ended leaves its checkpoints
        yield pool


def _settle_in(numbers: Any) -> None:
    """Where and how a new process works."""
    os.environ |= {**dict.fromkeys(_ONE_THREAD, "1"), "TOKENIZERS_PARALLELISM": "false"}
    gpu = numbers.get()
    if gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpu


def visible_gpus() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    import torch

    count = torch.cuda.device_count()
    named = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return named[:count] if named else [str(number) for number in range(count)]


def make_all(work: Sequence[Job], executor: Executor | None, jobs: int, tell: Callable[[str], Any]) -> dict[str, str]:
    """Do the work, whose calls say how many seconds they took; returns why some of it failed, by its names."""
    failures: dict[str, str] = {}
    ended = 0

    def done(job: Job, seconds: float) -> None:
        nonlocal ended
        ended += 1
        tell(f"{ended} of {len(work)}: {job.name}, {duration(seconds)}")

    def failed(job: Job, failure: Exception) -> None:
        nonlocal ended
        if not is_expected(failure):
            raise failure
        ended += 1
        failures[job.name] = told(failure)
        tell(f"{ended} of {len(work)}: {job.name} FAILED: {failures[job.name]}")

    gpus = visible_gpus() if jobs > 1 and executor is None else []
    with workers(executor, min(jobs, len(work)), gpus) as hands:
        do_all(work, hands, done, failed)
    return failures


def estimate_lines(left: Sequence[PlannedRun], task: BlindTask, jobs: int, threads: int | None) -> Iterator[str]:
    """What to tell of the runs that are left. A recipe that refuses is named, and no more than that: its runs will fail
    by themselves, and the others are made. Timed with as many threads as a run will have."""
    expected: dict[str, float] = {}
    for recipe, run in {run.recipe: run for run in left}.items():
        try:
            with using_threads(threads):
                expected[recipe] = expected_seconds(run, task)
        except Exception as failure:
            if not is_expected(failure):
                raise
            yield f"{recipe} cannot be timed, and its runs will fail: {told(failure)}"
    if expected:
        hands = min(jobs, len(left))
        parts = ", ".join(f"{recipe} {duration(seconds)}" for recipe, seconds in expected.items())
        shared = f" by {hands} processes" if hands > 1 else ""
        whole = duration(seconds_of_all(left, expected, hands))
        yield f"expected time: about {whole}{shared} ({RULE}; judging the runs comes on top). One run: {parts}."


def expected_seconds(run: PlannedRun, task: BlindTask) -> float:
    """Of one run. A baseline of its own is counted in, one that runs share is not."""
    return run.settings.share * expected_cost(task, run.settings, run.baseline is not None).seconds


def seconds_of_all(left: Sequence[PlannedRun], expected: Mapping[str, float], hands: int) -> float:
    """All runs shared out, but never less than one of them and the baseline that it waits for."""
    each = {run.folder: expected.get(run.recipe, 0.0) for run in left}
    chains = [each[run.folder] + (each.get(run.baseline, 0.0) if run.baseline else 0.0) for run in left]
    return max(sum(each.values()) / hands, *chains)

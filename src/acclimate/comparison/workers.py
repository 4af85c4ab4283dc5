"""Who makes the runs: processes of our own, a given executor, or this process. Light to import: a new process sets its
number of threads and its GPU here before it loads anything that reads them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from acclimate.data.processes import CONTEXT, processes

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
        from acclimate.comparison.failures import sendable  # heavy, and there by now

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

"""Who makes the runs: processes of our own, a given executor, or this process. Light to import: a new process sets its
number of threads and its GPU here before it loads anything that reads them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any

from acclimate.data.problems import InputError

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
    context = multiprocessing.get_context("spawn")  # new processes: copies of this one could not use a GPU
    before = set(multiprocessing.active_children())
    numbers = context.SimpleQueue()
    for number in range(jobs):
        numbers.put(gpus[number % len(gpus)] if gpus else None)
    with _unwound_by_signal():
        pool = ProcessPoolExecutor(jobs, context, _settle_in, (numbers,))
        try:
            yield pool
        except BrokenProcessPool:
            advice = "perhaps there was too little memory: name fewer jobs. The same command goes on where it stands"
            raise InputError(f"a process that made a run was killed from outside; {advice}.") from None
        except BaseException:
            for process in set(multiprocessing.active_children()) - before:
                process.terminate()  # its checkpoints stay
            raise
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _unwound_by_signal() -> Iterator[None]:
    """SIGTERM would end this process alone, and leave those that it began: let it end the way Ctrl-C does. A handler of
    the caller's own stays, and so does the order to ignore it."""
    in_main = threading.current_thread() is threading.main_thread()  # no other may say what a signal does
    if not in_main or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return

    def unwind(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)  # a second one must not cut off the end of the processes
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, unwind)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _settle_in(numbers: Any) -> None:
    """The first thing a new process does."""
    os.environ |= {**dict.fromkeys(_ONE_THREAD, "1"), "TOKENIZERS_PARALLELISM": "false"}
    gpu = numbers.get()
    if gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpu
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a page of traceback
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that is killed cannot end its processes, which would wait for work for good."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def visible_gpus() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    import torch

    count = torch.cuda.device_count()
    named = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return named[:count] if named else [str(number) for number in range(count)]

"""Worker processes that never outlive the command that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.context import BaseContext
from types import FrameType
from typing import Any

from acclimate.data.problems import InputError

# new processes, not copies of this one: a copy could not use a GPU, and a thread may hold a lock (a progress bar)
CONTEXT: BaseContext = multiprocessing.get_context("spawn")


@contextmanager
def processes(
    jobs: int, activity: str, advice: str, initializer: Callable[..., None] | None = None, *arguments: Any
) -> Iterator[ProcessPoolExecutor]:
    """A pool of processes. Each first calls `initializer` with the `arguments`.

    activity, advice: for the message when a process is killed from outside.
    """
    before = set(multiprocessing.active_children())
    with _unwound_by_signal():
        pool = ProcessPoolExecutor(jobs, CONTEXT, _initialize, (initializer, arguments))
        try:
            yield pool
        except BrokenProcessPool:
            raise InputError(f"a process that {activity} was killed from outside; {advice}.") from None
        except BaseException:
            for process in set(multiprocessing.active_children()) - before:
                process.terminate()  # so that the error is shown at once
            raise
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _unwound_by_signal() -> Iterator[None]:
    """Let SIGTERM end this process and its workers as Ctrl-C does, unless the caller handles the signal."""
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


def _initialize(initializer: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    """Start a process. Ctrl-C ends it without a traceback, unless the initializer ignores Ctrl-C."""
    if initializer is not None:
        initializer(*arguments)
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    """End this process when its parent is killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

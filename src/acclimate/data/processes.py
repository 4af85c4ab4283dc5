"""Worker processes that never outlive the command that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from multiprocessing.context import BaseContext
from types import FrameType
from typing import Any, TypeVar

from acclimate.data.problems import InputError

Item = TypeVar("Item")
Found = TypeVar("Found")
_DEATHS = 3  # of a process, one after the other and nothing done between them, after which there is no hope

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


def cores() -> int:
    """The cores this process may use, which on a shared machine are fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def done_side_by_side(
    call: Callable[[Item], Found],
    items: Iterable[Item],
    open_executor: Callable[[], AbstractContextManager[Executor]],
    at_once: int,
    in_order: bool = True,
) -> Generator[tuple[Item, Future[Found]], None, None]:
    """Each item with the future of `call`, which is done. At most `at_once` items are taken and not yet given.

    Where a process of a pool is killed, what was under way is done again by a new pool.
    """
    left = enumerate(items)
    waiting: dict[int, Item] = {}  # items that were taken and not yet given
    begun: dict[int, Future[Found]] = {}

    def begin(executor: Executor) -> None:
        while len(waiting) < at_once and (entry := next(left, None)) is not None:
            waiting[entry[0]] = entry[1]
        for number in sorted(waiting.keys() - begun.keys()):
            begun[number] = executor.submit(call, waiting[number])

    deaths = 0
    while True:
        with open_executor() as executor:
            try:
                begin(executor)
                while waiting:
                    for number in _wait([min(begun)] if in_order else list(begun), begun):
                        deaths = 0
                        yield waiting.pop(number), begun.pop(number)
                    begin(executor)
                return
            except BrokenProcessPool:
                deaths += 1
                if deaths == _DEATHS:
                    raise
                begun = {number: future for number, future in begun.items() if not _is_lost(future)}
            finally:
                for future in begun.values():
                    future.cancel()


def _wait(numbers: Iterable[int], begun: Mapping[int, Future[Any]]) -> list[int]:
    """Wait for one of these, and name those that ended. Raises BrokenProcessPool where a process was killed."""
    ended, _ = wait([begun[number] for number in numbers], return_when=FIRST_COMPLETED)
    for future in ended:
        if not future.cancelled() and isinstance(future.exception(), BrokenProcessPool):
            raise BrokenProcessPool
    return [number for number in numbers if begun[number] in ended]


def _is_lost(future: Future[Any]) -> bool:
    return future.cancelled() or not future.done() or isinstance(future.exception(), BrokenProcessPool)

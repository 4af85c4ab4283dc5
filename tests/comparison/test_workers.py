"""Who does the work: order, failures, GPUs shared out, and an end to all of it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from acclimate.comparison.scheduler import Job, ended, workers
from acclimate.data.problems import InputError


def results_of(jobs: list[Job], pool: Executor | None) -> list[Any]:
    return [result() for _, result in ended(jobs, pool)]


def settings_of_process(seconds: float = 0.0) -> tuple[int, str | None, str | None]:
    time.sleep(seconds)
    return os.getpid(), os.environ.get("CUDA_VISIBLE_DEVICES"), os.environ.get("OMP_NUM_THREADS")


def die() -> None:
    os._exit(1)


class NeedsTwo(Exception):
    """Can be sent to another process, but not opened there: it is made from one text then."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} {two}")


class BadAnswer(NeedsTwo, OSError):
    """The same of the kind that ends one run alone."""


def fail(kind: type[Exception], *words: str) -> None:
    raise kind(*words)


def test_a_job_waits_for_the_one_before_it() -> None:
    began = threading.Event()
    order: list[str] = []

    def slow() -> None:
        began.wait(5)
        order.append("slow")

    jobs = [Job("after", lambda: order.append("after"), (), "slow"), Job("slow", slow, ()), Job("free", began.set, ())]
    with ThreadPoolExecutor(2) as pool:
        results_of(jobs, pool)
    assert order == ["slow", "after"]


@pytest.mark.parametrize("pool", [None, ThreadPoolExecutor(1)])
def test_after_a_failure_whoever_waited_goes_on(pool: ThreadPoolExecutor | None) -> None:
    jobs = [Job("first", lambda: 1 / 0, ()), Job("second", lambda: 7, (), "first")]
    told = []
    for job, result in ended(jobs, pool):
        told.append(job.name)
        if job.name == "first":
            with pytest.raises(ZeroDivisionError):
                result()
        else:
            assert result() == 7
    assert told == ["first", "second"]


def test_a_job_that_waits_for_nobody_who_is_there_begins() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert results_of([Job("b", lambda: 3, (), "a")], pool) == [3]


def test_each_process_has_one_gpu_and_one_thread() -> None:
    jobs = [Job(str(number), settings_of_process, (1.0,)) for number in range(4)]
    with workers(None, 2, ["3", "GPU-b"]) as pool:
        found = results_of(jobs, pool)
    gpus = {process: gpu for process, gpu, _ in found}
    assert set(gpus.values()) <= {"3", "GPU-b"}
    assert len(set(gpus.values())) == len(gpus)  # no two processes have the same
    assert {threads for _, _, threads in found} == {"1"}


def test_a_process_that_is_killed_is_told() -> None:
    with pytest.raises(InputError, match="was killed from outside"), workers(None, 2) as pool:
        results_of([Job("a", die, ())], pool)


def test_the_executor_that_is_given_is_used_and_left_open() -> None:
    with ThreadPoolExecutor(1) as given:
        with workers(given, 8) as pool:
            assert pool is given
        assert given.submit(lambda: 5).result() == 5
    with workers(None, 1) as nobody:
        assert nobody is None


@pytest.mark.skipif(os.name != "posix", reason="there are no such signals")
@pytest.mark.parametrize(("sent", "code"), [("SIGTERM", 128 + 15), ("SIGKILL", -9)])
def test_whoever_ends_the_parent_ends_its_processes_too(sent: str, code: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        port = str(server.getsockname()[1])
        script = Path(__file__).with_name("working_parent.py")
        with subprocess.Popen([sys.executable, str(script), port]) as parent:
            lines = [server.accept()[0] for _ in range(2)]
            parent.send_signal(getattr(signal, sent))
            assert parent.wait(30) == code
            for line in lines:
                with line:
                    line.settimeout(30)  # the process itself would hold it for a minute
                    assert line.recv(1) == b""


def test_the_signal_means_afterwards_what_it_meant_before() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with workers(None, 2):
        pass
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_failure_that_cannot_be_sent_is_no_death_of_its_process() -> None:
    told: dict[str, Exception] = {}
    jobs = [Job("fault", fail, (NeedsTwo, "it", "broke")), Job("expected", fail, (BadAnswer, "no", "answer"))]
    with workers(None, 2) as pool:
        for job, result in ended(jobs, pool):
            with pytest.raises(Exception) as raised:  # noqa: PT011 - which one is looked at below
                result()
            told[job.name] = raised.value
    assert type(told["fault"]) is RuntimeError
    assert re.search(r"(?s)Traceback.* in fail\n.*NeedsTwo: it broke", str(told["fault"]))
    assert type(told["expected"]) is InputError
    assert str(told["expected"]) == "no answer"


def test_a_failure_that_can_be_sent_is_sent_as_it_is() -> None:
    from acclimate.comparison.scheduler import sendable  # heavy, and the processes above import this file

    for failure in (KeyError("word"), InputError("no data.", file="a.txt"), OSError(28, "No space left", "a.txt")):
        assert sendable(failure) is failure

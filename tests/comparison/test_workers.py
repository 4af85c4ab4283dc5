"""Who does the work: order, failures, GPUs shared out, and an end to all of it."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from acclimate.comparison.workers import Job, do_all, workers
from acclimate.data.problems import InputError


def ignore(job: Job, found: Any) -> None:
    pass


def settings_of_process(seconds: float = 0.0) -> tuple[int, str | None, str | None]:
    time.sleep(seconds)
    return os.getpid(), os.environ.get("CUDA_VISIBLE_DEVICES"), os.environ.get("OMP_NUM_THREADS")


def die() -> None:
    os._exit(1)


def test_a_job_waits_for_the_one_before_it() -> None:
    began = threading.Event()
    order: list[str] = []

    def slow() -> None:
        began.wait(5)
        order.append("slow")

    jobs = [Job("after", lambda: order.append("after"), (), "slow"), Job("slow", slow, ()), Job("free", began.set, ())]
    with ThreadPoolExecutor(2) as pool:
        do_all(jobs, pool, ignore, ignore)
    assert order == ["slow", "after"]


@pytest.mark.parametrize("pool", [None, ThreadPoolExecutor(1)])
def test_after_a_failure_whoever_waited_goes_on(pool: ThreadPoolExecutor | None) -> None:
    told: list[str] = []
    jobs = [Job("first", lambda: 1 / 0, ()), Job("second", lambda: 7, (), "first")]
    do_all(jobs, pool, lambda job, found: told.append(f"{job.name} {found}"), lambda job, _: told.append(job.name))
    assert told == ["first", "second 7"]


def test_a_job_that_waits_for_nobody_who_is_there_begins() -> None:
    told: list[int] = []
    with ThreadPoolExecutor(1) as pool:
        do_all([Job("b", lambda: 3, (), "a")], pool, lambda job, found: told.append(found), ignore)
    assert told == [3]


def test_each_process_has_one_gpu_and_one_thread() -> None:
    found: list[tuple[int, str | None, str | None]] = []
    jobs = [Job(str(number), settings_of_process, (1.0,)) for number in range(4)]
    with workers(None, 2, ["3", "GPU-b"]) as pool:
        do_all(jobs, pool, lambda job, said: found.append(said), ignore)
    gpus = {process: gpu for process, gpu, _ in found}
    assert set(gpus.values()) <= {"3", "GPU-b"}
    assert len(set(gpus.values())) == len(gpus)  # no two processes have the same
    assert {threads for _, _, threads in found} == {"1"}


def test_a_process_that_is_killed_is_told() -> None:
    with pytest.raises(InputError, match="was killed from outside"), workers(None, 2) as pool:
        do_all([Job("a", die, ())], pool, ignore, ignore)


def test_the_executor_that_is_given_is_used_and_left_open() -> None:
    with ThreadPoolExecutor(1) as given:
        with workers(given, 8) as pool:
            assert pool is given
        assert given.submit(lambda: 5).result() == 5
    with workers(None, 1) as nobody:
        assert nobody is None

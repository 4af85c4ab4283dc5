"""Work side by side, in order, and done again where a process is killed. This file is light: processes import it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from acclimate.data.problems import InputError
from acclimate.data.processes import done_side_by_side, processes


def die_once(mark: Path, number: int) -> int:
    """The third item kills its process, but only the first time."""
    if number == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 10 * number


def die_always(number: int) -> int:
    os._exit(1)


@pytest.mark.skipif(os.name != "posix", reason="there are no such signals")
@pytest.mark.parametrize("in_order", [True, False])
def test_what_a_killed_process_had_under_way_is_done_by_a_new_one(in_order: bool, tmp_path: Path) -> None:
    call = partial(die_once, tmp_path / "mark")
    done = done_side_by_side(call, range(8), lambda: processes(2, "worked", "rest"), 4, in_order)
    found = [(item, future.result()) for item, future in done]
    assert (found if in_order else sorted(found)) == [(number, 10 * number) for number in range(8)]
    assert (tmp_path / "mark").exists()


def test_a_process_that_dies_again_and_again_is_told() -> None:
    with pytest.raises(InputError, match="was killed from outside; rest"):
        list(done_side_by_side(die_always, range(3), lambda: processes(1, "worked", "rest"), 4))


def test_no_more_is_taken_than_may_be_under_way() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(50):
            taken.append(number)
            yield number

    for given, (item, future) in enumerate(done_side_by_side(abs, items(), lambda: ThreadPoolExecutor(2), 5)):
        assert (item, future.result()) == (given, given)
        assert len(taken) <= given + 6

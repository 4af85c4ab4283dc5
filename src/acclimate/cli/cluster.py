"""A Dask cluster as the executor of a command (extra `dask`)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

import acclimate
from acclimate.data.problems import InputError, optional_library
from acclimate.settings import UsageError

_PATIENCE = 30  # seconds to wait for a scheduler, and for its first worker


@contextmanager
def dask_executor(address: str) -> Iterator[tuple[Executor, int]]:
    """The cluster's executor, and how many tasks it does at once.

    What a worker had under way when it died, the scheduler gives to another one.
    """
    distributed = optional_library(
        "distributed", "--dask needs the library distributed: pip install 'acclimate[dask]'."
    )
    try:
        client = distributed.Client(address, timeout=_PATIENCE)
    except (OSError, ValueError) as failure:
        problem = f"--dask {address}: no scheduler answers there ({failure})."
        raise UsageError(f"{problem} Start one with `dask scheduler`, or give its address.") from None
    with client:
        threads = _checked_workers(client, address)
        try:
            yield client.get_executor(), threads
        except distributed.KilledWorker as failure:
            advice = "perhaps there was too little memory, or the workers lack a library; look into their logs"
            raise InputError(f"--dask {address}: workers died again and again at the same task; {advice}.") from failure
        except BaseException:
            logging.getLogger("distributed").setLevel(logging.CRITICAL)  # it would tell what was cancelled
            raise


def _checked_workers(client: Any, address: str) -> int:
    """How many threads the workers have together. Refuses workers that have another version of the package."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        raise UsageError(f"--dask {address}: no worker has joined. Start some: `dask worker {address}`.") from None
    try:
        versions = set(client.run(_version).values())
    except ImportError as failure:
        raise UsageError(f"--dask {address}: a worker lacks Acclimate ({failure}). Install it there.") from None
    if versions != {acclimate.__version__}:
        there = ", ".join(sorted(versions))
        raise UsageError(f"--dask {address}: workers have Acclimate {there}, and here is {acclimate.__version__}.")
    return sum(client.ncores().values())


def _version() -> str:
    return acclimate.__version__

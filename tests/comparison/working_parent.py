"""A program whose processes would work for a minute, each holding a line to whoever listens at the port it is given.
The end of such a line is the end of that process, however it came."""

from __future__ import annotations

import socket
import sys
import time
from typing import Any

from acclimate.comparison.scheduler import Job, do_all, workers


def work(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)):
        time.sleep(60)


def ignore(job: Job, found: Any) -> None:
    pass


if __name__ == "__main__":
    with workers(None, 2) as pool:
        do_all([Job(str(number), work, (int(sys.argv[1]),)) for number in range(2)], pool, ignore, ignore)

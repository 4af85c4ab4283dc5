"""A program whose processes would work for a minute, each holding a line to whoever listens at the port it is given.
The end of such a line is the end of that process, however it came."""

from __future__ import annotations

import socket
import sys
import time

from acclimate.comparison.scheduler import Job, ended, workers


def work(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)):
        time.sleep(60)


if __name__ == "__main__":
    with workers(None, 2) as pool:
        list(ended([Job(str(number), work, (int(sys.argv[1]),)) for number in range(2)], pool))

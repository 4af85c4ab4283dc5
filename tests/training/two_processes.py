"""A program run by two processes on one machine."""

from __future__ import annotations

import os
import subprocess
import sys


def in_two_processes(*command: str) -> subprocess.CompletedProcess[bytes]:
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    return subprocess.run(
        [*launch, *command],
        check=True,
        capture_output=True,
        timeout=240,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )

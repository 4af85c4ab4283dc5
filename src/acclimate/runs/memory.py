"""The most memory that a run needed, in megabytes."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path

import torch

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def forget_peak() -> None:
    """Count anew from here on: one process may do many runs."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    with suppress(OSError):
        _CLEAR.write_text("5")  # Linux: the peak becomes what is used now


def peak_megabytes() -> dict[str, float | None]:
    """Of the whole process, libraries included (elsewhere than on Linux its peak since it was started), and of tensors
    on the GPU; None without one."""
    on_gpu = torch.cuda.max_memory_allocated() / 1e6 if torch.cuda.is_available() else None
    return {"process": round(_peak_of_process(), 1), "gpu": None if on_gpu is None else round(on_gpu, 1)}


def _peak_of_process() -> float:
    with suppress(OSError, ValueError, StopIteration):
        line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6

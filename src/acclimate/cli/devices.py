"""Which device a command uses."""

from __future__ import annotations

import torch

from acclimate.settings import UsageError


def choose_device(name: str) -> str:
    if name not in ("auto", "cpu", "cuda"):
        raise UsageError(f"--device {name}: expected auto, cpu or cuda.")
    if name == "cuda" and not torch.cuda.is_available():
        raise UsageError("--device cuda: torch sees no CUDA device here. Use auto or cpu.")
    return "cuda" if name == "auto" and torch.cuda.is_available() else "cpu" if name == "auto" else name

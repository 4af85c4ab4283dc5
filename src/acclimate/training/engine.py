"""The engine: Accelerate, set up for one run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.state import AcceleratorState, PartialState

from acclimate.model.encoders.transformer import Transformer
from acclimate.model.learner import Learner
from acclimate.settings import UsageError
from acclimate.training.settings import LoopSettings


def build_engine(settings: LoopSettings, learner: Learner) -> Accelerator:
    """An engine for this learner. Accelerate keeps one state per process, which is reset."""
    require_device(settings)
    on_cpu = device_for(settings) == "cpu"
    precision = settings.precision
    if precision == "auto":
        precision = "bf16" if isinstance(learner.encoder, Transformer) and not on_cpu else "no"
    # cuDNN's attention plans for a tenth of a second at every new shape
    torch.backends.cuda.enable_cudnn_sdp(False)
    if torch.distributed.is_available() and not torch.distributed.is_initialized():
        AcceleratorState._reset_state(reset_partial_state=True)
    return Accelerator(
        cpu=on_cpu,
        mixed_precision=precision,
        gradient_accumulation_steps=settings.accumulate,
        kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)],
    )


def require_device(settings: LoopSettings) -> None:
    """Refuse a device that is not there."""
    if settings.device == "cuda" and not torch.cuda.is_available():
        raise UsageError("training.device is cuda, but torch sees no CUDA device here. Use auto or cpu.")


def device_for(settings: LoopSettings) -> Literal["cpu", "cuda"]:
    """The device of these settings."""
    return "cpu" if settings.device == "cpu" or not torch.cuda.is_available() else "cuda"


@contextmanager
def main_process_first() -> Iterator[None]:
    """The first process goes first; the others find its files."""
    with PartialState(cpu=not torch.cuda.is_available()).main_process_first():
        yield


def is_main_process() -> bool:
    """Whether this is the first process (RANK 0)."""
    return int(os.environ.get("RANK", "0")) == 0

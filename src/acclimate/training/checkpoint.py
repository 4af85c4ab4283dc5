"""Checkpoints of a stage under way: everything that the next update depends on, in safetensors and JSON."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from acclimate.model.storage import (
    StorageError,
    read_json,
    read_tensors,
    verify,
    write_json,
    write_tensors,
    written_aside,
)
from acclimate.training.loop import Training

_PREFIX = "checkpoint-"
_STATE = "state.json"
_KEPT = 2  # the newest, and the one before it to fall back on


def save_checkpoint(folder: Path, training: Training, notes: Mapping[str, Any], best: Mapping[str, Tensor]) -> None:
    """Keep this state and the one before it; older ones go once it stands.

    `notes` is the runner's own memory, `best` the weights to keep.
    """
    place = folder / f"{_PREFIX}{training.update:09d}"
    numbers, optimizer_tensors = _apart(training.optimizer.state_dict())
    scaler = getattr(training.engine, "scaler", None)
    with written_aside(place) as aside:
        write_tensors(aside / "step.safetensors", training.bare_step.state_dict())
        write_tensors(aside / "optimizer.safetensors", optimizer_tensors)
        write_tensors(aside / "random.safetensors", _random_states())
        write_tensors(aside / "best.safetensors", best)
        write_json(
            aside / _STATE,
            {
                "update": training.update,
                "optimizer": numbers,
                "scaler": scaler.state_dict() if scaler is not None else None,
                "notes": dict(notes),
            },
        )
    for older in checkpoints(folder)[:-_KEPT]:
        shutil.rmtree(older, ignore_errors=True)


def load_checkpoint(
    folder: Path, training: Training, warn: Callable[[str], None]
) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
    """Put a training back where its newest whole checkpoint stands; None when there is none.

    A damaged one is passed over for the one before it: better to repeat some updates than to start from nothing. `warn`
    is told of it.
    """
    for place in reversed(checkpoints(folder)):
        try:
            verify(place)
            state = read_json(place / _STATE)
            tensors = {name: read_tensors(place / f"{name}.safetensors") for name in _PARTS}
        except (StorageError, OSError, ValueError) as damage:
            warn(f"{damage} This checkpoint is passed over: what was trained since the one before it is trained again.")
            continue
        training.bare_step.load_state_dict(tensors["step"])
        training.optimizer.load_state_dict(_together(state["optimizer"], tensors["optimizer"]))
        scaler = getattr(training.engine, "scaler", None)
        if scaler is not None and state["scaler"] is not None:
            scaler.load_state_dict(state["scaler"])
        training.update = state["update"]
        _restore_random(tensors["random"])
        return state["notes"], tensors["best"]
    return None


_PARTS = ("step", "optimizer", "random", "best")


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints of a stage, oldest first; leftovers of a write that was cut off are swept away."""
    if not folder.is_dir():
        return []
    for leftover in folder.glob(".*.part"):
        shutil.rmtree(leftover, ignore_errors=True)
    return sorted(folder.glob(f"{_PREFIX}*"))


def _apart(state: Any, path: str = "") -> tuple[Any, dict[str, Tensor]]:
    """Split nested dictionaries and lists into JSON, and the tensors by their path in it."""
    tensors: dict[str, Tensor] = {}
    if isinstance(state, Tensor):
        return {"tensor": path}, {path: state}
    if isinstance(state, Mapping):
        items = []
        for key, value in state.items():
            plain, found = _apart(value, f"{path}/{key}")
            items.append([key, plain])
            tensors |= found
        return {"items": items}, tensors
    if isinstance(state, (list, tuple)):
        row = []
        for number, value in enumerate(state):
            plain, found = _apart(value, f"{path}/{number}")
            row.append(plain)
            tensors |= found
        return row, tensors
    return state, tensors


def _together(plain: Any, tensors: Mapping[str, Tensor]) -> Any:
    """The inverse of `_apart`."""
    if isinstance(plain, dict) and "tensor" in plain:
        return tensors[plain["tensor"]]
    if isinstance(plain, dict):
        return {key: _together(value, tensors) for key, value in plain["items"]}
    if isinstance(plain, list):
        return [_together(value, tensors) for value in plain]
    return plain


def _random_states() -> dict[str, Tensor]:
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states |= {f"cuda:{number}": state for number, state in enumerate(torch.cuda.get_rng_state_all())}
    return states


def _restore_random(states: Mapping[str, Tensor]) -> None:
    torch.set_rng_state(states["cpu"])
    for number in range(torch.cuda.device_count()):  # the machine may have fewer GPUs than the one that saved
        if f"cuda:{number}" in states:
            torch.cuda.set_rng_state(states[f"cuda:{number}"], number)

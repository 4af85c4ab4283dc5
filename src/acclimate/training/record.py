"""The record of a training (a JSON object per line, and TensorBoard on request) and its checkpoints."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from acclimate.layout import RECORDS
from acclimate.model.storage import (
    StorageError,
    atomic_folder,
    forget_checksums,
    read_json,
    read_tensors,
    require_unchanged,
    verify,
    write_checksums,
    write_json,
    write_tensors,
)
from acclimate.settings import UsageError
from acclimate.training.loop import Training

_ODD = "surrogatepass"  # a word may hold half a surrogate pair


class Record:
    """Appends to `records.jsonl`, or keeps rows in memory only. The file gets a checksum when it is closed."""

    def __init__(self, folder: Path | None = None, tensorboard: bool = False) -> None:
        self.path = None if folder is None else folder / RECORDS
        self.rows: list[dict[str, Any]] = []
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists():
                require_unchanged(self.path)
            forget_checksums(self.path.parent, self.path.name)
            self._read()
        self._board = _open_board(folder) if tensorboard and folder is not None else None

    def add(self, kind: str, stage: str, update: int, **values: Any) -> None:
        row = {"kind": kind, "stage": stage, "update": update, "time": round(time.time(), 3), **values}
        self.rows.append(row)
        if self.path is not None:
            with self.path.open("a", encoding="utf-8", errors=_ODD) as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        if self._board is not None:
            for name, value in values.items():
                if isinstance(value, float):
                    self._board.add_scalar(f"{stage}/{name}", value, update)

    def rewind(self, stage: str, update: int) -> None:
        """Remove what came after this point: a resumed run will write it again."""
        earlier = [row for row in self.rows if row["stage"] != stage or row["update"] <= update]
        if len(earlier) != len(self.rows):
            self.rows = earlier
            self._write()

    def close(self) -> None:
        if self.path is not None and self.path.exists():
            write_checksums(self.path.parent, self.path.name)
        if self._board is not None:
            self._board.close()

    def _read(self) -> None:
        assert self.path is not None
        lines = self.path.read_bytes().split(b"\n") if self.path.exists() else []
        for line in filter(None, lines):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                continue  # the last line of a killed run may be incomplete
            if _is_row(row):
                self.rows.append(row)
        if lines and (lines[-1] or len(lines) - 1 != len(self.rows)):
            self._write()

    def _write(self) -> None:
        if self.path is not None:
            lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows)
            aside = self.path.with_suffix(".part")
            aside.write_text(lines, encoding="utf-8", errors=_ODD)
            aside.replace(self.path)


def _is_row(row: Any) -> bool:
    types = {"kind": str, "stage": str, "update": int}
    return isinstance(row, dict) and all(type(row.get(name)) is kind for name, kind in types.items())


def _open_board(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise UsageError(
            "training.tensorboard is on, but TensorBoard is not installed: pip install 'acclimate[tensorboard]'."
        ) from None
    return SummaryWriter(str(folder / "tensorboard"))


_PREFIX = "checkpoint-"
_STATE = "state.json"
_KEPT = 2  # checkpoints of a stage


def save_checkpoint(folder: Path, training: Training, notes: Mapping[str, Any], best: Mapping[str, Tensor]) -> None:
    """Save this state, and remove all but the one before it. `notes` are the caller's, `best` the best weights."""
    place = folder / f"{_PREFIX}{training.update:09d}"
    numbers, optimizer_tensors = _split(training.optimizer.state_dict())
    scaler = getattr(training.engine, "scaler", None)
    with atomic_folder(place) as aside:
        write_tensors(aside / "step.safetensors", training.bare_step.state_dict())
        write_tensors(aside / "optimizer.safetensors", optimizer_tensors)
        write_tensors(aside / "random.safetensors", _random_states())
        write_tensors(aside / "best.safetensors", best)
        state = {"update": training.update, "optimizer": numbers, "notes": dict(notes)}
        write_json(aside / _STATE, {**state, "scaler": scaler.state_dict() if scaler is not None else None})
    for older in checkpoints(folder)[:-_KEPT]:
        shutil.rmtree(older, ignore_errors=True)


def load_checkpoint(
    folder: Path, training: Training, warn: Callable[[str], None]
) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
    """Put a training back to its newest undamaged checkpoint; None when there is none. `warn` hears of damage."""
    for place in reversed(checkpoints(folder)):
        try:
            verify(place)
            state = read_json(place / _STATE)
            tensors = {name: read_tensors(place / f"{name}.safetensors") for name in _PARTS}
        except (StorageError, OSError, ValueError) as damage:
            warn(f"{damage} This checkpoint is passed over: what was trained since the one before it is trained again.")
            continue
        training.bare_step.load_state_dict(tensors["step"])
        training.optimizer.load_state_dict(_joined(state["optimizer"], tensors["optimizer"]))
        scaler = getattr(training.engine, "scaler", None)
        if scaler is not None and state["scaler"] is not None:
            scaler.load_state_dict(state["scaler"])
        training.update = state["update"]
        _restore_random(tensors["random"])
        return state["notes"], tensors["best"]
    return None


_PARTS = ("step", "optimizer", "random", "best")


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints of a stage, oldest first; what an interrupted write left is removed."""
    if not folder.is_dir():
        return []
    for leftover in folder.glob(".*.part"):
        shutil.rmtree(leftover, ignore_errors=True)
    return sorted(folder.glob(f"{_PREFIX}*"))


def _split(optimizer: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The state of an optimizer as JSON, and its tensors by `parameter/name`."""
    numbers: dict[int, dict[str, Any]] = {}
    tensors: dict[str, Tensor] = {}
    for parameter, state in optimizer["state"].items():
        numbers[parameter] = {name: value for name, value in state.items() if not isinstance(value, Tensor)}
        tensors |= {f"{parameter}/{name}": value for name, value in state.items() if isinstance(value, Tensor)}
    return {**optimizer, "state": numbers}, tensors


def _joined(optimizer: dict[str, Any], tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """The inverse of `_split`."""
    state = {int(parameter): dict(numbers) for parameter, numbers in optimizer["state"].items()}
    for path, tensor in tensors.items():
        parameter, name = path.split("/")
        state[int(parameter)][name] = tensor
    return {**optimizer, "state": state}


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

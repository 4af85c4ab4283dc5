"""What a training leaves on disk: its record and its checkpoints.

The record is a JSON object per line, and TensorBoard beside it when asked for. A checkpoint of the stage under way
holds everything that the next update depends on, in safetensors and JSON.
"""

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

_ODD = "surrogatepass"  # half a surrogate pair in a word, which JSON reads back, must not end a run


class Record:
    """Appends to `records.jsonl`. Without a folder it keeps the rows in memory only. Closed, the file has a checksum;
    while it grows it has none."""

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
        """Forget what came after this point: a resumed run will write it again."""
        kept = [row for row in self.rows if row["stage"] != stage or row["update"] <= update]
        if len(kept) != len(self.rows):
            self.rows = kept
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
                continue  # the last line of a killed run may be cut off
            if _is_row(row):
                self.rows.append(row)
        if lines and (lines[-1] or len(lines) - 1 != len(self.rows)):
            self._write()  # or the next row would be glued to the cut-off one

    def _write(self) -> None:
        if self.path is not None:
            lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows)
            aside = self.path.with_suffix(".part")
            aside.write_text(lines, encoding="utf-8", errors=_ODD)
            aside.replace(self.path)


def _is_row(row: Any) -> bool:
    """Whether this is a row as `add` writes it, and not something else that is JSON."""
    return (
        isinstance(row, dict)
        and isinstance(row.get("kind"), str)
        and isinstance(row.get("stage"), str)
        and type(row.get("update")) is int
    )


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
_KEPT = 2  # the newest, and the one before it to fall back on


def save_checkpoint(folder: Path, training: Training, notes: Mapping[str, Any], best: Mapping[str, Tensor]) -> None:
    """Keep this state and the one before it; older ones go once it stands.

    `notes` is the runner's own memory, `best` the weights to keep.
    """
    place = folder / f"{_PREFIX}{training.update:09d}"
    numbers, optimizer_tensors = _apart(training.optimizer.state_dict())
    scaler = getattr(training.engine, "scaler", None)
    with atomic_folder(place) as aside:
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

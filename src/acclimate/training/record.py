"""The record of a run: one JSON object per line, and TensorBoard beside it when asked for."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from acclimate.layout import RECORDS
from acclimate.model.storage import forget_checksums, require_unchanged, write_checksums
from acclimate.settings import UsageError

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

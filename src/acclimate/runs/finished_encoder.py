"""The folder of a finished encoder: asked for once more it is given as it is, and nothing replaces it unasked.

What it was begun with is sealed beside its weights. While another one is trained in its place, stages of that one
stand in `training`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from acclimate.model.storage import MANIFEST, StorageError, finish_saving, read_json, verify
from acclimate.runs.fingerprint import CLAIM
from acclimate.settings import UsageError, differences


def is_finished(out: Path) -> bool:
    """Whether an encoder stands there, and nothing of another one that is to replace it would be lost."""
    return (out / MANIFEST).is_file() and not _stages(out)


def finished_report(
    out: Path, begun_with: Mapping[str, Any], tell: Callable[[str], None] = lambda line: None
) -> dict[str, Any] | None:
    """What the run of this beginning has found, where it is finished; None where it is not, or where the encoder is
    damaged. Refuses the folder of another one."""
    if not is_finished(out) or not (out / CLAIM).is_file():
        return None
    try:
        finish_saving(out)
        verify(out)
    except StorageError as damage:
        tell(f"{damage} It is trained again.")
        return None
    changed = differences(read_json(out / CLAIM), begun_with)
    if changed:
        shown = "\n".join(changed[:12])
        raise UsageError(
            f"{out} holds a finished encoder that was begun otherwise:\n{shown}\n"
            "Choose another folder, or overwrite this one."
        )
    tell(f"{out} holds this encoder, finished: nothing is trained.")
    report: dict[str, Any] = read_json(out / "report.json")
    return {**report, "evaluations": [(update, loss) for update, loss in report["evaluations"]]}


def sealed(begun_with: Mapping[str, Any]) -> dict[str, str]:
    """What goes into a finished folder, by file name."""
    return {CLAIM: json.dumps(begun_with, indent=2, ensure_ascii=False) + "\n"}


def finish(out: Path) -> None:
    """All is saved: weights along the way are not needed any more."""
    for stage in _stages(out):
        shutil.rmtree(stage, ignore_errors=True)


def _stages(out: Path) -> list[Path]:
    return list((out / "training").glob("[0-9][0-9]-*"))

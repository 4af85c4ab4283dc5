"""The tagger that a command is given, and the device it works on."""

from __future__ import annotations

from pathlib import Path

import torch

from acclimate.data.problems import InputError
from acclimate.layout import BASELINE, BEFORE, has_progress, is_comparison, runs_of_comparison
from acclimate.model.shipped import SHIPPED_TAGGERS, resolved_tagger
from acclimate.model.storage import MANIFEST
from acclimate.settings import UsageError
from acclimate.spelling import did_you_mean


def tagger_in(place: str, before: bool) -> Path:
    """The folder of a tagger: of a shipped one, of a run's adapted one, or of the one "before" that the run keeps."""
    folder = resolved_tagger(place)
    require_finished(folder)
    if not before:
        return folder
    kept = folder / BEFORE
    if (kept / MANIFEST).is_file():
        return kept
    beside = folder.parent.parent / BASELINE / folder.name  # in a comparison
    if (beside / MANIFEST).is_file():
        raise UsageError(f'{folder}: in a comparison "before" is a run of its own, {beside}. Name that one.')
    raise UsageError(f'{folder} holds one tagger only: nothing was adapted there, so there is no "before".')


def require_finished(folder: Path) -> None:
    """Tell a run that was cut off, and a comparison of many, from a folder that never held a tagger."""
    if not folder.exists():
        raise InputError(
            f"{folder}: no such folder. Expected one that `acclimate adapt --out` or Tagger.save wrote, or a tagger "
            f"that comes with the package: {', '.join(SHIPPED_TAGGERS)}.{did_you_mean(folder.name, SHIPPED_TAGGERS)}"
        )
    if is_comparison(folder) and not (folder / MANIFEST).is_file():
        runs = runs_of_comparison(folder)
        such = f", such as {runs[0]}" if runs else ""
        raise InputError(f"{folder}: this is a comparison, which holds many taggers. Name one of its runs{such}.")
    if has_progress(folder) and not (folder / MANIFEST).is_file():
        raise InputError(
            f"{folder}: this run is not finished. Give its `acclimate adapt` command again to go on with it."
        )


def choose_device(name: str) -> str:
    if name not in ("auto", "cpu", "cuda"):
        raise UsageError(f"--device {name}: expected auto, cpu or cuda.")
    if name == "cuda" and not torch.cuda.is_available():
        raise UsageError("--device cuda: torch sees no CUDA device here. Use auto or cpu.")
    return "cuda" if name == "auto" and torch.cuda.is_available() else "cpu" if name == "auto" else name

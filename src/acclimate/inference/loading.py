"""Load a tagger for use: a compact one without torch, any other with it."""

from __future__ import annotations

import os
from pathlib import Path

from acclimate.data.problems import InputError
from acclimate.inference.compact import CompactTagger, is_compact
from acclimate.layout import has_progress, is_comparison, runs_of_comparison
from acclimate.model.shipped import SHIPPED_TAGGERS, resolved_tagger
from acclimate.model.storage import MANIFEST
from acclimate.model.text_tagger import TextTagger
from acclimate.settings import UsageError
from acclimate.spelling import argument, did_you_mean


def load_tagger(place: str | Path, device: str = "auto") -> TextTagger:
    """The tagger in a folder, or one of the package by name. A compact one does not wait for torch."""
    folder = tagger_in(place)
    if is_compact(folder):
        if device not in ("auto", "cpu"):
            raise UsageError(f"{argument('device', device)}: {folder} holds a compact tagger, which works on the CPU.")
        return CompactTagger.load(folder)
    from acclimate.model.tagger import Tagger

    return Tagger.load(folder, choose_device(device))


def tagger_in(place: str | Path) -> Path:
    """The folder of a tagger: of a shipped one, or of a run's adapted one."""
    folder = resolved_tagger(place)
    require_finished(folder)
    return folder


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
    """`auto` is a GPU where there is one."""
    import torch

    if name not in ("auto", "cpu", "cuda"):
        raise UsageError(f"{argument('device', name)}: expected auto, cpu or cuda.")
    if name == "cuda" and not torch.cuda.is_available():
        raise UsageError(f"{argument('device', name)}: torch sees no CUDA device here. Use auto or cpu.")
    return "cuda" if name == "auto" and torch.cuda.is_available() else "cpu" if name == "auto" else name


def visible_gpus() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    import torch

    count = torch.cuda.device_count()
    named = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return named[:count] if named else [str(number) for number in range(count)]

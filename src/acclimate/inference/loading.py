"""Load a tagger for use: a compact one without torch, any other with it."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from acclimate.data.problems import InputError
from acclimate.inference.compact import PARITY, CompactTagger, is_compact, version_of
from acclimate.layout import COMPACT_FORM, has_progress, is_comparison, runs_of_comparison
from acclimate.model.shipped import SHIPPED_TAGGERS, resolved_tagger
from acclimate.model.storage import MANIFEST, read_json
from acclimate.model.text_tagger import TextTagger
from acclimate.settings import UsageError
from acclimate.spelling import argument, did_you_mean

ORIGINAL = "torch"  # stands for a device: the tagger itself, on a GPU if there is one
_DEVICES = ("auto", "cpu", "cuda")
_OF_GPUS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")  # without all of them, Linux and macOS have no GPU for torch
Tell = Callable[[str], object]


def load_tagger(
    place: str | Path, device: str = "auto", tell: Tell = lambda line: None, warn: Tell = lambda line: None
) -> TextTagger:
    """The tagger in a folder, or one of the package by name, in the form that `choose_form` takes."""
    return load_form(*choose_form(place, device, tell, warn))


def choose_form(
    place: str | Path, device: str = "auto", tell: Tell = lambda line: None, warn: Tell = lambda line: None
) -> tuple[Path, str]:
    """The folder to load, and the device: on a CPU that of the compact form where there is one; device `torch` asks for
    the tagger itself. `tell` hears that a form is taken, `warn` why one is not."""
    _require_known(device, *_DEVICES, ORIGINAL)
    folder = tagger_in(place)
    if is_compact(folder):
        if device not in ("auto", "cpu"):
            raise UsageError(f"{argument('device', device)}: {folder} holds a compact tagger, which works on the CPU.")
        return folder, "cpu"
    form = folder / COMPACT_FORM
    if is_compact(form) and (device == "cpu" or (device == "auto" and not _has_gpu())):
        obstacle = _obstacle_to(form, folder)
        if obstacle is None:
            weights = CompactTagger.describe(form).weights
            equal = 100 * float(read_json(form / PARITY)["equal_tags"])
            tell(f"Tagging with the compact form in {form} ({weights}; {equal:.1f} % of tags equal).")
            return form, "cpu"
        warn(f"{form} is not used: {obstacle}")
    return folder, "auto" if device == ORIGINAL else device


def load_form(folder: Path, device: str) -> TextTagger:
    """What `choose_form` chose."""
    if is_compact(folder):
        return CompactTagger.load(folder)
    from acclimate.model.tagger import Tagger

    return Tagger.load(folder, choose_device(device))


def _obstacle_to(form: Path, folder: Path) -> str | None:
    """Why a compact form does not stand for the tagger in its folder."""
    if find_spec("onnxruntime") is None:
        return "it needs onnxruntime. pip install 'acclimate[fast]'"
    if CompactTagger.describe(form).original == version_of(folder):
        return None
    return f"it was made from another version of {folder}. Make it again: acclimate export {folder} --to onnx --int8"


def _has_gpu() -> bool:
    """Whether torch would find a GPU. It is asked only where the system has one: it takes a second to load."""
    if os.name == "posix" and not any(map(os.path.exists, _OF_GPUS)):
        return False
    return choose_device("auto") == "cuda"


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
    _require_known(name, *_DEVICES)
    import torch

    if name == "cuda" and not torch.cuda.is_available():
        raise UsageError(f"{argument('device', name)}: torch sees no CUDA device here. Use auto or cpu.")
    return "cuda" if name == "auto" and torch.cuda.is_available() else "cpu" if name == "auto" else name


def visible_gpus() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    import torch

    count = torch.cuda.device_count()
    named = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return named[:count] if named else [str(number) for number in range(count)]


def _require_known(device: str, *known: str) -> None:
    if device not in known:
        raise UsageError(f"{argument('device', device)}: expected {', '.join(known[:-1])} or {known[-1]}.")

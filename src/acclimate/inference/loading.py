"""Load a tagger for use, in this process or in others: a compact one without torch, any other with it."""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.processes import CONTEXT, cores, done_side_by_side, processes
from acclimate.inference.compact import DESCRIPTION, PARITY, CompactTagger, version_of
from acclimate.inference.predict import guess, predict
from acclimate.layout import COMPACT_FORM, has_progress, is_comparison, runs_of_comparison
from acclimate.model.shipped import SHIPPED_TAGGERS, resolved_tagger
from acclimate.model.storage import MANIFEST, StorageError, read_json
from acclimate.model.text_tagger import TextTagger
from acclimate.settings import UsageError
from acclimate.spelling import argument, did_you_mean

ORIGINAL = "torch"  # stands for a device: the tagger itself, on a GPU if there is one
_DEVICES = ("auto", "cpu", "cuda")
_OF_GPUS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")  # without all of them, Linux and macOS have no GPU for torch
Tell = Callable[[str], object]
OpenExecutor = Callable[[], AbstractContextManager[Executor]]
_loading = Lock()  # threads of one process wait for the first of them


def _ignore(line: str) -> None:
    """Nobody listens."""


def load_tagger(place: str | Path, device: str = "auto", tell: Tell = _ignore, warn: Tell = _ignore) -> TextTagger:
    """The tagger in a folder, or one of the package by name, in the form that `choose_form` takes."""
    return load_form(*choose_form(place, device, tell, warn))


def choose_form(
    place: str | Path, device: str = "auto", tell: Tell = _ignore, warn: Tell = _ignore
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


def is_compact(folder: str | Path) -> bool:
    return (Path(folder) / DESCRIPTION).is_file()


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
    if (folder / MANIFEST).is_file():
        return
    if is_comparison(folder):
        runs = runs_of_comparison(folder)
        such = f", such as {runs[0]}" if runs else ""
        raise InputError(f"{folder}: this is a comparison, which holds many taggers. Name one of its runs{such}.")
    if has_progress(folder):
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


@dataclass(frozen=True)
class TaggerPlace:
    """Where a tagger is, for processes that load it themselves: once each, and only if it is still the same."""

    place: str
    device: str = "auto"
    fingerprint: str = ""

    @classmethod
    def of(cls, place: str | Path, device: str = "auto", tell: Tell = _ignore, warn: Tell = _ignore) -> TaggerPlace:
        """The tagger in a folder, or one of the package by name; its compact form where `choose_form` takes that."""
        folder, device = choose_form(place, device, tell, warn)
        is_shipped = isinstance(place, str) and place in SHIPPED_TAGGERS  # elsewhere on another machine
        return cls(str(place) if is_shipped else str(folder.absolute()), device, _fingerprint(folder))

    def on_gpu(self) -> bool:
        """Whether a process here would tag on a GPU."""
        return not is_compact(tagger_in(self.place)) and choose_device(self.device) == "cuda"

    def load(self) -> TextTagger:
        """The tagger, loaded when a process asks for the first time."""
        with _loading:
            return _loaded(self)


@lru_cache(4)
def _loaded(wanted: TaggerPlace) -> TextTagger:
    folder = tagger_in(wanted.place)
    if _fingerprint(folder) != wanted.fingerprint:
        problem = "this process sees another tagger there than the one that it was asked to use."
        raise StorageError(f"{wanted.place}: {problem} Give all machines the same folder, and start again.")
    return load_form(folder, wanted.device)


def _fingerprint(folder: Path) -> str:
    """A checksum over those of all files of a tagger."""
    manifest = folder / MANIFEST
    return hashlib.sha256(manifest.read_bytes()).hexdigest() if manifest.is_file() else ""


def predict_side_by_side(
    tagger: TaggerPlace, parts: Iterable[Corpus], open_executor: OpenExecutor, at_once: int, soft: bool = False
) -> Iterator[Corpus]:
    """`predict_stream` by the processes of an executor: the same parts in the same order, `at_once` in memory."""
    call = partial(_tag, tagger, soft)
    with closing(done_side_by_side(call, parts, open_executor, at_once)) as done:
        for _, future in done:
            yield future.result()


def _tag(tagger: TaggerPlace, soft: bool, part: Corpus) -> Corpus:
    return (guess if soft else predict)(tagger.load(), part)


def tagging_processes(jobs: int, gpus: bool) -> AbstractContextManager[Executor]:
    """Processes with their share of the cores, or one of the GPUs each."""
    visible = visible_gpus() if gpus else []
    numbers = CONTEXT.SimpleQueue()
    for number in range(jobs):
        numbers.put(visible[number % len(visible)] if visible else None)
    advice = "perhaps there was too little memory: name fewer jobs"
    return processes(jobs, "tagged text", advice, _start_worker, max(1, cores() // jobs), numbers)


_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")


def _start_worker(threads: int, gpus: Any) -> None:
    """Before the libraries are loaded that read this."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this process ends it
    os.environ |= dict.fromkeys(_THREADS, str(threads))
    if threads == 1:
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
    gpu = gpus.get()
    if gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpu

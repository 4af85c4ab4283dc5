"""One tagger in several processes, which tag a stream side by side, part by part."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import Any

from acclimate.data.corpus import Corpus
from acclimate.data.processes import CONTEXT, cores, done_side_by_side, processes
from acclimate.inference.compact import is_compact
from acclimate.inference.loading import Tell, choose_device, choose_form, load_form, tagger_in, visible_gpus
from acclimate.inference.predict import guess, predict
from acclimate.model.shipped import SHIPPED_TAGGERS
from acclimate.model.storage import MANIFEST, StorageError
from acclimate.model.text_tagger import TextTagger

OpenExecutor = Callable[[], AbstractContextManager[Executor]]
_loading = Lock()  # threads of one process wait for the first of them


@dataclass(frozen=True)
class TaggerPlace:
    """Where a tagger is, for processes that load it themselves: once each, and only if it is still the same."""

    place: str
    device: str = "auto"
    fingerprint: str = ""

    @classmethod
    def of(
        cls, place: str | Path, device: str = "auto", tell: Tell = lambda line: None, warn: Tell = lambda line: None
    ) -> TaggerPlace:
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


def _settle_in_copy() -> None:
    """A copy of a process (`datasets` makes some) has none of its threads, for which OpenMP would wait for ever."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_settle_in_copy)


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

"""A run from its settings to its finished folder, and what it keeps there for its report: predictions, distances
between texts, and random words as the taggers see them."""

from __future__ import annotations

import json
import resource
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save

from acclimate.analysis.features import FeaturePoints, feature_points, readers_of
from acclimate.analysis.text_comparison import compare_text
from acclimate.data.corpus import Corpus, Kind, Sentence
from acclimate.data.problems import InputError
from acclimate.layout import BEFORE, PREDICTIONS, REPORT, RUN, SIBLINGS
from acclimate.model.siblings import save_siblings
from acclimate.model.storage import (
    atomic_folder,
    read_sealed_json,
    read_tensors,
    require_unchanged,
)
from acclimate.model.tagger import Tagger
from acclimate.runs.fingerprint import run_fingerprint
from acclimate.runs.folder import State, begin, finish, locked, remove_saved, state_of, stored_fingerprint
from acclimate.runs.result import Outcome
from acclimate.runs.settings import RunSettings
from acclimate.runs.task import Task
from acclimate.runs.train import train_run

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def forget_peak() -> None:
    """Measure the peak of the memory anew from here on."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    with suppress(OSError):
        _CLEAR.write_text("5")  # Linux: the peak becomes what is used now


def peak_megabytes() -> dict[str, float | None]:
    """The peak of the process, and of tensors on the GPU (None without one)."""
    on_gpu = torch.cuda.max_memory_allocated() / 1e6 if torch.cuda.is_available() else None
    return {"process": round(_peak_of_process(), 1), "gpu": None if on_gpu is None else round(on_gpu, 1)}


def _peak_of_process() -> float:
    with suppress(OSError, ValueError, StopIteration):
        line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


# seeds and the engine's state belong to a process: threads of one (Dask workers may have several) take turns
_ALONE = threading.Lock()

Files = Mapping[str, str | bytes]


@dataclass(frozen=True)
class PlannedRun:
    """A recipe with a seed, the folder of the run, and the folder of the source-only run with the same seed."""

    settings: RunSettings
    folder: Path
    baseline: Path | None = None

    @property
    def recipe(self) -> str:
        return self.settings.recipe

    @property
    def seed(self) -> int:
        return self.settings.seed

    @property
    def name(self) -> str:
        return f"{self.recipe}, seed {self.seed}"

    def state(self, task: Task) -> State:
        """What its folder holds; refuses the folder of another run."""
        return state_of(self.folder, run_fingerprint(task, self.settings))

    def begin(self, task: Task) -> None:
        begin(self.folder, run_fingerprint(task, self.settings))


def finish_run(
    run: PlannedRun,
    task: Task,
    *,
    has_baseline: bool = True,
    keeps_tagger: bool = True,
    more: Callable[[Outcome], Files] = lambda outcome: {},
) -> None:
    """Train from where the run stands, and save. `more`: further files."""
    state = run.state(task)
    if state == "finished":
        return
    if state == "damaged":
        run.begin(task)
    forget_peak()
    outcome = train_run(task, run.settings, run.folder, baseline=(run.baseline or "own") if has_baseline else "none")
    save_run(run.folder, run.settings.seed, outcome, more(outcome), keeps_tagger=keeps_tagger)


def save_run(
    folder: Path,
    seed: int,
    outcome: Outcome,
    files: Files,
    *,
    about: Mapping[str, Any] | None = None,
    keeps_tagger: bool = True,
    keeps_before: bool = False,
) -> dict[str, Any]:
    """Save the folder of a finished run; returns its report. `about`: further entries of the report."""
    report = {
        **(about or {}),
        "seed": seed,
        **outcome.as_dict(),
        "training_seconds": round(sum(stage["seconds"] for stage in outcome.own_stages), 3),
        "training_updates": sum(stage["updates"] for stage in outcome.own_stages),
        "peak_megabytes": peak_megabytes(),
    }
    written: dict[str, str | bytes] = {
        RUN: _json(stored_fingerprint(folder)),
        REPORT: _json(report),
        PREDICTIONS: json.dumps(predictions(outcome)),  # pure ASCII: a word may hold half a surrogate pair
        **files,
    }
    assert outcome.tagger is not None
    if keeps_before and outcome.tagger_before is not None:
        outcome.tagger_before.save(folder / BEFORE)
    elif keeps_before:  # that of an earlier run is removed
        remove_saved(folder / BEFORE)
    if outcome.siblings or (folder / SIBLINGS).is_dir():  # those of an earlier run are removed
        save_siblings(folder, {name: each.tagger for name, each in outcome.siblings.items()})
    if keeps_tagger:
        outcome.tagger.save(folder, **written)
    else:  # weights that nobody will ask for would fill the disk
        with atomic_folder(folder) as aside:
            for name, content in written.items():
                (aside / name).write_bytes(content.encode() if isinstance(content, str) else content)
    finish(folder)
    return report


def predictions(outcome: Outcome) -> dict[str, Any]:
    """The test sentences with the tags predicted before and after; gold tags only where the run was given them."""
    changes = {SOURCE: outcome.source, TARGET: outcome.target}
    found: dict[str, Any] = {}
    for name, change in changes.items():
        before, after = outcome.predicted.get(name, (None, None))
        gold = None if change is None or change.texts is None else change.texts[0]
        found[name] = None if after is None else answers_dict(gold, before, after)
    return found


def _json(content: Any) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False)


@contextmanager
def working_alone(folder: Path, threads: int | None = None) -> Iterator[None]:
    """No other thread or process trains in this folder meanwhile; so many threads work on it, all for None."""
    with _ALONE, using_threads(threads), locked(folder):
        yield


@contextmanager
def using_threads(count: int | None) -> Iterator[None]:
    """So many threads for what is done within; as many as there are, for None."""
    before = torch.get_num_threads()
    if count is not None:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


SOURCE, TARGET = "source", "target"
AFTER = "after"  # and BEFORE: names of the two taggers
DOMAINS = "domains.json"
FEATURES = "features.safetensors"
MOST_WORDS = 400  # of each domain, of which features are kept: enough for a map, and a megabyte or so
_TYPICAL_WORDS = 20


@dataclass(frozen=True)
class Answers:
    """A test corpus with its gold tags, and what was predicted for it. `before` is None where nothing was adapted."""

    gold: Corpus
    before: Corpus | None
    after: Corpus

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Answers:
        """What `answers_dict` kept."""

        def with_tags(part: str) -> Corpus | None:
            return None if kept[part] is None else tagged(kept["words"], kept[part], kept["name"], kept["kind"])

        gold, after = with_tags("gold"), with_tags(AFTER)
        assert gold is not None
        assert after is not None
        return cls(gold, with_tags(BEFORE), after)


def answers_dict(gold: Corpus | None, before: Corpus | None, after: Corpus) -> dict[str, Any]:
    """As JSON keeps it."""
    text = after if gold is None else gold
    return {
        "name": text.name,
        "kind": text.kind,
        "words": [sentence.words for sentence in text],
        "gold": None if gold is None else _tags(gold),
        BEFORE: None if before is None else _tags(before),
        AFTER: _tags(after),
    }


def tagged(words: Any, tags: Any, name: str, kind: Kind) -> Corpus:
    """A corpus of lists, as JSON has them."""
    rows = zip(words, tags, strict=True)
    return Corpus.of((Sentence(tuple(row), None if own is None else tuple(own)) for row, own in rows), name, kind)


def text_figures(source: Corpus, target: Corpus | None) -> dict[str, Any] | None:
    """Sizes, words in common, density ratio and typical words; None without a source or a target."""
    if target is None or not len(source):
        return None
    found = compare_text({SOURCE: source, TARGET: target}, most=_TYPICAL_WORDS).as_dict()
    return {**found, "names": {SOURCE: source.name, TARGET: target.name}}


@dataclass
class FeatureKeeper:
    """Takes the features of random words of both domains under each tagger. A text without words must not end a trained
    run: then `problem` says why there are none."""

    corpora: Mapping[str, Corpus]  # of `source` and `target`; tags are not looked at
    found: dict[str, FeaturePoints] = field(default_factory=dict)
    problem: str | None = None

    def __call__(self, when: str, tagger: Tagger, siblings: Mapping[str, Tagger]) -> None:
        try:
            readers = readers_of(tagger, siblings.get(SOURCE), self.corpora, SOURCE)
            self.found[when] = feature_points(readers, self.corpora, most=MOST_WORDS)
        except InputError as problem:
            self.problem = f"There are no features {when}: {problem}"

    def as_dict(self) -> dict[str, Any]:
        """The points by their words; the numbers go to a file of their own."""
        about = {"names": {name: corpus.name for name, corpus in self.corpora.items()}, "problem": self.problem}
        points = next(iter(self.found.values()), None)
        if points is None:
            return about
        return {**about, "domains": points.domains, "words": points.labels, "sentences": points.sentences}

    def files(self) -> dict[str, bytes]:
        """The numbers, as a file to be saved with the tagger; none where nothing could be measured."""
        half = {when: torch.from_numpy(points.points).half() for when, points in self.found.items()}
        return {FEATURES: save(half)} if half else {}


def read_features(folder: Path) -> dict[str, FeaturePoints]:
    """By `before` and `after`, what a run has kept; empty where it kept nothing."""
    if not (folder / FEATURES).is_file() or not (folder / DOMAINS).is_file():
        return {}
    about = read_sealed_json(folder / DOMAINS)["points"]
    if "domains" not in about:
        return {}
    known = (tuple(about["domains"]), tuple(about["words"]), tuple(about["sentences"]))
    require_unchanged(folder / FEATURES)
    tensors = read_tensors(folder / FEATURES)
    return {
        when: FeaturePoints(tensors[when].numpy().astype(np.float32), *known)
        for when in (BEFORE, AFTER)
        if when in tensors
    }


def _tags(corpus: Corpus) -> list[tuple[str, ...] | None]:
    return [sentence.tags for sentence in corpus]


def feature_keeper(task: Task) -> FeatureKeeper:
    """Of sentences that were not learnt from, where there are some."""
    source = task.source_test or task.source_dev or task.source
    target = task.target_test or task.target or task.target_labelled
    return FeatureKeeper({name: text for name, text in ((SOURCE, source), (TARGET, target)) if text})


def domains_json(task: Task, keeper: FeatureKeeper) -> str:
    target = task.target or task.target_labelled
    return json.dumps({"text": text_figures(task.source, target), "points": keeper.as_dict()})

"""Run a table again: its trainings, with every seed, and what is counted; and write down what came out beside what the
paper printed."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from acclimate.analysis.features import FeaturePoints, Unit, domain_separability, feature_points, project
from acclimate.comparison.scheduler import Job, make_all
from acclimate.data.batches import SOURCE, TARGET
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.inference.part_of_speech import PartOfSpeechTagger, part_of_speech_tagger
from acclimate.methods.mslm import MaskedTagger
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.language_model import mlm_head_for
from acclimate.model.learner import Learner
from acclimate.model.siblings import Siblings
from acclimate.model.tagger import Tagger
from acclimate.recipes.domain_tuning import perplexity
from acclimate.reproduction.datasets import Datasets, find_dataset
from acclimate.reproduction.measures import FACTS, MEASURES, TAGGER, Finished, Place
from acclimate.reproduction.results import Reproduction, counted, gains, means, measured, with_paper_only
from acclimate.reproduction.table import Cell, Scale, Table, cells_of, find_table
from acclimate.reproduction.tasks import Prepared, extra_files, needed_parts, notes_on_extra, prepare_task
from acclimate.reproduction.writing import write_all
from acclimate.runs.result import Outcome
from acclimate.runs.run import PlannedRun, finish_run, working_alone
from acclimate.runs.settings import RunSettings
from acclimate.runs.task import BlindTask
from acclimate.spelling import count

_POINTS = 1000  # of each domain, that are told apart and put on a map


def run_training(run: PlannedRun, task: BlindTask, facts: Sequence[str] = (), watch: Corpus | None = None) -> float:
    """Finish this run from where it stands, without a baseline, and return the seconds that took."""

    def measured_facts(outcome: Outcome) -> Mapping[str, str]:
        assert outcome.tagger is not None
        assert outcome.learner is not None
        values = {name: _FACTS[name](outcome.learner, outcome.tagger, task) for name in facts if name != TAGGER}
        return {FACTS: json.dumps(values, ensure_ascii=False)}

    started = time.monotonic()
    with working_alone(run.folder):
        watched = replace(task, watch=watch)
        finish_run(run, watched, has_baseline=False, keeps_tagger=TAGGER in facts, more=measured_facts)
    return time.monotonic() - started


def _perplexity(learner: Learner, tagger: Tagger, task: BlindTask) -> dict[str, float]:
    """Of dev text. Without a head of its own, under the one that the encoder began with."""
    text = task.source_dev
    if text is None or not isinstance(tagger.encoder, Transformer):
        raise InputError("perplexity is of a masked language model, and of dev text.")
    own = learner.mlm_head if isinstance(learner, MaskedTagger) else None
    mlm_head = mlm_head_for(tagger.encoder) if own is None else own
    device = next(tagger.parameters()).device
    return {"perplexity": perplexity(tagger.encoder, mlm_head.to(device), text).perplexity}


def _separability(learner: Learner, tagger: Tagger, task: BlindTask) -> dict[str, float]:
    """How far source and target can be told apart: in percent, 50 where they cannot."""
    units: tuple[Unit, ...] = ("word", "sentence")
    accuracies = {unit: domain_separability(_points(learner, tagger, task, unit)).accuracy for unit in units}
    return {f"{unit}s told apart, %": 100 * accuracy for unit, accuracy in accuracies.items()}


def _points(learner: Learner, tagger: Tagger, task: BlindTask, unit: Unit) -> FeaturePoints:
    assert task.target_test is not None
    text = task.source if task.source_dev is None else task.source_dev
    readers = {name: learner[name] if isinstance(learner, Siblings) else tagger for name in (SOURCE, TARGET)}
    return feature_points(readers, {SOURCE: text.unlabelled(), TARGET: task.target_test}, unit, _POINTS)


def _map(learner: Learner, tagger: Tagger, task: BlindTask) -> dict[str, Any]:
    """Words on a flat map; empty where it cannot be made (no scikit-learn)."""
    points = _points(learner, tagger, task, "word")
    try:
        return {"places": project(points.points).round(3).tolist(), "domains": list(points.domains)}
    except InputError:
        return {}


_FACTS: dict[str, Callable[[Learner, Tagger, BlindTask], dict[str, Any]]] = {
    "perplexity": _perplexity,
    "separability": _separability,
    "map": _map,
}


@dataclass(frozen=True)
class Run:
    """One training of one cell."""

    cell: Cell
    plan: PlannedRun
    prepared: Prepared

    @property
    def name(self) -> str:
        return f"{self.cell.name}, seed {self.plan.seed}"

    @property
    def facts(self) -> list[str]:
        return _facts(self.cell)


def runs_of(cells: Sequence[Cell], seeds: Sequence[int], sets: Datasets, out: Path) -> list[Run]:
    """Seed by seed: what is there when time runs out can be compared."""
    runs = []
    for seed in seeds:
        for cell in cells:
            settings = cell.settings
            if settings.recipe is None:
                continue
            files = extra_files(settings, sets, text_folder(out))
            wanted = RunSettings(
                recipe=settings.recipe,
                seed=seed,
                options={**settings.options, **files},
                select=settings.select,
                train_on_dev=settings.train_on_dev,
                tagger=settings.tagger,
                training=settings.training,
            )
            folder = out / "runs" / f"{settings.recipe}-{_digest(cell, sets)}" / f"seed-{seed}"
            runs.append(Run(cell, PlannedRun(wanted, folder), prepare_task(settings, sets, seed)))
    return runs


def text_folder(out: Path) -> Path:
    """Where text is that was made for trainings."""
    return out / "text"


def _digest(cell: Cell, sets: Datasets) -> str:
    """Cells that are the same training, of this table or of another, have one folder."""
    own = cell.settings
    settings = own.model_dump(mode="json", exclude={"measures", "corpora", "part"})
    for name in ("source", "target", "second"):  # by the sets that are really read
        settings[name] = None if settings[name] is None else sets.resolved(settings[name])
    if own.extra is not None:
        settings["extra"]["text"] = sets.resolved(own.extra.text)
    settings["facts"] = _facts(cell)
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:10]


def _facts(cell: Cell) -> list[str]:
    return list(dict.fromkeys(fact for measure in cell.measures for fact in MEASURES[measure].facts))


def make_runs(
    table: Table, runs: Sequence[Run], executor: Executor | None, jobs: int, tell: Callable[[str], Any]
) -> dict[str, str]:
    """Make what is missing; returns why runs failed, by their names."""
    by_folder: dict[Path, list[Run]] = {}
    for run in runs:
        by_folder.setdefault(run.plan.folder, []).append(run)
    first = [own[0] for own in by_folder.values()]
    finished = sum(run.plan.state(run.prepared.task) == "finished" for run in first)
    tell(f"{table.name}, {table.title}: {count(len(first), 'training')}, {finished} finished before")
    arguments = {run.name: (run.plan, run.prepared.task, run.facts, run.prepared.watch) for run in first}
    failed = make_all([Job(name, run_training, own) for name, own in arguments.items()], executor, jobs, tell)
    return {run.name: failed[own[0].name] for own in by_folder.values() if own[0].name in failed for run in own}


def finished_runs(runs: Sequence[Run], failures: Mapping[str, str]) -> dict[Place, Finished]:
    """By row, column and seed; a folder that two cells share is read once."""
    finished: dict[Place, Finished] = {}
    by_folder: dict[Path, Finished] = {}
    for run in runs:
        if run.name in failures:
            continue
        plan, prepared = run.plan, run.prepared
        if plan.folder not in by_folder:
            wants_tags = any(MEASURES[measure].parts_of_speech for measure in run.cell.measures)
            tagger = _parts_of_speech() if wants_tags else None
            by_folder[plan.folder] = Finished(plan.folder, plan.seed, prepared.task, prepared.test, tagger)
        finished[run.cell.row, run.cell.column, plan.seed] = by_folder[plan.folder]
    return finished


@cache
def _parts_of_speech() -> PartOfSpeechTagger:
    return part_of_speech_tagger()


def reproduce(
    name: str,
    data: str | Path | None = None,
    out: str | Path = "runs/reproduce",
    *,
    seeds: int | None = None,
    scale: Scale = "full",
    assignments: Sequence[str] = (),
    executor: Executor | None = None,
    jobs: int = 1,
    command: str = "",
    tell: Callable[[str], Any] = lambda line: None,
) -> Reproduction:
    """Run the table of this name.

    data: a folder per data set with train, dev, test and unlabelled. At small scale bundled corpora stand in.
    out: trainings go to `out/runs`, which tables share, and continue; the table to `out/NAME.md`, `.csv` and `.html`.
    assignments: settings of all trainings, as `--set` takes them (`tagger.encoder=bert-base-cased`).
    """
    table, out = find_table(name), Path(out)
    numbers = tuple(range(1, (seeds or (1 if scale == "small" else table.seeds)) + 1))
    sets = Datasets(None if data is None else Path(data), scale == "small")
    cells = cells_of(table, scale, assignments)
    lacking = {cell.name: _missing(cell, sets) for cell in cells}
    missing = tuple({name: about for own in lacking.values() for name, about in own.items()}.values())
    for one in missing:
        tell(f"missing: {one}")
    chosen = [cell for cell in cells if not lacking[cell.name]]
    if not chosen:
        listed = "\n".join(f"  {one}" for one in missing)
        raise InputError(f"{table.name} cannot be run, all its data are missing:\n{listed}")
    notes = tuple(notes_on_extra(chosen, sets, text_folder(out)))
    for note in notes:
        tell(note)
    runs = runs_of(chosen, numbers, sets, out)
    failures = make_runs(table, runs, executor, jobs, tell)
    finished = finished_runs(runs, failures)
    figures = measured(table, chosen, numbers, finished)
    figures += [*means(table, figures), *counted(table, chosen, sets)]
    if not figures:
        raise InputError(f"{table.name}: no cell could be finished. {next(iter(failures.values()), '')}")
    result = Reproduction(
        table=table,
        scale=scale,
        seeds=numbers if runs else (),
        cells=tuple(cells),
        figures=tuple(with_paper_only(table, scale, cells, figures)),
        gains=tuple(gains(table, chosen, numbers, finished)),
        missing=missing,
        skipped=tuple(name for name, own in lacking.items() if own),
        notes=notes,
        failures=failures,
        data=_data_read(chosen, sets),
        seconds=sum(run.report["seconds"] for run in {run.folder: run for run in finished.values()}.values()),
        command=command,
    )
    write_all(result, out, finished)
    return result


def _missing(cell: Cell, sets: Datasets) -> dict[str, str]:
    """By the names of data sets, what of them is not there."""
    missing = {name: sets.missing(name, sorted(parts)) for name, parts in needed_parts(cell.settings).items()}
    return {name: about for name, about in missing.items() if about is not None}


def _data_read(cells: Sequence[Cell], sets: Datasets) -> dict[str, str]:
    """What was read for each data set, in words."""
    about = {}
    for name in dict.fromkeys(name for cell in cells for name in cell.settings.sets):
        read = sets.resolved(name)
        stands_in = f" In its place: {read}, {find_dataset(read).what}." if read != name else ""
        about[name] = f"{find_dataset(name).what}; {find_dataset(name).where}.{stands_in}"
    return about

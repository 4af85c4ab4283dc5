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
from acclimate.reproduction.datasets import Datasets, Missing, find_dataset
from acclimate.reproduction.measures import FACTS, MEASURES, TAGGER, Finished, Place
from acclimate.reproduction.results import Reproduction, counted, gains, means, measured, with_paper_only
from acclimate.reproduction.table import Cell, Scale, Table, cells_of, find_table
from acclimate.reproduction.tasks import ExtraText, Prepared, extra_files, needed_parts, prepare_task
from acclimate.reproduction.writing import write_all
from acclimate.runs.result import Outcome
from acclimate.runs.run import PlannedRun, finish_run, working_alone
from acclimate.runs.settings import RunSettings
from acclimate.runs.task import BlindTask
from acclimate.spelling import count

_POINTS = 1000  # of each domain, that are told apart and put on a map


def run_training(run: PlannedRun, task: BlindTask, facts: Sequence[str] = (), watch: Corpus | None = None) -> float:
    """Finish this run from where it stands, and say how many seconds that took. The work of an executor. Nothing is
    trained beside it: what it is compared with has a cell of its own."""

    def asked(outcome: Outcome) -> Mapping[str, str]:
        assert outcome.tagger is not None
        assert outcome.learner is not None
        found = {name: _FACTS[name](outcome.learner, outcome.tagger, task) for name in facts if name != TAGGER}
        return {FACTS: json.dumps(found, ensure_ascii=False)}

    started = time.monotonic()
    with working_alone(run.folder):
        watched = replace(task, watch=watch)
        finish_run(run, watched, has_baseline=False, keeps_tagger=TAGGER in facts, more=asked)
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
    points = {unit: _points(learner, tagger, task, unit) for unit in units}
    return {f"{unit}s told apart, %": 100 * domain_separability(found).accuracy for unit, found in points.items()}


def _points(learner: Learner, tagger: Tagger, task: BlindTask, unit: Unit) -> FeaturePoints:
    assert task.target_test is not None
    text = task.source if task.source_dev is None else task.source_dev
    readers = {name: learner[name] if isinstance(learner, Siblings) else tagger for name in (SOURCE, TARGET)}
    return feature_points(readers, {SOURCE: text.unlabelled(), TARGET: task.target_test}, unit, _POINTS)


def _map(learner: Learner, tagger: Tagger, task: BlindTask) -> dict[str, Any]:
    """Words on a flat map; empty where it cannot be made (no scikit-learn)."""
    found = _points(learner, tagger, task, "word")
    try:
        return {"places": project(found.points).round(3).tolist(), "domains": list(found.domains)}
    except InputError:
        return {}


_FACTS: dict[str, Callable[[Learner, Tagger, BlindTask], dict[str, Any]]] = {
    "perplexity": _perplexity,
    "separability": _separability,
    "map": _map,
}


Tell = Callable[[str], Any]


@dataclass(frozen=True)
class Run:
    """One training of one cell."""

    cell: Cell
    trial: PlannedRun
    prepared: Prepared

    @property
    def name(self) -> str:
        return f"{self.cell.name}, seed {self.trial.seed}"


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


def tell_states(table: Table, runs: Sequence[Run], tell: Tell) -> None:
    trials = {run.trial.folder: run for run in runs}.values()
    finished = sum(run.trial.state(run.prepared.task) == "finished" for run in trials)
    tell(f"{table.name}, {table.title}: {count(len(trials), 'training')}, {finished} finished before")


def make_runs(runs: Sequence[Run], executor: Executor | None, jobs: int, tell: Tell) -> dict[str, str]:
    """Make what is missing; returns why runs failed, by their names."""
    by_folder: dict[Path, list[Run]] = {}
    for run in runs:
        by_folder.setdefault(run.trial.folder, []).append(run)
    work = []
    for own in by_folder.values():
        first = own[0]
        arguments = (first.trial, first.prepared.task, _facts(first.cell), first.prepared.watch)
        work.append(Job(first.name, run_training, arguments))
    failed = make_all(work, executor, jobs, tell)
    return {run.name: failed[own[0].name] for own in by_folder.values() if own[0].name in failed for run in own}


def finished_runs(runs: Sequence[Run], failures: Mapping[str, str]) -> dict[Place, Finished]:
    """By row, column and seed; a folder that two cells share is read once."""
    found: dict[Place, Finished] = {}
    read: dict[Path, Finished] = {}
    for run in runs:
        if run.name in failures:
            continue
        wants_tags = any(MEASURES[measure].parts_of_speech for measure in run.cell.measures)
        trial, prepared = run.trial, run.prepared
        if trial.folder not in read:
            tagger = _parts_of_speech() if wants_tags else None
            read[trial.folder] = Finished(trial.folder, trial.seed, prepared.task, prepared.test, tagger)
        found[run.cell.row, run.cell.column, trial.seed] = read[trial.folder]
    return found


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
    tell: Tell = lambda line: None,
) -> Reproduction:
    """Run the table of this name.

    data: a folder with a folder for each data set, in it train, dev, test and unlabelled as files of any format. Not
        needed at small scale, where bundled corpora stand in. Cells whose data are missing are left out, and named.
    out: trainings are folders in `out/runs`, which tables share; what is finished there is not done again, and what
        was cut off goes on. The table goes to `out/NAME.md`, `.csv` and `.svg`.
    seeds: how many; as many as the table says, and one at small scale.
    assignments: settings of all trainings, as `--set` takes them (`tagger.encoder=bert-base-cased`).
    executor, jobs, tell: as `compare` takes them.
    """
    table, out = find_table(name), Path(out)
    numbers = tuple(range(1, (seeds or (1 if scale == "small" else table.seeds)) + 1))
    sets = Datasets(None if data is None else Path(data), scale == "small")
    cells = cells_of(table, scale, assignments)
    lacking = {cell.name: _missing(cell, sets) for cell in cells}
    missing = tuple({one.name: one for found in lacking.values() for one in found}.values())
    for one in missing:
        tell(f"missing: {one}")
    there = [cell for cell in cells if not lacking[cell.name]]
    if not there:
        listed = "\n".join(f"  {one}" for one in missing)
        raise InputError(f"{table.name} cannot be run, all its data are missing:\n{listed}")
    extra = ExtraText.of(there, sets, text_folder(out))
    notes = tuple(extra.told(there))
    for note in notes:
        tell(note)
    there = [cell for cell in there if cell.name not in extra.same]
    runs = runs_of(there, numbers, sets, out)
    tell_states(table, runs, tell)
    failures = make_runs(runs, executor, jobs, tell)
    finished = finished_runs(runs, failures)
    figures = measured(table, there, numbers, finished)
    figures += [*means(table, figures), *counted(table, there, sets)]
    result = Reproduction(
        table=table,
        scale=scale,
        seeds=numbers if runs else (),
        cells=tuple(cells),
        figures=tuple(with_paper_only(table, scale, cells, figures)),
        gains=tuple(gains(table, there, numbers, finished)),
        missing=missing,
        skipped=(*(name for name, found in lacking.items() if found), *extra.same),
        notes=notes,
        failures=failures,
        data=_told_data(there, sets),
        seconds=sum(run.report["seconds"] for run in {run.folder: run for run in finished.values()}.values()),
        command=command,
    )
    if not figures:
        raise InputError(f"{table.name}: no cell could be finished. {next(iter(failures.values()), '')}")
    write_all(result, out, finished)
    return result


def _missing(cell: Cell, sets: Datasets) -> list[Missing]:
    found = [sets.missing(name, sorted(parts)) for name, parts in needed_parts(cell.settings).items()]
    return [one for one in found if one is not None]


def _told_data(cells: Sequence[Cell], sets: Datasets) -> dict[str, str]:
    names = dict.fromkeys(name for cell in cells for name in cell.settings.sets)
    told = {}
    for name in names:
        read = sets.resolved(name)
        stands_in = f" In its place: {read}, {find_dataset(read).what}." if read != name else ""
        told[name] = f"{find_dataset(name).what}; {find_dataset(name).where}.{stands_in}"
    return told

"""Run a table again: its trainings, with every seed, and what is counted; and write down what came out beside what the
paper printed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from acclimate.comparison.compare import is_expected
from acclimate.comparison.trial import Trial, TrialSettings, state_of
from acclimate.comparison.workers import Job, do_all, visible_gpus, workers
from acclimate.data.problems import InputError
from acclimate.evaluation.repeated import SeedsComparison, compare_seeds, holm
from acclimate.evaluation.table import count
from acclimate.inference.part_of_speech import PartOfSpeechTagger, part_of_speech_tagger
from acclimate.reproduction.catalogue import find_table
from acclimate.reproduction.cells import Cell, cells_of
from acclimate.reproduction.finished import Finished
from acclimate.reproduction.ground import Prepared, extra_files, needed_parts, prepare_ground
from acclimate.reproduction.measures import MEASURES
from acclimate.reproduction.results import COUNTED, Figure, Gain, Reproduction, printed
from acclimate.reproduction.sets import DataSets, Missing, find_set
from acclimate.reproduction.statistics import STATISTICS
from acclimate.reproduction.table import Scale, Table
from acclimate.reproduction.training import run_training
from acclimate.reproduction.writing import write_all
from acclimate.settings import complete

Tell = Callable[[str], Any]


@dataclass(frozen=True)
class Run:
    """One training of one cell."""

    cell: Cell
    trial: Trial
    prepared: Prepared

    @property
    def name(self) -> str:
        return f"{self.cell.name}, seed {self.trial.seed}"


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
    """Run the table of this id or alias.

    data: a folder with a folder for each data set, in it train, dev, test and unlabelled as files of any format. Not
        needed at small scale, where bundled corpora stand in. Cells whose data are missing are left out, and named.
    out: trainings are folders in `out/runs`, which tables share; what is finished there is not done again, and what
        was cut off goes on. The table goes to `out/ID.md`, `.csv` and `.png`.
    seeds: how many; as many as the table says, and one at small scale.
    assignments: settings of all trainings, as `--set` takes them (`tagger.encoder=bert-base-cased`).
    executor, jobs, tell: as `compare` takes them.
    """
    table, out = find_table(name), Path(out)
    numbers = tuple(range(1, (seeds or (1 if scale == "small" else table.seeds)) + 1))
    sets = DataSets(None if data is None else Path(data), scale == "small")
    cells = cells_of(table, scale, assignments)
    lacking = {cell.name: _missing(cell, sets) for cell in cells}
    missing = tuple({one.name: one for found in lacking.values() for one in found}.values())
    for one in missing:
        tell(f"missing: {one}")
    there = [cell for cell in cells if not lacking[cell.name]]
    if not there:
        listed = "\n".join(f"  {one}" for one in missing)
        raise InputError(f"{table.id} cannot be run, all its data are missing:\n{listed}")
    runs = _runs(there, numbers, sets, out)
    _tell_states(table, runs, tell)
    failures = _make(runs, executor, jobs, tell)
    finished = _finished(runs, failures)
    figures = [*_measured(table, there, numbers, finished), *_counted(table, there, sets)]
    result = Reproduction(
        table=table,
        scale=scale,
        seeds=numbers if runs else (),
        cells=tuple(cells),
        figures=tuple(_with_paper_only(table, scale, figures)),
        gains=tuple(_gains(table, there, numbers, finished)),
        missing=missing,
        skipped=tuple(name for name, found in lacking.items() if found),
        failures=failures,
        data=_told_data(there, sets),
        seconds=sum(run.report["seconds"] for run in {run.folder: run for run in finished.values()}.values()),
        command=command,
    )
    if not result.figures:
        raise InputError(f"{table.id}: no cell could be finished. {next(iter(failures.values()), '')}")
    write_all(result, out, finished)
    return result


def _missing(cell: Cell, sets: DataSets) -> list[Missing]:
    found = [sets.missing(name, sorted(parts)) for name, parts in needed_parts(cell.settings).items()]
    return [one for one in found if one is not None]


def _runs(cells: Sequence[Cell], seeds: Sequence[int], sets: DataSets, out: Path) -> list[Run]:
    """Seed by seed: what is there when time runs out can be compared."""
    runs = []
    for seed in seeds:
        for cell in cells:
            settings = cell.settings
            if settings.recipe is None:
                continue
            files = extra_files(settings, sets, out / "text")
            wanted = TrialSettings(
                options={**settings.options, **files},
                select=settings.select,
                train_on_dev=settings.train_on_dev,
                tagger=settings.tagger,
                training=settings.training,
            )
            folder = out / "runs" / f"{settings.recipe}-{_digest(cell, sets)}" / f"seed-{seed}"
            runs.append(Run(cell, Trial(settings.recipe, seed, wanted, folder), prepare_ground(settings, sets, seed)))
    return runs


def _digest(cell: Cell, sets: DataSets) -> str:
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


def _tell_states(table: Table, runs: Sequence[Run], tell: Tell) -> None:
    trials = {run.trial.folder: run for run in runs}.values()
    finished = sum(state_of(run.trial, run.prepared.ground) == "finished" for run in trials)
    tell(f"{table.id}, {table.title}: {count(len(trials), 'training')}, {finished} finished before")


def _make(runs: Sequence[Run], executor: Executor | None, jobs: int, tell: Tell) -> dict[str, str]:
    """Make what is missing; returns why runs failed, by their names."""
    failures: dict[str, str] = {}
    by_folder: dict[Path, list[Run]] = {}
    for run in runs:
        by_folder.setdefault(run.trial.folder, []).append(run)
    work = []
    for own in by_folder.values():
        first = own[0]
        arguments = (first.trial, first.prepared.ground, _facts(first.cell), first.prepared.watch)
        work.append(Job(first.name, run_training, arguments))
    ended = 0

    def done(job: Job, seconds: float) -> None:
        nonlocal ended
        ended += 1
        tell(f"{ended} of {len(work)}: {job.name}, {seconds:.0f} s")

    def failed(job: Job, failure: Exception) -> None:
        nonlocal ended
        if not is_expected(failure):
            raise failure
        ended += 1
        for run in by_folder[job.arguments[0].folder]:
            failures[run.name] = str(failure)
        tell(f"{ended} of {len(work)}: {job.name} FAILED: {failure}")

    gpus = visible_gpus() if jobs > 1 and executor is None else []
    with workers(executor, min(jobs, len(work)), gpus) as hands:
        do_all(work, hands, done, failed)
    return failures


def _finished(runs: Sequence[Run], failures: Mapping[str, str]) -> dict[tuple[str, str, int], Finished]:
    """By row, column and seed; a folder that two cells share is read once."""
    found: dict[tuple[str, str, int], Finished] = {}
    read: dict[Path, Finished] = {}
    for run in runs:
        if run.name in failures:
            continue
        wants_tags = any(MEASURES[measure].parts_of_speech for measure in run.cell.measures)
        trial, prepared = run.trial, run.prepared
        if trial.folder not in read:
            tagger = _parts_of_speech() if wants_tags else None
            read[trial.folder] = Finished(trial.folder, trial.seed, prepared.ground, prepared.test, tagger)
        found[run.cell.row, run.cell.column, trial.seed] = read[trial.folder]
    return found


@cache
def _parts_of_speech() -> PartOfSpeechTagger:
    return part_of_speech_tagger()


def _measured(
    table: Table, cells: Sequence[Cell], seeds: Sequence[int], finished: Mapping[tuple[str, str, int], Finished]
) -> list[Figure]:
    figures = []
    for cell in cells:
        for number, name in enumerate(cell.measures):
            measure = MEASURES[name]
            values: dict[str, list[float]] = {}
            for seed in seeds:
                run = finished.get((cell.row, cell.column, seed))
                if run is not None:
                    other = finished.get((table.against.get(cell.row, ""), cell.column, seed))
                    for key, value in measure.of(run, other).items():
                        values.setdefault(key, []).append(value)
            for key, own in values.items():
                paper = printed(table.published, cell.row, cell.column, key, number == 0 and not measure.by_row)
                shown = key if len(values) > 1 or measure.by_row else name
                best = table.best and number == 0
                figures.append(Figure(cell.row, cell.column, name, shown, tuple(own), paper, measure.digits, best))
    return figures


def _counted(table: Table, cells: Sequence[Cell], sets: DataSets) -> list[Figure]:
    figures = []
    for cell in cells:
        settings = cell.settings
        if settings.count is None:
            continue
        statistic = STATISTICS[settings.count]
        options = complete(statistic.options, settings.options, where=f"{table.id}: options of {settings.count}")
        corpora = [sets.part(name, settings.part) for name in settings.counted_in]
        there = [corpus[: settings.limit] for corpus in corpora if corpus is not None]
        found = statistic.of(there, options) if len(there) == len(corpora) else {}
        for number, (key, value) in enumerate(found.items()):
            paper = printed(table.published, cell.row, cell.column, key, number == 0)
            digits = 0 if float(value).is_integer() else 2
            figures.append(Figure(cell.row, cell.column, COUNTED, key, (float(value),), paper, digits))
    return figures


def _with_paper_only(table: Table, scale: Scale, figures: Sequence[Figure]) -> list[Figure]:
    """Rows and columns that only the paper has, at full scale: its own rivals, and what was not run here."""
    if scale == "small" or not figures:
        return list(figures)
    there = {(figure.row, figure.column) for figure in figures}
    more = []
    for row, line in table.published.items():
        for column, numbers in line.items():
            if (row, column) in there:
                continue
            named = numbers if isinstance(numbers, dict) else {figures[0].name: numbers}
            for name, number in named.items():
                measure = name if name in table.measures else figures[0].measure
                more.append(
                    replace(figures[0], row=row, column=column, measure=measure, name=name, values=(), paper=number)
                )
    return [*figures, *more]


def _gains(
    table: Table, cells: Sequence[Cell], seeds: Sequence[int], finished: Mapping[tuple[str, str, int], Finished]
) -> list[Gain]:
    """Rows against others, over the seeds that both have, where a test of the first measure is to be had."""
    pairs: dict[tuple[str, str, str], SeedsComparison] = {}
    for cell in cells:
        other = table.against.get(cell.row)
        metric = MEASURES[cell.measures[0]].metric if cell.measures else None
        if other is None or metric is None:
            continue
        both = [
            (finished[other, cell.column, seed], finished[cell.row, cell.column, seed])
            for seed in seeds
            if (other, cell.column, seed) in finished and (cell.row, cell.column, seed) in finished
        ]
        if both:
            one, two = ([pair[side].predicted for pair in both] for side in (0, 1))
            pairs[cell.row, cell.column, other] = compare_seeds(both[0][1].test, one, two, metric=metric)
    corrected = holm([found.bootstrap_p for found in pairs.values()])
    return [
        Gain(row, column, other, found, p_value, printed(table.published_gains, row, column, ""))
        for ((row, column, other), found), p_value in zip(pairs.items(), corrected, strict=True)
    ]


def _told_data(cells: Sequence[Cell], sets: DataSets) -> dict[str, str]:
    names = dict.fromkeys(name for cell in cells for name in cell.settings.sets)
    told = {}
    for name in names:
        read = sets.resolved(name)
        stands_in = f" In its place: {read}, {find_set(read).what}." if read != name else ""
        told[name] = f"{find_set(name).what}; {find_set(name).where}.{stands_in}"
    return told

"""Run a table again: its trainings, with every seed, and what is counted; and write down what came out beside what the
paper printed."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path

from acclimate.data.problems import InputError
from acclimate.reproduction.cells import Cell, cells_of
from acclimate.reproduction.datasets import Datasets, Missing, find_dataset
from acclimate.reproduction.results import Reproduction, counted, gains, means, measured, with_paper_only
from acclimate.reproduction.runs import Tell, finished_runs, make_runs, runs_of, tell_states, text_folder
from acclimate.reproduction.table import Scale, find_table
from acclimate.reproduction.tasks import ExtraText, needed_parts
from acclimate.reproduction.writing import write_all


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

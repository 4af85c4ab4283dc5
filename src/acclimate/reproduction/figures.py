"""The numbers of a table: measured on its trainings, counted in corpora, compared with each other, and the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from acclimate.evaluation.significance import SeedsComparison, compare_seeds, holm
from acclimate.reproduction.cells import Cell
from acclimate.reproduction.datasets import Datasets
from acclimate.reproduction.finished import Finished
from acclimate.reproduction.measures import MEASURES, STATISTICS
from acclimate.reproduction.results import COUNTED, Figure, Gain, printed
from acclimate.reproduction.runs import Place
from acclimate.reproduction.table import CellSettings, Number, Scale, Table
from acclimate.settings import complete


def measured(
    table: Table, cells: Sequence[Cell], seeds: Sequence[int], finished: Mapping[Place, Finished]
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


def means(table: Table, figures: Sequence[Figure]) -> list[Figure]:
    """The first measure's mean over the columns, seed by seed, of rows that have all columns."""
    if table.mean_column is None:
        return []
    rows: dict[str, list[Figure]] = {}
    for figure in figures:
        if figure.measure == table.measures[0]:
            rows.setdefault(figure.row, []).append(figure)
    whole = {row: own for row, own in rows.items() if {figure.column for figure in own} == set(table.columns)}
    made = []
    for row, own in whole.items():
        if len({len(figure.values) for figure in own}) == 1:
            values = tuple(map(fmean, zip(*(figure.values for figure in own), strict=True)))
            paper = printed(table.published, row, table.mean_column, own[0].name)
            made.append(replace(own[0], column=table.mean_column, values=values, paper=paper))
    return made


def counted(table: Table, cells: Sequence[Cell], sets: Datasets) -> list[Figure]:
    figures = []
    for cell in cells:
        settings = cell.settings
        if settings.count is None:
            continue
        statistic = STATISTICS[settings.count]
        options = complete(statistic.options, settings.options, where=f"{table.name}: options of {settings.count}")
        corpora = [sets.part(name, settings.part) for name in settings.counted_in]
        there = [corpus[: settings.limit] for corpus in corpora if corpus is not None]
        found = statistic.of(there, options) if len(there) == len(corpora) else {}
        for number, (key, value) in enumerate(found.items()):
            paper = printed(table.published, cell.row, cell.column, key, number == 0)
            digits = 0 if float(value).is_integer() else 2
            figures.append(Figure(cell.row, cell.column, COUNTED, key, (float(value),), paper, digits))
    return figures


def with_paper_only(table: Table, scale: Scale, cells: Sequence[Cell], figures: Sequence[Figure]) -> list[Figure]:
    """With rows and columns that only the paper has, at full scale: its own rivals, and what was not run here."""
    if scale == "small":
        return list(figures)
    there = {(figure.row, figure.column) for figure in figures}
    measures = {cell.column: cell.measures for cell in cells if cell.measures}
    if table.mean_column is not None:
        measures[table.mean_column] = table.measures
    more = []
    for row, line in table.published.items():
        for column, numbers in line.items():
            first = next(iter(measures.get(column, ())), COUNTED)
            named = numbers if isinstance(numbers, dict) else {first: numbers}
            for name, number in named.items() if (row, column) not in there else ():
                measure = name if name in measures.get(column, ()) else first
                more.append(Figure(row, column, measure, name, paper=number))
    return [*figures, *more]


def gains(table: Table, cells: Sequence[Cell], seeds: Sequence[int], finished: Mapping[Place, Finished]) -> list[Gain]:
    """Rows against others, over the seeds that both have, where a test of the first measure is to be had."""
    pairs: dict[tuple[str, str, str], SeedsComparison] = {}
    settings = {(cell.row, cell.column): cell.settings for cell in cells}
    same = set()
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
            key = cell.row, cell.column, other
            pairs[key] = compare_seeds(both[0][1].test, one, two, metric=metric)
            if _differ_by_weights_alone(settings[other, cell.column], cell.settings) and _are_even(both):
                same.add(key)
    told = [key for key in pairs if key not in same]
    corrected = dict(zip(told, holm([pairs[key].bootstrap_p for key in told]), strict=True))
    return [
        Gain(row, column, other, found, corrected.get((row, column, other)), _paper_gain(table, row, column))
        for (row, column, other), found in pairs.items()
    ]


def _paper_gain(table: Table, row: str, column: str) -> Number | None:
    return printed(table.published_gains, row, column, "")


def _differ_by_weights_alone(one: CellSettings, other: CellSettings) -> bool:
    """Whether one has MSLM's weights, the other has none, and all else is equal."""
    if "weighted" not in one.options or one.options["weighted"] == other.options.get("weighted"):
        return False
    return one == other.model_copy(update={"options": {**other.options, "weighted": one.options["weighted"]}})


def _are_even(both: Sequence[tuple[Finished, Finished]]) -> bool:
    """Whether the weights were even in all runs: those without any are then the same training. The losses of both are
    equal bit for bit; a GPU adds gradients up in another order each time, so that no two runs on it need be equal."""
    weights = [run.mask_weights for pair in both for run in pair]
    return all(found is not None and found[0] == found[1] for found in weights)

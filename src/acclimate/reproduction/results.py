"""What a table has shown: its numbers, measured, counted and the paper's own; and the panels that show them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from acclimate.comparison.results import Mean
from acclimate.evaluation.significance import SeedsComparison, compare_seeds, holm
from acclimate.reproduction.datasets import Datasets
from acclimate.reproduction.measures import MEASURES, STATISTICS, Finished, Place
from acclimate.reproduction.table import Cell, Number, Printed, Scale, Table
from acclimate.settings import complete

COUNTED = "counted"  # in the place of a measure
PAPER = "paper"  # marks its own numbers
_NUMBER = re.compile(r"(?P<number>[-+]?[\d,]*\.?\d+)(?P<times>[kMB]?)[†*]?( [±(].*)?")
_TIMES = {"": 1.0, "k": 1e3, "M": 1e6, "B": 1e9}


@dataclass(frozen=True)
class Figure:
    """One number of one cell. `values` are of the seeds; none where it was not run."""

    row: str
    column: str
    measure: str
    name: str
    values: tuple[float, ...] = ()
    paper: Number | None = None
    digits: int = 2
    with_best: bool = False

    @property
    def mean(self) -> Mean | None:
        known = [value for value in self.values if math.isfinite(value)]
        return Mean.of(known) if known else None

    @property
    def value(self) -> float | None:
        return None if self.mean is None else self.mean.mean

    @property
    def deviation(self) -> float | None:
        return None if self.mean is None else self.mean.deviation

    @property
    def text(self) -> str:
        """Mean ± deviation, and the best of several; `-` where no seed has a number (a curve never came so far)."""
        mean = self.mean
        if mean is None:
            return "-" if self.values else ""
        shown = f"{mean.mean:,.{self.digits}f}"
        if len(self.values) < 2:
            return shown
        best = f" (best {max(self.values):.{self.digits}f})" if self.with_best else ""
        return f"{shown} ± {mean.deviation:.{self.digits}f}{best}"

    @property
    def paper_number(self) -> float | None:
        """What can be drawn of it: 91.20 ± 0.08, 46.79†, -0.56 (-0.56 / -0.57), 12.6k; nothing of words."""
        parts = _NUMBER.fullmatch(str(self.paper)) if self.paper is not None else None
        return None if parts is None else float(parts["number"].replace(",", "")) * _TIMES[parts["times"]]


@dataclass(frozen=True)
class Gain:
    """A row against the one that it is compared with. The p-value is after Holm's correction over the table."""

    row: str
    column: str
    other: str
    test: SeedsComparison
    p_holm: float
    paper: Number | None = None


@dataclass(frozen=True)
class Reproduction:
    """The results of one run of a table."""

    table: Table
    scale: Scale
    seeds: tuple[int, ...]
    cells: tuple[Cell, ...]
    figures: tuple[Figure, ...]
    gains: tuple[Gain, ...] = ()
    missing: tuple[str, ...] = ()  # data sets, and where they were looked for
    skipped: tuple[str, ...] = ()  # cells whose data are missing, or that would only repeat others
    notes: tuple[str, ...] = ()  # on the text that there was
    failures: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)  # what was read for each set
    seconds: float = 0.0  # of the trainings, whenever they were made
    command: str = ""


@dataclass(frozen=True)
class Panel:
    """Figures that stand in one table or picture: rows by places from left to right."""

    title: str
    across: str  # what the places are
    places: tuple[str, ...]
    lines: Mapping[str, Mapping[str, Figure]]  # row: place: figure

    def at(self, row: str, place: str) -> Figure:
        """The figure there; one without a number where the table has none."""
        return self.lines[row].get(place) or Figure(row, place, "", "")


def panels(result: Reproduction) -> list[Panel]:
    """A panel for each measure with columns across; where a measure has many figures, one for each column instead."""
    made = []
    for measure in dict.fromkeys(figure.measure for figure in result.figures):
        own = [figure for figure in result.figures if figure.measure == measure]
        there = {figure.column for figure in own}
        columns = [column for column in (*result.table.columns, result.table.mean_column) if column in there]
        if len({figure.name for figure in own}) == 1:
            made.append(Panel(own[0].name, result.table.columns_are, tuple(columns), _lines(own, "column")))
            continue
        places = {(figure.row, figure.column) for figure in own}
        is_one_panel = len(places) == len({row for row, _ in places})  # every row has one column
        for column in columns[:1] if is_one_panel else columns:
            here = [figure for figure in own if is_one_panel or figure.column == column]
            title, across = (column, "") if measure == COUNTED else (f"{measure}, {column}", MEASURES[measure].across)
            names = list(dict.fromkeys(figure.name for figure in here))
            made.append(Panel(title, across, _in_order(names), _lines(here, "name")))
    return made


def _in_order(names: Sequence[str]) -> tuple[str, ...]:
    """Numbers (updates, epochs) by their size; everything else as it came."""
    try:
        return tuple(sorted(names, key=float))
    except ValueError:
        return tuple(names)


def _lines(figures: Sequence[Figure], place: str) -> dict[str, dict[str, Figure]]:
    lines: dict[str, dict[str, Figure]] = {}
    for figure in figures:
        lines.setdefault(figure.row, {})[getattr(figure, place)] = figure
    return lines


def printed(numbers: Printed, row: str, column: str, name: str, is_first: bool = True) -> Number | None:
    """What the paper has there: one number for a cell's first figure, or several by their names."""
    own = numbers.get(row, {}).get(column)
    if isinstance(own, dict):
        return own.get(name)
    return own if is_first else None


_SWEPT = re.compile(r"(?P<name>.+) (?P<number>\d+(\.\d+)?)")


def by_sweep(panel: Panel) -> list[Panel]:
    """A panel for each name where all columns, or else all rows, are a name and a number; then lines run along the
    numbers. Any other panel as it is."""
    if not panel.across or all(place.replace(".", "").isdecimal() for place in panel.places):
        return [panel]
    columns_as_rows = {place: {row: panel.at(row, place) for row in panel.lines} for place in panel.places}
    turned = replace(panel, across="", places=tuple(panel.lines), lines=columns_as_rows)
    for one in (panel, turned):
        swept = {place: parts for place in one.places if (parts := _SWEPT.fullmatch(place))}
        if len(swept) == len(one.places):
            by_name: dict[str, dict[str, str]] = {}  # by name, each place and its number
            for place, parts in swept.items():
                by_name.setdefault(parts["name"], {})[place] = parts["number"]
            return [_part(one, name, numbers) for name, numbers in by_name.items()]
    return [panel]


def _part(panel: Panel, name: str, numbers: dict[str, str]) -> Panel:
    lines = {
        row: {numbers[place]: figure for place, figure in line.items() if place in numbers}
        for row, line in panel.lines.items()
    }
    shown = {row: line for row, line in lines.items() if line}
    return Panel(f"{panel.title}, {name}", panel.across or name, tuple(numbers.values()), shown)


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
        values = statistic.of(there, options) if len(there) == len(corpora) else {}
        for number, (key, value) in enumerate(values.items()):
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
    corrected = holm([test.bootstrap_p for test in pairs.values()])
    return [
        Gain(*key, test, p_holm, printed(table.published_gains, *key[:2], ""))
        for (key, test), p_holm in zip(pairs.items(), corrected, strict=True)
    ]

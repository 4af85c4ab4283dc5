"""The tables of benchmarks/pdaln.py."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pdaln_published as paper
from grid import Row, file_name, markdown, told
from pdaln_jobs import (
    ABLATIONS,
    BASE,
    MODELS,
    PDALN,
    Job,
    answers,
    gold_for,
    job_for,
    job_of,
)

RATIOS = ("1", "3", "5", "7")
USUAL_RATIO = "5"  # 500 source sentences to 100
# by name: whether there are labels, the option, and its values
SWEEPS: dict[str, tuple[bool, str, tuple[str, ...]]] = {
    "gamma": (True, "gamma", ("0.1", "0.3", "0.5", "0.7", "0.9", "0.98")),
    "alpha": (True, "alpha", ("0.01", "0.1", "0.5", "1")),
    "alpha'": (False, "alpha", ("0.01", "0.1", "0.5", "1")),
    "beta": (True, "beta", ("0.01", "0.1", "0.5", "1")),
}
TYPES = ("PER", "LOC", "ORG", "MISC")
MEAN = "mean of targets"
ROUNDS = 1000  # of the bootstrap
SEEDS = "mean ± deviation of seeds"
Line = tuple[str, tuple[str, ...]]  # a model, and options in which it differs


# ----------------------------------------------------------------------------------------------------------- chosen


def chosen(rows: list[Row], target: str, labels: int, model: str, changes: tuple[str, ...] = ()) -> list[Row]:
    """What there is of a model on a target, seed by seed."""
    job = job_for(target, labels, model, changes)
    found = [row for row in rows if row["tested"] == target and replace(job_of(row), seed=0) == job]
    return sorted(found, key=lambda row: row["seed"])


def by_seed(rows: list[Row], labels: int, model: str, changes: tuple[str, ...], options: argparse.Namespace) -> Any:
    """The mean over all targets of each seed that has them all."""
    found = [{row["seed"]: row["f1"] for row in chosen(rows, t, labels, model, changes)} for t in options.targets]
    seeds = set.intersection(*map(set, found))
    return [mean(each[seed] for each in found) for seed in sorted(seeds)]


def values(
    rows: list[Row], target: str, labels: int, model: str, options: argparse.Namespace, changes: tuple[str, ...] = ()
) -> list[float]:
    if target == MEAN:
        found: list[float] = by_seed(rows, labels, model, changes, options)
        return found
    return [row["f1"] for row in chosen(rows, target, labels, model, changes)]


def measure(options: argparse.Namespace) -> str:
    return f"{'judges' if options.judged else 'test'} span F1"


def columns(options: argparse.Namespace) -> list[str]:
    return [*options.targets, *([MEAN] if len(options.targets) > 1 else [])]


# -------------------------------------------------------------------------------------------------------- bootstrap


@cache
def counts(out: str, data: str, limit: int | None, judged: bool, target: str, jobs: tuple[Job, ...]) -> Any:
    """Gold, predicted and right spans of each test sentence (sentence, seed, 1, 3). A sentence is drawn with the
    answers of all seeds: these are no further sentences, and would make p too small."""
    from acclimate.evaluation.pairs import pair_up
    from acclimate.evaluation.significance import count_sentences

    gold = gold_for(data, target, limit, judged)
    systems = [pair_up(gold, answers(out, target, job, gold), "lenient") for job in jobs]
    return np.stack(count_sentences(systems, "span f1", "O"), 1)


def compared(rows: list[Row], target: str, labels: int, reference: str, model: str, options: argparse.Namespace) -> str:
    """The difference to another model and its p, by the paired bootstrap. Of several targets, each is drawn anew and
    the mean of their F1 is what is compared."""
    return compared_lines(rows, target, labels, (reference, ()), (model, ()), options)


def compared_lines(
    rows: list[Row], target: str, labels: int, reference: Line, line: Line, options: argparse.Namespace
) -> str:
    from acclimate.evaluation.repeated import drawn_differences, mean_figure
    from acclimate.evaluation.significance import share_as_extreme

    if line == reference:
        return ""
    targets = options.targets if target == MEAN else [target]
    observed, drawn = [], []
    for number, name in enumerate(targets):
        pair = [{row["seed"]: job_of(row) for row in chosen(rows, name, labels, *each)} for each in (reference, line)]
        seeds = sorted(pair[0].keys() & pair[1].keys())
        if not seeds:
            return ""
        one, other = (
            counts(options.out, options.data, options.limit, options.judged, name, tuple(jobs[seed] for seed in seeds))
            for jobs in pair
        )
        observed.append(float(mean_figure(other.sum(0), "span f1") - mean_figure(one.sum(0), "span f1")))
        drawn.append(drawn_differences(one, other, "span f1", ROUNDS, number))
    difference = mean(observed)
    p_value = share_as_extreme(np.mean(drawn, axis=0) - difference, difference)
    return f" ({100 * difference:+.2f}, p {p_value:.3f})"


# ---------------------------------------------------------------------------------------------------- tables 1 and 2


def table_1(rows: list[Row], options: argparse.Namespace) -> str:
    return "\n\n".join(table_1_of(rows, labels, options) for labels in options.labels)


def table_1_of(rows: list[Row], labels: int, options: argparse.Namespace) -> str:
    names = [model for model in options.models if labels or not MODELS[model].needs_labels]
    names = [model for model in names if model not in ABLATIONS]
    lines, details = [], []
    for model in names:
        cells = [
            told(values(rows, target, labels, model, options)) + compared(rows, target, labels, BASE, model, options)
            for target in columns(options)
        ]
        lines.append([model, *cells])
        details.append([model, *(detail(chosen(rows, target, labels, model)) for target in options.targets)])
    for model, numbers in paper.TABLE_1[labels > 0].items():
        lines.append([f"paper: {model}", *(numbers.get(target, "") for target in columns(options))])
    title = f"Table 1, {labels} labelled target sentences: {measure(options)} in percent, {SEEDS}"
    first = f"{title} (difference to {BASE}, p of the paired bootstrap)\n\n{markdown(['', *columns(options)], lines)}"
    second = "The same: best seed; precision / recall, mean of seeds; dev; updates; seconds of training"
    return f"{first}\n\n{second}\n\n{markdown(['', *options.targets], details)}"


def detail(rows: list[Row]) -> str:
    if not rows:
        return ""
    precision, recall, dev, updates, seconds = (
        mean(row[name] or 0 for row in rows) for name in ("precision", "recall", "dev", "updates", "seconds")
    )
    best = max(row["f1"] for row in rows)
    return f"{best:.2f}; {precision:.2f} / {recall:.2f}; {dev:.2f}; {updates:,.0f}; {seconds:.0f}"


def table_2(rows: list[Row], options: argparse.Namespace) -> str:
    found = []
    for labels in filter(None, options.labels):
        lines = [
            [
                model,
                *(
                    told(values(rows, target, labels, model, options))
                    + compared(rows, target, labels, PDALN, model, options)
                    for target in columns(options)
                ),
            ]
            for model in (PDALN, *ABLATIONS)
        ]
        for model, numbers in paper.TABLE_2.items():
            lines.append([f"paper: {model}", *(numbers.get(target, "") for target in columns(options))])
        title = (
            f"Table 2, {labels} labelled target sentences: {measure(options)} in percent, {SEEDS} "
            f"(difference to {PDALN}, p)"
        )
        found.append(f"{title}\n\n{markdown(['', *columns(options)], lines)}")
    return "\n\n".join(found)


# ------------------------------------------------------------------------------------------------- tables 3 and 4


def type_tables(rows: list[Row], options: argparse.Namespace) -> str:
    """Table 3."""
    lines = []
    for target in options.targets:
        for labels in options.labels:
            for model in (BASE, PDALN):
                found = [row["types"] for row in chosen(rows, target, labels, model)]
                lines.append([f"{target}, {labels} labels, {model}", *(type_cell(found, name) for name in TYPES)])
        lines.append([f"{target}, paper: PDALN", *(paper.TABLE_3[target][name] for name in TYPES)])
    title = f"Table 3: F1 by type, {SEEDS} (precision / recall)"
    return f"{title}\n\n{markdown(['', *TYPES], lines)}"


def type_cell(types: Sequence[dict[str, Any]], name: str) -> str:
    figures = [found[name] for found in types if name in found]
    if not figures:
        return ""
    precision, recall = (mean(each[measure] for each in figures) for measure in ("precision", "recall"))
    return f"{told([each['f1'] for each in figures])} ({precision:.2f} / {recall:.2f})"


def ratio_changes(ratio: str) -> tuple[str, ...]:
    return () if ratio == USUAL_RATIO else (f"ratio={ratio}",)


def ratio_table(rows: list[Row], options: argparse.Namespace) -> str:
    """Table 4. Without labels there is nothing to augment: its first line is PDALN of table 1."""
    found = []
    for labels in filter(None, options.labels):
        plan = [("no labels", 0, ())] + [(f"1:{ratio}", labels, ratio_changes(ratio)) for ratio in RATIOS]
        lines = [
            [name, *(told(values(rows, target, few, PDALN, options, changes)) for target in columns(options))]
            for name, few, changes in plan
        ]
        for name, numbers in paper.TABLE_4.items():
            lines.append([f"paper: {name}", *(numbers.get(target, "") for target in columns(options))])
        title = (
            f"Table 4: labelled target to source sentences that are augmented, {labels} labels; {measure(options)}, "
            f"{SEEDS}"
        )
        found.append(f"{title}\n\n{markdown(['', *columns(options)], lines)}")
    return "\n\n".join(found)


# --------------------------------------------------------------------------------------------------------- figure 3


def usual_value(option: str) -> float:
    from acclimate.recipes.pdaln import PdalnSettings

    return float(PdalnSettings.model_fields[option].default)


def sweep_changes(option: str, value: str, options: argparse.Namespace) -> tuple[str, ...]:
    """None for the value that PDALN has anyway."""
    given = dict(change.split("=", 1) for change in options.pdaln)
    usual = float(given.get(option, usual_value(option)))
    return () if float(value) == usual else (f"{option}={value}",)


def sweep_tables(rows: list[Row], options: argparse.Namespace) -> str:
    found = []
    for name, (needs_labels, option, numbers) in SWEEPS.items():
        for labels in options.labels:
            if needs_labels != (labels > 0):
                continue
            lines = [
                [
                    value,
                    *(
                        told(values(rows, target, labels, PDALN, options, sweep_changes(option, value, options)))
                        for target in columns(options)
                    ),
                ]
                for value in numbers
            ]
            title = f"Figure 3: {name}, {labels} labels; {measure(options)} in percent, {SEEDS}"
            found.append(f"{title}\n\n{markdown([name, *columns(options)], lines)}")
    return "\n\n".join(found)


# ----------------------------------------------------------------------------------------------------------- errors


def error_tables(rows: list[Row], options: argparse.Namespace) -> str:
    """S3.19. The whole report of every run, with all its mistakes, goes to DIR/errors."""
    sums, lengths = [], []
    for target in options.targets:
        for labels in options.labels:
            for model in options.error_models:
                if labels == 0 and MODELS[model].needs_labels:
                    continue
                reports = [
                    error_report(options.out, options.data, options.limit, options.judged, target, job_of(row))
                    for row in chosen(rows, target, labels, model)
                ]
                if reports:
                    name = f"{target}, {labels} labels, {model}"
                    sums.append([name, *error_sums(reports)])
                    lengths.append([name, *error_lengths(reports)])
    if not sums:
        return ""
    first, second = sums[0][1:], lengths[0][1:]
    tables = [
        (
            "Mistakes, mean of seeds",
            [name for name, _ in first],
            [[line[0], *(v for _, v in line[1:])] for line in sums],
        ),
        (
            "F1 by words of the entity, mean of seeds",
            [name for name, _ in second],
            [[line[0], *(v for _, v in line[1:])] for line in lengths],
        ),
    ]
    return "\n\n".join(f"{title}\n\n{markdown(['', *head], lines)}" for title, head, lines in tables)


@cache
def error_report(out: str, data: str, limit: int | None, judged: bool, target: str, job: Job) -> Any:
    from acclimate.evaluation.errors import report_errors

    gold = gold_for(data, target, limit, judged)
    report = report_errors(gold, answers(out, target, job, gold))
    place = Path(out) / "errors" / f"{file_name(f'{target}, {job.name}')}.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(report.as_dict(), ensure_ascii=False) + "\n", encoding="utf-8")
    return report


def error_sums(reports: Sequence[Any]) -> list[tuple[str, str]]:
    """Mistakes by kind and by border; strings labelled where the gold has nothing, and how many of these have a label
    elsewhere in the gold."""

    def cell(count: Any) -> str:
        return f"{mean(count(report) for report in reports):.0f}"

    kinds = [(kind, cell(lambda report, kind=kind: report.kinds[kind])) for kind in reports[0].kinds]
    borders = [(name, cell(lambda report, name=name: report.borders[name])) for name in reports[0].borders]
    elsewhere = cell(lambda report: sum(one.times for one in report.over_labelled if one.gold_elsewhere))
    return [
        *kinds,
        *borders,
        ("over-labelled", cell(lambda report: report.times_over_labelled)),
        ("of these labelled elsewhere", elsewhere),
    ]


def error_lengths(reports: Sequence[Any]) -> list[tuple[str, str]]:
    return [
        (bucket, f"{100 * mean(report.by_entity_length[bucket].f1 for report in reports):.2f}")
        for bucket in reports[0].by_entity_length
    ]

"""The tables of benchmarks/leaderboard.py."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product
from statistics import mean
from typing import Any

import numpy as np
from grid import Row, markdown, told
from leaderboard_auto import AUTO, auto_rows, fields_of, regret_table, with_agreement
from leaderboard_jobs import MAIN, MODELS, PLAIN, VARIANTS, Job, answers, job_of, tags_file
from targets import parts_with_judges

MEAN = "mean"
ROUNDS = 1000  # of the bootstrap
LEVEL = 0.05
EFFORT = ("updates", "seconds")  # of one run
REFERENCE = {False: "source-only", True: PLAIN}


def tables(rows: list[Row], options: argparse.Namespace) -> str:
    shown = []
    for labels, typed in product(options.labels, options.typing):
        for part, maker in {MAIN: main_tables, VARIANTS: variant_table}.items():
            found = setting_rows(rows, part, labels, typed, options)
            if found:
                title = f"## {labels or 'No'} target labels, {'four types' if typed else 'type-less'}"
                shown += [f"{title}{'' if part == MAIN else ': variants of acclimate'}", maker(found, labels, options)]
    return "\n\n".join(shown)


def setting_rows(rows: Iterable[Row], part: str, labels: int, typed: bool, options: argparse.Namespace) -> list[Row]:
    """The rows of one setting. Who has no use for labels stands in the table of those with labels as it is."""
    found = []
    for row in rows:
        fits = row["labels"] == labels or (part == MAIN and row["labels"] == 0 and True not in lines_of(row))
        wanted = row["tested"] in options.targets and row["typed"] == typed and row["part"] == part
        current = part == VARIANTS or tuple(row["changes"]) == options.changes.get(row["model"], ())
        if fits and wanted and current and (part == VARIANTS or row["model"] in options.models):
            found.append(row)
    return found


def lines_of(row: Row) -> tuple[bool, ...]:
    return MODELS[row["model"]].labels


# ------------------------------------------------------------------------------------------------------------ main


def main_tables(rows: list[Row], labels: int, options: argparse.Namespace) -> str:
    rows = [{**row, "line": row["model"]} for row in rows]
    models = [model for model in MODELS if any(row["model"] == model for row in rows)]
    there = [model for model in options.models if model == "source-only" or (labels > 0) in MODELS[model].labels]
    fields = [with_agreement(field, options.out) for field in fields_of(rows, options.targets, there)]
    chosen = auto_rows(fields, labels)
    lines = [*models, *([AUTO] if chosen else [])]
    reference = options.against or REFERENCE[labels > 0]
    shown = [
        f"Test span F1 in percent, mean ± standard deviation of the seeds. Bold: the best mean. \\*: differs from "
        f"{reference} (paired bootstrap over sentences, p below {LEVEL} after Holm's correction for all lines).",
        score_table([*rows, *chosen], lines, "f1", options, reference),
        *borders_table([*rows, *chosen], lines, options),
        "Span F1 on further target sentences, which are not tested on: to choose settings by.",
        score_table([*rows, *chosen], lines, "judges", options, tells_effort=False),
    ]
    if fields:
        shown += [
            f"Regret: F1 of the best recipe minus that of the chosen one, on test; {len(fields)} races.",
            regret_table(fields, labels, options.selectors),
            "The same on the further target sentences: to choose the default selector by.",
            regret_table(fields, labels, options.selectors, "judges"),
        ]
    return "\n\n".join(shown)


def borders_table(rows: list[Row], lines: Sequence[str], options: argparse.Namespace) -> list[str]:
    """For taggers of types."""
    if not all(row["typed"] for row in rows):
        return []
    said = "The same answers without their types: F1 of the borders."
    return [said, score_table(rows, lines, "borders", options, tells_effort=False)]


def score_table(
    rows: list[Row],
    lines: Sequence[str],
    measure: str,
    options: argparse.Namespace,
    reference: str | None = None,
    tells_effort: bool = True,
) -> str:
    columns = columns_of(rows, options)
    found = {(line, column): values(rows, line, column, measure, columns) for line in lines for column in columns}
    marks = {} if reference is None else significance(rows, lines, columns, reference, options)
    best = {
        column: max((mean(found[line, column]) for line in lines if found[line, column]), default=0)
        for column in columns
    }
    seeds = max(len(each) for each in found.values())
    shown = []
    for line in lines:
        cells = [told_best(found[line, c], best[c], seeds) + marks.get((line, c), "") for c in columns]
        own = [row for row in rows if row["line"] == line]
        effort = [f"{mean(row[name] for row in own):,.0f}" for name in EFFORT] if tells_effort else []
        shown.append([line, *cells, *effort])
    return markdown(["", *columns, *(EFFORT if tells_effort else ())], shown)


def columns_of(rows: Iterable[Row], options: argparse.Namespace) -> list[str]:
    there = [target for target in options.targets if any(row["tested"] == target for row in rows)]
    return [*there, *([MEAN] if len(there) > 1 else [])]


def told_best(found: Sequence[float], best: float, seeds: int) -> str:
    if not found:
        return ""
    text = f"**{told(found)}**" if mean(found) == best else told(found)
    return text if len(found) == seeds else f"{text} ({len(found)})"


def values(rows: Iterable[Row], line: str, column: str, measure: str, columns: Sequence[str]) -> list[float]:
    """Seed by seed. The mean of targets is that of the seeds that have them all."""
    own = [row for row in rows if row["line"] == line]
    targets = [name for name in columns if name != MEAN] if column == MEAN else [column]
    found = [{row["seed"]: row[measure] for row in own if row["tested"] == target} for target in targets]
    return [mean(each[seed] for each in found) for seed in sorted(set.intersection(*map(set, found)))]


# ----------------------------------------------------------------------------------------------------- significance


def significance(
    rows: list[Row], lines: Sequence[str], columns: Sequence[str], reference: str, options: argparse.Namespace
) -> dict[tuple[str, str], str]:
    from acclimate.evaluation.repeated import holm

    found = {}
    for column in columns:
        targets = [name for name in columns if name != MEAN] if column == MEAN else [column]
        known = {line: p_value(rows, line, targets, reference, options) for line in lines if line != reference}
        sure = {line: p for line, p in known.items() if p is not None}
        corrected = dict(zip(sure, holm(list(sure.values())), strict=True))
        found |= {(line, column): "\\*" for line, p in corrected.items() if p < LEVEL}
    return found


def p_value(
    rows: list[Row], line: str, targets: Sequence[str], reference: str, options: argparse.Namespace
) -> float | None:
    """Of the mean over seeds and targets, the sentences of each target drawn anew. None where a target has no seed that
    both have, or answers are not at hand."""
    from acclimate.evaluation.significance import share_as_extreme

    observed, drawn = [], []
    for number, target in enumerate(targets):
        pair = [
            {row["seed"]: job_of(row) for row in rows if row["line"] == each and row["tested"] == target}
            for each in (reference, line)
        ]
        seeds = sorted(pair[0].keys() & pair[1].keys())
        seeds = [seed for seed in seeds if all(tags_file(options.out, target, each[seed]).is_file() for each in pair)]
        if not seeds:
            return None
        jobs = tuple(tuple(each[seed] for seed in seeds) for each in pair)
        difference, differences = resampled(options.out, options.data, options.limit, target, *jobs, number)
        observed.append(difference)
        drawn.append(differences)
    difference = mean(observed)
    return float(share_as_extreme(np.mean(drawn, axis=0) - difference, difference))


@cache
def resampled(
    out: str, data: str, limit: int | None, target: str, one: tuple[Job, ...], other: tuple[Job, ...], seed: int
) -> tuple[float, Any]:
    """The difference of two lines on a target, and the same on test sets drawn with replacement: a sentence comes with
    the answers of all seeds."""
    from acclimate.evaluation.repeated import drawn_differences, mean_figure

    counts = [np.stack([counted(out, data, limit, target, job) for job in jobs], 1) for jobs in (one, other)]
    before, after = (float(mean_figure(each.sum(0), "span f1")) for each in counts)
    return after - before, drawn_differences(*counts, "span f1", ROUNDS, seed)


@cache
def counted(out: str, data: str, limit: int | None, target: str, job: Job) -> Any:
    """Gold, predicted and right spans of each test sentence, (sentence, 1, 3)."""
    from acclimate.evaluation.pairs import pair_up
    from acclimate.evaluation.significance import count_sentences

    gold = parts_with_judges(data, target, limit, job.typed)["test"]
    (found,) = count_sentences([pair_up(gold, answers(out, target, job, gold), "lenient")], "span f1", "O")
    return found


# -------------------------------------------------------------------------------------------------------- variants


def variant_table(rows: list[Row], labels: int, options: argparse.Namespace) -> str:
    usual = options.changes["acclimate"]
    rows = [{**row, "line": variant_name(row["changes"], usual)} for row in rows]
    order = {variant_name(changes, usual): place for place, changes in enumerate(options.variants)}
    lines = sorted({row["line"] for row in rows}, key=lambda line: (order.get(line, len(order)), line))
    return f"Span F1 on target sentences that are not tested on.\n\n{score_table(rows, lines, 'judges', options)}"


def variant_name(changes: Sequence[str], usual: Sequence[str] = ()) -> str:
    """What is on, and what else is different; not what all variants have."""
    said = dict(change.split("=", 1) for change in changes if change not in usual)
    parts = [name for name, value in said.items() if value == "true"]
    others = [f"{name}={value}" for name, value in said.items() if value not in ("true", "false")]
    return ", ".join([*(parts or ["nothing"]), *others])

"""What rounds do, and ways of doing them: two tables of benchmarks/pdaln.py."""

from __future__ import annotations

import argparse
from itertools import product
from statistics import mean

from grid import Row, markdown, told
from pdaln_jobs import BASE, FIRST_STAGE, PDALN, with_all_rounds
from pdaln_tables import MEAN, SEEDS, Line, chosen, columns, compared_lines, measure, values


def variant_lines(options: argparse.Namespace) -> dict[str, tuple[str, ...]]:
    """PDALN as it is, and each way of doing it that was asked for, by name."""
    return {PDALN: (), **{", ".join(changes): changes for changes in options.variant}}


def variant_table(rows: list[Row], options: argparse.Namespace) -> str:
    found = []
    for labels in filter(None, options.labels):
        variants = {name: (PDALN, changes) for name, changes in variant_lines(options).items()}
        named: dict[str, Line] = {BASE: (BASE, ()), "first stage alone": (PDALN, FIRST_STAGE), **variants}
        lines, details = [], []
        for name, (model, changes) in named.items():
            cells = [
                told(values(rows, target, labels, model, options, changes))
                + compared_lines(rows, target, labels, (PDALN, FIRST_STAGE), (model, changes), options)
                for target in columns(options)
            ]
            lines.append([name, *cells])
            details.append([name, *(kept_rounds(chosen(rows, t, labels, model, changes)) for t in options.targets)])
        title = f"Ways of doing rounds, {labels} labelled target sentences: {measure(options)} in percent, {SEEDS}"
        first = f"{title} (difference to the first stage alone, p)\n\n{markdown(['', *columns(options)], lines)}"
        second = "The same: dev; rounds kept of those made; updates; mean of seeds"
        found.append(f"{first}\n\n{second}\n\n{markdown(['', *options.targets], details)}")
    return "\n\n".join(found)


def kept_rounds(rows: list[Row]) -> str:
    if not rows:
        return ""
    rounds = [[stage for stage in row["stages"] if stage[0].startswith("round-")] for row in rows]
    kept = mean(sum(update > 0 for _, _, update, _ in made) for made in rounds)
    dev, updates = (mean(row[name] or 0 for row in rows) for name in ("dev", "updates"))
    return f"{dev:.2f}; {kept:.1f} of {mean(map(len, rounds)):.1f}; {updates:,.0f}"


def round_tables(rows: list[Row], options: argparse.Namespace) -> str:
    """What each round does, none undone: the way up or down that `keep_best` cuts short."""
    found = []
    for labels, target in product(filter(None, options.labels), columns(options)):
        lines = [
            [name, *round_cells(rows, target, labels, with_all_rounds(changes), options)]
            for name, changes in variant_lines(options).items()
        ]
        width = max(map(len, lines))
        head = ["first stage", *(f"round {number}" for number in range(1, width - 1))]
        title = f"Every round taken, {target}, {labels} labels: dev F1 / {measure(options)}, mean of seeds"
        padded = [line + [""] * (width - len(line)) for line in lines]
        found.append(f"{title}\n\n{markdown(['', *head[: width - 1]], padded)}")
    return "\n\n".join(found)


def round_cells(
    rows: list[Row], target: str, labels: int, changes: tuple[str, ...], options: argparse.Namespace
) -> list[str]:
    """After each stage. The mean of targets has the seeds that all of them have."""
    targets = options.targets if target == MEAN else [target]
    by_target = [{row["seed"]: row for row in chosen(rows, name, labels, PDALN, changes)} for name in targets]
    seeds = set.intersection(*map(set, by_target))
    used = [each[seed] for each in by_target for seed in sorted(seeds)]
    stages = min((len(row["after"]) for row in used), default=0)
    dev = [mean(100 * (row["stages"][number][3] or 0) for row in used) for number in range(stages)]
    f1 = [mean(row["after"][number][1] for row in used) for number in range(stages)]
    return [f"{one:.2f} / {other:.2f}" for one, other in zip(dev, f1, strict=True)]

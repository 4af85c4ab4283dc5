"""How much faster should a tagger's heads learn than its encoder? Chosen on sentences that are neither dev nor test.

    python benchmarks/head_rates.py --data FOLDER --out DIR [--rates 1x1,10x30] [--seeds 1,2,3] [--jobs 14]
        [--targets wnut2016,fin] [--minutes M] [--table FILE.md]
    python benchmarks/head_rates.py --published docs/explanation/results

A pair such as 10x30 means: the linear layer learns at 10 times the encoder's rate, the CRF's transitions at 30 times.
Data, draws of labelled sentences, training and judges are those of the leaderboard (leaderboard.py): CoNLL-2003 to
seven targets, `source-only` without labels and `plain` with 100. `plain` learns a batch of the source and one of the
labelled target in every update. F1 is that of the judges; test is not read. `reach` is the largest transition of a
trained CRF, in absolute value. A ± is the standard error of the mean difference over all pairs of runs that share
target and seed.

`--published` trains nothing: it prints the tables of docs/explanation/results/head-rates.md from the rows beside it.
The second one compares lines of the leaderboard (head-rates-board.jsonl) with the same lines at one rate for all
(leaderboard.jsonl).
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from grid import Row, common_arguments, markdown, read_rows, run_grid
from leaderboard import run_of
from leaderboard_jobs import EVERY, MAIN, MODELS, PLAIN, VARIANTS, Job, Run, job_for, job_of, judged, trained
from targets import TARGETS, targets_there

FIRST = "1x1"
RATES = (FIRST, "1x30", "10x1", "10x30", "10x100", "30x30", "30x100")
PUBLISHED = ("head-rates", "head-rates-board", "leaderboard")
LINES = (("source-only", 0), (PLAIN, 100))


def changes_for(rates: str) -> tuple[str, ...]:
    head, transitions = rates.split("x")
    return f"training.head_rate={head}", f"training.transition_rate={transitions}"


def do(run: Run, job: Job) -> list[Row]:
    """Train one tagger; a row for each target whose judges score it."""
    tagger, facts = trained(run, job)
    reach = max(float(weight.detach().abs().max()) for weight in tagger.head.parameters())
    targets = targets_there(run.data) if job.target == EVERY else [job.target]
    return [
        {**asdict(job), "tested": target, **judged(run, job, tagger, target), "reach": reach, **facts}
        for target in targets
    ]


def tables(rows: Sequence[Row], rates: Sequence[str]) -> str:
    """A line for each pair of rates: F1, how far it is above the first pair's, and how far transitions reach."""
    lines = []
    for pair in rates:
        own, first = scores(rows, pair), scores(rows, FIRST)
        if not own:
            continue
        cells = []
        for kinds in ((False,), (True,), (False, True)):
            keys = [key for key in own if (key[0] > 0) in kinds]
            gain = "" if pair == FIRST else f" ({above([own[key] - first[key] for key in keys if key in first])})"
            cells.append(f"{statistics.fmean(own[key] for key in keys):.2f}{gain}" if keys else "")
        reach = statistics.fmean(row["reach"] for row in rows if tuple(row["changes"]) == changes_for(pair))
        lines.append([pair, *cells, f"{reach:.2f}"])
    return markdown(["linear layer x transitions", "no labels", "100 labels", "both", "reach"], lines)


def board_table(rows: Sequence[Row], before: Sequence[Row]) -> str:
    """Lines of the leaderboard at the new rates, against runs of the same line, target and seed at one rate."""
    known = {job_of_tested(row): row for row in before if row["part"] == MAIN}
    lines = []
    for labels, model in dict.fromkeys((row["labels"], row["model"]) for row in sorted(rows, key=in_order)):
        pairs = [
            (row, known[job_of_tested(row)])
            for row in rows
            if (row["labels"], row["model"]) == (labels, model) and job_of_tested(row) in known
        ]
        cells = []
        for measure in ("f1", "judges"):
            means = [statistics.fmean(row[measure] for row in side) for side in zip(*pairs, strict=True)]
            gain = above([new[measure] - old[measure] for new, old in pairs])
            cells.append(f"{means[1]:.2f} → {means[0]:.2f} ({gain})")
        lines.append([str(labels or "none"), model, *cells, str(len(pairs))])
    return markdown(["labels", "line", "test", "judges", "pairs of runs"], lines)


def job_of_tested(row: Row) -> tuple[Job, str]:
    return job_of(row), row["tested"]


def in_order(row: Row) -> tuple[int, int]:
    return row["labels"], list(MODELS).index(row["model"])


def scores(rows: Sequence[Row], rates: str) -> dict[tuple[int, str, int], float]:
    """F1 of the judges by number of labels, target and seed."""
    return {
        (row["labels"], row["tested"], row["seed"]): row["judges"]
        for row in rows
        if tuple(row["changes"]) == changes_for(rates)
    }


def above(differences: Sequence[float]) -> str:
    if len(differences) < 2:
        return "one run"
    error = statistics.stdev(differences) / len(differences) ** 0.5
    return f"{statistics.fmean(differences):+.2f} ± {error:.2f}"


def main() -> None:
    options = arguments()
    if options.published:
        chosen, board, before = (read_rows(options.published / f"{name}.jsonl") for name in PUBLISHED)
        print(tables(chosen, options.rates), board_table(board, before), sep="\n\n")
        return
    run = run_of(options)
    wanted = [
        job_for(VARIANTS, target, labels, True, model, changes_for(pair))
        for pair in options.rates
        for model, labels in LINES
        for target in options.targets
    ]
    table = partial(tables, rates=options.rates)
    run_grid(list(dict.fromkeys(wanted)), partial(do, run), options, run.settings, job_of, table)


def arguments() -> argparse.Namespace:
    parser = common_arguments(__doc__, required=False)
    parser.add_argument("--published", type=Path, metavar="FOLDER", help="of rows: their tables, and no training")
    parser.add_argument("--rates", default=",".join(RATES), metavar="PAIRS", help="linear layer x transitions")
    parser.add_argument("--targets", default=",".join(TARGETS), metavar="TARGETS")
    parser.add_argument("--encoder", default="acclimate-mini")
    options = parser.parse_args()
    if not options.published and not (options.data and options.out):
        parser.error("--data and --out say what to learn from and where results go; or give --published.")
    options.rates, options.targets, options.selectors = options.rates.split(","), options.targets.split(","), ()
    return options


if __name__ == "__main__":
    main()

"""What does a trained tagger gain on seven targets without its source, and with 20, 50 or 100 labels?

    python benchmarks/source_free.py --data FOLDER --out DIR [--variant tuning=0.2,balance=0] [--jobs 15] [--minutes 9]

Five lines, with span F1 in percent on each target, types made CoNLL's four (benchmarks/leaderboard.py):

    start         the tagger as it is
    source-free   adapted to the target's text, with its guard; with labels a batch of them beside, the last state kept
    fine-tuned    the start, trained on the labelled sentences alone (recipe target-only)
    new-heads     the start's encoder under new heads, trained on the labelled sentences alone
    plain         acclimate-mini, trained on the labelled sentences alone

The last three are also measured with labels that the start does not know: the ten types of WNUT-2016, the nine of
CrossNER politics, and the one of NCBI-disease (--own-targets).

All but `start` have the settings that they have by default. No labelled sentences but those counted take part, so none
choose a state. The seed draws them. `--variant` adds a line: source-free with other options; it may be given several
times. With `--judges` other target sentences are scored in place of test: choose options by these, and report the test.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from leaderboard import TARGETS, task_of
from shared import by_name, cells_of_means, f1_of, finish_and_show, markdown, parse_known, parser, train

START, SOURCE_FREE, FINE_TUNED, NEW_HEADS, PLAIN = "start", "source-free", "fine-tuned", "new-heads", "plain"
LINES = (START, SOURCE_FREE, FINE_TUNED, NEW_HEADS, PLAIN)
FROM_LABELS = (FINE_TUNED, NEW_HEADS, PLAIN)  # lines that learn from labelled sentences alone
OWN_TARGETS = {"wnut2016-10-types": "wnut2016", "politics-9-types": "crossner_politics", "diseases": "ncbi_disease"}
TRAINING = {"words_per_batch": 1024}


@dataclass(frozen=True)
class Job:
    """One training, or none."""

    line: str
    labels: int
    target: str
    seed: int
    part: str  # test, or judges


def main() -> None:
    options = arguments()
    finish_and_show(by_name(jobs_of(options), options), adapted, tables, options)


def jobs_of(options: argparse.Namespace) -> Iterator[Job]:
    """Without labels there is nothing to tune on, and the start is one whatever the seed and the labels are."""
    part = "judges" if options.judges else "test"
    for seed, labels, target in product(options.seeds, options.labels, options.targets):
        for line in (*options.lines, *options.variant):
            if line == START:
                if (seed, labels) == (options.seeds[0], options.labels[0]):
                    yield Job(line, 0, target, seed, part)
            elif labels or line not in FROM_LABELS:
                yield Job(line, labels, target, seed, part)
    for seed, labels, target in product(options.seeds, filter(None, options.labels), options.own_targets):
        for line in [line for line in options.lines if line in FROM_LABELS]:
            yield Job(line, labels, target, seed, "test")


def adapted(options: argparse.Namespace, job: Job) -> list[dict[str, Any]]:
    """Train one line and score it; one row."""
    from acclimate.model.shipped import resolved_tagger
    from acclimate.model.tagger import Tagger
    from acclimate.runs.task import Task

    begun = time.monotonic()
    own_types = job.target in OWN_TARGETS
    drawn, test = own_task(options, job) if own_types else task_of(options, job.target, job.labels, "typed", job.seed)
    row: dict[str, Any] = {**asdict(job), "sentences": len(test)}
    if job.line == START:
        return [{**row, "f1": f1_of(Tagger.load(resolved_tagger(options.start)), test)}]
    encoder = {"encoder": str(resolved_tagger(options.start) / "encoder")}
    taggers: dict[str, dict[str, Any]] = {PLAIN: {}, NEW_HEADS: encoder}
    outcome = train(
        Task(target=drawn.target, target_labelled=drawn.target_labelled),
        recipe="target-only" if job.line in FROM_LABELS else SOURCE_FREE,
        seed=job.seed,
        training=TRAINING,
        tagger=taggers.get(job.line, {"start": options.start}),
        options={} if job.line in LINES else options_of(job.line),
    )
    stage = outcome.stages[-1]
    row["f1"] = f1_of(outcome.tagger, test)
    row["seconds"] = round(time.monotonic() - begun, 1)
    return [{**row, "updates": stage["updates"], "kept": stage["kept_update"], "watched": stage["score"]}]


def own_task(options: argparse.Namespace, job: Job) -> tuple[Any, Any]:
    """Labelled sentences of a target under its own types, and its test."""
    from acclimate.data.subsets import take_sentences
    from acclimate.reproduction.datasets import Datasets
    from acclimate.runs.task import Task

    sets, name = Datasets(Path(options.data), small=False), OWN_TARGETS[job.target]
    few = take_sentences(sets.require(name, "train"), job.labels, job.seed)
    return Task(target_labelled=few), sets.require(name, "test")[: options.limit]


def options_of(variant: str) -> dict[str, float]:
    """`tuning=0.2,balance=0` as the recipe's options."""
    return {name: float(value) for name, _, value in (part.partition("=") for part in variant.split(","))}


def tables(rows: list[dict[str, Any]]) -> str:
    groups = {"four types": TARGETS, "types of their own": OWN_TARGETS}
    return "\n\n".join(
        f"## {part}, {types}\n\n{table(some, targets)}"
        for part in dict.fromkeys(row["part"] for row in rows)
        for types, targets in groups.items()
        if (some := [row for row in rows if row["part"] == part and row["target"] in targets])
    )


def table(rows: list[dict[str, Any]], among: Iterable[str]) -> str:
    """Mean ± standard deviation of the seeds; `left` counts the runs in which the guard kept the start."""
    targets = [target for target in among if any(row["target"] == target for row in rows)]
    order = {line: number for number, line in enumerate(LINES)}
    places = {(row["labels"], order.get(row["line"], len(LINES)), row["line"]) for row in rows}
    shown = []
    for labels, _, line in sorted(places):
        own = [row for row in rows if (row["line"], row["labels"]) == (line, labels)]
        found = {(row["target"], row["seed"]): row["f1"] for row in own}
        left = sum(row.get("kept") == 0 for row in own)
        shown.append([line, labels, *cells_of_means(found, targets), f"{left} of {len(own)}"])
    return markdown(["", "labels", *targets, "mean", "left"], shown)


def arguments() -> argparse.Namespace:
    made = parser(
        __doc__,
        "data out seeds jobs minutes limit judges table",
        start=("general", "a tagger, or the name of a shipped one"),
        targets=list(TARGETS),
        own_targets=list(OWN_TARGETS),
        labels=([0, 20, 50, 100], "numbers of labelled target sentences"),
        lines=list(LINES),
    )
    made.add_argument("--variant", action="append", default=[], metavar="A=B,C=D", help="a line with other options")
    return parse_known(made, targets=TARGETS, lines=LINES)


if __name__ == "__main__":
    main()

"""What do 10, 20, 50, 100, 200 or 500 labelled sentences bring, chosen in one way or another?

    python benchmarks/labelling.py --data FOLDER --out DIR [--acquisitions random,entities,uncertainty] [--jobs 8]

Every acquisition labels the same pools by an oracle (`acclimate label --simulate`), from the tagger `general` and from
scratch, and learns after each of these numbers. Span F1 in percent on the test of each target, which chooses nothing.
Nothing is held back, so that all labels are learnt. Targets are WNUT-2016, FIN and two of CrossNER with CoNLL's four
types, and NCBI-disease, whose type `general` does not know. The pool is the train part, of CrossNER, which is small,
dev as well. Without --data bundled corpora stand in, to try it.

Three tables for each start, all means of seeds and targets: F1 over labelled sentences; over the words that were read,
since chosen sentences are longer (F1 between two rounds on the line between them); and how many sentences, and words,
it takes to reach what 100 random sentences reach. `--out` may be a file of rows, which are shown.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from shared import by_name, cells_of_means, finish_and_show, markdown, parse_known, parser

POOL = ("train",)
TARGETS: dict[str, tuple[str, tuple[str, ...]]] = {
    "wnut2016": ("wnut2016-conll", POOL),
    "fin": ("fin", POOL),
    "crossner_politics": ("crossner_politics-conll", ("train", "dev")),
    "crossner_science": ("crossner_science-conll", ("train", "dev")),
    "ncbi_disease": ("ncbi_disease", POOL),
}
SCRATCH, RANDOM, REFERENCE = "scratch", "random", 100
ACQUISITIONS = (
    *(RANDOM, "entities", "uncertainty", "bald", "committee"),
    *("rare-types", "fluctuation", "density", "typical"),
)
WORDS = (200, 500, 1000, 2000, 5000)


@dataclass(frozen=True)
class Job:
    """One acquisition on one pool."""

    start: str
    acquisition: str
    target: str
    seed: int


def main() -> None:
    options = arguments()
    finish_and_show(by_name(jobs_of(options), options), labelled, tables, options)


def jobs_of(options: argparse.Namespace) -> Iterator[Job]:
    """From scratch nothing is known before the first round, and all but random begin with typical sentences."""
    given = product(options.seeds, options.targets, options.starts, options.acquisitions)
    return (Job(start, acquisition, target, seed) for seed, target, start, acquisition in given)


def labelled(options: argparse.Namespace, job: Job) -> list[dict[str, Any]]:
    """Let the oracle label; a row for each number of sentences."""
    from acclimate.labelling.session import NO_START
    from acclimate.labelling.settings import SessionSettings
    from acclimate.labelling.simulate import simulate
    from acclimate.reproduction.datasets import Datasets
    from acclimate.settings import complete, with_assignments

    begun = time.monotonic()
    data = Datasets(Path(options.data) if options.data else None, small=options.data is None)
    name, parts = TARGETS[job.target]
    first, *more = (data.require(name, part) for part in parts)
    pool = sum(more, first).renamed(job.target)[: options.limit]
    values = {"seed": job.seed, "held_back": 0.0, "acquisition": {"name": job.acquisition}}
    settings = complete(SessionSettings, with_assignments(values, options.set))
    with tempfile.TemporaryDirectory() as folder:
        points = simulate(
            Path(folder) / "session",
            pool,
            settings,
            start=NO_START if job.start == SCRATCH else job.start,
            test=data.require(name, "test")[: options.limit],
            at=options.at,
        )
    minutes = round((time.monotonic() - begun) / 60, 2)
    return [{**asdict(job), **point.as_dict(), "minutes": minutes} for point in points]


def tables(rows: list[dict[str, Any]]) -> str:
    """All tables of each start."""
    shown = []
    for start in dict.fromkeys(row["start"] for row in rows):
        own = [row for row in rows if row["start"] == start]
        shown += [f"## From {start}", "### F1 by labelled sentences"]
        shown += [along(own, 0, sorted({row["sentences"] for row in own}))]
        shown += ["### F1 by words read", along(own, 1, WORDS), "### As good as random sentences", effort(own)]
    return "\n\n".join(shown)


Curve = list[tuple[int, int, float]]
"""Sentences, words and F1 in percent, in their order."""


def curves_of(rows: Iterable[dict[str, Any]]) -> dict[str, dict[tuple[str, int], Curve]]:
    """By acquisition, and by target and seed."""
    found: dict[str, dict[tuple[str, int], Curve]] = {}
    for row in sorted(rows, key=lambda row: row["sentences"]):
        own = found.setdefault(row["acquisition"], {}).setdefault((row["target"], row["seed"]), [])
        own.append((row["sentences"], row["words"], 100 * row["f1"]))
    return dict(sorted(found.items(), key=lambda item: ACQUISITIONS.index(item[0])))


def along(rows: list[dict[str, Any]], column: int, numbers: Sequence[int]) -> str:
    """F1 at numbers of sentences (0) or words (1): mean over targets, ± deviation over seeds, of curves that reach so
    far."""
    lines = []
    for name, own in curves_of(rows).items():
        targets = list(dict.fromkeys(target for target, _ in own))
        scores = [{key: at(curve, column, number) for key, curve in own.items()} for number in numbers]
        reaching = [{key: f1 for key, f1 in found.items() if f1 is not None} for found in scores]
        lines.append([name, *(cells_of_means(found, targets)[-1] for found in reaching)])
    return markdown(["", *(f"{number:,}" for number in numbers)], lines)


def at(curve: Curve, column: int, number: int) -> float | None:
    """F1 at so many sentences (0) or words (1), on the line between two rounds; None beyond the rounds."""
    places = [point[column] for point in curve]
    if not places[0] <= number <= places[-1]:
        return None
    return float(np.interp(number, places, [point[2] for point in curve]))


def reached(curve: Curve, column: int, f1: float) -> float | None:
    """How many sentences (0) or words (1) it takes to reach an F1 for the first time; None if it never does."""
    for before, after in zip([curve[0], *curve], curve, strict=False):
        if after[2] >= f1:
            rise = after[2] - before[2]
            share = (f1 - before[2]) / rise if rise > 0 else 1.0
            return before[column] + max(0.0, share) * (after[column] - before[column])
    return None


def effort(rows: list[dict[str, Any]]) -> str:
    """Means over targets and seeds; `never` counts those where it was not reached, which the means leave out."""
    curves, lines = curves_of(rows), []
    goals = {key: at(curve, 0, REFERENCE) for key, curve in curves.get(RANDOM, {}).items()}
    for name, own in curves.items():
        wanted = [(curve, goals[key]) for key, curve in own.items() if goals.get(key) is not None]
        efforts = [[reached(curve, column, goal) for column in (0, 1)] for curve, goal in wanted]
        done = [effort for effort in efforts if None not in effort]
        cells = [f"{fmean(column):.0f}" for column in zip(*done, strict=True)] or ["", ""]
        lines.append([name, *cells, f"{len(efforts) - len(done)} of {len(efforts)}"])
    return markdown(["", "sentences", "words", "never"], lines)


def arguments() -> argparse.Namespace:
    made = parser(
        __doc__,
        "data out seeds jobs minutes limit set table",
        starts=(["general", SCRATCH], "taggers to start from, by name or folder"),
        targets=list(TARGETS),
        acquisitions=list(ACQUISITIONS),
        at=([10, 20, 50, 100, 200, 500], "numbers of labelled sentences after which it learns"),
    )
    made.set_defaults(seeds=[1, 2, 3, 4, 5])
    return parse_known(made, targets=TARGETS, acquisitions=ACQUISITIONS)


if __name__ == "__main__":
    main()

"""What do MAT and DATNet bring over the very same tagger? And a source over the target's few labels alone?

    python benchmarks/fair_baselines.py --data FOLDER --out DIR [--settings chunks,tweets] [--seeds 1,2,3] [--jobs 14]
        [--updates 500] [--set A=B] [--minutes M] [--table FILE.md]
    python benchmarks/fair_baselines.py --published docs/explanation/results

chunks         CoNLL-2000 chunks at home: `mat`
tweets         CoNLL-2003 → WNUT-2016 without target labels: `mat`, `datnet`
tweets-200     the same with 200 labelled tweets: `datnet` in both forms
politics-100   CoNLL-2003 → CrossNER politics with 100 labelled sentences under CrossNER's own labels: `acclimate` and
               `datnet`. The encoder is acclimate-mini here, and character-cnn-lstm without vectors in the others

Every job is a run of `adapt`. "Before" is its own baseline: a tagger of the same make, trained on the source alone, or
on the labelled target sentences alone where there are some. `settings alone` is the baseline that a user gets by name
(source-only, target-only): its tables are not normalised. All trainings make the same number of updates. Source dev
chooses the state, or target dev (100 sentences) where target sentences are labelled; test is scored once. The labelled
sentences are drawn by the seed. A ± is the standard error of the mean difference over seeds.

`--published` trains nothing: it prints the table of the rows there (fair-baselines.jsonl).
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from grid import Row, common_arguments, find, markdown, read_rows, run_grid, told
from targets import DEV, drawn_from, news, target_parts

ALONE = "settings alone"
LSTM, MINI = "character-cnn-lstm", "acclimate-mini"
LOOKS = 10
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "MAT": ("mat", {}),
    "DATNet": ("datnet", {}),
    "DATNet-F": ("datnet", {"form": "F"}),
    "DATNet-P": ("datnet", {"form": "P"}),
    "acclimate": ("acclimate", {}),
}


@dataclass(frozen=True)
class Setting:
    """What is learnt from, and by which methods; `labels` are target sentences."""

    encoder: str
    methods: tuple[str, ...]
    target: str | None = None
    labels: int = 0

    @property
    def baseline(self) -> str:
        return "target-only" if self.labels else "source-only"


SETTINGS = {
    "chunks": Setting(LSTM, (ALONE, "MAT")),
    "tweets": Setting(LSTM, (ALONE, "MAT", "DATNet"), "wnut2016"),
    "tweets-200": Setting(LSTM, (ALONE, "DATNet-F", "DATNet-P"), "wnut2016", 200),
    "politics-100": Setting(MINI, ("acclimate", "DATNet-F"), "crossner_politics", 100),
}


@dataclass(frozen=True)
class Job:
    """One run of `adapt`."""

    setting: str
    method: str
    seed: int = 0

    @property
    def name(self) -> str:
        return f"{self.setting}, {self.method}, seed {self.seed}"


def job_of(row: Row) -> Job:
    return Job(row["setting"], row["method"], row["seed"])


@dataclass(frozen=True)
class Run:
    """What all jobs have in common."""

    data: str
    training: dict[str, Any]
    limit: int | None


def do(run: Run, job: Job) -> list[Row]:
    import torch

    from acclimate.runs.settings import RunSettings, TaggerSettings
    from acclimate.runs.task import tagger_for
    from acclimate.runs.train import adapt

    setting, task = SETTINGS[job.setting], task_for(run, job)
    recipe, options = METHODS.get(job.method, (setting.baseline, {}))
    torch.manual_seed(job.seed)
    tagger = tagger_for(
        task, RunSettings(recipe=recipe, options=options, tagger=TaggerSettings(encoder=setting.encoder))
    )
    found = adapt(
        tagger,
        task.source,
        task.target,
        recipe,
        source_dev=task.source_dev,
        target_labelled=task.target_labelled,
        target_dev=task.target_dev,
        target_test=task.target_test,
        training=run.training,
        seed=job.seed,
        **options,
    )
    change = found.target
    assert change is not None
    row = {**asdict(job), "before": 100 * change.before.span.f1, "after": 100 * change.after.span.f1}
    p_values = None if change.comparison is None else [change.comparison.p_value, change.comparison.permutation_p]
    return [{**row, "make": list(found.make), "p_values": p_values, "seconds": round(found.seconds, 1)}]


def task_for(run: Run, job: Job) -> Any:
    """The corpora of a job, by their part in it."""
    from acclimate.runs.task import Task

    setting = SETTINGS[job.setting]
    if setting.target is None:
        parts = {part: read(run.data, "conll2000_chunk", part)[: run.limit] for part in ("train", "test")}
        return Task(parts["train"], target_test=parts["test"])
    source = news(run.data, run.limit)
    parts = own_labels(run.data, setting.target, run.limit) if setting.encoder == MINI else None
    parts = parts or target_parts(run.data, setting.target, run.limit)
    few, text = drawn_from(parts["pool"], setting.labels, job.seed)
    return Task(
        source["train"],
        source["dev"],
        target=text,
        target_labelled=few if setting.labels else None,
        target_dev=parts["dev"] if setting.labels else None,
        target_test=parts["test"],
    )


@cache
def read(data: str, corpus: str, part: str) -> Any:
    from acclimate.data.reading import read_corpus

    return read_corpus(find(data, corpus, part))


@cache
def own_labels(data: str, target: str, limit: int | None) -> dict[str, Any]:
    """pool, dev and test under the target's own labels."""
    from acclimate.data.subsets import take_sentences

    dev = take_sentences(read(data, target, "dev"), DEV)
    parts = {"pool": read(data, target, "train"), "dev": dev, "test": read(data, target, "test")}
    return {part: corpus[:limit] for part, corpus in parts.items()}


# ------------------------------------------------------------------------------------------------------------ table


def table(rows: Sequence[Row]) -> str:
    """A line for each setting and method: the baseline by its name, the baseline of the same make, and the method."""
    lines = []
    for name, setting in SETTINGS.items():
        alone = [row["after"] for row in rows if (row["setting"], row["method"]) == (name, ALONE)]
        for method in setting.methods:
            own = [row for row in rows if (row["setting"], row["method"]) == (name, method)]
            if method != ALONE and own:
                before, after = ([row[when] for row in own] for when in ("before", "after"))
                lines.append([f"{name}, {method}", told(alone), told(before), told(after), gain(own), sure(own)])
    head = ["", "baseline, settings alone", "baseline, same make", "method", "change", "shown in so many runs"]
    return markdown(head, lines)


def gain(rows: Sequence[Row]) -> str:
    differences = [row["after"] - row["before"] for row in rows]
    mean = f"{statistics.fmean(differences):+.2f}"
    return mean if len(rows) == 1 else f"{mean} ± {statistics.stdev(differences) / len(rows) ** 0.5:.2f}"


def sure(rows: Sequence[Row]) -> str:
    """In how many runs both tests show a rise or a fall, at 0.05."""
    shown = [row["after"] - row["before"] for row in rows if row["p_values"] and max(row["p_values"]) <= 0.05]
    rises = sum(difference > 0 for difference in shown)
    return f"{rises} up, {len(shown) - rises} down, of {len(rows)}"


def main() -> None:
    options = arguments()
    if options.published:
        print(table(read_rows(options.published / "fair-baselines.jsonl")))
        return
    from acclimate.settings import with_assignments

    usual = {"updates": options.updates, "evaluate_every": max(1, options.updates // LOOKS)}
    run = Run(options.data, with_assignments(usual, options.set), options.limit)
    wanted = [Job(name, method) for name in options.settings for method in SETTINGS[name].methods]
    settings = {"training": run.training, "limit": run.limit}
    run_grid(wanted, partial(do, run), options, settings, job_of, table)


def arguments() -> argparse.Namespace:
    parser = common_arguments(__doc__, required=False)
    parser.add_argument("--published", type=Path, metavar="FOLDER", help="of rows: their table, and no training")
    parser.add_argument("--settings", default=",".join(SETTINGS), metavar="NAMES")
    parser.add_argument("--updates", type=int, default=500, help="of every training")
    options = parser.parse_args()
    if not options.published and not (options.data and options.out):
        parser.error("--data and --out say what to learn from and where results go; or give --published.")
    options.settings = options.settings.split(",")
    unknown = [name for name in options.settings if name not in SETTINGS]
    if unknown:
        parser.error(f"--settings: {unknown[0]} is none of {', '.join(SETTINGS)}.")
    return options


if __name__ == "__main__":
    main()

"""F1 and held-out loss over the updates of domain tuning.

    python benchmarks/tuning_curve.py --data FOLDER --out DIR [--text wnut2016=tweets.txt.gz] [--jobs 15] [--minutes 9]

Every number of updates is a tuning of its own, as the learning rate falls to its end, with random masks, and source
sentences beside the target's; its best state by the held-out loss is kept (`kept` in the rows). A tagger then learns
CoNLL-2003 plainly on that encoder (recipe source-only). `text` is more text of a target, tuned on as its own.
"""

from __future__ import annotations

import argparse
import shutil
import time
from itertools import product
from pathlib import Path
from typing import Any

from leaderboard import TARGETS, TRAINING, task_of
from shared import f1_of, finish_and_show, markdown, mean_and_deviation, parse_known, parser, train


def main() -> None:
    options = arguments()
    jobs = product(options.targets, options.updates, options.seeds)
    finish_and_show({"_".join(map(str, job)) + ".jsonl": (options, *job) for job in jobs}, learn, table, options)


def learn(options: argparse.Namespace, target: str, updates: int, seed: int) -> list[dict[str, Any]]:
    """Tune, train, and score; one row."""
    from acclimate.data.writing import write_corpus
    from acclimate.runs.domain_tune import DomainTuneSettings, domain_tune
    from acclimate.runs.folder import is_finished
    from acclimate.runs.task import Task

    started = time.monotonic()
    task, test = task_of(options, target, 0, "typed", seed)
    encoder, row = options.encoder, {"target": target, "updates": updates, "seed": seed}
    folder = Path(options.out) / "encoders" / f"{target}-{updates}-{seed}"
    if updates:
        folder.mkdir(parents=True, exist_ok=True)
        for part, corpus in (("target", task.target), ("source", task.source)):
            write_corpus(corpus.unlabelled(), folder / f"{part}.jsonl")
        texts = (str(folder / "target.jsonl"), *(file for name, file in options.text if name == target))
        settings = DomainTuneSettings(
            text=texts,
            source=str(folder / "source.jsonl"),
            masking="random",
            encoder=encoder,
            updates=updates,
            patience=None,
            seed=seed,
            evaluate_every=max(1, updates // 10),
        )
        done = domain_tune(settings, folder / "tuned", overwrite=is_finished(folder / "tuned"))
        encoder = str(folder / "tuned")
        row |= {"before": done.loss_before, "loss": done.loss_after}
        row |= {"kept": done.kept_update, "sentences": done.sentences, "rows": done.rows_per_batch}
    training = {**TRAINING, "updates": options.training_updates}
    given = {"recipe": "source-only", "seed": seed, "tagger": {"encoder": encoder}, "training": training}
    tagger = train(Task(task.source), **given).tagger
    shutil.rmtree(folder, ignore_errors=True)
    return [{**row, "f1": f1_of(tagger, test), "seconds": time.monotonic() - started}]


def table(rows: list[dict[str, Any]]) -> str:
    """Loss and span F1 in percent by target and updates, mean ± standard deviation of the seeds."""
    lines = []
    for target, updates in sorted({(row["target"], row["updates"]) for row in rows}):
        some = [row for row in rows if (row["target"], row["updates"]) == (target, updates)]
        losses = [row["loss"] for row in some if row.get("loss") is not None]
        f1 = mean_and_deviation([row["f1"] for row in some])
        lines.append([target, f"{updates:,}", f"{sum(losses) / len(losses):.3f}" if losses else "", f1, str(len(some))])
    return markdown(["target", "updates", "held-out loss", "test F1", "seeds"], lines)


def arguments() -> argparse.Namespace:
    made = parser(
        __doc__,
        "data out seeds jobs minutes limit encoder table",
        targets=["wnut2016", "crossner_science"],
        updates=[0, 100, 300, 1000, 3000, 5000, 12000],
        training_updates=400,
    )
    made.add_argument("--text", action="append", default=[], type=lambda text: tuple(text.split("=", 1)))
    made.set_defaults(judges=False)
    return parse_known(made, targets=TARGETS)


if __name__ == "__main__":
    main()

"""CoNLL-2003 with the tagger that needs nothing pre-trained: character CNN + BiLSTM + CRF from random vectors.

    python benchmarks/conll2003.py --data FOLDER [--seeds 1,2,3] [--jobs 3] [--set training.epochs=20] [--json FILE]

FOLDER holds train, dev and test. The published figure for this model without pre-trained vectors is a test F1 of 80.76
(Ma and Hovy 2016, table 5, "random"). The state kept is the one with the best dev F1; test is scored once, at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

PUBLISHED = 80.76

# chosen on dev, one seed, among four settings of learning rate, dropout and width; the rest is the default
DEFAULTS = {
    "training": {"epochs": 15, "words_per_batch": 512, "learning_rate": 0.003},
    "tagger": {"lstm": {"character_filters": 100, "lstm_width": 256}},
}


def run(folder: str, seed: int, values: dict[str, Any]) -> dict[str, Any]:
    import torch

    from acclimate.cli.settings import AdaptSettings
    from acclimate.data.reading import read_corpus
    from acclimate.model.tagger import Tagger
    from acclimate.runs.train import adapt
    from acclimate.settings import complete

    settings = complete(AdaptSettings, values)
    parts = {part: read_corpus(find(folder, part)) for part in ("train", "dev", "test")}
    torch.manual_seed(seed)
    tagger = Tagger.build(
        "character-cnn-lstm",
        labels=parts["train"].labels,
        text=parts["train"],
        head=settings.tagger.head,
        scheme=settings.tagger.scheme,
        **settings.tagger.lstm.model_dump(),
    )
    started = time.monotonic()
    outcome = adapt(
        tagger,
        parts["train"],
        recipe="source-only",
        source_dev=parts["dev"],
        source_test=parts["test"],
        training=settings.training,
        seed=seed,
    )
    assert outcome.source is not None
    stage = outcome.stages[0]
    result = {
        "seed": seed,
        "dev_f1": 100 * stage["score"],
        "test_f1": 100 * outcome.source.after.span.f1,
        "updates": stage["updates"],
        "kept_update": stage["kept_update"],
        "seconds": round(time.monotonic() - started, 1),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
    }
    print(json.dumps(result), file=sys.stderr, flush=True)
    return result


def find(folder: str, part: str) -> Path:
    found = sorted(Path(folder).glob(f"{part}.*"))
    if not found:
        sys.exit(f"{folder}: no {part}.* there.")
    return found[0]


def main() -> None:
    from acclimate.settings import with_assignments

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--jobs", type=int, default=1, help="seeds trained at the same time")
    parser.add_argument("--set", action="append", default=[], metavar="A.B=C")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()

    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    values = with_assignments(DEFAULTS, arguments.set)
    started = time.monotonic()
    if arguments.jobs > 1:
        os.environ.setdefault("OMP_NUM_THREADS", "2")
        with ProcessPoolExecutor(arguments.jobs, get_context("spawn")) as pool:
            results = list(pool.map(run, [arguments.data] * len(seeds), seeds, [values] * len(seeds)))
    else:
        results = [run(arguments.data, seed, values) for seed in seeds]
    wall = time.monotonic() - started

    print("seed   dev F1   test F1   updates   seconds")
    for row in results:
        print(
            f"{row['seed']:4d}  {row['dev_f1']:7.2f}  {row['test_f1']:8.2f}  {row['updates']:8,}  {row['seconds']:8.1f}"
        )
    tests = [row["test_f1"] for row in results]
    spread = statistics.stdev(tests) if len(tests) > 1 else 0.0
    mean = statistics.mean(tests)
    print(f"test span F1 {mean:.2f} ± {spread:.2f} (mean and standard deviation of {len(tests)} seeds)")
    print(f"published, same model without pre-trained vectors: {PUBLISHED} (difference {mean - PUBLISHED:+.2f})")
    print(f"wall time {wall:.0f} s on {results[0]['device']}, {arguments.jobs} at a time")
    if arguments.json:
        report = {"results": results, "mean": mean, "std": spread, "wall_seconds": wall, "settings": values}
        Path(arguments.json).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

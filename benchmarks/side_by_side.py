"""How many trainings should share one GPU (or one CPU)? Updates a second in all, for several of them at once.

    python benchmarks/side_by_side.py [--at-once 1,4,8,15] [--recipe pdaln] [--warm-up 120] [--seconds 8]
                                      [--set words_per_batch=2048] [--encoder acclimate-mini] [--json FILE]

Each is a process that trains the recipe's first stage on what ships (news, with social posts as the target, 100 of them
labelled). All begin to count together, when every one has made its warm-up, in which shapes are met and recorded, and
count for as long. On a GPU a server that lets processes share it (`nvidia-cuda-mps-control -d`, started beforehand)
makes a difference. Memory is the most that a process has reserved.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from grid import ONE_THREAD, markdown

LABELLED = 100


def train(options: argparse.Namespace, seed: int, together: Any, told: Any) -> None:
    import torch

    from acclimate.data.bundled import load_bundled
    from acclimate.model.tagger import Tagger
    from acclimate.recipes.catalogue import find_recipe
    from acclimate.recipes.recipe import Plan
    from acclimate.settings import complete, with_assignments
    from acclimate.training.engine import build_engine
    from acclimate.training.loop import Training
    from acclimate.training.settings import TrainingSettings

    torch.set_num_threads(1)
    news, posts = load_bundled("news"), load_bundled("social")
    values = with_assignments({"updates": 10**9, "words_per_batch": 1024, "learning_rate": 1e-5}, options.set)
    settings = complete(TrainingSettings, values, where="training settings")
    recipe = find_recipe(options.recipe)
    tagger = Tagger.build(options.encoder, labels=news.train.labels, seed=seed)
    target = posts.text.unlabelled() + posts.train[:LABELLED]
    plan = Plan(news.train, target, settings, complete(recipe.options, {}, where=options.recipe), seed)
    stage = next(iter(recipe.stages(tagger, plan)))
    training = iter(Training(tagger, stage, build_engine(settings, tagger)))
    for _ in range(options.warm_up):
        next(training)
    together.wait()
    began, updates = time.perf_counter(), 0
    while time.perf_counter() - began < options.seconds:
        next(training)
        updates += 1
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    reserved = torch.cuda.max_memory_reserved() / 2**30 if torch.cuda.is_available() else None
    told.put((updates / (time.perf_counter() - began), reserved))


def measured(options: argparse.Namespace, count: int) -> dict[str, Any]:
    context = get_context("spawn")
    together: Any = context.Barrier(count)
    told: Any = context.Queue()
    processes = [context.Process(target=train, args=(options, 1 + number, together, told)) for number in range(count)]
    for process in processes:
        process.start()
    found = [told.get() for _ in processes]
    for process in processes:
        process.join()
    rates, memory = zip(*found, strict=True)
    return {
        "at_once": count,
        "updates_a_second": round(sum(rates), 1),
        "ms_per_update": round(1000 / statistics.mean(rates), 1),
        "gigabytes_each": None if memory[0] is None else round(max(memory), 1),
    }


def main() -> None:
    options = arguments()
    os.environ |= {**ONE_THREAD, "TOKENIZERS_PARALLELISM": "false"}
    rows = []
    for count in map(int, options.at_once.split(",")):
        rows.append(measured(options, count))
        print(rows[-1], flush=True)
    print(markdown(list(rows[0]), [list(row.values()) for row in rows]))
    if options.json:
        report = {"recipe": options.recipe, "encoder": options.encoder, "set": options.set, "measured": rows}
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--at-once", default="1,4,8,15", metavar="NUMBERS")
    parser.add_argument("--recipe", default="pdaln")
    parser.add_argument("--encoder", default="acclimate-mini")
    parser.add_argument("--warm-up", type=int, default=120, metavar="UPDATES")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--set", action="append", default=[], metavar="A=B", help="a setting of training")
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    main()

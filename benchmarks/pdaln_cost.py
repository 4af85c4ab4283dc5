"""What an update costs with each of PDALN's terms, beside encoder + CRF alone: the part `cost` of benchmarks/pdaln.py.

acclimate-mini under a CRF; each update is the loop's own: views, forward, backward, clipping, AdamW; bf16 on a GPU,
float32 on a CPU. All ways read the very same batches, `--words` words of the source and as many of the target, half of
them labelled, and start from the same weights. "encoder+CRF" learns the tags of both and nothing else. The ways take
turns in one process, some updates each, so that whatever else the machine does falls on all alike; the median over the
rounds counts. "source alone" reads half of the text. A teacher is a copy of the tagger, as in the first round. Without
`--data` the text is that which ships.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from grid import find
from rivals import processor

BASE, SOURCE_ALONE = "encoder+CRF", "encoder+CRF, source alone"
NOTHING: dict[str, Any] = {"alpha": 0, "beta": 0, "contrast": 0, "variant": "none"}
# options, and the stage whose loss it is: 0 is the first one, 1 a round
WAYS: dict[str, tuple[dict[str, Any], int]] = {
    BASE: (NOTHING, 0),
    "+ sentences alike (L_d)": ({**NOTHING, "alpha": 0.1}, 0),
    "+ words alike (L_w)": ({**NOTHING, "beta": 0.1}, 0),
    "+ contrast (L_c)": ({**NOTHING, "contrast": 1}, 0),
    "+ distillation": ({**NOTHING, "variant": "distillation"}, 1),
    "+ Mean Teacher": ({**NOTHING, "variant": "mean-teacher"}, 1),
    "+ VAT": ({**NOTHING, "variant": "vat"}, 1),
    "first stage, all (eq. 9)": ({}, 0),
    "round, all (eq. 11)": ({}, 1),
}
LABELLED = 100


def cost(options: argparse.Namespace) -> None:
    import torch

    torch.set_num_threads(options.threads)
    ways = build_ways(options)
    times: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(1 + options.rounds):  # the first turn only warms up
        for way, update in ways.items():
            seconds = timed(update, options.updates)
            if turn:
                times[way].append(1000 * seconds / options.updates)
    report = report_of(times, options)
    print(table(report), flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def build_ways(options: argparse.Namespace) -> dict[str, Callable[[], object]]:
    """Each way to train as a function that makes one update."""
    from acclimate.data.batches import SOURCE
    from acclimate.methods.tagging import Tagging
    from acclimate.model.tagger import Tagger
    from acclimate.recipes.pdaln import PdalnSettings, batches_of, pdaln
    from acclimate.recipes.recipe import Plan
    from acclimate.training.engine import build_engine
    from acclimate.training.loop import Training
    from acclimate.training.settings import TrainingSettings
    from acclimate.training.stage import Stage

    source, target = corpora(options.data)
    training = TrainingSettings(
        updates=10**9, decay="none", words_per_batch=options.words, learning_rate=4e-4, clip=1.0, device=options.device
    )
    engine = None
    ways: dict[str, Callable[[], object]] = {}
    for way, (values, number) in {SOURCE_ALONE: (NOTHING, 0), **WAYS}.items():
        tagger = Tagger.build(labels=source.labels, scheme="IOB2", seed=1)
        engine = engine or build_engine(training, tagger)
        tagger.to(engine.device)
        plan = Plan(source, target, training, PdalnSettings(**values), 1)
        stages = pdaln(tagger, plan)
        stage = [next(stages) for _ in range(number + 1)][-1]
        if way == SOURCE_ALONE:
            batches: Any = plan.batches(tagger, {SOURCE: source})
            stage = Stage(way, {"tag": Tagging("source", "sentence")}, batches, training)
        else:
            batches = batches_of(tagger, plan, source)
            stage = replace(stage, batches=batches, settings=training)
        ways[way] = updating(iter(Training(tagger, stage, engine)))
    return ways


def updating(training: Iterator[Any]) -> Callable[[], object]:
    return lambda: next(training)


def corpora(data: str | None) -> tuple[Any, Any]:
    """A labelled source; and a target with few labelled sentences behind unlabelled ones."""
    from acclimate.data.bundled import load_bundled
    from acclimate.data.mapping import LabelMap, map_labels
    from acclimate.data.reading import read_corpus

    if data:
        source = read_corpus(find(data, "conll2003", "train"))
        target = map_labels(read_corpus(find(data, "wnut2016", "train")), LabelMap.load("wnut16-to-conll"))
    else:
        source, target = load_bundled("news").train, load_bundled("social").train
    return source, target[LABELLED:].unlabelled() + target[:LABELLED]


def timed(update: Callable[[], object], updates: int) -> float:
    settle()
    before = time.perf_counter()
    for _ in range(updates):
        update()
    settle()
    return time.perf_counter() - before


def settle() -> None:
    """Wait until the GPU has done what it was told to."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


def report_of(times: dict[str, list[float]], options: argparse.Namespace) -> dict[str, Any]:
    import torch

    on_gpu = options.device == "cuda" or (options.device == "auto" and torch.cuda.is_available())
    medians = {way: statistics.median(found) for way, found in times.items()}
    # of turns side by side: what the machine did besides falls out
    ratios = {
        way: statistics.median(mine / base for mine, base in zip(found, times[BASE], strict=True))
        for way, found in times.items()
    }
    return {
        "machine": torch.cuda.get_device_name() if on_gpu else f"{processor()}, {options.threads} thread(s)",
        "torch": torch.__version__,
        "text": "CoNLL-2003, WNUT-2016" if options.data else "bundled news, social",
        "words": options.words,
        "updates": options.updates,
        "milliseconds": times,
        "median": medians,
        "beside_base": ratios,
    }


def table(report: dict[str, Any]) -> str:
    from grid import markdown

    lines = [
        [way, f"{median:.1f}", f"{min(report['milliseconds'][way]):.1f}", f"{report['beside_base'][way]:.2f}"]
        for way, median in report["median"].items()
    ]
    title = f"{report['machine']}, torch {report['torch']}; {report['text']}"
    return f"{title}\n\n{markdown(['', 'ms per update', 'best', 'beside encoder+CRF'], lines)}"

"""The default job on what ships, over several seeds: news to social posts, not adapted and adapted.

python benchmarks/bundled.py [--seeds 1,2,3] [--recipe self-training] [--encoder NAME] [--epochs N] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import torch

from acclimate import Tagger, adapt, load_bundled
from acclimate.model.encoders.shipped import OWN_ENCODER
from acclimate.model.tagger import DEFAULT_ENCODER


def run(recipe: str, encoder: str, seed: int, epochs: float | None) -> dict[str, Any]:
    news, posts = load_bundled("news"), load_bundled("social")
    torch.manual_seed(seed)
    words = {"text": news.train, "more_text": posts.text} if encoder == OWN_ENCODER else {}
    tagger = Tagger.build(encoder, labels=news.train.labels, seed=seed, **words)
    outcome = adapt(
        tagger,
        news.train,
        posts.text,
        recipe,
        source_dev=news.dev,
        source_test=news.test,
        target_test=posts.test,
        training={"epochs": epochs},
        seed=seed,
    )
    assert outcome.source is not None
    assert outcome.target is not None
    figures = {
        f"{domain} {when}": 100 * getattr(change, when).span.f1
        for domain, change in (("source", outcome.source), ("target", outcome.target))
        for when in ("before", "after")
    }
    typeless = {
        f"target {when}, type-less": 100 * getattr(outcome.target, when).typeless.f1 for when in ("before", "after")
    }
    return {"seed": seed, **figures, **typeless, "seconds": outcome.seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--recipe", default="self-training")
    parser.add_argument("--encoder", default=DEFAULT_ENCODER)
    parser.add_argument("--epochs", type=float, help="default: what fits the encoder")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    rows = [
        run(arguments.recipe, arguments.encoder, int(seed), arguments.epochs) for seed in arguments.seeds.split(",")
    ]
    print(f"{arguments.recipe} on {arguments.encoder}, news → social, test span F1, mean ± std of {len(rows)} seeds")
    for name in rows[0]:
        if name != "seed":
            values = [row[name] for row in rows]
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            print(f"{name:26s} {statistics.mean(values):7.2f} ± {spread:.2f}")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""What PMI masking costs: building the vocabulary of BC2GM's training text, and masking that text.

    python benchmarks/pmi.py --data DATA [--json FILE] [--sample 600] [--updates 8]

Seconds to build the vocabulary (2 to 4 words, seen 5 times or more), and to mask the whole training set once, 15 % of
each sentence, in the order of MSLM's Algorithm 2. The same by a literal Algorithm 2 on a sample, whose choices are
compared with ours one by one; it searches word by word, or first for the whole string, its fastest way in Python. And
the share of masking in an update of domain tuning with acclimate-mini on this CPU, 32 sentences per update.
"""

from __future__ import annotations

import argparse
import platform
import random
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from literal_masking import literal_algorithm_2
from shared import in_turns, parser, write_json

from acclimate.data.collocations import Collocations, build_collocations
from acclimate.data.corpus import Corpus
from acclimate.data.reading import read_corpus
from acclimate.methods import masked_words
from acclimate.methods.masking.masked_batch import Corruption
from acclimate.methods.masking.word_runs import draw_spans, draw_units, words_to_hide
from acclimate.model.encoders.pretrained import load_masked_language_model, load_tokenizer
from acclimate.model.language_model import MaskedLanguageModel
from acclimate.recipes.domain_tuning import DomainTuning, tuning_stage
from acclimate.training.loop import Training, build_engine

SHARE, BAR = 0.15, 0.05
MASKING = {"seconds": 0.0}  # spent on masking since it was reset
POLICIES = ("random", "span", "pmi")
RIVALS = {"word by word": False, "whole string first": True}


def main() -> None:
    options = arguments()
    text = read_corpus(Path(options.data) / "bc2gm" / "train.conll.gz")
    print(f"{text!r}")
    known, building = timed(lambda: build_collocations(text))
    print(f"vocabulary: {len(known):,} collocations in {building:.2f} s")
    report = {
        "machine": f"{platform.machine()}, torch {torch.__version__}, {torch.get_num_threads()} threads",
        "sentences": len(text),
        "words": text.word_count,
        "collocations": len(known),
        "building_seconds": building,
        **masking(text, known, options.sample),
        **updates(text, options.updates, options.rounds),
    }
    write_json(options.json, report)


def masking(text: Corpus, known: Collocations, sample: int) -> dict[str, Any]:
    """The whole set in several ways, and a sample in the literal way."""
    dice = np.random.default_rng(0)

    def hidden(part: Corpus, ranked: bool) -> list[list[int]]:
        budgets = [words_to_hide(SHARE, len(s)) for s in part]
        units = (draw_units(s.words, known, dice, ranked) for s in part)
        return [list(chain.from_iterable(own))[:budget] for own, budget in zip(units, budgets, strict=True)]

    known.find(text[0].words)  # the index is made at the first look
    _, ranked = timed(lambda: hidden(text, ranked=True))
    _, drawn = timed(lambda: hidden(text, ranked=False))
    _, spans = timed(lambda: [draw_spans(len(s), words_to_hide(SHARE, len(s)), dice) for s in text])
    some = text.select(sorted(random.Random(0).sample(range(len(text)), min(sample, len(text)))))
    ours, seconds = timed(lambda: hidden(some, ranked=True))
    print(f"masking the whole set: {ranked:.2f} s by rank, {drawn:.2f} s drawn, {spans:.2f} s spans")
    return {
        "masking_seconds": {"pmi, by rank": ranked, "pmi, drawn": drawn, "span": spans},
        "sample": len(some),
        "ours_on_sample_seconds": seconds,
        "literal": {name: rival(name, some, known, ours, seconds) for name in RIVALS},
    }


def rival(name: str, some: Corpus, known: Collocations, ours: list[list[int]], own: float) -> dict[str, float]:
    """The literal way on the same sentences: how long it takes, and that it hides the same."""
    vocabulary, look = list(known), RIVALS[name]
    literal, seconds = timed(
        lambda: [literal_algorithm_2(s.words, vocabulary, words_to_hide(SHARE, len(s)), look_first=look) for s in some]
    )
    assert all(mine[: len(theirs)] == theirs for mine, theirs in zip(ours, literal, strict=True))
    print(f"{len(some):,} sentences by the literal Algorithm 2, {name}: {seconds:.2f} s, ours {own:.4f} s")
    print(f"  {seconds / own:,.0f} times as long")
    return {"seconds": seconds, "ratio": seconds / own}


def updates(text: Corpus, count: int, rounds: int) -> dict[str, Any]:
    """The share of masking in updates of domain tuning."""

    def turn(training: Iterator[Any]) -> tuple[float, float]:
        MASKING["seconds"] = 0.0
        _, seconds = timed(lambda: [next(training) for _ in range(count)])
        return MASKING["seconds"] / seconds, 1_000 * seconds / count

    ways = {policy: partial(turn, stage_of(policy, text)) for policy in POLICIES}
    results: dict[str, Any] = {}
    for policy, figures in in_turns(ways, rounds).items():
        share, milliseconds = map(statistics.median, zip(*figures, strict=True))
        results[policy] = {"share": share, "milliseconds": milliseconds}
        verdict = "below" if share < BAR else "NOT BELOW"
        print(f"{policy}: {share:.2%} of an update of {milliseconds:,.0f} ms is masking, {verdict} {BAR:.0%}")
    return {"updates": results, "bar": BAR}


def stage_of(policy: str, text: Corpus) -> Iterator[Any]:
    torch.manual_seed(0)
    settings = DomainTuning(
        masking=policy, packed=False, rows_per_batch=32, held_out=0, updates=10**9, learning_rate=5e-5, device="cpu"
    )
    reader = MaskedLanguageModel(load_masked_language_model("acclimate-mini"), load_tokenizer("acclimate-mini"))
    stage = tuning_stage(reader.encoder, None, None, text.unlabelled(), settings, seed=1).stage
    objective: Any = stage.objectives["masked_words"]
    objective.policy.forward = counted(objective.policy.forward)
    return iter(Training(reader, stage, build_engine(settings, reader)))


def counted(act: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, whose seconds are added up."""

    def counting(*given: Any, **named: Any) -> Any:
        begun = time.perf_counter()
        try:
            return act(*given, **named)
        finally:
            MASKING["seconds"] += time.perf_counter() - begun

    return counting


masked_words.hide = counted(masked_words.hide)
masked_words.MaskedWords.batch = counted(masked_words.MaskedWords.batch)  # type: ignore[method-assign]
Corruption.forward = counted(Corruption.forward)  # type: ignore[method-assign]


def timed(act: Callable[[], Any]) -> tuple[Any, float]:
    begun = time.perf_counter()
    result = act()
    return result, time.perf_counter() - begun


def arguments() -> argparse.Namespace:
    sample = (600, "sentences for the literal algorithm")
    return parser(__doc__, "data json", sample=sample, updates=(8, "at a time"), rounds=3).parse_args()


if __name__ == "__main__":
    main()

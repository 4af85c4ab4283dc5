"""What an update of domain tuning costs under each policy, beside random masks, and that beside plain `transformers`.

    python benchmarks/masking.py [--encoder base|NAME|FOLDER] [--policies random,entropy,...] [--profile] [--json FILE]

`base` is a BERT of the base size (12 x 768, 28,996 pieces) with random weights. Rows are full. Every update is the
loop's own: masks, forward, backward, clipping, AdamW; bf16 on a GPU, float32 on a CPU. The policies take turns; the
median over the rounds counts. "transformers" is its model asked for the loss of all places, with masks drawn as its
collator draws them, under the same optimizer. `--profile` counts kernels and the time for which the GPU works.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from shared import hardware, in_turns, parser, timed, write_json

from acclimate.data.corpus import Corpus, Sentence
from acclimate.methods.masking.catalogue import policy_names
from acclimate.model.encoders.pretrained import load_masked_language_model, load_tokenizer
from acclimate.model.language_model import MaskedLanguageModel
from acclimate.recipes.domain_tuning import DomainTuning, tuning_stage
from acclimate.settings import complete, with_assignments
from acclimate.training.loop import Training, build_engine

BASE, PLAIN = "base", "transformers"
STARTS = ("cudaLaunchKernel", "cuLaunchKernel", "cudaGraphLaunch")  # what the CPU calls for it
USUAL = ["random", "pos", "entropy", "adversarial", "mix-adversarial", "density-ratio", "span", "pmi", "whole-words"]


def main() -> None:
    options = arguments()
    on_gpu = torch.cuda.is_available()
    if options.threads:
        torch.set_num_threads(options.threads)
    name = options.encoder or (BASE if on_gpu else "acclimate-mini")
    tokenizer = load_tokenizer("acclimate-mini" if name == BASE else name)
    text = full_rows(tokenizer, options.rows * 8, options.length)
    ways = {policy: updates_of(policy, build(name), tokenizer, text, options) for policy in options.policies}
    ways[PLAIN] = plain_updates(build(name), tokenizer, text, options)
    seconds = in_turns({way: partial(run, options.updates) for way, run in ways.items()}, options.rounds)
    report(name, {way: [1_000 * each / options.updates for each in own] for way, own in seconds.items()}, options)
    if options.profile and on_gpu:
        for way, run in ways.items():
            print(f"{way:18} {profiled(run)}", flush=True)


def profiled(run: Callable[[int], float], updates: int = 4) -> str:
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        run(updates)
    events = seen.key_averages()
    started = sum(event.count for event in events if event.key.startswith(STARTS)) / updates
    works = sum(event.self_device_time_total for event in events if event.device_type.name == "CUDA") / updates
    return f"{started:6.0f} kernels or recordings started; the GPU works {works / 1_000:.1f} ms"


def build(name: str) -> Any:
    torch.manual_seed(0)
    if name != BASE:
        return load_masked_language_model(name)
    from transformers import BertConfig, BertForMaskedLM

    return BertForMaskedLM(BertConfig(vocab_size=28_996))


def full_rows(tokenizer: Any, count: int, length: int) -> Corpus:
    """Sentences of words that are one piece each, as many as fill a row."""
    words = sorted(word for word in tokenizer.get_vocab() if word.isalpha() and word.isascii())
    dice = random.Random(0)
    return Corpus.of(Sentence(tuple(dice.choices(words, k=length - 2))) for _ in range(count))


def updates_of(
    policy: str, model: Any, tokenizer: Any, text: Corpus, options: argparse.Namespace
) -> Callable[[int], float]:
    batch = {"packed": False, "rows_per_batch": options.rows, "held_out": 0}
    values = {"masking": policy, **batch, "updates": 10**9, "learning_rate": 5e-5}
    settings = complete(DomainTuning, with_assignments(values, options.set))
    reader = MaskedLanguageModel(model, tokenizer)
    half = len(text) // 2
    stage = tuning_stage(reader.encoder, None, text[:half], text[half:], settings, seed=1).stage
    training: Iterator[Any] = iter(Training(reader, stage, build_engine(settings, reader)))
    return lambda updates: timed(lambda: [next(training) for _ in range(updates)])


def plain_updates(model: Any, tokenizer: Any, text: Corpus, options: argparse.Namespace) -> Callable[[int], float]:
    rows = torch.tensor(tokenizer([list(s.words) for s in text], is_split_into_words=True)["input_ids"])
    mask, special = tokenizer.mask_token_id, torch.tensor(tokenizer.all_special_ids)

    def inputs() -> dict[str, torch.Tensor]:
        pieces = rows[torch.randint(len(rows), (options.rows,))]
        hidden = (torch.rand(pieces.shape) < 0.15) & ~torch.isin(pieces, special)
        lot = torch.rand(pieces.shape)
        drawn = torch.randint(len(tokenizer), pieces.shape)
        shown = torch.where(hidden & (lot < 0.8), mask, torch.where(hidden & (lot < 0.9), drawn, pieces))
        labels = pieces.masked_fill(~hidden, -100)
        return {"input_ids": shown, "attention_mask": torch.ones_like(shown), "labels": labels}

    return plain_training(model, inputs, clip=1.0)


def plain_training(model: Any, inputs: Callable[[], dict[str, torch.Tensor]], clip: float) -> Callable[[int], float]:
    """A model of `transformers`, trained as its documentation does; returns the seconds of so many updates."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = model.to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, fused=True)

    def update() -> None:
        given = inputs()
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            loss = model(**{name: value.to(device) for name, value in given.items()}).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        optimizer.zero_grad()

    return lambda updates: timed(lambda: [update() for _ in range(updates)])


def report(name: str, times: dict[str, list[float]], options: argparse.Namespace) -> None:
    print(f"{name}, {options.rows} rows of {options.length} pieces, {hardware()}")
    print(f"{'':18} ms/update      best   beside random")
    medians = {way: statistics.median(own) for way, own in times.items()}
    ratios = {way: median / medians.get("random", float("nan")) for way, median in medians.items()}
    for way, own in times.items():
        print(f"{way:18} {medians[way]:9.2f} {min(own):9.2f} {ratios[way]:12.2f}")
    about = {"encoder": name, "machine": hardware(), "rows": options.rows, "length": options.length, "set": options.set}
    write_json(options.json, {**about, "milliseconds": times, "beside_random": ratios})


def arguments() -> argparse.Namespace:
    made = parser(
        __doc__,
        "set json",
        encoder=("", f"default: {BASE} on a GPU, acclimate-mini on a CPU"),
        policies=(USUAL, f"of {', '.join(policy_names())}"),
        rows=32,
        length=128,
        updates=(10, "at a time"),
        rounds=5,
        threads=(0, "of the CPU"),
        profile=(False, "on a GPU: kernels started, and time at work"),
    )
    return made.parse_args()


if __name__ == "__main__":
    main()

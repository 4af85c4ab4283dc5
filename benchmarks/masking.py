"""What an update of domain tuning costs under each policy, beside plain chance, and that beside plain `transformers`.

    python benchmarks/masking.py [--encoder base|NAME|FOLDER] [--policies random,entropy,...] [--rows 32] [--length 128]
                                 [--updates 10] [--rounds 5] [--set policy.adversary.beta=0.3] [--profile] [--json FILE]

`base` is a BERT of the base size (12 x 768, 28,996 pieces) with random weights: the default on a GPU; on a CPU it is
acclimate-mini. Rows are full. Every update is the loop's own: masks, forward, backward, clipping, AdamW; bf16 on a GPU,
float32 on a CPU. The policies take turns, some updates each, so that whatever else the machine does falls on all alike;
the median over the rounds counts. "transformers" is its model asked for the loss of all places, with masks drawn as its
collator draws them, under the same optimizer. `--profile` counts, on a GPU, the kernels that the CPU starts in
an update and the time for which the GPU works.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from shared import synchronize

from acclimate.data.corpus import Corpus, Sentence
from acclimate.methods.masking.catalogue import policy_names
from acclimate.model.encoders.pretrained import load_masked_language_model, load_tokenizer
from acclimate.model.language_model import MaskedLanguageModel
from acclimate.recipes.domain_tuning import DomainTuning, tuning_stage
from acclimate.settings import complete, with_assignments
from acclimate.training.engine import build_engine
from acclimate.training.loop import Training

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
    ways: dict[str, Callable[[int], float]] = {}
    for policy in options.policies.split(","):
        ways[policy] = updates_of(policy, build(name), tokenizer, text, options)
    ways[PLAIN] = plain_updates(build(name), tokenizer, text, options)
    times: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(1 + options.rounds):  # the first only warms up
        for way, run in ways.items():
            seconds = run(options.updates)
            if turn:
                times[way].append(1_000 * seconds / options.updates)
    show(name, times, options)
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
    values = {
        "masking": policy,
        "packed": False,
        "rows_per_batch": options.rows,
        "held_out": 0,
        "updates": 10**9,
        "learning_rate": 5e-5,
    }
    settings = complete(DomainTuning, with_assignments(values, options.set))
    reader = MaskedLanguageModel(model, tokenizer)
    half = len(text) // 2
    stage = tuning_stage(reader.encoder, None, text[:half], text[half:], settings, seed=1).stage
    training: Iterator[Any] = iter(Training(reader, stage, build_engine(settings, reader)))

    def run(updates: int) -> float:
        return timed(lambda: [next(training) for _ in range(updates)])

    return run


def plain_updates(model: Any, tokenizer: Any, text: Corpus, options: argparse.Namespace) -> Callable[[int], float]:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = model.to(device).train()
    rows = torch.tensor(tokenizer([list(s.words) for s in text], is_split_into_words=True)["input_ids"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, fused=True)
    mask, special = tokenizer.mask_token_id, torch.tensor(tokenizer.all_special_ids)

    def update() -> None:
        pieces = rows[torch.randint(len(rows), (options.rows,))]
        hidden = (torch.rand(pieces.shape) < 0.15) & ~torch.isin(pieces, special)
        lot = torch.rand(pieces.shape)
        drawn = torch.randint(len(tokenizer), pieces.shape)
        shown = torch.where(hidden & (lot < 0.8), mask, torch.where(hidden & (lot < 0.9), drawn, pieces))
        labels = pieces.masked_fill(~hidden, -100)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            loss = model(
                input_ids=shown.to(device), attention_mask=torch.ones_like(shown).to(device), labels=labels.to(device)
            ).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    def run(updates: int) -> float:
        return timed(lambda: [update() for _ in range(updates)])

    return run


def timed(act: Callable[[], object]) -> float:
    synchronize()
    before = time.perf_counter()
    act()
    synchronize()
    return time.perf_counter() - before


def show(name: str, times: dict[str, list[float]], options: argparse.Namespace) -> None:
    machine = torch.cuda.get_device_name() if torch.cuda.is_available() else f"CPU, {torch.get_num_threads()} threads"
    print(f"{name}, {options.rows} rows of {options.length} pieces, {machine}, torch {torch.__version__}")
    print(f"{'':18} ms/update      best   beside random")
    medians = {way: statistics.median(found) for way, found in times.items()}
    random_takes = medians.get("random", float("nan"))
    for way, found in times.items():
        print(f"{way:18} {medians[way]:9.2f} {min(found):9.2f} {medians[way] / random_takes:12.2f}")
    if options.json:
        report = {
            "encoder": name,
            "machine": machine,
            "rows": options.rows,
            "length": options.length,
            "set": options.set,
        }
        report |= {
            "torch": torch.__version__,
            "milliseconds": times,
            "beside_random": {way: median / random_takes for way, median in medians.items()},
        }
        Path(options.json).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", help=f"default: {BASE} on a GPU, acclimate-mini on a CPU")
    parser.add_argument("--policies", default=",".join(USUAL), help=f"of {', '.join(policy_names())}")
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--updates", type=int, default=10, help="at a time")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, help="of the CPU")
    parser.add_argument("--set", action="append", default=[], metavar="A.B=C", help="a setting of domain tuning")
    parser.add_argument("--profile", action="store_true", help="on a GPU: kernels started, and time at work")
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    main()

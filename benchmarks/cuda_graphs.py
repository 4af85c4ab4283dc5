"""What CUDA graphs save on a GPU: updates of a tagger and of domain tuning, with and without, and `transformers`.

    python benchmarks/cuda_graphs.py [--encoders acclimate-mini,base] [--words 1024] [--json FILE]

`tagging` trains a softmax tagger on made-up sentences of 5 to 60 words, `--words` words an update, so that shapes vary;
`crf` the same under a CRF. `transformers` is its token classifier on the same batches. `tuning` is masked-word training
on full rows, as in benchmarks/masking.py. All under AdamW with clipping, bf16 on a GPU. The ways take turns; the median
over the rounds counts. The first turn, in which graphs are captured, is timed apart. On a CPU nothing is captured.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from masking import BASE, build, full_rows, plain_training, plain_updates, updates_of
from shared import hardware, in_turns, parser, timed, write_json

from acclimate.data.batches import Batches
from acclimate.data.corpus import Corpus, Sentence
from acclimate.methods.objective import Tagging
from acclimate.model.encoders.pretrained import load_backbone, load_tokenizer
from acclimate.model.encoders.transformer import Transformer, TransformerSettings
from acclimate.model.tagger import Tagger
from acclimate.training.loop import Training, build_engine
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Stage

PLAIN = "transformers"
Run = Callable[[int], float]


def main() -> None:
    options = arguments()
    results: dict[str, Any] = {}
    for encoder in options.encoders:
        tokenizer = load_tokenizer("acclimate-mini" if encoder == BASE else encoder)
        for title, ways in jobs(encoder, tokenizer, options):
            results[f"{encoder}, {title}"] = measured(f"{encoder}, {title}", ways, options)
    write_json(options.json, {"machine": hardware(), "milliseconds": results})


def jobs(encoder: str, tokenizer: Any, options: argparse.Namespace) -> Iterator[tuple[str, dict[str, Run]]]:
    text, flags = sentences(tokenizer, 400), {f"cuda_graphs={flag}": flag for flag in (False, True)}
    softmax = {way: tagging(encoder, text, "softmax", flag, options) for way, flag in flags.items()}
    yield "tagging", {**softmax, PLAIN: plain_tagging(encoder, tokenizer, text, options)}
    yield "crf", {way: tagging(encoder, text, "crf", flag, options) for way, flag in flags.items()}
    rows = full_rows(tokenizer, options.rows * 8, options.length)
    tuned = {way: tuning(encoder, tokenizer, rows, flag, options) for way, flag in flags.items()}
    yield "tuning", {**tuned, PLAIN: plain_updates(build(encoder), tokenizer, rows, options)}


def sentences(tokenizer: Any, count: int) -> Corpus:
    words = sorted(word for word in tokenizer.get_vocab() if word.isalpha() and word.isascii())
    dice = random.Random(0)
    found = []
    for _ in range(count):
        length = dice.randint(5, 60)
        label = dice.choice(("PER", "LOC"))
        tags = ("O", f"B-{label}", f"I-{label}", *["O"] * (length - 3))
        found.append(Sentence(tuple(dice.choices(words, k=length)), tags))
    return Corpus.of(found)


def tagger_of(encoder: str, text: Corpus, head: str) -> Tagger:
    if encoder != BASE:
        return Tagger.build(encoder, labels=text.labels, head=head, seed=1)
    tagger = Tagger.build("acclimate-mini", labels=text.labels, head=head, seed=1)
    tokenizer = load_tokenizer("acclimate-mini")
    large = Transformer(TransformerSettings(), build(encoder).base_model, tokenizer)
    tagger.encoder = large
    tagger.scores = torch.nn.Linear(large.width, tagger.scores.out_features)  # type: ignore[union-attr, arg-type]
    return tagger


def tagging(encoder: str, text: Corpus, head: str, cuda_graphs: bool, options: argparse.Namespace) -> Run:
    tagger = tagger_of(encoder, text, head)
    values = {"words_per_batch": options.words, "updates": 10**9, "learning_rate": 5e-5, "cuda_graphs": cuda_graphs}
    settings = TrainingSettings.model_validate(values)
    stage = Stage("only", {"tag": Tagging()}, Batches({"source": text}, options.words, seed=1), settings)
    training = iter(Training(tagger, stage, build_engine(settings, tagger)))
    return lambda updates: timed(lambda: [next(training) for _ in range(updates)])


def plain_tagging(encoder: str, tokenizer: Any, text: Corpus, options: argparse.Namespace) -> Run:
    """The token classifier of `transformers`: a tag for each word's first piece."""
    from transformers import AutoModelForTokenClassification, BertConfig

    factory: Any = AutoModelForTokenClassification
    config = BertConfig(vocab_size=28_996) if encoder == BASE else load_backbone(encoder).config
    config.num_labels = 5
    batches = Batches({"source": text}, options.words, seed=1).starting_at(0)

    def inputs() -> dict[str, torch.Tensor]:
        part = [list(each.words) for each in next(batches)["source"]]
        read = tokenizer(part, is_split_into_words=True, padding=True, return_tensors="pt")
        labels = torch.full(read["input_ids"].shape, -100)
        for row in range(len(part)):
            for place, (before, word) in enumerate(itertools.pairwise([None, *read.word_ids(row)])):
                if word is not None and word != before:
                    labels[row, place] = 1 if word == 1 else 0
        return {"input_ids": read["input_ids"], "attention_mask": read["attention_mask"], "labels": labels}

    return plain_training(factory.from_config(config), inputs, clip=5.0)


def tuning(encoder: str, tokenizer: Any, rows: Corpus, cuda_graphs: bool, options: argparse.Namespace) -> Run:
    asked = argparse.Namespace(rows=options.rows, set=[f"cuda_graphs={str(cuda_graphs).lower()}"])
    return updates_of("random", build(encoder), tokenizer, rows, asked)


def measured(title: str, ways: dict[str, Run], options: argparse.Namespace) -> dict[str, Any]:
    first = {way: 1_000 * run(options.updates * 3) for way, run in ways.items()}
    seconds = in_turns({way: partial(run, options.updates) for way, run in ways.items()}, options.rounds, warm_up=0)
    times = {way: [1_000 * each / options.updates for each in own] for way, own in seconds.items()}
    medians = {way: statistics.median(own) for way, own in times.items()}
    usual = medians["cuda_graphs=False"]
    for way, median in medians.items():
        line = f"{title:28} {way:14} {median:8.2f} ms/update, best {min(times[way]):8.2f}, {usual / median:5.2f} times"
        print(f"{line}; first {options.updates * 3}: {first[way]:8.0f} ms", flush=True)
    return {"first": first, "rounds": times}


def arguments() -> argparse.Namespace:
    own = {"rows": 32, "length": 128, "updates": (20, "at a time"), "rounds": 7}
    words = (1024, "in an update of a tagger")
    return parser(__doc__, "json", encoders=["acclimate-mini", BASE], words=words, **own).parse_args()


if __name__ == "__main__":
    main()

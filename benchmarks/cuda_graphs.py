"""What an update costs: of a tagger and of domain tuning, with and without CUDA graphs, and beside `transformers`.

    python benchmarks/cuda_graphs.py [--encoders acclimate-mini,base] [--parts tagging,crf,tuning] [--json FILE]
        [--policies random,entropy,adversarial]

`tagging` trains a softmax tagger on made-up sentences of 5 to 60 words, `--words` words an update, so that shapes vary;
`crf` the same under a CRF; `tuning` is masked-word training on full rows under each policy. `transformers` is its token
classifier on the same batches, or its masked language model with the loss of all places and its collator's masks.
`base` is a BERT of the base size (12 x 768, 28,996 pieces) with random weights. All under AdamW with clipping, bf16 on
a GPU. The ways of a part take turns; the median over the rounds counts. The first turn, in which graphs are captured,
is timed apart. On a CPU nothing is captured.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import torch
from shared import hardware, in_turns, parse_known, parser, timed, write_json

from acclimate.data.batches import Batches
from acclimate.data.corpus import Corpus, Sentence
from acclimate.methods.masking.catalogue import policy_names
from acclimate.methods.objective import Tagging
from acclimate.model.encoders.pretrained import load_backbone, load_masked_language_model, load_tokenizer
from acclimate.model.language_model import MaskedLanguageModel
from acclimate.model.tagger import Tagger
from acclimate.recipes.domain_tuning import DomainTuning, tuning_stage
from acclimate.settings import complete
from acclimate.training.loop import Training, build_engine
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Stage

BASE, PLAIN = "base", "transformers"
MINI = "acclimate-mini"
FOR_EVER, RATE = 10**9, 5e-5
Run = Callable[[int], float]
"""Makes so many updates, and returns the seconds that they took."""


def main() -> None:
    options = arguments()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for encoder, part in product(options.encoders, options.parts):
            place = base_encoder(folder) if encoder == BASE else encoder
            title = f"{encoder}, {part}"
            results[title] = measured(title, PARTS[part](place, options), options)
    write_json(options.json, {"machine": hardware(), "milliseconds": results})


def base_encoder(folder: str) -> str:
    from transformers import BertConfig, BertForMaskedLM

    torch.manual_seed(0)
    BertForMaskedLM(BertConfig(vocab_size=28_996)).save_pretrained(folder)
    load_tokenizer(MINI).save_pretrained(folder)
    return folder


def with_and_without_graphs() -> dict[str, bool]:
    flags = (False, True) if torch.cuda.is_available() else (False,)
    return {f"cuda_graphs={flag}": flag for flag in flags}


def tagging(encoder: str, options: argparse.Namespace, head: str = "softmax") -> dict[str, Run]:
    tokenizer = load_tokenizer(encoder)
    text = sentences(tokenizer, 400)
    ways: dict[str, Run] = {}
    for way, flag in with_and_without_graphs().items():
        tagger = Tagger.build(encoder, labels=text.labels, head=head, seed=1)
        values = {"words_per_batch": options.words, "updates": FOR_EVER, "learning_rate": RATE, "cuda_graphs": flag}
        settings = TrainingSettings.model_validate(values)
        stage = Stage("only", {"tag": Tagging()}, Batches({"source": text}, options.words, seed=1), settings)
        ways[way] = running(iter(Training(tagger, stage, build_engine(settings, tagger))))
    if head == "softmax":
        ways[PLAIN] = plain_tagging(encoder, tokenizer, text, options)
    return ways


def tuning(encoder: str, options: argparse.Namespace) -> dict[str, Run]:
    tokenizer = load_tokenizer(encoder)
    text = full_rows(tokenizer, options.rows * 8, options.length)
    half = len(text) // 2
    ways: dict[str, Run] = {}
    for policy, (way, flag) in product(options.policies, with_and_without_graphs().items()):
        batch = {"packed": False, "rows_per_batch": options.rows, "held_out": 0, "updates": FOR_EVER}
        settings = complete(DomainTuning, {"masking": policy, **batch, "learning_rate": RATE, "cuda_graphs": flag})
        reader = MaskedLanguageModel(load_masked_language_model(encoder), tokenizer)
        stage = tuning_stage(reader.encoder, None, text[:half], text[half:], settings, seed=1).stage
        ways[f"{policy}, {way}"] = running(iter(Training(reader, stage, build_engine(settings, reader))))
    return {**ways, PLAIN: plain_tuning(encoder, tokenizer, text, options.rows)}


PARTS: dict[str, Callable[[str, argparse.Namespace], dict[str, Run]]] = {
    "tagging": tagging,
    "crf": partial(tagging, head="crf"),
    "tuning": tuning,
}


def running(training: Iterator[Any]) -> Run:
    return lambda updates: timed(lambda: [next(training) for _ in range(updates)])


def whole_words(tokenizer: Any) -> list[str]:
    """Words that are one piece each."""
    return sorted(word for word in tokenizer.get_vocab() if word.isalpha() and word.isascii())


def sentences(tokenizer: Any, count: int) -> Corpus:
    words, dice, made = whole_words(tokenizer), random.Random(0), []
    for _ in range(count):
        length = dice.randint(5, 60)
        label = dice.choice(("PER", "LOC"))
        tags = ("O", f"B-{label}", f"I-{label}", *["O"] * (length - 3))
        made.append(Sentence(tuple(dice.choices(words, k=length)), tags))
    return Corpus.of(made)


def full_rows(tokenizer: Any, count: int, length: int) -> Corpus:
    """Sentences of as many words as fill a row."""
    words, dice = whole_words(tokenizer), random.Random(0)
    return Corpus.of(Sentence(tuple(dice.choices(words, k=length - 2))) for _ in range(count))


def plain_tagging(encoder: str, tokenizer: Any, text: Corpus, options: argparse.Namespace) -> Run:
    """The token classifier of `transformers`, with a tag for each piece."""
    from transformers import AutoModelForTokenClassification

    factory: Any = AutoModelForTokenClassification
    config = load_backbone(encoder).config
    config.num_labels = 5
    batches = Batches({"source": text}, options.words, seed=1).starting_at(0)

    def inputs() -> dict[str, torch.Tensor]:
        part = [list(each.words) for each in next(batches)["source"]]
        read = tokenizer(part, is_split_into_words=True, padding=True, return_tensors="pt")
        mask = read["attention_mask"]
        return {"input_ids": read["input_ids"], "attention_mask": mask, "labels": torch.where(mask == 1, 0, -100)}

    return plain_training(factory.from_config(config), inputs, clip=5.0)


def plain_tuning(encoder: str, tokenizer: Any, text: Corpus, rows: int) -> Run:
    from transformers import DataCollatorForLanguageModeling

    pieces = torch.tensor(tokenizer([list(one.words) for one in text], is_split_into_words=True)["input_ids"])
    collator: Any = DataCollatorForLanguageModeling(tokenizer)

    def inputs() -> dict[str, torch.Tensor]:
        shown, labels = collator.torch_mask_tokens(pieces[torch.randint(len(pieces), (rows,))])
        return {"input_ids": shown, "attention_mask": torch.ones_like(shown), "labels": labels}

    return plain_training(load_masked_language_model(encoder), inputs, clip=1.0)


def plain_training(model: Any, inputs: Callable[[], dict[str, torch.Tensor]], clip: float) -> Run:
    """A model of `transformers`, trained as its documentation does."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = model.to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, fused=True)

    def update() -> None:
        given = inputs()
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            loss = model(**{name: value.to(device) for name, value in given.items()}).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        optimizer.zero_grad()

    return lambda updates: timed(lambda: [update() for _ in range(updates)])


def measured(title: str, ways: dict[str, Run], options: argparse.Namespace) -> dict[str, Any]:
    """Beside the milliseconds of each way, how many times as fast it is as the first one."""
    count = options.updates * 3
    first = {way: 1_000 * run(count) for way, run in ways.items()}
    seconds = in_turns({way: partial(run, options.updates) for way, run in ways.items()}, options.rounds, warm_up=0)
    times = {way: [1_000 * each / options.updates for each in own] for way, own in seconds.items()}
    usual = statistics.median(next(iter(times.values())))
    for way, own in times.items():
        median = statistics.median(own)
        line = f"{title:28} {way:32} {median:8.2f} ms/update, best {min(own):8.2f}, {usual / median:5.2f} times"
        print(f"{line}; first {count}: {first[way]:8.0f} ms", flush=True)
    return {"first": first, "rounds": times}


def arguments() -> argparse.Namespace:
    made = parser(
        __doc__,
        "json",
        encoders=[MINI, BASE],
        parts=list(PARTS),
        policies=(["random"], f"of `tuning`: {', '.join(policy_names())}"),
        words=(1024, "in an update of a tagger"),
        rows=32,
        length=128,
        updates=(20, "at a time"),
        rounds=7,
    )
    return parse_known(made, parts=PARTS, policies=policy_names())


if __name__ == "__main__":
    main()

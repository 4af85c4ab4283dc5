"""What the encoder that comes with the package costs, and how good the part-of-speech tagger on it is.

    python benchmarks/encoder.py --data FOLDER [--encoder NAME_OR_FOLDER] [--parts pos,speed] [--json FILE]

FOLDER holds conll2003 and ud_en_ewt.

pos    accuracy on UD English EWT test and words per second, beside spaCy's small English tagger; they take turns on two
       threads, and have met the words in the round before, as when a large text is tagged
speed  words per second of the encoder alone and of a tagger on it, CPU, two threads
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from rivals import ADVICE, PACKAGES, Worker, tagging_worker, time_taggers, work
from shared import alone, find, in_turns, machine, markdown, parse_known, parser, timed, write_json

PARTS = ("pos", "speed")
THREADS = 2  # for everything that is timed


def time_encoder(data: str, encoder: str, sentences: int, rounds: int) -> dict[str, Any]:
    """Each round begins with a fresh tagger: one that has met the words before need not cut them up again."""
    import torch

    from acclimate.data.reading import read_corpus
    from acclimate.inference.predict import predict
    from acclimate.model.learner import TextView
    from acclimate.model.tagger import Tagger

    torch.set_num_threads(THREADS)
    test = read_corpus(find(data, "conll2003", "test"))
    numbers = random.Random(0).sample(range(len(test)), min(sentences, len(test)))
    text = test.select(sorted(numbers)).unlabelled()

    def features(tagger: Tagger, size: int) -> None:
        ordered = sorted(text, key=len) if size > 1 else list(text)
        for first in range(0, len(ordered), size):
            inputs = tagger.encoder.tensorize(ordered[first : first + size])
            _ = TextView(tagger.encoder, inputs).features

    def build() -> Tagger:
        return Tagger.build(encoder, labels=test.labels, head="softmax", scheme="IOB2", seed=0).eval()

    def speed(act: Callable[[Tagger], object]) -> float:
        tagger = build()
        with torch.inference_mode():
            predict(tagger, text[:16])  # the first call sets things up
            return text.word_count / timed(lambda: act(tagger))

    ways: dict[str, Callable[[Tagger], object]] = {
        "features, batch 1": lambda tagger: features(tagger, 1),
        "features, batch 32, of like length": lambda tagger: features(tagger, 32),
        "predict, softmax head": lambda tagger: predict(tagger, text),
    }
    speeds = in_turns({way: partial(speed, act) for way, act in ways.items()}, rounds, warm_up=0)
    return {
        "part": "speed",
        "words": text.word_count,
        "parameters": sum(weight.numel() for weight in build().encoder.parameters()),
        "words_per_second": {way: statistics.median(own) for way, own in speeds.items()},
        "best": {way: max(own) for way, own in speeds.items()},
        "machine": machine(THREADS),
    }


def compare_parts_of_speech(options: argparse.Namespace) -> dict[str, Any]:
    """Each tagger tags the test words a few times, in turns."""
    from acclimate.data.reading import read_corpus

    gold = read_corpus(find(options.data, "ud_en_ewt", "test"), labels="plain")
    tags = [tag for sentence in gold for tag in sentence.tags or ()]
    job = {"tagger": options.pos_tagger, "text": [sentence.words for sentence in gold]}
    timed_taggers, remarks = time_taggers(__file__, SYSTEMS, options, THREADS, job, len(tags))
    taggers = {}
    for name, own in timed_taggers.items():
        right, speeds = sum(map(str.__eq__, own["found"], tags)), own["words_per_second"]
        about = {"description": own["description"], "accuracy": 100 * right / len(tags)}
        taggers[name] = {**about, "words_per_second": statistics.median(speeds), "best": max(speeds)}
    return {"part": "pos", "words": len(tags), "taggers": taggers, "remarks": remarks, "machine": machine(THREADS)}


def show_pos(result: dict[str, Any]) -> str:
    rows = []
    for name, row in result["taggers"].items():
        speeds = [f"{row['words_per_second']:,.0f}", f"{row['best']:,.0f}"]
        rows.append([f"{name}, {row['description']}", f"{row['accuracy']:.2f}", *speeds])
    title = f"UD English EWT test, {result['words']:,} words; {result['machine']}"
    return "\n".join([title, markdown(["", "accuracy", "words/s", "best"], rows), *result["remarks"]])


def show_speed(result: dict[str, Any]) -> str:
    size = f"{result['parameters'] / 1e6:.1f} million parameters"
    title = f"speed: {result['words']:,} words of CoNLL-2003 test, {size}; {result['machine']}"
    speeds = result["words_per_second"].items()
    rows = [[way, f"{speed:,.0f}", f"{result['best'][way]:,.0f}"] for way, speed in speeds]
    return f"{title}\n{markdown(['', 'words/s', 'best'], rows)}"


def main() -> None:
    options = arguments()
    if options.worker:
        work(SYSTEMS[options.worker])
        return
    os.environ.setdefault("GOMP_SPINCOUNT", "300")  # as the command line has it; read when torch is imported
    results = []
    if "pos" in options.parts:
        results.append(compare_parts_of_speech(options))
        print(f"{show_pos(results[-1])}\n")
    if "speed" in options.parts:
        results.append(alone(time_encoder, options.data, options.encoder, options.sentences, options.rounds))
        print(f"{show_speed(results[-1])}\n")
    write_json(options.json, {"encoder": options.encoder, "results": results})


def arguments() -> argparse.Namespace:
    made = parser(
        __doc__,
        "encoder spacy-python json worker",
        data=".",
        parts=list(PARTS),
        sentences=(500, "how many of the test sentences `speed` reads"),
        rounds=(5, "of `speed` and `pos`; the median counts"),
        pos_tagger=("acclimate", "name or folder of the part-of-speech tagger"),
    )
    return parse_known(made, parts=PARTS)


def acclimate_tagger(job: dict[str, Any]) -> Worker:
    import torch

    from acclimate.data.corpus import Corpus, Sentence
    from acclimate.inference.part_of_speech import part_of_speech_tagger

    corpus = Corpus.of(Sentence(tuple(words)) for words in job["text"])
    tagger = part_of_speech_tagger(job["tagger"])
    return tagging_worker(
        f"torch {torch.__version__}, {job['tagger']}",
        fresh=lambda: corpus,
        tag=lambda text, _: tagger.tag(text),
        answer=lambda tagged: [one for sentence in tagged for one in sentence.tags or ()],
    )


def spacy_tagger(job: dict[str, Any]) -> Worker:
    """Only what the universal tags need."""
    import spacy

    package = next((name for name in PACKAGES if spacy.util.is_package(name)), None)
    if package is None:
        sys.exit(f"spaCy has none of {', '.join(PACKAGES)}; {ADVICE['spacy-package']}")
    nlp = spacy.load(package, enable=["tok2vec", "tagger", "attribute_ruler"])
    return tagging_worker(
        f"{spacy.__version__}: {package} {nlp.meta['version']}",
        fresh=lambda: [spacy.tokens.Doc(nlp.vocab, words=words) for words in job["text"]],
        tag=lambda docs, setting: list(nlp.pipe(docs, **setting)),
        settings=[*({"batch_size": size} for size in (128, 256, 1000)), {"batch_size": 256, "n_process": THREADS}],
        answer=lambda docs: [token.pos_ for doc in docs for token in doc],
    )


SYSTEMS = {"acclimate": acclimate_tagger, "spacy": spacy_tagger}

if __name__ == "__main__":
    main()

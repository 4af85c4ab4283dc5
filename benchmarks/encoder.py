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
from collections.abc import Callable
from functools import partial
from typing import Any

from rivals import THREADS, Worker, load_spacy, spacy_worker, tagging_worker, time_taggers, work
from shared import find, in_turns, machine, markdown, parse_known, parser, timed, write_json

PARTS = ("pos", "speed")


def time_encoder(options: argparse.Namespace) -> dict[str, Any]:
    """Each round begins with a fresh tagger: one that has met the words before need not cut them up again."""
    import torch

    from acclimate.data.reading import read_corpus
    from acclimate.inference.predict import predict
    from acclimate.model.learner import TextView
    from acclimate.model.tagger import Tagger

    torch.set_num_threads(THREADS)
    test = read_corpus(find(options.data, "conll2003", "test"))
    numbers = random.Random(0).sample(range(len(test)), min(options.sentences, len(test)))
    text = test.select(sorted(numbers)).unlabelled()

    def features(tagger: Tagger, size: int) -> None:
        ordered = sorted(text, key=len) if size > 1 else list(text)
        for first in range(0, len(ordered), size):
            inputs = tagger.encoder.tensorize(ordered[first : first + size])
            _ = TextView(tagger.encoder, inputs).features

    def build() -> Tagger:
        return Tagger.build(options.encoder, labels=test.labels, head="softmax", scheme="IOB2", seed=0).eval()

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
    speeds = in_turns({way: partial(speed, act) for way, act in ways.items()}, options.rounds, warm_up=0)
    size = sum(weight.numel() for weight in build().encoder.parameters()) / 1e6
    title = f"speed: {text.word_count:,} words of CoNLL-2003 test, {size:.1f} million parameters; {machine(THREADS)}"
    return {"title": title, "rows": {way: figures(own) for way, own in speeds.items()}, "remarks": []}


def figures(speeds: list[float]) -> dict[str, float]:
    return {"words/s": statistics.median(speeds), "best": max(speeds)}


def compare_parts_of_speech(options: argparse.Namespace) -> dict[str, Any]:
    """Each tagger tags the test words a few times, in turns."""
    from acclimate.data.reading import read_corpus

    gold = read_corpus(find(options.data, "ud_en_ewt", "test"), labels="plain")
    tags = [tag for sentence in gold for tag in sentence.tags or ()]
    job = {"tagger": options.pos_tagger, "text": [sentence.words for sentence in gold]}
    taggers, remarks = time_taggers(__file__, SYSTEMS, options, job, len(tags))
    rows = {}
    for name, own in taggers.items():
        accuracy = 100 * sum(map(str.__eq__, own["found"], tags)) / len(tags)
        rows[f"{name}, {own['description']}"] = {**figures(own["words_per_second"]), "accuracy": accuracy}
    title = f"UD English EWT test, {len(tags):,} words; {machine(THREADS)}"
    return {"title": title, "rows": rows, "remarks": remarks}


def show(result: dict[str, Any]) -> None:
    rows = [
        [name, *(f"{value:.2f}" if column == "accuracy" else f"{value:,.0f}" for column, value in own.items())]
        for name, own in result["rows"].items()
    ]
    columns = next(iter(result["rows"].values()))
    print("\n".join([result["title"], markdown(["", *columns], rows), *result["remarks"]]), "\n")


def main() -> None:
    options = arguments()
    if options.worker:
        work(SYSTEMS[options.worker])
        return
    os.environ.setdefault("GOMP_SPINCOUNT", "300")  # as the command line has it; read when torch is imported
    results = {}
    if "pos" in options.parts:
        results["pos"] = compare_parts_of_speech(options)
    if "speed" in options.parts:
        results["speed"] = time_encoder(options)
    for result in results.values():
        show(result)
    write_json(options.json, {"encoder": options.encoder, **results})


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
    nlp, description = load_spacy(["tok2vec", "tagger", "attribute_ruler"])
    return spacy_worker(nlp, description, job["text"], lambda docs: [token.pos_ for doc in docs for token in doc])


SYSTEMS = {"acclimate": acclimate_tagger, "spacy": spacy_tagger}

if __name__ == "__main__":
    main()

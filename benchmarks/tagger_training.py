"""How fast the LSTM tagger learns, by plain, adversarial (AT, MAT) and dual adversarial (DATNet-F) training.

    python benchmarks/tagger_training.py --data FOLDER [--device cuda] [--flair-python PATH] [--spacy-python PATH]

All read the first training sentences of conll2003 in FOLDER, 32 an update. Flair's LSTM-CRF has 100-d random word
vectors, trained, its character features, and hidden size 200; ours 100-d random word vectors, character CNN, LSTM 200,
CRF. DATNet-F reads 32 of each of two domains (of this text, three quarters and one quarter), and both count. The speed
of tagging stands beside spaCy's, as `predict.py` measures it, always on the CPU. All take turns; what Flair reads is
made before the clock starts. Shown: the median of the rounds.

The bars: at least 3 times Flair's sentences per second; an update of AT and of MAT at most 2.2 times a plain one;
at least spaCy's words per second in tagging.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import predict
from shared import Rival, find, in_turns, parser, processor, speaker, synchronize, write_json

OURS: dict[str, tuple[str, dict[str, Any]]] = {
    "base": ("source-only", {}),
    "AT": ("mat", {"rate": 0}),
    "MAT": ("mat", {}),
    "DATNet-F": ("datnet", {}),
}
SENTENCES_PER_UPDATE = 32
BARS = (  # what, of which figures, one and the other system, the least and the most of their ratio
    ("base, in Flair's speeds", "per_second", "base", "Flair", 3.0, math.inf),
    ("an update of AT, in plain updates", "seconds_per_update", "AT", "base", 0, 2.2),
    ("an update of MAT, in plain updates", "seconds_per_update", "MAT", "base", 0, 2.2),
    ("tagging, in spaCy's speeds", "per_second", "acclimate, tagging", "spacy, tagging", 1.0, math.inf),
)


TAGGED_WORDS = 20_000
Update = Callable[[], int]  # makes one update; how many sentences it read


def main() -> None:
    options = arguments()
    if options.worker:
        work(options.worker, options.job)
        return
    with tempfile.TemporaryDirectory() as folder:
        job = write_job(Path(folder) / "job.json", options)
        learners, taggers = start(options, job, folder)
        ways = {which: partial(rival.ask, which) for rival, which in learners}
        ways |= {f"{rival.name}, tagging": rival.ask for rival in taggers}
        answers = in_turns(ways, options.rounds)
        rivals = dict.fromkeys([rival for rival, _ in learners] + taggers)
        for rival in rivals:
            rival.stop()
    spent = {way: [answer["seconds"] for answer in own] for way, own in answers.items()}
    seconds = {which: [each / options.updates for each in spent[which]] for _, which in learners}  # of an update
    speeds = {  # sentences per second, and words per second in tagging
        way: [answer.get("sentences", TAGGED_WORDS) / answer["seconds"] for answer in own]
        for way, own in answers.items()
    }
    report = {
        "machine": processor(),
        "device": options.device,
        "threads": options.threads,
        "sentences": options.sentences,
        "systems": [f"{rival.name}{', tagging' if rival in taggers else ''}: {rival.description}" for rival in rivals],
        "seconds_per_update": seconds,
        "per_second": speeds,
    }
    report["bars"] = bars(report)
    print(table(report))
    write_json(options.json, report)


def arguments() -> argparse.Namespace:
    made = parser(
        __doc__,
        "data flair-python spacy-python json worker job",
        device=("cpu", "of training"),
        sentences=2000,
        updates=(10, "in each round"),
        rounds=7,
        threads=1,
    )
    options = made.parse_args()
    if not options.worker and not options.data:
        made.error("--data is needed.")
    return options


def write_job(path: Path, options: argparse.Namespace) -> Path:
    """What every interpreter reads."""
    from acclimate.data.reading import read_corpus

    corpus = read_corpus(find(options.data, "conll2003", "train"))[: options.sentences]
    rows = [sentence.words for sentence in corpus]
    rows *= -(-TAGGED_WORDS // corpus.word_count)
    text: list[tuple[str, ...]] = []
    while sum(map(len, text)) < TAGGED_WORDS:
        text.append(rows[len(text)])
    text[-1] = text[-1][: TAGGED_WORDS - sum(map(len, text[:-1]))]  # all tag as many words as the table says
    how = {"threads": options.threads, "device": options.device, "updates": options.updates}
    vocabulary = [sentence.words for sentence in corpus]
    job = {"training": predict.as_json(corpus), "vocabulary": vocabulary, "text": text, **how}
    path.write_text(json.dumps(job), encoding="utf-8")
    return path


def start(options: argparse.Namespace, job: Path, folder: str) -> tuple[list[tuple[Rival, str]], list[Rival]]:
    """Who learns, and what they are asked for; and who tags."""
    ours = Rival("acclimate", sys.executable, __file__, folder, options.threads)
    learners = [(ours, name) for name in OURS]
    if options.flair_python:
        learners.append((Rival("flair", options.flair_python, __file__, folder, options.threads), "Flair"))
    taggers = []
    if options.spacy_python:
        values = json.loads(job.read_text(encoding="utf-8"))
        values["training"] = values["training"][: predict.TRAINING_SENTENCES]  # speed does not depend on it
        (Path(folder) / "few.json").write_text(json.dumps(values), encoding="utf-8")
        given = (predict.__file__, folder, options.threads, "few.json")
        for name, python in (("acclimate", sys.executable), ("spacy", options.spacy_python)):
            taggers.append(Rival(name, python, *given))
        try:
            taggers.append(Rival("spacy-package", options.spacy_python, *given))
        except RuntimeError as failure:
            print(f"spaCy's own English package is left out: {failure}", file=sys.stderr)
    return learners, taggers


def bars(report: dict[str, Any]) -> dict[str, Any]:
    """What was asked for, what came out, and whether it is enough."""
    results = {}
    for what, figures, one, other, least, most in BARS:
        values = report[figures]
        if one in values and other in values:
            ratio = statistics.median(values[one]) / statistics.median(values[other])
            asked = f"at least {least}" if least else f"at most {most}"
            results[what] = [asked, ratio, least <= ratio <= most]
    return results


def table(report: dict[str, Any]) -> str:
    seconds, speeds = report["seconds_per_update"], report["per_second"]
    base = statistics.median(seconds["base"])
    head = f"{report['machine']}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {report['threads']} thread(s)"
    lines = [f"{head}; training on {report['device']}", f"{'':22}{'sentences/s':>12}{'ms/update':>11}{'x base':>8}"]
    for name, found in seconds.items():
        each = statistics.median(found)
        speed = statistics.median(speeds[name])
        lines.append(f"{name:22}{speed:12,.1f}{1000 * each:11.1f}{each / base:8.2f}")
    for name in (name for name in speeds if name not in seconds):
        lines.append(f"{name:22}{statistics.median(speeds[name]):12,.0f} words/s")
    for name, (asked, ratio, is_enough) in report["bars"].items():
        lines.append(f"{'met   ' if is_enough else 'MISSED'}  {name}: {ratio:.2f} ({asked})")
    return "\n".join([*lines, *report["systems"]])


def work(name: str, path: Path) -> None:
    """Answer each line of the input, the name of a way to train, with the seconds that a round of updates took."""
    say = speaker()
    job = json.loads(path.read_text(encoding="utf-8"))
    description, learners = WORKERS[name](job)
    say(description=description)
    for line in sys.stdin:
        update = learners[line.strip()]
        synchronize()
        before = time.perf_counter()
        sentences = sum(update() for _ in range(job["updates"]))
        synchronize()
        say(seconds=time.perf_counter() - before, sentences=sentences)


def acclimate_worker(job: dict[str, Any]) -> tuple[str, dict[str, Update]]:
    import torch

    import acclimate
    from acclimate.data.corpus import Corpus, Sentence
    from acclimate.model.tagger import Tagger
    from acclimate.recipes.catalogue import find_recipe
    from acclimate.recipes.recipe import Plan
    from acclimate.training.loop import build_engine
    from acclimate.training.settings import TrainingSettings

    torch.set_num_threads(job["threads"])
    corpus = Corpus.of(Sentence(tuple(one["words"]), tuple(one["tags"])) for one in job["training"])
    batch = {"sentences_per_batch": SENTENCES_PER_UPDATE, "words_per_batch": 10**6}
    values = {"updates": 10**9, "decay": "none", "learning_rate": 0.001, "optimizer": "adam", "device": job["device"]}
    settings = TrainingSettings.model_validate(batch | values)
    border = len(corpus) * 3 // 4
    learners: dict[str, Update] = {}
    engine = None
    for name, (recipe, options) in OURS.items():
        few = corpus[border:] if name == "DATNet-F" else Corpus(())
        text = few or corpus
        tagger = Tagger.build(
            "character-cnn-lstm", labels=corpus.labels, text=text, seed=1, word_width=100, lstm_width=200
        )
        engine = engine or build_engine(settings, tagger)
        tagger.to(engine.device)
        chosen = find_recipe(recipe)
        plan = Plan(corpus[:border] if few else corpus, few, settings, chosen.options(**options), 1)
        stage = next(chosen.stages(tagger, plan))
        learners[name] = updating(tagger, stage, engine)
    description = f"{acclimate.__version__}, torch {torch.__version__}: character CNN, BiLSTM 200, CRF"
    return description, learners


class Counted:
    """A stream of batches that knows how many sentences it gave."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.sentences, self.epoch_length = stream, 0, stream.epoch_length

    def starting_at(self, number: int, step: int = 1) -> Iterator[Any]:
        for batch in self.stream.starting_at(number, step):
            self.sentences += sum(map(len, batch.values()))
            yield batch

    def size(self, batch: Any) -> int:
        return int(self.stream.size(batch))


def updating(tagger: Any, stage: Any, engine: Any) -> Update:
    from acclimate.training.loop import Training

    counted = Counted(stage.batches)
    training = iter(Training(stage.learner or tagger, replace(stage, batches=counted), engine))

    def update() -> int:
        before = counted.sentences
        next(training)
        return counted.sentences - before

    return update


def flair_worker(job: dict[str, Any]) -> tuple[str, dict[str, Update]]:
    import flair
    import torch

    tagger = predict.flair_tagger(job, hidden=200, device=job["device"], trained_words=True)
    tagger.to(flair.device).train()
    sentences = [predict.flair_sentence(one) for one in job["training"]]
    sentences.sort(key=len)  # as ours: sentences of like length together, the batches in random order
    size = SENTENCES_PER_UPDATE
    batches = [sentences[first : first + size] for first in range(0, len(sentences) - size + 1, size)]
    order = torch.randperm(len(batches), generator=torch.Generator().manual_seed(0)).tolist()
    optimizer = torch.optim.Adam(tagger.parameters(), lr=0.001)
    turns = iter(order * 1000)

    def update() -> int:
        batch = batches[next(turns)]
        loss, count = tagger.forward_loss(batch)
        (loss / count).backward()
        torch.nn.utils.clip_grad_norm_(tagger.parameters(), 5.0)
        optimizer.step()
        optimizer.zero_grad()
        for sentence in batch:
            sentence.clear_embeddings()
        return len(batch)

    described = "random words + character BiLSTM, BiLSTM 200, CRF"
    return f"{flair.__version__}, torch {torch.__version__}: {described}", {"Flair": update}


WORKERS: dict[str, Callable[[dict[str, Any]], tuple[str, dict[str, Update]]]] = {
    "acclimate": acclimate_worker,
    "flair": flair_worker,
}

if __name__ == "__main__":
    main()

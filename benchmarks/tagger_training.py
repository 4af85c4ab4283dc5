"""How fast the LSTM tagger learns, by plain, adversarial (AT, MAT) and dual adversarial (DATNet-F) training.

    python benchmarks/tagger_training.py --data FOLDER [--device cuda] [--flair-python PATH] [--json FILE]

All read the first training sentences of conll2003 in FOLDER, 32 an update. Flair's LSTM-CRF has 100-d random word
vectors, trained, its character features, and hidden size 200; ours 100-d random word vectors, character CNN, LSTM 200,
CRF. DATNet-F reads 32 of each of two domains (of this text, three quarters and one quarter), and both count. All take
turns; what Flair reads is made before the clock starts. Shown: the median of the rounds.

The bars: at least 3 times Flair's sentences per second; an update of AT and of MAT at most 2.2 times a plain one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle, islice, repeat
from statistics import median
from typing import Any

import predict
from rivals import Worker, start_rivals, work
from shared import find, in_turns, machine, markdown, parser, timed, write_json

OURS: dict[str, tuple[str, dict[str, Any]]] = {
    "base": ("source-only", {}),
    "AT": ("mat", {"rate": 0}),
    "MAT": ("mat", {}),
    "DATNet-F": ("datnet", {}),
}
ASKED = {"acclimate": tuple(OURS), "flair": ("Flair",)}  # the ways to learn of each system
SENTENCES_PER_UPDATE = 32
FLAIRS, PLAIN = 3.0, 2.2  # the bars
Learner = tuple[Callable[[], object], Iterator[int]]
"""What makes one update, and how many sentences each update reads."""


def main() -> None:
    options = arguments()
    if options.worker:
        work(WORKERS[options.worker])
        return
    rivals, remarks = start_rivals(__file__, ASKED, options, options.threads, job_of(options))
    ways = {way: partial(rival.ask, way) for rival in rivals for way in ASKED[rival.name]}
    answers = in_turns(ways, options.rounds)
    for rival in rivals:
        rival.stop()
    seconds = {way: [answer["seconds"] / options.updates for answer in own] for way, own in answers.items()}
    speeds = {way: [answer["sentences"] / answer["seconds"] for answer in own] for way, own in answers.items()}
    about = {name: getattr(options, name) for name in ("device", "threads", "sentences")}
    systems = [*(f"{rival.name}: {rival.description}" for rival in rivals), *remarks]
    report = {"machine": machine(options.threads), **about, "systems": systems}
    report |= {"seconds_per_update": seconds, "per_second": speeds, "bars": bars(seconds, speeds)}
    print(table(report))
    write_json(options.json, report)


def arguments() -> argparse.Namespace:
    own = {"device": ("cpu", "of training"), "sentences": 2000, "updates": (10, "in each round")}
    return parser(__doc__, "flair-python json worker", data=".", **own, rounds=7, threads=1).parse_args()


def job_of(options: argparse.Namespace) -> dict[str, Any]:
    """What every interpreter reads."""
    from acclimate.data.reading import read_corpus

    corpus = read_corpus(find(options.data, "conll2003", "train"))[: options.sentences]
    vocabulary, how = [one.words for one in corpus], {"device": options.device, "updates": options.updates}
    return {"training": predict.as_json(corpus), "vocabulary": vocabulary, **how}


def bars(seconds: dict[str, list[float]], per_second: dict[str, list[float]]) -> dict[str, Any]:
    """What was asked for, what came out, and whether it is enough."""
    results: dict[str, Any] = {}
    if "Flair" in per_second:
        ratio = median(per_second["base"]) / median(per_second["Flair"])
        results["base, in Flair's speeds"] = [f"at least {FLAIRS}", ratio, ratio >= FLAIRS]
    for way in ("AT", "MAT"):
        ratio = median(seconds[way]) / median(seconds["base"])
        results[f"an update of {way}, in plain updates"] = [f"at most {PLAIN}", ratio, ratio <= PLAIN]
    return results


def table(report: dict[str, Any]) -> str:
    speeds, base = report["per_second"], median(report["seconds_per_update"]["base"])
    lines = []
    for way, seconds in report["seconds_per_update"].items():
        each = median(seconds)
        lines.append([way, f"{median(speeds[way]):,.1f}", f"{1000 * each:.1f}", f"{each / base:.2f}"])
    verdicts = [
        f"{'met   ' if is_enough else 'MISSED'}  {what}: {ratio:.2f} ({asked})"
        for what, (asked, ratio, is_enough) in report["bars"].items()
    ]
    head = f"{report['machine']}; training on {report['device']}"
    columns = ["", "sentences/s", "ms/update", "x base"]
    return "\n".join([head, markdown(columns, lines), *verdicts, *report["systems"]])


def worker(description: str, learners: dict[str, Learner], updates: int) -> Worker:
    """Makes so many updates in the way that it is asked for."""

    def act(way: str) -> dict[str, Any]:
        update, counts = learners[way]
        seconds = timed(lambda: [update() for _ in range(updates)])
        return {"seconds": seconds, "sentences": sum(islice(counts, updates))}

    return description, act


def acclimate_worker(job: dict[str, Any]) -> Worker:
    import torch

    import acclimate
    from acclimate.data.corpus import Corpus, Sentence
    from acclimate.model.tagger import Tagger
    from acclimate.recipes.catalogue import find_recipe
    from acclimate.recipes.recipe import Plan
    from acclimate.training.loop import Training, build_engine
    from acclimate.training.settings import TrainingSettings

    corpus = Corpus.of(Sentence(tuple(one["words"]), tuple(one["tags"])) for one in job["training"])
    batch = {"sentences_per_batch": SENTENCES_PER_UPDATE, "words_per_batch": 10**6}
    values = {"updates": 10**9, "decay": "none", "learning_rate": 0.001, "optimizer": "adam", "device": job["device"]}
    settings = TrainingSettings.model_validate(batch | values)
    border = len(corpus) * 3 // 4
    learners: dict[str, Learner] = {}
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
        training = iter(Training(stage.learner or tagger, stage, engine))
        # the same batches again, for their numbers of sentences
        counts = (sum(map(len, batch.values())) for batch in stage.batches.starting_at(0))
        learners[name] = partial(next, training), counts
    description = f"{acclimate.__version__}, torch {torch.__version__}: character CNN, BiLSTM 200, CRF"
    return worker(description, learners, job["updates"])


def flair_worker(job: dict[str, Any]) -> Worker:
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
    turns = cycle(order)

    def update() -> None:
        batch = batches[next(turns)]
        loss, count = tagger.forward_loss(batch)
        (loss / count).backward()
        torch.nn.utils.clip_grad_norm_(tagger.parameters(), 5.0)
        optimizer.step()
        optimizer.zero_grad()
        for sentence in batch:
            sentence.clear_embeddings()

    described = f"{flair.__version__}, torch {torch.__version__}: random words + character BiLSTM, BiLSTM 200, CRF"
    return worker(described, {"Flair": (update, repeat(size))}, job["updates"])


WORKERS = {"acclimate": acclimate_worker, "flair": flair_worker}

if __name__ == "__main__":
    main()

"""Does masked adversarial training help a tagger at home? MAT's tables and figure (Chen, Liu, Ruan, Lu 2020).

    python benchmarks/mat.py --data FOLDER --out DIR [--part table1,table2,confidence] [--tasks ner,chunk]
        [--seeds 1,2,3] [--jobs 8] [--vectors glove] [--updates 4000] [--paper] [--set A=B] [--minutes M]
        [--table FILE.md]

table1      Baseline, Masking (R), Masking (S), AT, MAT (R), MAT (S) on CoNLL-2003 names and CoNLL-2000 chunks: test
            span F1, and with it Table 3: token F1 of words that training has not, as written; tags other than O count,
            prefix kept
table2      besides, frozen contextual features (`--contextual`, acclimate-mini in ELMo's place; its layers mixed in
            equal shares, or by learned weights), the dev sentences learnt from, too, and the other task learnt beside
confidence  Figure 2: the probability of the right tags of chosen sentences along training, for Baseline, AT and
            MAT (S); DIR/confidence.png shows it. The sentences: the paper's own, of CoNLL-2003 test, and dev sentences
            with a word that training knows only under another label. They teach nothing and choose nothing

FOLDER holds conll2003 and conll2000_chunk. The latter has no dev part: 1,000 training sentences are held out for it,
always the same, and equal sentences stay on one side.

All methods make the same number of updates; the state is chosen on dev, and test is scored once. Where dev is learnt
from, the last state is kept. Where another task is learnt beside, the updates are shared out between the two. Words of
dev and test text that the vectors know are in the table (words only, no tags). MAT, AT and Masking normalise their
tables; `Baseline, normalised` shows what that alone does. Dropout is the paper's 0.2. `--paper` is its optimizer, too:
Adam, 0.0006 · 0.992^epoch, 64 sentences; the defaults learn in fewer updates. The LSTM's size is not in the paper.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

from grid import Row, common_arguments, file_name, find, markdown, run_grid, speed_table, told

PARTS = ("table1", "table2", "confidence")
TASKS = {"ner": "conll2003", "chunk": "conll2000_chunk"}
OTHER = {"ner": "chunk", "chunk": "ner"}
NO_NOISE = {"words": 0, "characters": 0, "pieces": 0}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "Baseline": ("source-only", {}),
    "Baseline, normalised": ("source-only", {}),
    "Masking (R)": ("mat", {"substitute": "random", "radius": NO_NOISE}),
    "Masking (S)": ("mat", {"substitute": "similar", "radius": NO_NOISE}),
    "AT": ("mat", {"rate": 0}),
    "MAT (R)": ("mat", {"substitute": "random"}),
    "MAT (S)": ("mat", {"substitute": "similar"}),
}
TAGGER = {"character_width": 30, "character_filters": 100, "lstm_width": 256, "dropout": 0.2}
PAPERS_TRAINING = {
    "learning_rate": 0.0006,
    "decay": "exponential",
    "decay_rate": 0.992,
    "warm_up": 0,
    "sentences_per_batch": 64,
}
PAPERS_SENTENCE = ("Radio", "Romania", "news", "headlines", ":")
WATCHED, KNOWN = 5, 5  # dev sentences; and how often training must have the word that misleads
LOOKS = {False: 20, True: 40}  # along training; more where confidence is drawn


def published(model: str) -> tuple[str, ...]:
    """What the paper prints: test span F1 of names and chunks, then token F1 on unseen words."""
    from published import number

    from acclimate.reproduction.catalogue import find_table

    name = model.replace("fixed context", "ELMo-fixed").replace("context", "ELMo")
    tables = ("S1.15" if name in find_table("S1.15").published else "S1.14", "S1.16")
    return tuple(str(number(table, name, column)) for table in tables for column in ("NER", "chunking"))


@dataclass(frozen=True)
class Job:
    """One training and one test."""

    task: str
    method: str
    context: str = ""  # fixed, learned
    other_task: bool = False
    with_dev: bool = False  # dev is learnt from as well
    watched: bool = False
    seed: int = 0

    @property
    def model(self) -> str:
        """The name that it has in the tables."""
        parts = [self.method, {"": "", "fixed": "fixed context", "learned": "context"}[self.context]]
        parts += ["other task" if self.other_task else "", "dev" if self.with_dev else ""]
        return " + ".join(filter(None, parts))

    @property
    def name(self) -> str:
        return f"{self.task}, {self.model}{', watched' if self.watched else ''}, seed {self.seed}"


def job_of(row: Row) -> Job:
    return Job(**{name: row[name] for name in Job.__dataclass_fields__})


@dataclass(frozen=True)
class Run:
    """What all jobs have in common."""

    data: str
    out: str
    training: dict[str, Any]
    tagger: dict[str, Any]
    contextual: str
    limit: int | None


# ------------------------------------------------------------------------------------------------------------- jobs


def do(run: Run, job: Job) -> list[Row]:
    from one_recipe import forget, train

    from acclimate.data.writing import write_corpus
    from acclimate.evaluation.scores import score
    from acclimate.inference.predict import predict
    from acclimate.model.tagger import Tagger
    from acclimate.training.watches import Confidence

    parts = parts_of(run.data, job.task, run.limit)
    recipe, options = METHODS[job.method]
    settings = dict(run.tagger)
    if job.method == "Baseline, normalised":
        settings["normalise"] = "weighted"
    if job.context:
        settings["contextual"] = {"encoder": run.contextual, "mix": job.context}
    folder = Path(run.out) / "work" / file_name(job.name)
    if job.other_task:
        second = folder / "second.conll"
        folder.mkdir(parents=True, exist_ok=True)
        write_corpus(parts_of(run.data, OTHER[job.task], run.limit)["train"], second)
        options = {**options, "second": str(second)}
    learnt = parts["train"] + parts["dev"] if job.with_dev else parts["train"]
    tagger = Tagger.build(
        "character-cnn-lstm",
        labels=(parts["train"] + parts["dev"] + parts["test"]).labels,
        text=learnt,
        more_text=(parts["dev"] + parts["test"]).unlabelled(),
        seed=job.seed,
        **settings,
    )
    chosen = telling(run) if job.watched else None
    training = dict(run.training)
    training.setdefault("evaluate_every", max(1, training["updates"] // LOOKS[job.watched]))
    done = train(
        tagger,
        recipe,
        learnt,
        None,
        None if job.with_dev else parts["dev"],
        training=training,
        options=options,
        seed=job.seed,
        watches=() if chosen is None else (Confidence(chosen, tagger),),
        folder=folder,
    )
    scores = score(parts["test"], predict(tagger, parts["test"]), seen=learnt)
    assert scores.unseen is not None
    words = scores.unseen.words
    row = {**asdict(job), "test": 100 * scores.span.f1, **done.facts()}
    row |= {f"{group}_f1": 100 * words[group].f1 for group in ("seen", "unseen")}
    if chosen is not None:
        looks = [look for look in done.rows if look["kind"] == "confidence"]
        row["confidence"] = [
            [look["update"], [round(one["probability"], 5) for one in look["sentences"]]] for look in looks
        ]
        row["chosen"] = [" ".join(sentence.words) for sentence in chosen]
    forget(folder)
    return [row]


@cache
def parts_of(data: str, task: str, limit: int | None) -> dict[str, Any]:
    """train, dev and test."""
    from acclimate.data.reading import read_corpus
    from acclimate.data.subsets import split

    corpus = TASKS[task]
    parts = {part: read_corpus(find(data, corpus, part)) for part in ("train", "test")}
    if any((Path(data) / corpus).glob("dev.*")):
        parts["dev"] = read_corpus(find(data, corpus, "dev"))
    else:
        parts |= split(parts["train"], {"train": "rest", "dev": 1000})
    return {part: found[:limit] for part, found in parts.items()}


def telling(run: Run) -> Any:
    """Sentences in which a word misleads: training knows it under one label alone, and here it has another."""
    from acclimate.data.corpus import Corpus

    parts = parts_of(run.data, "ner", None)
    labels: dict[str, Counter[str]] = defaultdict(Counter)
    for sentence in parts["train"]:
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            labels[word][tag[2:]] += 1

    def misleads(word: str, tag: str) -> bool:
        known = labels.get(word, Counter())
        return len(known) == 1 and known.total() >= KNOWN and tag != "O" and "" not in known and tag[2:] not in known

    found = [sentence for sentence in parts["test"] if sentence.words == PAPERS_SENTENCE][:1]
    for sentence in parts["dev"]:
        if len(found) <= WATCHED and 4 <= len(sentence) <= 12 and any(map(misleads, sentence.words, sentence.tags)):
            found.append(sentence)
    return Corpus.of(found, "watched")


# ------------------------------------------------------------------------------------------------------------ parts


def planned(part: str, options: argparse.Namespace) -> Iterator[Job]:
    tasks = options.tasks.split(",")
    if part == "table1":
        for method, task in product(METHODS, tasks):
            yield Job(task, method)
    elif part == "table2":
        for method, task in product(("Baseline", "AT", "MAT (S)"), tasks):
            yield Job(task, method)
        for task in tasks:
            yield Job(task, "Baseline", "learned")
        for method, task in product(("Baseline", "AT", "MAT (S)"), tasks):
            yield Job(task, method, "fixed")
        for task in tasks:
            yield Job(task, "MAT (S)", "fixed", other_task=True)
        for method in ("Baseline", "AT", "MAT (S)") if "ner" in tasks else ():
            yield Job("ner", method, "fixed", with_dev=True)
        if "ner" in tasks:
            yield Job("ner", "MAT (S)", "fixed", other_task=True, with_dev=True)
    elif part == "confidence":
        for method in ("Baseline", "AT", "MAT (S)"):
            yield Job("ner", method, watched=True)


# ----------------------------------------------------------------------------------------------------------- tables


def tables(rows: list[Row], options: argparse.Namespace) -> str:
    found = [
        confidence_table(rows, options) if part == "confidence" else score_table(part, rows, options)
        for part in options.part.split(",")
    ]
    return "\n\n".join([*found, speed_table(rows, lambda row: f"{job_of(row).model}, {row['task']}")])


def score_table(part: str, rows: list[Row], options: argparse.Namespace) -> str:
    plan = list(planned(part, options))
    tasks = options.tasks.split(",")
    measures = {"test": "span F1", "unseen_f1": "token F1 of unseen words"} if part == "table1" else {"test": "span F1"}
    columns = [(measure, task) for measure in measures for task in tasks]
    head = ["", *(f"{task}: {measures[measure]}" for measure, task in columns)]
    head += [f"paper, {column}" for column in head[1:]]
    lines = []
    for model in dict.fromkeys(job.model for job in plan):
        own = [row for row in rows if not row["watched"] and job_of(row).model == model]
        cells = [told([row[measure] for row in own if row["task"] == task]) for measure, task in columns]
        theirs = published(model)
        places = [2 * (measure == "unseen_f1") + list(TASKS).index(task) for measure, task in columns]
        lines.append([model, *cells, *(theirs[place] if place < len(theirs) else "" for place in places)])
    title = "Table 1, and Table 3" if part == "table1" else f"Table 2; context: {options.contextual}"
    return f"{title}. Test, in percent, mean ± deviation of seeds\n\n{markdown(head, lines)}"


def confidence_table(rows: list[Row], options: argparse.Namespace) -> str:
    """How sure each method is in the end, at its surest, and where it was surest."""
    curves = confidence_curves(rows)
    sentences = list(dict.fromkeys(sentence for _, sentence in curves))
    methods = [method for method in METHODS if any(method == found for found, _ in curves)]
    if curves:
        draw(curves, methods, sentences, Path(options.out) / "confidence.png")
    lines = [
        [f"`{sentence}`", *(f"{curve[-1][1]:.3f} / {max(value for _, value in curve):.3f}" for curve in found)]
        for sentence in sentences
        for found in [[curves[method, sentence] for method in methods]]
    ]
    title = "Figure 2: probability of all right tags, mean of the seeds, in the end / at its highest"
    return f"{title}\n\n{markdown(['', *methods], lines)}"


def confidence_curves(rows: Iterable[Row]) -> dict[tuple[str, str], list[tuple[int, float]]]:
    """By method and sentence: the update, and the mean probability over the seeds."""
    found: dict[tuple[str, str], dict[int, list[float]]] = {}
    for row in (row for row in rows if row["watched"]):
        for update, values in row["confidence"]:
            for sentence, value in zip(row["chosen"], values, strict=True):
                found.setdefault((row["method"], sentence), {}).setdefault(update, []).append(value)
    return {key: [(update, mean(values)) for update, values in sorted(seen.items())] for key, seen in found.items()}


def draw(curves: dict[Any, Any], methods: Sequence[str], sentences: Sequence[str], place: Path) -> None:
    from acclimate.analysis.plots.canvas import COLOURS, add_legend, clear_frame, new_figure, save_figure, wrapped
    from acclimate.data.problems import InputError

    try:
        figure = new_figure("Probability of the right tags along training", 10, 2.6 * -(-len(sentences) // 3))
    except InputError as failure:
        print(f"no picture: {failure}", file=sys.stderr)
        return
    handles: list[Any] = []
    for number, sentence in enumerate(sentences):
        axes = figure.add_subplot(-(-len(sentences) // 3), 3, number + 1)
        clear_frame(axes)
        axes.set_title(wrapped(sentence, 40), loc="left", fontsize=8)
        axes.set_ylim(0, 1)
        handles = [
            axes.plot(*zip(*curves[method, sentence], strict=True), color=COLOURS[place])[0]
            for place, method in enumerate(methods)
        ]
    add_legend(figure, handles, methods)
    save_figure(figure, place)


# ------------------------------------------------------------------------------------------------------------- main


def main() -> None:
    options = arguments()
    run = run_of(options)
    settings = {**run.__dict__, "data": None, "out": None}
    wanted = [job for part in options.part.split(",") for job in planned(part, options)]
    run_grid(wanted, partial(do, run), options, settings, job_of, partial(tables, options=options))


def run_of(options: argparse.Namespace) -> Run:
    from acclimate.settings import with_assignments

    values: dict[str, Any] = {
        "updates": options.updates,
        "sentences_per_batch": 32,
        "words_per_batch": 100_000,  # a batch is counted in sentences alone
        "optimizer": "adam",
        "weight_decay": 0,
        "learning_rate": 0.003,
        "decay": "linear",
    }
    tagger: dict[str, Any] = dict(TAGGER)
    if options.vectors != "none":
        tagger["vectors"] = options.vectors
    training = with_assignments(values | (PAPERS_TRAINING if options.paper else {}), options.set)
    tagger = with_assignments(tagger, options.tagger)
    return Run(options.data, options.out, training, tagger, options.contextual, options.limit)


def arguments() -> argparse.Namespace:
    parser = common_arguments(__doc__)
    parser.add_argument("--part", default="table1", metavar="PARTS", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--tasks", default="ner,chunk")
    parser.add_argument("--vectors", default="glove", help="glove, a file, or none; they are trained further")
    parser.add_argument("--contextual", default="acclimate-mini", metavar="ENCODER", help="a name or a folder")
    parser.add_argument("--updates", type=int, default=4000)
    parser.add_argument("--paper", action="store_true", help="the paper's optimizer; takes more updates")
    parser.add_argument("--tagger", action="append", default=[], metavar="A=B", help="a setting of the tagger")
    options = parser.parse_args()
    unknown = [part for part in options.part.split(",") if part not in PARTS]
    unknown += [task for task in options.tasks.split(",") if task not in TASKS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    return options


if __name__ == "__main__":
    main()

"""What are labels from a dictionary worth? Precision and recall of them, and of taggers that learn from them.

    python benchmarks/weak_label.py --data FOLDER --out DIR [--part match,speed,train] [--tasks ncbi,bc5cdr,clinical]
        [--methods plain,MSLM] [--learn-from weak,gold] [--seeds 1,2,3] [--jobs 4] [--encoder acclimate-mini]
        [--set A=B] [--mslm A=B] [--limit N] [--minutes M] [--table FILE.md] [--json FILE]

match  the disease dictionary on the text of NCBI-disease, the drug dictionary on that of BC5CDR-chem, the bundled
       concepts on the bundled clinical text: against gold, train and test text, as the task is set and with one thing
       changed. Nothing is learnt, so train text is as new to a dictionary as test text
speed  raw PubMed text through the drug dictionary, as `acclimate data weak-label` does it: words per second, and memory
train  taggers on the shipped encoder that learn from weak labels of the train text, plainly and with MSLM, and from
       gold labels for comparison; all scored on gold test. `beyond`: of the gold spans that the dictionary does not
       find itself, the share that the tagger finds

FOLDER holds ncbi_disease, bc5cdr_chem and pubmed; the dictionaries are those of `pip install 'acclimate[concepts]'`.

A tagger that learns from weak labels never sees a gold one before the test: its state is chosen on the weak labels of
the dev text. One that learns from gold has gold dev. Both make the same number of updates. The map of types is fixed
per task, below, by what the types mean and not by scores: Table 12 for diseases and drugs, and the wider map for the
clinical text, whose treatments are not drugs alone. The words per second are of processor time.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

from grid import Row, common_arguments, file_name, find, markdown, run_grid, show, told

PARTS = ("match", "speed", "train")
METHODS = {"plain": "source-only", "MSLM": "mslm"}


@dataclass(frozen=True)
class Task:
    """A text, the dictionary for it, and how long to learn from it."""

    title: str
    corpus: str  # a folder, or a bundled corpus
    concepts: str
    label: str | None  # the one label that the gold has
    groups: str
    updates: int
    bundled: bool = False


TASKS = {
    "ncbi": Task("NCBI-disease", "ncbi_disease", "package:diseases", "Disease", "table-12", 1500),
    "bc5cdr": Task("BC5CDR-chem", "bc5cdr_chem", "package:drugs", "Chemical", "table-12", 1500),
    "clinical": Task("bundled clinical", "clinical", "clinical", None, "clinical", 300, bundled=True),
}
# what is changed, beside the defaults
CHANGES: dict[str, dict[str, Any]] = {
    "": {},
    "explained abbreviations not followed": {"abbreviations": False},
    "all types (--groups none)": {"groups": "none"},
    "the map {other}": {"groups": "other"},
    "plurals": {"plurals": True},
    "case lower": {"case": "lower"},
    "case exact": {"case": "exact"},
}


@dataclass(frozen=True)
class Job:
    """One training and one test."""

    task: str
    method: str
    labels: str  # weak or gold
    seed: int = 0

    @property
    def name(self) -> str:
        return f"{self.task}, {self.method}, {self.labels} labels, seed {self.seed}"


def job_of(row: Row) -> Job:
    return Job(row["task"], row["method"], row["labels"], row["seed"])


@dataclass(frozen=True)
class Run:
    """What all jobs have in common."""

    data: str
    out: str
    encoder: str
    training: dict[str, Any]
    mslm: dict[str, Any]
    limit: int | None


# ------------------------------------------------------------------------------------------------------- dictionary


@cache
def concepts_of(source: str) -> Any:
    from acclimate.data.concepts.files import load_concepts

    return load_concepts(source)


def labeller_for(task: Task, groups: str | None = None, abbreviations: bool = True, **options: Any) -> Any:
    from acclimate.data.concepts.dictionary import ConceptDictionary
    from acclimate.data.concepts.labelling import Labeller
    from acclimate.data.concepts.mentions import Groups

    groups = other_map(task) if groups == "other" else groups
    map_ = Groups.load(groups or task.groups, single=task.label)
    dictionary = ConceptDictionary.of({task.concepts: concepts_of(task.concepts)}, map_, **options)
    return Labeller(dictionary, map_, abbreviations=abbreviations)


def other_map(task: Task) -> str:
    return "table-12" if task.groups == "clinical" else "clinical"


def weakly(corpus: Any, task: Task, **options: Any) -> Any:
    """The same text under weak labels."""
    from acclimate.data.corpus import Corpus

    return Corpus.of(labeller_for(task, **options).label(corpus), f"{corpus.name}, weak labels")


@cache
def part_of(data: str, task: str, part: str, limit: int | None) -> Any:
    from acclimate.data.bundled import load_bundled
    from acclimate.data.reading import read_corpus

    chosen = TASKS[task]
    corpus = getattr(load_bundled(chosen.corpus), part) if chosen.bundled else None
    return (corpus or read_corpus(find(data, chosen.corpus, part)))[:limit]


def match(name: str, part: str, change: str, options: argparse.Namespace) -> Row:
    from acclimate.evaluation.agreement import Agreement

    task, corpus = TASKS[name], part_of(options.data, name, part, options.limit)
    concepts_of(task.concepts)
    started = time.process_time()
    labeller = labeller_for(task, **CHANGES[change])
    built = time.process_time() - started
    agreement, started = Agreement(), time.process_time()
    found = list(labeller.label(corpus))
    seconds = time.process_time() - started
    for gold, weak in zip(corpus, found, strict=True):
        agreement.add(gold.spans, weak.spans)
    return {
        "task": name,
        "part": part,
        "change": change,
        "names": len(labeller.annotator),
        "names_met": len(labeller.coverage.names),
        "covered": labeller.coverage.covered_words / labeller.coverage.words,
        "build_seconds": round(built, 2),
        "words_per_second": round(corpus.word_count / seconds),
        **agreement.as_dict(),
    }


def match_table(rows: list[Row]) -> str:
    def shares(tally: dict[str, Any]) -> list[str]:
        return [f"{100 * tally[measure]:.2f}" for measure in ("precision", "recall", "f1")]

    head = ["", "text", "exact P", "R", "F1", "overlap P", "R", "F1", "names met", "of", "words covered", "words/s"]
    lines = []
    for row in rows:
        task = TASKS[row["task"]]
        title = ", ".join(filter(None, [task.title, row["change"].format(other=other_map(task))]))
        figures = [*shares(row["exact"]), *shares(row["overlap"])]
        names = [f"{row['names_met']:,}", f"{row['names']:,}", f"{100 * row['covered']:.1f} %"]
        lines.append([title, row["part"], *figures, *names, f"{row['words_per_second']:,}"])
    return f"Labels from a dictionary against gold, spans, in percent\n\n{markdown(head, lines)}"


def label_table(rows: list[Row]) -> str:
    """Each label of a task that has several."""
    head = ["", "text", "label", "exact P", "R", "F1", "gold", "found"]
    lines = []
    for row in (row for row in rows if not row["change"] and len(row["exact_by_label"]) > 1):
        for label, tally in row["exact_by_label"].items():
            figures = [f"{100 * tally[measure]:.2f}" for measure in ("precision", "recall", "f1")]
            lines.append([TASKS[row["task"]].title, row["part"], label, *figures, tally["gold"], tally["predicted"]])
    return f"By label\n\n{markdown(head, lines)}" if lines else ""


def speed(options: argparse.Namespace) -> Row:
    """The whole way: raw text is read, split, labelled and written."""
    from acclimate.cli.weak_label_files import LabelledFiles
    from acclimate.data.concepts.labelling import RawText

    task = TASKS["bc5cdr"]
    file = find(options.data, "pubmed", "unlabelled")
    with tempfile.TemporaryDirectory() as folder:
        if options.limit:
            with gzip.open(file, "rt", encoding="utf-8") as lines:
                text = "".join(line for _, line in zip(range(options.limit), lines, strict=False))
            file = Path(folder) / "some.txt"
            file.write_text(text, encoding="utf-8")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        started = time.process_time()
        labeller = labeller_for(task)
        built = time.process_time() - started
        dictionary = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        started = time.process_time()
        LabelledFiles(f"{folder}/weak.conll", None, 0, False).write(labeller.label(RawText(file).sentences()))
        seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "words": labeller.coverage.words,
        "seconds": round(seconds, 1),
        "build_seconds": round(built, 1),
        "words_per_second": round(labeller.coverage.words / seconds),
        "megabytes_before": before // 1024,
        "megabytes_with_dictionary": dictionary // 1024,
        "megabytes_peak": peak // 1024,
    }


# ------------------------------------------------------------------------------------------------------------- jobs


def do(run: Run, job: Job) -> list[Row]:
    from one_recipe import forget, train

    from acclimate.evaluation.scores import score
    from acclimate.inference.predict import predict
    from acclimate.model.tagger import Tagger

    task = TASKS[job.task]
    train_text, dev, test = (part_of(run.data, job.task, part, run.limit) for part in ("train", "dev", "test"))
    weak_test = weakly(test, task)
    if job.labels == "weak":
        train_text, dev = weakly(train_text, task), weakly(dev, task)
    labels = test.labels | train_text.labels
    tagger = Tagger.build(run.encoder, labels=labels, head="softmax", scheme="IOB2", seed=job.seed)
    training = {"updates": task.updates, **run.training}
    training.setdefault("evaluate_every", max(1, training["updates"] // 10))
    folder = Path(run.out) / "work" / file_name(job.name)
    done = train(
        tagger,
        METHODS[job.method],
        train_text,
        None,
        dev,
        training=training,
        options={"tags_on": "both", **run.mslm} if job.method == "MSLM" else {},
        seed=job.seed,
        folder=folder,
    )
    found = predict(tagger, test)
    scores = score(test, found)
    row = {**asdict(job), "test": 100 * scores.span.f1, **done.facts(), **beyond(test, weak_test, found)}
    row |= {name: 100 * getattr(scores.span, name) for name in ("precision", "recall")}
    forget(folder)
    return [row]


def beyond(gold: Any, weak: Any, found: Any) -> dict[str, Any]:
    """Gold spans that the dictionary misses, and how many of them a tagger finds; the dictionary's own F1 beside it."""
    from acclimate.evaluation.scores import score

    missed = hit = 0
    for right, rough, guess in zip(gold, weak, found, strict=True):
        lost = set(right.spans) - set(rough.spans)
        missed += len(lost)
        hit += len(lost & set(guess.spans))
    own = 100 * score(gold, weak).span.f1
    return {"dictionary": own, "missed": missed, "beyond": 100 * hit / missed if missed else 0.0}


def planned(options: argparse.Namespace) -> Iterator[Job]:
    from acclimate.recipes.catalogue import RECIPES

    there = [method for method in options.methods if METHODS[method] in RECIPES]
    for method in set(options.methods) - set(there):
        print(f"{method}: there is no recipe {METHODS[method]} here; left out.", file=sys.stderr)
    for task, method, labels in product(options.tasks, there, options.learn_from):
        yield Job(task, method, labels)


def train_table(rows: list[Row]) -> str:
    head = ["", "labels", "test P", "R", "F1", "beyond", "dictionary's F1", "runs"]
    lines = []
    for task, method, labels in product(TASKS, METHODS, ("weak", "gold")):
        own = [row for row in rows if (row["task"], row["method"], row["labels"]) == (task, method, labels)]
        if own:
            figures = [told([row[name] for row in own]) for name in ("precision", "recall", "test", "beyond")]
            title = f"{TASKS[task].title}, {method}"
            lines.append([title, labels, *figures, f"{own[0]['dictionary']:.2f}", len(own)])
    return f"Taggers on gold test, spans, in percent, mean ± deviation of seeds\n\n{markdown(head, lines)}"


# ------------------------------------------------------------------------------------------------------------- main


def main() -> None:
    options = arguments()
    shown: list[str] = []
    kept: dict[str, Any] = {}
    if "speed" in options.part:  # first, while nothing else is in memory
        kept["speed"] = speed(options)
        shown.append(f"Raw text, drug dictionary\n\n{markdown(list(kept['speed']), [list(kept['speed'].values())])}")
    if "match" in options.part:
        wanted = product(options.tasks, CHANGES, ("train", "test"))
        kept["match"] = [
            match(task, part, change, options)
            for task, change, part in wanted
            if TASKS[task].label or CHANGES[change].get("groups") != "none"  # types are no labels of the clinical text
        ]
        shown += [match_table(kept["match"]), label_table(kept["match"])]
    text = "\n\n".join(filter(None, shown))
    if options.json:
        Path(options.json).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    if "train" not in options.part:
        show(text, options.table)
        return
    run = run_of(options)
    settings = {**run.__dict__, "data": None, "out": None}
    tables = partial(all_tables, text)
    run_grid(list(planned(options)), partial(do, run), options, settings, job_of, tables)


def all_tables(before: str, rows: list[Row]) -> str:
    return "\n\n".join(filter(None, [before, train_table(rows)]))


def run_of(options: argparse.Namespace) -> Run:
    from acclimate.settings import with_assignments

    values: dict[str, Any] = {"words_per_batch": 1024, "learning_rate": 4e-4, "warm_up": 0.1, "clip": 1.0}
    training, mslm = with_assignments(values, options.set), with_assignments({}, options.mslm)
    return Run(options.data, options.out, options.encoder, training, mslm, options.limit)


def arguments() -> argparse.Namespace:
    parser = common_arguments(__doc__)
    parser.add_argument("--part", default="match,speed", metavar="PARTS", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--learn-from", default="weak,gold")
    parser.add_argument("--encoder", default="acclimate-mini", help="a name or a folder")
    parser.add_argument("--mslm", action="append", default=[], metavar="A=B", help="an option of the recipe mslm")
    parser.add_argument("--json", metavar="FILE", help="also write what match and speed found there")
    options = parser.parse_args()
    known = {"part": PARTS, "tasks": TASKS, "methods": METHODS, "learn_from": ("weak", "gold")}
    for name, values in known.items():
        given = getattr(options, name).split(",")
        setattr(options, name, given)
        if unknown := [each for each in given if each not in values]:
            parser.error(f"--{name.replace('_', '-')}: unknown: {', '.join(unknown)}")
    return options


if __name__ == "__main__":
    main()

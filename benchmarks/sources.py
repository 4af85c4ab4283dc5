"""Which labelled sources help on seven targets, without target labels and with 100?

    python benchmarks/sources.py --data FOLDER --out DIR [--lines conll2003,all-partial] [--jobs 15] [--minutes 9]

A line is a set of sources: CoNLL-2003, the open corpora (benchmarks/open_corpora.py), or all of them. One tagger a line
and seed learns them plainly (recipe source-only, the last state is kept), and is scored on all targets. With labels it
goes on for --more updates with a batch of 100 labelled target sentences beside each batch of the sources; 100 other
target sentences choose the state. `test` is the board's test part; `judges` are other target sentences: choose lines by
these. `lower` and `upper` are the test parts in one case.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import leaderboard
from leaderboard import TARGETS, task_of
from open_corpora import MAPS, TYPES, evaluation_texts, naively, open_corpora, recased, with_noise, without
from shared import cells_of_means, f1_of, finish_and_show, markdown, parse_known, parser, train

# graphs of many processes wait for one another: 16 trainings on one GPU are faster without them
TRAINING = {**leaderboard.TRAINING, "cuda_graphs": False}
OPEN = ("btc", "docred", "gum_open_named", "grobid_wikipedia27", "litbank_prop")
TYPED, TYPELESS = "typed", "typeless"


@dataclass(frozen=True)
class Line:
    """A set of sources, and how they are learnt."""

    corpora: tuple[str, ...]
    conll: bool = False
    partial: bool = True  # words that may hide a type nobody looked for are not learnt as O
    hidden_odds: float = 0.1  # that such a word is of a type nobody looked for
    heads: bool = False
    mended: bool = True
    noise: float = 0.0
    smoothing: float = 1.0
    times: float = 1.0  # as many updates


LINES = {
    "conll2003": Line((), conll=True),
    **{name: Line((name,)) for name in OPEN},
    "all-naive": Line(OPEN, conll=True, partial=False),
    "all-partial": Line(OPEN, conll=True),
    "all-heads": Line(OPEN, conll=True, heads=True),
    "open-naive": Line(OPEN, partial=False),
    "open-partial": Line(OPEN),
    # how far a type that nobody looked for is doubted, and what the general tagger is made of: on judges and dev
    **{f"all-odds-{odds}": Line(OPEN, conll=True, hidden_odds=odds) for odds in (1, 0.3, 0.03)},
    "heads-odds-1": Line(OPEN, conll=True, heads=True, hidden_odds=1),
    "open-odds-1": Line(OPEN, hidden_odds=1),
    "open-as-annotated": Line(OPEN, mended=False, hidden_odds=1),
    "open-even": Line(OPEN, smoothing=0.5, hidden_odds=1),
    "open-longer": Line(OPEN, times=2, hidden_odds=1),
    "open-noise": Line(OPEN, noise=0.6, hidden_odds=1),
    "open-and-re3d-noise": Line(tuple(MAPS), noise=0.6, hidden_odds=1),
}


def main() -> None:
    options = arguments()
    lines = sorted(options.lines, key=lambda line: line not in options.with_labels)  # first those that take longest
    jobs = [(line, typing, seed) for typing, line, seed in product(options.typing, lines, options.seeds)]
    finish_and_show({"_".join(map(str, job)) + ".jsonl": (options, *job) for job in jobs}, learn, tables, options)


def learn(options: argparse.Namespace, line: str, typing: str, seed: int) -> list[dict[str, Any]]:
    """Train one line with one seed; a row for each target, part and number of labels."""
    from acclimate.runs.task import Task

    chosen = LINES[line]
    source = sources(options.data, line, typing, seed, options.limit)
    updates = round(options.updates * chosen.times)
    mix = {"smoothing": chosen.smoothing, "heads": chosen.heads, "hidden_odds": chosen.hidden_odds}
    given: dict[str, Any] = {"seed": seed, "sources": mix, "tagger": {"encoder": options.encoder}}
    started = time.monotonic()
    tagger = train(Task(source), **given, recipe="source-only", training={**TRAINING, "updates": updates}).tagger
    about = {"line": line, "typing": typing, "seed": seed, "sentences": len(source)}
    rows = []
    for (target, part), gold in golds(options.data, typing, options.limit).items():
        row = {**about, "labels": 0, "target": target, "part": part, "updates": updates}
        rows.append({**row, "f1": f1_of(tagger, gold)})
    rows = [{**row, "seconds": time.monotonic() - started} for row in rows]
    weights = {name: weight.clone() for name, weight in tagger.state_dict().items()}
    for labels, target in product([n for n in options.labels if n and line in options.with_labels], options.targets):
        task, test = task_of(options, target, labels, typing, seed)
        tagger.load_state_dict(weights)
        training = {**TRAINING, "learning_rate": 2e-4, "updates": options.more, "evaluate_every": 50}
        more = {"recipe": "la-dtl", "options": {"weight": 0}, "select": "target-dev", "training": training}
        both = Task(source, target_labelled=task.target_labelled, target_dev=task.target_dev)
        train(both, tagger, **given, **more)
        row = {**about, "labels": labels, "target": target, "part": "test", "updates": updates + options.more}
        rows.append({**row, "f1": f1_of(tagger, test)})
    return rows


@cache
def sources(data: str, line: str, typing: str, seed: int, limit: int | None) -> Any:
    from acclimate.data.mapping import typeless
    from acclimate.data.sources import join_sources
    from acclimate.reproduction.datasets import Datasets

    chosen = LINES[line]
    corpora = open_texts(data, chosen.corpora, chosen.mended)
    if chosen.conll:
        corpora = [Datasets(Path(data), small=False).require("conll2003", "train").renamed("conll2003"), *corpora]
    corpora = [corpus[:limit] for corpus in corpora]
    if not chosen.partial:
        corpora = [naively(corpus) for corpus in corpora]
    if chosen.noise:
        corpora = [with_noise(corpus, chosen.noise, seed) for corpus in corpora]
    joined = join_sources(corpora) if len(corpora) > 1 else corpora[0].open_to(TYPES)
    return typeless(joined) if typing == TYPELESS else joined


@cache
def open_texts(data: str, names: tuple[str, ...], mended: bool) -> list[Any]:
    evaluated = evaluation_texts(Path(data))
    return [without(corpus, evaluated) for corpus in open_corpora(Path(data), names, mended=mended)]


@cache
def golds(data: str, typing: str, limit: int | None) -> dict[tuple[str, str], Any]:
    """What taggers are measured on: (target, part)."""
    from acclimate.reproduction.datasets import Datasets

    sets = Datasets(Path(data), small=False)
    read = sets.typeless_part if typing == TYPELESS else sets.part
    found: dict[tuple[str, str], Any] = {}
    for target, name in TARGETS.items():
        test, judges = read(name, "test"), read(name.removesuffix("-conll").removesuffix("-dev") + "-judged", "test")
        found[target, "test"], found[target, "judges"] = test[:limit], judges[:limit]
        for case in ("lower", "upper") if typing == TYPED else ():
            found[target, case] = test[:limit].map(lambda one, how=case: recased(one, how))
    if typing == TYPED:
        found["conll2003", "test"] = read("conll2003", "test")[:limit]
        for corpus in open_corpora(Path(data), part="dev"):
            found[corpus.name, "dev"] = corpus[:limit]
    return found


def tables(rows: list[dict[str, Any]]) -> str:
    shown = []
    for labels, typing, part in product((0, 100), (TYPED, TYPELESS), ("test", "judges", "lower", "upper", "dev")):
        some = [row for row in rows if (row["labels"], row["typing"], row["part"]) == (labels, typing, part)]
        if some:
            shown.append(f"## {labels or 'No'} target labels, {typing}, {part}\n\n{table(some)}")
    return "\n\n".join(shown)


def table(rows: list[dict[str, Any]]) -> str:
    """Span F1 in percent, mean ± standard deviation of the seeds; the mean is that of the seven targets."""
    columns = list(dict.fromkeys(row["target"] for row in rows))
    seven = [target for target in columns if target in TARGETS]
    lines = []
    for line in [name for name in LINES if any(row["line"] == name for row in rows)]:
        own = {(row["target"], row["seed"]): row["f1"] for row in rows if row["line"] == line}
        lines.append([line, *cells_of_means(own, columns)[:-1], cells_of_means(own, seven)[-1] if seven else ""])
    return markdown(["sources", *columns, "mean of seven"], lines)


def arguments() -> argparse.Namespace:
    made = parser(
        __doc__,
        "data out seeds jobs minutes limit labels encoder judges table",
        lines=list(LINES),
        with_labels=["conll2003", "all-naive", "all-partial", "all-heads", "open-partial"],
        typing=[TYPED, TYPELESS],
        targets=list(TARGETS),
        updates=800,
        more=(150, "updates with labelled target sentences"),
    )
    return parse_known(made, lines=LINES, with_labels=LINES, typing=(TYPED, TYPELESS), targets=TARGETS)


if __name__ == "__main__":
    main()

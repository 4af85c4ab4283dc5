"""All recipes on one board: CoNLL-2003 to seven targets, with no labels of the target and with 100.

    python benchmarks/leaderboard.py --data FOLDER --out DIR [--recipes source-only,mat] [--set training.epochs=1]
        [--option acclimate.noise=false] [--jobs 12]

Every target and seed is a comparison (`acclimate compare`) in a folder of DIR, which continues where it stopped. One
line of DIR/results.jsonl tells each run. Data are those of src/acclimate/reproduction/datasets.yaml. Typed: the types
of the targets are made CoNLL's four. Type-less: all types are made one, in the source, too. The seed draws the labelled
sentences. Without labels CoNLL-2003 dev chooses the state, with labels 100 target dev sentences, every 50 updates. Test
is scored once and chooses nothing; `--judges` scores other target sentences in its place, to choose settings by.

Recipes have their default options, but for domain tuning, which has `--tuning` updates in all of them. With labels,
`plain` learns a batch of the source and one of the labelled target in every update (la-dtl with weight 0): the line to
beat. Regret is how much better the best recipe is than the one a selector takes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from shared import cells_of_means, markdown, parse_known, parser, show, write_rows

TARGETS = {
    "wnut2016": "wnut2016-conll",
    "scitech": "scitech",
    "wikigold": "wikigold",
    "fin": "fin-dev",
    **{f"crossner_{name}": f"crossner_{name}-conll" for name in ("politics", "science", "literature")},
}
TYPING = ("typed", "typeless")
PLAIN, LEVEL = "plain", 0.05
NEEDS_LABELS = ("target-only", "la-dtl")
TRAINING = {"words_per_batch": 2048, "learning_rate": 4e-4, "warm_up": 0.1, "clip": 1.0}


@dataclass(frozen=True)
class Race:
    """One target with one seed, and the comparison of all recipes there."""

    target: str
    seed: int
    test: Any
    found: Any


def main() -> None:
    options = arguments()
    shown, rows = [], []
    for labels, typing in product(options.labels, options.typing):
        races = [run(options, target, labels, typing, seed) for seed in options.seeds for target in options.targets]
        rows += [row for race in races for row in rows_of(race, labels, typing)]
        shown.append(f"## {labels or 'No'} target labels, {typing}\n\n{tables(races, labels)}")
    write_rows(Path(options.out) / "results.jsonl", rows)
    show("\n\n".join(shown), options.table)


def run(options: argparse.Namespace, target: str, labels: int, typing: str, seed: int) -> Race:
    from acclimate.comparison.compare import compare
    from acclimate.settings import with_assignments

    task, test = task_of(options, target, labels, typing, seed)
    recipes = recipes_of(options, labels)
    each = {name: {"options": own} for name, own in options_of(options.tuning).items()}
    each = with_assignments(each, [option.replace(".", ".options.", 1) for option in options.option])
    results = compare(
        task,
        recipes,
        [seed],
        Path(options.out) / f"{typing}-{labels}" / target / f"seed-{seed}",
        settings=with_assignments(settings_of(options, labels), options.set),
        each={name: own for name, own in each.items() if name in recipes},
        jobs=options.jobs,
        tell=lambda line: print(line, file=sys.stderr, flush=True),
    )
    return Race(target, seed, test, results)


def settings_of(options: argparse.Namespace, labels: int) -> dict[str, Any]:
    training = {"epochs": 2, **TRAINING, **({"evaluate_every": 50} if labels else {})}
    return {"tagger": {"encoder": options.encoder, "scheme": "IOB2"}, "training": training}


def options_of(tuning: int) -> dict[str, dict[str, Any]]:
    """What is set of recipes; domain tuning has so many updates in all of them."""
    updates = {"updates": tuning}
    return {"adversarial-masking": updates, "acclimate": {"domain_tuning": updates}, "la-dtl": {"weight": 0}}


def task_of(options: argparse.Namespace, target: str, labels: int, typing: str, seed: int) -> tuple[Any, Any]:
    """The corpora, as tables of the papers have them; but compared runs read the target's text, all of them."""
    from acclimate.reproduction.datasets import Datasets
    from acclimate.reproduction.table import CellSettings
    from acclimate.reproduction.tasks import prepare_task
    from acclimate.runs.task import Task

    name = TARGETS[target]
    settings = CellSettings(
        source="conll2003",
        target=f"{name.removesuffix('-conll').removesuffix('-dev')}-judged" if options.judges else name,
        labelled=labels or None,
        dev_sentences=100 if labels else None,
        typeless=typing == "typeless",
        limit=options.limit,
        recipe="self-training",  # one that reads the text
    )
    data = Datasets(Path(options.data) if options.data else None, small=options.data is None)
    ready = prepare_task(settings, data, seed)
    corpora = {part.name: getattr(ready.task, part.name) for part in fields(Task)}
    dev = corpora["target_dev"] if labels else None
    return Task(**{**corpora, "target_dev": dev, "target_test": ready.test}), ready.test


def recipes_of(options: argparse.Namespace, labels: int) -> list[str]:
    return [name for name in options.recipes if labels or name not in NEEDS_LABELS]


def line_of(recipe: str) -> str:
    return PLAIN if recipe == "la-dtl" else recipe


def rows_of(race: Race, labels: int, typing: str) -> list[dict[str, Any]]:
    about = {"target": race.target, "labels": labels, "typing": typing, "seed": race.seed}
    rows = []
    for one in race.found.runs:
        row = {**about, "recipe": line_of(one.recipe), "f1": 100 * (one.f1 or 0.0), "updates": one.updates}
        rows.append({**row, "seconds": one.seconds, "selectors": dict(one.judgements)})
    return rows


def tables(races: Sequence[Race], labels: int) -> str:
    reference = PLAIN if labels else "source-only"
    scores = (
        "Span F1 in percent, mean ± standard deviation of the seeds. \\*: differs from "
        f"{reference} (paired bootstrap over sentences, p below {LEVEL} after Holm's correction)."
    )
    regret = "Regret of each selector: F1 of the best recipe minus that of the chosen one."
    return "\n\n".join([scores, score_table(races, reference), regret, regret_table(races)])


def score_table(races: Sequence[Race], reference: str) -> str:
    targets = list(dict.fromkeys(race.target for race in races))
    stars = {target: significant([race for race in races if race.target == target], reference) for target in targets}
    by_line: dict[str, dict[tuple[str, int], Any]] = {}
    for race in races:
        for one in race.found.runs:
            by_line.setdefault(line_of(one.recipe), {})[race.target, race.seed] = one
    shown = []
    for line, runs in by_line.items():
        cells = cells_of_means({place: 100 * (one.f1 or 0.0) for place, one in runs.items()}, targets)
        cells = [
            cell + ("\\*" if line in stars.get(name, ()) else "")
            for cell, name in zip(cells, [*targets, ""], strict=True)
        ]
        effort = [f"{fmean(getattr(one, name) for one in runs.values()):,.0f}" for name in ("updates", "seconds")]
        shown.append([line, *cells, *effort])
    return markdown(["", *targets, "mean", "updates", "seconds"], shown)


def significant(races: Sequence[Race], reference: str) -> set[str]:
    """Lines that differ from the reference on a target, all seeds of a sentence together."""
    from acclimate.evaluation.significance import compare_seeds, holm

    runs = [(line_of(one.recipe), race.seed, one.predicted) for race in races for one in race.found.runs]
    predicted = {(line, seed): corpus for line, seed, corpus in runs if corpus is not None}
    p_values = {}
    for line in {line for line, _ in predicted} - {reference}:
        seeds = [seed for own, seed in sorted(predicted) if own == line and (reference, seed) in predicted]
        if seeds:
            pair = ([predicted[each, seed] for seed in seeds] for each in (reference, line))
            p_values[line] = compare_seeds(races[0].test, *pair).bootstrap_p
    corrected = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    return {line for line, p in corrected.items() if p < LEVEL}


def regret_table(races: Sequence[Race]) -> str:
    targets = list(dict.fromkeys(race.target for race in races))
    regrets: dict[str, dict[str, list[float]]] = {}
    for race in races:
        for choice in race.found.choices:
            if choice.regret is not None:
                regrets.setdefault(choice.selector, {}).setdefault(race.target, []).append(100 * choice.regret)
    lines = []
    for selector, own in regrets.items():
        cells = [f"{fmean(own[target]):.2f}" if target in own else "" for target in targets]
        lines.append([selector, *cells, f"{fmean(map(fmean, own.values())):.2f}"])
    return markdown(["chosen by", *targets, "mean"], lines)


def arguments() -> argparse.Namespace:
    from acclimate.recipes.catalogue import RECIPES

    made = parser(
        __doc__,
        "data out seeds jobs limit labels encoder tuning judges set table",
        targets=list(TARGETS),
        typing=list(TYPING),
        recipes=[name for name in RECIPES if name != "compose"],
    )
    made.add_argument("--option", action="append", default=[], metavar="RECIPE.A=B", help="an option of a recipe")
    return parse_known(made, targets=TARGETS, typing=TYPING, recipes=RECIPES)


if __name__ == "__main__":
    main()

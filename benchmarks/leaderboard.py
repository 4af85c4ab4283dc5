"""All recipes on one board: CoNLL-2003 to seven targets, with no labels of the target and with 100.

    python benchmarks/leaderboard.py --data FOLDER --out DIR [--seeds 1,2,3] [--jobs 12] [--targets wnut2016,fin]
        [--labels 0,100] [--typing typed,typeless] [--recipes source-only,mat] [--judges] [--tuning 300]
        [--set training.epochs=1] [--option acclimate.noise=false] [--table FILE.md]

Every target and seed is a comparison (`acclimate compare`) in a folder of DIR; what is finished is not done again. One
line of DIR/results.jsonl tells each run.

Data are those of the papers' tables (src/acclimate/reproduction/datasets.yaml). Typed: the types of the targets are
made CoNLL's four. Type-less: all types are made one, in the source, too. The labelled sentences are drawn by the seed,
so a ± over seeds has the draw in it. Without labels CoNLL-2003 dev chooses the state, with labels 100 target dev
sentences, every 50 updates. Test is scored once and chooses nothing. `--judges` scores other target sentences in its
place, by which settings may be chosen.

Recipes have their default options, but for domain tuning, which has `--tuning` updates in all of them. With labels,
`plain` has a batch of the source and one of the labelled target in every update, and learns their tags and no more
(la-dtl with weight 0): the line to beat. Regret is how much better the best recipe is than the one a selector takes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from shared import markdown, mean_and_deviation

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
TRAINING = {"epochs": 2, "words_per_batch": 2048, "learning_rate": 4e-4, "warm_up": 0.1, "clip": 1.0}


@dataclass(frozen=True)
class Race:
    """One target with one seed, and the comparison of all recipes there."""

    target: str
    seed: int
    test: Any
    found: Any


def main() -> None:
    options = arguments()
    out = Path(options.out)
    shown, rows = [], []
    for labels, typing in product(options.labels, options.typing):
        races = [run(options, target, labels, typing, seed) for seed in options.seeds for target in options.targets]
        rows += [row for race in races for row in rows_of(race, labels, typing)]
        shown.append(f"## {labels or 'No'} target labels, {typing}\n\n{tables(races, labels)}")
    (out / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    text = "\n\n".join(shown)
    print(text, flush=True)
    if options.table:
        Path(options.table).write_text(text + "\n", encoding="utf-8")


def run(options: argparse.Namespace, target: str, labels: int, typing: str, seed: int) -> Race:
    from acclimate.comparison.compare import compare
    from acclimate.settings import with_assignments

    task, test = task_of(options, target, labels, typing, seed)
    looks = {"evaluate_every": 50} if labels else {}
    values = {"tagger": {"encoder": options.encoder, "scheme": "IOB2"}, "training": {**TRAINING, **looks}}
    recipes = recipes_of(options, labels)
    each: dict[str, Any] = {
        "adversarial-masking": {"options": {"updates": options.tuning}},
        "acclimate": {"options": {"domain_tuning": {"updates": options.tuning}}},
        "la-dtl": {"options": {"weight": 0}},
    }
    for option in options.option:
        recipe, _, change = option.partition(".")
        each[recipe] = with_assignments(each.get(recipe, {}), [f"options.{change}"])
    found = compare(
        task,
        recipes,
        [seed],
        Path(options.out) / f"{typing}-{labels}" / target / f"seed-{seed}",
        settings=with_assignments(values, options.set),
        each={name: own for name, own in each.items() if name in recipes},
        jobs=options.jobs,
        tell=lambda line: print(line, file=sys.stderr, flush=True),
    )
    return Race(target, seed, test, found)


def task_of(options: argparse.Namespace, target: str, labels: int, typing: str, seed: int) -> tuple[Any, Any]:
    """The corpora, as tables of the papers have them; but compared runs read the target's text, all of them."""
    from acclimate.reproduction.datasets import Datasets
    from acclimate.reproduction.table import CellSettings
    from acclimate.reproduction.tasks import prepare_task
    from acclimate.runs.task import Task

    name = (
        TARGETS[target].removesuffix("-conll").removesuffix("-dev") + "-judged" if options.judges else TARGETS[target]
    )
    settings = CellSettings(
        source="conll2003",
        target=name,
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
    return [
        {
            "target": race.target,
            "labels": labels,
            "typing": typing,
            "seed": race.seed,
            "recipe": line_of(one.recipe),
            "f1": 100 * (one.f1 or 0.0),
            "updates": one.updates,
            "seconds": one.seconds,
            "selectors": dict(one.judgements),
        }
        for one in race.found.runs
    ]


# ----------------------------------------------------------------------------------------------------------- tables


def tables(races: Sequence[Race], labels: int) -> str:
    reference = PLAIN if labels else "source-only"
    return "\n\n".join(
        [
            "Span F1 in percent, mean ± standard deviation of the seeds. \\*: differs from "
            f"{reference} (paired bootstrap over sentences, p below {LEVEL} after Holm's correction).",
            score_table(races, reference),
            "Regret of each selector: F1 of the best recipe minus that of the chosen one.",
            regret_table(races),
        ]
    )


def score_table(races: Sequence[Race], reference: str) -> str:
    targets = list(dict.fromkeys(race.target for race in races))
    lines = list(dict.fromkeys(line_of(one.recipe) for race in races for one in race.found.runs))
    stars = {target: significant([race for race in races if race.target == target], reference) for target in targets}
    shown = []
    for line in lines:
        runs = {
            (race.target, race.seed): one for race in races for one in race.found.runs if line_of(one.recipe) == line
        }
        scores = {place: 100 * (one.f1 or 0.0) for place, one in runs.items()}
        cells = [
            mean_and_deviation([value for (own, _), value in scores.items() if own == target])
            + ("\\*" if line in stars[target] else "")
            for target in targets
        ]
        seeds = sorted({seed for _, seed in scores if all((target, seed) in scores for target in targets)})
        means = [fmean(scores[target, seed] for target in targets) for seed in seeds]
        effort = [f"{fmean(getattr(one, name) for one in runs.values()):,.0f}" for name in ("updates", "seconds")]
        shown.append([line, *cells, mean_and_deviation(means), *effort])
    return markdown(["", *targets, "mean", "updates", "seconds"], shown)


def significant(races: Sequence[Race], reference: str) -> set[str]:
    """Lines that differ from the reference on a target, all seeds of a sentence together."""
    from acclimate.evaluation.significance import compare_seeds, holm

    gold = races[0].test
    found = {
        (line_of(one.recipe), race.seed): one.predicted
        for race in races
        for one in race.found.runs
        if one.predicted is not None
    }
    p_values = {}
    for line in {line for line, _ in found} - {reference}:
        seeds = [seed for own, seed in sorted(found) if own == line and (reference, seed) in found]
        if seeds:
            pair = ([found[each, seed] for seed in seeds] for each in (reference, line))
            p_values[line] = compare_seeds(gold, *pair).bootstrap_p
    corrected = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    return {line for line, p in corrected.items() if p < LEVEL}


def regret_table(races: Sequence[Race]) -> str:
    targets = list(dict.fromkeys(race.target for race in races))
    regrets: dict[str, dict[str, list[float]]] = {}
    for race in races:
        for choice in race.found.choices:
            if choice.regret is not None:
                regrets.setdefault(choice.selector, {}).setdefault(race.target, []).append(100 * choice.regret)
    lines = [
        [selector, *(f"{fmean(own[target]):.2f}" if target in own else "" for target in targets), mean_of(own.values())]
        for selector, own in regrets.items()
    ]
    return markdown(["chosen by", *targets, "mean"], lines)


def mean_of(groups: Iterable[Sequence[float]]) -> str:
    return f"{fmean(map(fmean, groups)):.2f}"


def arguments() -> argparse.Namespace:
    from acclimate.recipes.catalogue import RECIPES

    recipes = [name for name in RECIPES if name != "compose"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", metavar="FOLDER", help="without it, bundled corpora stand in: a trial")
    parser.add_argument("--out", required=True, metavar="DIR")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="runs at once")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--labels", default="0,100", metavar="NUMBERS", help="of labelled target sentences")
    parser.add_argument("--typing", default=",".join(TYPING))
    parser.add_argument("--recipes", default=",".join(recipes))
    parser.add_argument("--encoder", default="acclimate-mini")
    parser.add_argument("--tuning", type=int, default=300, metavar="N", help="updates of domain tuning")
    parser.add_argument("--judges", action="store_true", help="score target sentences that are neither dev nor test")
    parser.add_argument("--set", action="append", default=[], metavar="A.B=C", help="a setting of all runs")
    parser.add_argument("--option", action="append", default=[], metavar="RECIPE.A=B", help="an option of a recipe")
    parser.add_argument("--limit", type=int, metavar="N", help="for a trial: so many sentences of every part")
    parser.add_argument("--table", metavar="FILE")
    options = parser.parse_args()
    for name, known in {"targets": TARGETS, "typing": TYPING, "recipes": RECIPES}.items():
        given = getattr(options, name).split(",")
        setattr(options, name, given)
        if unknown := [each for each in given if each not in known]:
            parser.error(f"--{name}: unknown: {', '.join(unknown)}. Known: {', '.join(known)}")
    options.seeds, options.labels = ([int(one) for one in text.split(",")] for text in (options.seeds, options.labels))
    return options


if __name__ == "__main__":
    main()

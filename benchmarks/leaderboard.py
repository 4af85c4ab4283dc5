"""All recipes on one board: CoNLL-2003 → seven targets, with no labels of the target and with 100.

    python benchmarks/leaderboard.py --data FOLDER --out DIR [--part main,variants] [--seeds 1,2,3] [--jobs 12]
        [--targets wnut2016,fin] [--labels 0,100] [--typing typed,typeless] [--models source-only,mat]
        [--option acclimate.noise=false] [--tuning 300] [--set A=B] [--minutes M] [--against acclimate]
        [--table FILE.md]

main      every recipe as it is, scored on test; `auto`; the regret of every selector
variants  parts of the recipe `acclimate`, alone and together, never scored on test: to choose its defaults by
          [--variant noise=true,tuning=false,...] (as often as wanted, in the place of the usual ones)
tables    nothing is trained: the tables of what is there. To make them from published rows, put these into DIR as
          results.jsonl (marks of significance need every tagger's answers, which DIR/tags holds after a run)

Data. Targets: WNUT-2016, SciTech, Wikigold, FIN, and politics, science and literature of CrossNER. Typed: types made
CoNLL's four by the bundled maps; type-less: all types made one, in the source, too. (What taggers of types answer is
also scored without its types.) Each target has a pool to learn from, 100 dev sentences, judges, test, and, where the
train part has fewer than 300 sentences (CrossNER), more text. Where there is a dev part, the 100 are drawn from it
once, and the rest are judges; half of these are text instead, without their tags, where the train part is so short.
SciTech has test sentences alone, and is divided by a fixed seed: 100 dev, 950 test, 200 judges, the rest is the pool.
FIN has no dev: 100 dev sentences and 200 judges are taken from its train part. Files of a data set are not freed of the
few sentences that stand in two of them (most in science: 12 of its 543 test sentences stand elsewhere, 7 of these in
the text). The labelled sentences are drawn from the pool by the seed, the same for all recipes (in literature all 100
that there are); the rest of the pool and the further text are there without tags. A ± is over seeds, so the draw is in
it.

Who chooses the state. Without labels: CoNLL-2003 dev. With labels: the 100 target dev sentences, every 50 updates. Test
is scored once, when all is over; nothing is chosen by it. Judges choose nothing in main; variants are scored on them.

Lines. Recipes have their default options, but for domain tuning, which has `--tuning` updates in all of them. With
labels, `plain` has a batch of the source and one of the labelled target in every update, and learns their tags and no
more (la-dtl with weight 0); what `adapt` calls "before" does not learn from target labels, so this is the line to beat.
`plain (pooled)` learns the two as one corpus, as mat and mslm do. source-only is the run without labels, and
adversarial-masking learns no target label either: only its state is chosen by some.

Effort. All read the source twice, or as often as `--set epochs=` says. Stages of a recipe's own (domain tuning,
rounds) come on top: the tables tell how many updates each line made. target-only makes 500.

compose is the recipe of that name with its default stages, an illustration: it learns no target label.

`auto` is not run: it is the race without its shortening. All candidates (every recipe but compose, and not the plain
lines) have made their whole training, and the race's own rule takes the one that the default selector prefers, on
target text without tags. The selector `agreement` is asked when all candidates are there. With labels a race holds out
a part of them to judge by; here the 100 dev sentences do that, which have also chosen the states. Its seconds and
updates are those of all candidates. Selectors that look at the source's dev sentences see 1,000 of them. Regret is told
on test, and on the judges: by the latter a selector may be chosen.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from grid import common_arguments, read_rows, run_jobs, same_settings, show
from leaderboard_jobs import EVERY, MAIN, MODELS, VARIANTS, Job, Run, do, job_for, job_of
from leaderboard_tables import tables
from targets import TARGETS

PARTS = (MAIN, VARIANTS, "tables")
TYPING = {"typed": True, "typeless": False}
SWITCHES = ("tuning", "noise", "alignment", "contrast", "distillation", "self_labels", "anchors")
LONGER = "training.epochs=3.5"  # as many updates as with two rounds
# what is on; anchors need labels
USUAL_VARIANTS = (
    "",
    *SWITCHES,
    "tuning noise",
    "tuning distillation",
    "tuning self_labels",
    "noise distillation",
    "noise self_labels",
    "tuning noise distillation",
    "tuning noise self_labels",
    "tuning noise distillation self_labels",
    "tuning anchors",
    "tuning noise anchors",
    "tuning noise anchors distillation",
    "alignment contrast",
    "tuning alignment contrast",
    "tuning noise alignment contrast",
    "alignment contrast anchors distillation",
    "tuning alignment contrast anchors distillation",
    "tuning noise alignment contrast anchors distillation",
)
HEAVY = ("datnet", "acclimate", "adversarial-masking", "pdaln")  # jobs that take longest begin first


def usual_variants() -> list[tuple[str, ...]]:
    found = [tuple(f"{name}={str(name in on.split()).lower()}" for name in SWITCHES) for on in USUAL_VARIANTS]
    return [*found, (*found[0], LONGER)]


def planned(part: str, options: argparse.Namespace) -> Iterator[Job]:
    for labels, typed, target in product(options.labels, options.typing, options.targets):
        if part == MAIN:
            for model in options.models:
                if (labels > 0) in MODELS[model].labels:
                    yield job_for(part, target, labels, typed, model, options.changes.get(model, ()))
        elif part == VARIANTS:
            for changes in options.variants:
                if labels or "anchors=true" not in changes:
                    yield job_for(part, target, labels, typed, "acclimate", with_options(changes, options))


def with_options(changes: tuple[str, ...], options: argparse.Namespace) -> tuple[str, ...]:
    """A variant, and what all of them have; the variant's own word counts."""
    own = {change.partition("=")[0] for change in changes}
    return (*changes, *(one for one in options.changes["acclimate"] if one.partition("=")[0] not in own))


def in_good_order(jobs: list[Job]) -> list[Job]:
    """Those of all targets at once first, then the slow ones: at the end none is waited for alone."""
    return sorted(jobs, key=lambda job: (job.target != EVERY, job.model not in HEAVY))


def main() -> None:
    options = arguments()
    run = run_of(options)
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    same_settings(out, run.settings)
    results = out / "results.jsonl"
    rows = read_rows(results)
    done = set(map(job_of, rows))
    seeds = [int(seed) for seed in options.seeds.split(",")]
    wanted = in_good_order(list(dict.fromkeys(job for part in options.part for job in planned(part, options))))
    jobs = [job for seed in seeds for one in wanted if (job := replace(one, seed=seed)) not in done]
    print(f"{len(jobs)} jobs to do, {len(done)} results there", file=sys.stderr)
    rows += run_jobs(
        jobs,
        partial(do, run),
        results,
        options.jobs,
        name=lambda job: job.name,
        minutes=options.minutes,
        fresh=options.fresh,
    )
    rows = [row for row in rows if row["seed"] in seeds]
    show(tables(rows, options), options.table)


def run_of(options: argparse.Namespace) -> Run:
    from acclimate.settings import with_assignments

    values: dict[str, Any] = {
        "epochs": 2,
        "words_per_batch": 2048,
        "learning_rate": 4e-4,
        "warm_up": 0.1,
        "clip": 1.0,
    }
    training = with_assignments(values, options.set)
    return Run(options.data, options.out, options.encoder, training, tuple(options.selectors), options.limit)


def changes_of(options: argparse.Namespace) -> dict[str, tuple[str, ...]]:
    """Options that differ from a recipe's own, by the recipe."""
    found = {
        "adversarial-masking": [f"updates={options.tuning}"],
        "acclimate": [f"domain_tuning.updates={options.tuning}"],
    }
    for given in options.option:
        model, _, change = given.partition(".")
        found.setdefault(model, []).append(change)
    return {model: tuple(changes) for model, changes in found.items()}


def arguments() -> argparse.Namespace:
    parser = common_arguments(__doc__)
    parser.add_argument("--part", default=MAIN, metavar="PARTS", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--targets", default=",".join(TARGETS), metavar="TARGETS")
    parser.add_argument("--labels", default="0,100", metavar="NUMBERS", help="of labelled target sentences")
    parser.add_argument("--typing", default=",".join(TYPING), metavar="WORDS", help="typed, typeless, or both")
    parser.add_argument("--models", default=",".join(MODELS), metavar="MODELS", help="lines of main, but for auto")
    parser.add_argument("--selectors", metavar="NAMES", help="whose regret is told; all of them")
    parser.add_argument("--encoder", default="acclimate-mini")
    parser.add_argument("--tuning", type=int, default=300, metavar="N", help="updates of domain tuning")
    parser.add_argument("--option", action="append", default=[], metavar="RECIPE.A=B", help="an option of a recipe")
    parser.add_argument("--variant", action="append", default=[], metavar="A=B,C=D", help="options of acclimate")
    parser.add_argument("--against", choices=MODELS, metavar="MODEL", help="with whom marks of significance compare")
    parser.add_argument("--fresh", action="store_true", help="a process for each job: slower, and its memory is freed")
    options = parser.parse_args()
    options.selectors = options.selectors or ",".join(all_selectors())
    known = {"part": PARTS, "targets": TARGETS, "typing": TYPING, "models": MODELS, "selectors": all_selectors()}
    for name, values in known.items():
        given = getattr(options, name).split(",")
        setattr(options, name, given)
        if unknown := [each for each in given if each not in values]:
            parser.error(f"--{name}: unknown: {', '.join(unknown)}. Known: {', '.join(values)}")
    options.labels = [int(number) for number in options.labels.split(",")]
    options.typing = [TYPING[name] for name in options.typing]
    options.changes = changes_of(options)
    options.variants = [tuple(text.split(",")) for text in options.variant] or usual_variants()
    if unknown := options.changes.keys() - MODELS.keys():
        parser.error(f"--option: unknown: {', '.join(unknown)}")
    return options


def all_selectors() -> tuple[str, ...]:
    from acclimate.comparison.judging import ALL_SELECTORS

    return ALL_SELECTORS


if __name__ == "__main__":
    main()

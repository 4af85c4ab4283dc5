"""Do augmentation, alignment and teaching in rounds help a tagger in a new domain? PDALN's tables (Zhang et al. 2021).

    python benchmarks/pdaln.py --data FOLDER --out DIR [--part table1,table2,types,ratio,sweeps,errors] [--seeds 1,2,3]
        [--targets wnut2016,scitech,wikigold] [--labels 0,100] [--models encoder+CRF,PDALN] [--jobs 8]
        [--pdaln gamma=0.3] [--set A=B] [--minutes M] [--table FILE.md]
    python benchmarks/pdaln.py --data FOLDER --out DIR --part variants,rounds --judged --labels 100
        --variant "gamma=0.3 round_rate=0.1" [--variant ...]
    python benchmarks/pdaln.py --part cost [--data FOLDER] [--device cuda] [--updates 2] [--rounds 5] [--json FILE]

table1  both settings: BiLSTM+CRF, encoder+CRF, La-DTL, DATNet, PDALN, with Mean Teacher, with VAT
table2  what is lost without each of PDALN's parts
types   Table 3: by type
ratio   Table 4: source sentences that are augmented for each labelled target sentence
sweeps  Figure 3: gamma, alpha, alpha' (without labels) and beta, one at a time, the others as they are
errors  mistakes by kind, borders, over-labelling and F1 by length, of `--error-models`; all of them in DIR/errors
variants  PDALN with other options, a line for each `--variant`, beside PDALN as it is and its first stage alone
rounds  the same ones with every round taken, none undone: scores after the first stage and after each round
cost    what an update costs with each term, beside encoder+CRF (pdaln_cost.py)

Parts share jobs: the same one is done once.

Data. The source is CoNLL-2003. Targets: WNUT-2016 with its ten types made four (the map wnut16-to-conll) and Wikigold,
both with the train, dev and test that they have; SciTech, of which only 2,000 test sentences exist, is divided by a
fixed seed, equal sentences on one side: 100 dev, 950 test, 950 for the rest. The paper does not say how it split; its
scores are not comparable. Of the train part (SciTech: the rest) the labelled sentences are drawn by the seed, the same
for all models; what remains is unlabelled target text, without its tags. A ± is over seeds, so the draw is in it. Dev
and test are the same for all seeds.

Which state is kept. Without labels: by CoNLL-2003 dev; no target label has a say. With labels: by 100 target dev
sentences (of 1,000 in WNUT-2016, of 280 in Wikigold, drawn once), every 50 updates, and they judge PDALN's rounds, too,
at eight looks or more in each. All models have the same ones. Test is scored once (in `rounds`, after every stage;
nothing is chosen by it).

To choose options, `--judged` scores on judges in the place of test: sentences of WNUT-2016's and Wikigold's dev parts
that are not among the 100, and 200 of SciTech's rest, which nobody learns from then. Such results have an --out of
their own.

Models. `encoder+CRF` is acclimate-mini under a CRF: without labels trained on the source; with labels, every update has
a batch of the source and one of the labelled target. `encoder+CRF (pooled)` learns the two as one corpus instead.
La-DTL and DATNet (form F, GRAD, noise) are on the same encoder. BiLSTM+CRF reads letters and 50-d GloVe vectors,
trained further.

Effort. The source is read 3 times. Without labels all make as many updates. With labels PDALN makes some more in its
rounds (3, of 4 passes over the augmented text), and every other model as many as PDALN's first stage and all its rounds
together, whether these are kept or not; a round that ends PDALN's run early saves it the rest. Without augmentation the
rounds have more passes, so that updates are as many. The LSTM, which learns from nothing, makes 4 times as many. An
update reads `words_per_batch` words of the source, and where the target is learnt from as many of that; for PDALN half
of these are unlabelled. In `ratio` more text makes more updates. What differs from PDALN only in
the rounds (its variants, some of its ablations, most of `--variant`) goes on from the first stage of PDALN of the same
seed (kept in `--states`): it would come out the same.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from itertools import product
from operator import attrgetter
from pathlib import Path
from typing import Any

from grid import Row, common_arguments, run_grid, speed_table
from pdaln_cost import cost
from pdaln_jobs import (
    ABLATIONS,
    BASE,
    FIRST_STAGE,
    LSTM_TRAINING,
    MODELS,
    PDALN,
    TARGETS,
    Job,
    Run,
    changes_of,
    do,
    in_good_order,
    job_for,
    job_of,
    settings_of,
    with_all_rounds,
)
from pdaln_rounds import round_tables, variant_lines, variant_table
from pdaln_tables import (
    RATIOS,
    SWEEPS,
    error_tables,
    ratio_changes,
    ratio_table,
    sweep_changes,
    sweep_tables,
    table_1,
    table_2,
    type_tables,
)

PARTS = ("table1", "table2", "types", "ratio", "sweeps", "errors", "variants", "rounds", "cost")


def planned(part: str, options: argparse.Namespace) -> Iterator[Job]:
    some = list(filter(None, options.labels))
    if part == "table1":
        for model, labels, target in product(options.models, options.labels, options.targets):
            if model not in ABLATIONS and (labels or not MODELS[model].needs_labels):
                yield job_for(target, labels, model)
    elif part == "table2":
        for model, labels, target in product((PDALN, *ABLATIONS), some, options.targets):
            yield job_for(target, labels, model)
    elif part in ("types", "errors"):
        models = options.error_models if part == "errors" else (BASE, PDALN)
        for model, labels, target in product(models, options.labels, options.targets):
            if labels or not MODELS[model].needs_labels:
                yield job_for(target, labels, model)
    elif part == "ratio":
        for labels, target in product(some, options.targets):
            yield job_for(target, 0, PDALN)
            for ratio in RATIOS:
                yield job_for(target, labels, PDALN, ratio_changes(ratio))
    elif part == "sweeps":
        for (needs_labels, option, numbers), labels in product(SWEEPS.values(), options.labels):
            if needs_labels == (labels > 0):
                for value, target in product(numbers, options.targets):
                    yield job_for(target, labels, PDALN, sweep_changes(option, value, options))
    elif part in ("variants", "rounds"):
        for labels, target in product(some, options.targets):
            yield job_for(target, labels, PDALN, FIRST_STAGE)
            if part == "variants":
                yield job_for(target, labels, BASE)
            for changes in variant_lines(options).values():
                yield job_for(target, labels, PDALN, changes if part == "variants" else with_all_rounds(changes))


def main() -> None:
    options = arguments()
    if options.part == ["cost"]:
        cost(options)
        return
    run = run_of(options)
    wanted = [job for part in options.part for job in planned(part, options)]
    shown = partial(tables, options=options)
    turn = attrgetter("turn")
    run_grid(in_good_order(wanted), partial(do, run), options, settings_of(run), job_of, shown, turn)


def tables(rows: list[Row], options: argparse.Namespace) -> str:
    makers = {
        "table1": table_1,
        "table2": table_2,
        "types": type_tables,
        "ratio": ratio_table,
        "sweeps": sweep_tables,
        "errors": error_tables,
        "variants": variant_table,
        "rounds": round_tables,
    }
    found = [makers[part](rows, options) for part in options.part if rows]
    speed = [speed_table(rows, lambda row: f"{row['model']}, {row['labels']} labels")] if rows else []
    return "\n\n".join(filter(None, [*found, *speed]))


def run_of(options: argparse.Namespace) -> Run:
    from acclimate.settings import with_assignments

    values: dict[str, Any] = {
        "epochs": 3,
        "words_per_batch": 1024,
        "learning_rate": 4e-4,
        "warm_up": 0.1,
        "clip": 1.0,
    }
    states = Path(options.states or Path(options.out) / "work")
    return Run(
        options.data,
        options.out,
        str(states / "judged" if options.judged else states),  # SciTech's first stage is another one then
        with_assignments(values, options.set),
        with_assignments(dict(LSTM_TRAINING), options.lstm),
        options.vectors,
        with_assignments({}, options.pdaln),
        options.limit,
        options.judged,
    )


def arguments() -> argparse.Namespace:
    parser = common_arguments(__doc__, required=False)
    parser.add_argument("--part", default="table1", metavar="PARTS", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--targets", default=",".join(TARGETS), metavar="TARGETS")
    parser.add_argument("--labels", default="0,100", metavar="NUMBERS", help="of labelled target sentences")
    parser.add_argument("--models", default=",".join(MODELS), metavar="MODELS", help="of table1")
    parser.add_argument("--error-models", default=f"{BASE},{PDALN}", metavar="MODELS", help="of errors")
    parser.add_argument("--pdaln", action="append", default=[], metavar="A=B", help="an option of all that is PDALN")
    parser.add_argument(
        "--variant", action="append", default=[], metavar="'A=B C=D'", help="a line of variants and rounds: options"
    )
    parser.add_argument("--judged", action="store_true", help="score on judges, not on test: to choose options")
    parser.add_argument("--lstm", action="append", default=[], metavar="A=B", help="a setting of the LSTM's training")
    parser.add_argument("--vectors", default="glove", help="of the LSTM: glove, a file, or none")
    parser.add_argument("--states", metavar="DIR", help="for trained first stages, 75 MB each; default: work in --out")
    costs = parser.add_argument_group("cost")
    costs.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    costs.add_argument("--updates", type=int, default=2, help="in each turn")
    costs.add_argument("--rounds", type=int, default=5)
    costs.add_argument("--words", type=int, default=1024, help="of each domain in an update")
    costs.add_argument("--threads", type=int, default=1)
    costs.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    for name, values in {"part": PARTS, "targets": TARGETS, "models": MODELS, "error_models": MODELS}.items():
        given = getattr(options, name).split(",")
        setattr(options, name, given)
        if unknown := [each for each in given if each not in values]:
            parser.error(f"--{name.replace('_', '-')}: unknown: {', '.join(unknown)}")
    options.labels = [int(number) for number in options.labels.split(",")]
    options.variant = [changes_of(variant) for variant in options.variant]
    if problem := variant_problem(options):
        parser.error(f"--variant: {problem}")
    if "cost" in options.part and len(options.part) > 1:
        parser.error("--part cost stands alone.")
    if options.part != ["cost"] and not (options.data and options.out):
        parser.error("--data and --out are needed.")
    return options


def variant_problem(options: argparse.Namespace) -> str | None:
    """Told at once, not by every job."""
    from acclimate.recipes.pdaln import PdalnSettings
    from acclimate.settings import SettingsError, complete, with_assignments

    if options.variant and not {"variants", "rounds"} & set(options.part):
        return "there are lines for it in the parts variants and rounds alone."
    try:
        for changes in options.variant:
            complete(PdalnSettings, with_assignments({}, changes), where="options of pdaln")
    except SettingsError as problem:
        return str(problem)
    return None


if __name__ == "__main__":
    main()

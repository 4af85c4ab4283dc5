"""Do mask-specific losses help a biomedical tagger? MSLM's tables and figures (Abaho and others 2024), small scale.

    python benchmarks/mslm.py --data FOLDER --out DIR [--part main,grid,...] [--sets bc2gm,ncbi_disease,...]
        [--encoders acclimate-mini,tuned] [--methods vanilla,MSLM,...] [--seeds 1,2,3] [--jobs 8] [--updates 1500]
        [--lines 40000] [--tuning updates=2000] [--set A=B] [--mslm A=B] [--minutes M] [--table FILE.md]

main        Tables 3, 8 and 10: exact match, micro and macro F1 of all methods; Table 4: perplexity; Table 9: the data
weights     Table 6: with and without weights, at the main rates and at ELM 0.25, BLM 0.225, where others are hidden
            more often than entities, so that the weights do something
grid        Figure 4: exact match over ELM x BLM
budgets     Figure 5: joint, SPAN and PMI masks of as many words, for four budgets
lengths     Table 5: short and long sentences, under four pairs of rates
curves      Figures 3 and 6: dev F1 along training; when does one reach another's best?
confidence  Figure 2: how sure vanilla and MSLM are of the outcomes of EBM-NLP

Parts share jobs: the same one is done once. Pictures go to DIR/pictures where matplotlib is there.

Methods. `vanilla`: the same encoder under one linear layer and a softmax, plainly trained. `heads`: MSLM's heads,
plainly trained, nothing hidden: what those alone do. `MSLM`: the tag losses on masked text and on text as it is
(`tags_on=both`), so that an update reads a sentence twice; `MSLM-unweighted`, `SPAN` and `PMI` alike. `MSLM-clean`, the
recipe's default: tag losses on text as it is alone. `MSLM-masked`: on masked text alone, the paper's own; it shows what
that does to text without masks. `MSLM-unweighted`: without weights. `SPAN`, `PMI`: as many words of each sentence
hidden, chosen otherwise. ELM is 1 and BLM 0.075 unless a part says otherwise. All make the same number of updates of
the same batches; the state is chosen on dev by span F1, and test, never masked, is scored once.

Encoders. `acclimate-mini` as it ships, and `tuned`: the same tuned with random masking to a fixed sample of `--lines`
lines of FOLDER/pubmed/unlabelled.txt.gz, made once in DIR/tuned. That text holds no dev or test sentence of the sets
(letters and digits compared), but 7,406 training sentences of JNLPBA.

Data. BC2GM, NCBI-disease and BC5CDR-chem as they are. JNLPBA with proteins, DNA and RNA made one type and cells dropped
(the map jnlpba-to-gene); `jnlpba_biobert`, not among the defaults, is the split whose figures the paper has. EBM-NLP
outcomes has no train part here: of the 7,687 sentences of its dev part 6,687 are learnt from and 1,000 are dev, drawn
by a fixed seed, equal sentences on one side; its six types stay. A set without dev gives 1,000 training sentences.

Perplexity (E2.18) is of dev text at the kept state, 15 % of the pieces hidden at random, all weighing the same, the
same ones for every model of an encoder. MSLM has trained its language-model head. Vanilla has none: its encoder is
asked under the head that the encoder was shipped with, whose last layer is the encoder's own table of pieces; `heads`
alike. `untouched` is the encoder before any training. MSLM saw hidden words of this kind of text and vanilla did not.

grid, budgets and lengths read the first of --encoders, and where --sets is not given, few sets; grid and lengths are
of `--grid-methods`, of which MSLM is the default. Epochs are passes over the training sentences.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from grid import common_arguments, read_rows, run_grid, same_settings
from mslm_jobs import (
    ENCODERS,
    METHODS,
    MSLM,
    SETS,
    TUNED,
    UNTOUCHED,
    UNWEIGHTED,
    VANILLA,
    Job,
    Run,
    do,
    job_of,
    make_tuned,
)
from mslm_tables import BLM, BUDGETS, ELM, STRATEGIES, draw_all, tables

PARTS = ("main", "weights", "grid", "budgets", "lengths", "curves", "confidence")
USUAL = ("bc2gm", "ncbi_disease", "bc5cdr_chem", "jnlpba", "ebm_nlp_outcomes")
FEW = {"grid": ("bc2gm", "ncbi_disease"), "budgets": ("bc2gm", "bc5cdr_chem"), "lengths": ("bc2gm",)}
TELLING_RATES = (0.25, 0.225)  # entities are the fewer here


def planned(part: str, options: argparse.Namespace) -> Iterator[Job]:
    sets = options.sets or FEW.get(part, USUAL)
    first = options.encoders[:1]
    if part == "main":
        for method, corpus, encoder in product((*options.methods, UNTOUCHED), sets, options.encoders):
            yield Job(corpus, encoder, method)
    elif part == "weights":
        for method, corpus in product((MSLM, UNWEIGHTED), sets):
            yield Job(corpus, first[0], method)
            yield Job(corpus, first[0], method, *TELLING_RATES)
    elif part == "grid":
        for method, corpus, elm, blm in product(options.grid_methods, sets, ELM, BLM):
            yield Job(corpus, first[0], method, elm, blm)
    elif part == "budgets":
        for method, corpus, rates in product(STRATEGIES, sets, BUDGETS):
            yield Job(corpus, first[0], method, *rates)
    elif part == "lengths":
        for corpus in sets:
            yield Job(corpus, first[0], VANILLA)
        for method, corpus, rates in product(options.grid_methods, sets, BUDGETS):
            yield Job(corpus, first[0], method, *rates)
    elif part == "curves":
        for method, corpus, encoder in product((VANILLA, MSLM), sets, options.encoders):
            yield Job(corpus, encoder, method)
    elif part == "confidence":
        typed = [corpus for corpus in sets if SETS[corpus].typed]
        for method, corpus in product((VANILLA, MSLM), typed):
            yield Job(corpus, first[0], method)


def main() -> None:
    options = arguments()
    run = run_of(options)
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    settings = {**run.__dict__, "data": None, "out": None, "tuning": options.tuning, "lines": options.lines}
    same_settings(out, settings)
    wanted = [job for part in options.part for job in planned(part, options)]
    if options.minutes != 0 and any(job.encoder == TUNED for job in wanted):
        make_tuned(options.data, options.out, options.lines, options.tuning)
    shown = partial(tables, options=options) if options.tables else lambda rows: ""
    run_grid(wanted, partial(do, run), options, settings, job_of, shown)
    if options.tables:
        draw_all(read_rows(out / "results.jsonl"), options)


def run_of(options: argparse.Namespace) -> Run:
    from acclimate.settings import with_assignments

    values: dict[str, Any] = {
        "updates": options.updates,
        "words_per_batch": 1024,
        "learning_rate": 4e-4,
        "warm_up": 0.1,
        "clip": 1.0,
    }
    training, mslm = with_assignments(values, options.set), with_assignments({}, options.mslm)
    return Run(options.data, options.out, training, mslm, options.limit)


def arguments() -> argparse.Namespace:
    parser = common_arguments(__doc__)
    parser.add_argument("--part", default="main", metavar="PARTS", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--sets", metavar="SETS", help=f"of {', '.join(SETS)}; else what the part needs")
    parser.add_argument("--encoders", default=",".join(ENCODERS), help="also names and folders of others")
    parser.add_argument("--methods", default=",".join(METHODS), metavar="METHODS", help="of the part main")
    parser.add_argument("--grid-methods", default=MSLM, metavar="METHODS", help="of the parts grid and lengths")
    parser.add_argument("--updates", type=int, default=1500)
    parser.add_argument("--lines", type=int, default=40_000, metavar="N", help="of PubMed text to tune to")
    parser.add_argument("--tuning", action="append", default=[], metavar="A=B", help="a setting of domain tuning")
    parser.add_argument("--mslm", action="append", default=[], metavar="A=B", help="an option of the recipe mslm")
    parser.add_argument(
        "--no-tables", dest="tables", action="store_false", help="jobs only; the same command without it shows them"
    )
    options = parser.parse_args()
    options.encoders = options.encoders.split(",")
    known = {"part": PARTS, "sets": SETS, "methods": METHODS, "grid_methods": METHODS}
    for name, values in known.items():
        given = getattr(options, name).split(",") if getattr(options, name) else []
        setattr(options, name, given)
        if unknown := [each for each in given if each not in values]:
            parser.error(f"--{name.replace('_', '-')}: unknown: {', '.join(unknown)}")
    return options


if __name__ == "__main__":
    main()

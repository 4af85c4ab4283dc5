"""Does a source help where a target has few labels? DATNet's tables and figures (Zhou et al. 2021), at small scale.

    python benchmarks/datnet.py --data FOLDER --out DIR [--part few,grid,...] [--seeds 1,2,3] [--jobs 8]
        [--models base,DATNet-F] [--amounts 10,all] [--updates 3000] [--rate 0.003] [--paper-schedule] [--radius 5]
        [--vectors glove] [--set A=B] [--minutes M] [--table FILE.md]

few        Table 6: CoNLL-2003 → WNUT-2016 with 10 … 1000 labelled sentences, and with all
languages  the same for CoNLL-2002 Spanish, with 50 and 1000
ratio      Figure 3: by the share of the target's words
table3     all labelled sentences: best, mean and deviation
grid       Table 7: with or without adversarial training × nothing, P or F × no discriminator, a plain one, GRAD
dropout    Table 8: adversarial training against dropout on what the LSTM reads
radius     Table 9: noise on the target's words × share;  alpha  Table 10: GRAD's weight × share
gamma      Figure 5: GRAD's focus
features   Figure 4: how far the shared features tell the domains apart, a number and a t-SNE map (DIR/maps)
pos        parts of speech, Spanish → Galician and French (accuracy). Of the Spanish treebank only dev is used, to learn
           from; Galician has no dev, so 100 of its training sentences are held out for it

FOLDER holds conll2003, wnut2016, conll2002_es, ud_es_gsd, ud_gl_treegal and ud_fr_sequoia.

The models: `base` learns from the few target sentences alone, `AT` does so under adversarial noise (the recipe mat
without masks, the noise weighted as the rest). `P-transfer` and `F-transfer` are DATNet with GRAD and without noise,
`DATNet-P` and `DATNet-F` the whole. All make the same number of updates of 16 target sentences, half of `--updates`
where there are 200 and fewer; those with a source read 16 of its sentences besides. All normalise their tables
(`--normalise none`: none does); `raw base` never does. The tagger is the paper's: 30-d letters, 20 filters of 2, 3 and
4, two highways, LSTM 200 (P: 100 + 100), CRF, dropout 0.2 before and 0.5 after the LSTM. English words have frozen 50-d
GloVe vectors; words of the source and of the target's train, dev and test text that GloVe knows are in the table (words
only, no tags), as usual. For other languages there are no vectors here: both sides learn their tables from nothing,
which the paper did not.

The few sentences are drawn by the seed, the same for all models and each amount within the next. The state is chosen on
target dev; test is scored once. A `±` is the standard deviation over seeds, so the draw is in it. Lines marked "paper"
are what is legible in its tables, and were made with other vectors and longer training.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

from datnet_published import PAPER
from grid import Row, common_arguments, file_name, find, markdown, run_grid, speed_table, told

PARTS = (
    "few",
    "languages",
    "ratio",
    "table3",
    "grid",
    "dropout",
    "radius",
    "alpha",
    "gamma",
    "features",
    "pos",
)
SIZES = ("10", "50", "100", "200", "500", "1000", "all")
SHARES = ("0.05", "0.1", "0.2", "0.4", "0.6", "all")
SOME_SHARES = ("0.1", "0.2", "0.4", "0.6")
RADII = ("1", "3", "5", "7", "9")
ALPHAS = ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8")
GAMMAS = ("0", "0.5", "1", "2", "4")
DISCRIMINATORS = {"none": "no AD", "plain": "AD", "grad": "GRAD"}
FEW = 200  # sentences, for which half the updates are enough
POINTS, DRAWN = 2000, 1000  # of each domain: told apart, and put on a map


@dataclass(frozen=True)
class Transfer:
    """From which source a target learns."""

    source: str
    part: str = "train"
    vectors: bool = False  # whether there are vectors of the target's words


TRANSFERS = {
    "wnut2016": Transfer("conll2003", vectors=True),
    "conll2002_es": Transfer("conll2003"),
    "ud_gl_treegal": Transfer("ud_es_gsd", "dev"),
    "ud_fr_sequoia": Transfer("ud_es_gsd", "dev"),
}
TAGGER: dict[str, Any] = {
    "character_width": 30,
    "character_filters": 20,
    "character_spans": (2, 3, 4),
    "highways": 2,
    "lstm_width": 200,
    "dropout": 0.5,
    "input_dropout": 0.2,
    "word_width": 50,
}
PAPER_SCHEDULE = {"learning_rate": 0.001, "decay": "inverse", "decay_rate": 0.05, "warm_up": 0}


# ----------------------------------------------------------------------------------------------------------- models


def transfer_name(form: str, discriminator: str, noise: bool) -> str:
    if discriminator == "grad":
        return f"DATNet-{form}" if noise else f"{form}-transfer"
    return f"{'AT + ' if noise else ''}{form} ({DISCRIMINATORS[discriminator]})"


MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "base": ("target-only", {}),
    "raw base": ("target-only", {}),
    "AT": ("mat", {"rate": 0, "weight": 1}),
    **{
        transfer_name(form, discriminator, noise): (
            "datnet",
            {"form": form, "discriminator": discriminator, "adversarial": noise},
        )
        for form, discriminator, noise in product("PF", DISCRIMINATORS, (False, True))
    },
}
NOISY = {"mat": ("words", "characters"), "datnet": ("source_words", "target_words", "characters")}
SIX = ("base", "AT", "P-transfer", "F-transfer", "DATNet-P", "DATNet-F")


@dataclass(frozen=True)
class Job:
    """One training and one test. `amount` is a number of sentences, a share of the words (with a point), or all;
    `changes` are settings of the tagger and options of the recipe that differ from the model's."""

    target: str
    amount: str
    model: str
    changes: tuple[str, ...] = ()
    mapped: bool = False  # the features are looked at afterwards
    seed: int = 0

    @property
    def name(self) -> str:
        parts = [self.target, self.amount, self.model, *self.changes, *(["mapped"] if self.mapped else [])]
        return f"{', '.join(parts)}, seed {self.seed}"


def job_of(row: Row) -> Job:
    return Job(row["target"], row["amount"], row["model"], tuple(row["changes"]), row["mapped"], row["seed"])


@dataclass(frozen=True)
class Run:
    """What all jobs have in common."""

    data: str
    out: str
    training: dict[str, Any]
    normalise: str
    vectors: str  # of English words
    limit: int | None
    radius: float  # of all noise

    def training_for(self, amount: str) -> dict[str, Any]:
        if not (amount.isdigit() and int(amount) <= FEW):
            return self.training
        halves = {name: max(1, self.training[name] // 2) for name in ("updates", "evaluate_every")}
        return {**self.training, **halves}


# ------------------------------------------------------------------------------------------------------------- jobs


def do(run: Run, job: Job) -> list[Row]:
    from one_recipe import forget, train

    from acclimate.data.batches import SOURCE, TARGET
    from acclimate.evaluation.scores import score
    from acclimate.inference.predict import predict
    from acclimate.model.tagger import Tagger
    from acclimate.settings import with_assignments

    transfer = TRANSFERS[job.target]
    parts = {part: corpus[: run.limit] for part, corpus in target_parts(run.data, job.target).items()}
    source = read(run.data, transfer.source, transfer.part)[: run.limit]
    whole = target_parts(run.data, job.target)["train"]
    few = taken(whole, job.amount, job.seed)[: run.limit]
    recipe, options = MODELS[job.model]
    normalise = "none" if job.model == "raw base" else run.normalise
    if recipe != "target-only":
        radii = dict.fromkeys(NOISY[recipe], run.radius)
        options = {**options, "normalise": normalise, "radius": radii}
    settings = with_assignments({"tagger": {**TAGGER, "normalise": normalise}, "options": options}, job.changes)
    if transfer.vectors:
        settings["tagger"] |= {"vectors": run.vectors, "train_vectors": False}
    tagger = Tagger.build(
        "character-cnn-lstm",
        labels=(whole + parts["dev"] + parts["test"]).labels,
        text=few,
        more_text=(source + whole + parts["dev"] + parts["test"]).unlabelled(),
        seed=job.seed,
        **settings["tagger"],
    )
    folder = Path(run.out) / "work" / file_name(job.name)
    # adversarial training alone: the few sentences are all there is, so they are what mat calls its source
    learns_alone = recipe == "mat"
    done = train(
        tagger,
        recipe,
        few if learns_alone else source,
        None if learns_alone else few,
        parts["dev"],
        training=run.training_for(job.amount),
        options=settings["options"],
        seed=job.seed,
        aside={} if learns_alone else {SOURCE: others(run, transfer), TARGET: parts["dev"]},
        folder=folder,
    )
    scores = score(parts["test"], predict(tagger, parts["test"]))
    test = scores.token.accuracy if parts["test"].kind == "plain" else scores.span.f1
    games = [row["accuracy"] for row in done.rows if row["kind"] == "game"]
    row = {**asdict(job), "test": 100 * test, **done.facts(), "sentences": len(few), "words": few.word_count}
    if games:
        row["discriminator"] = games[-1]
    if job.mapped:
        row |= look_at_features(run, job, done.learner, others(run, transfer), parts["test"])
    forget(folder)
    return [row]


@cache
def read(data: str, corpus: str, part: str) -> Any:
    from acclimate.data.reading import read_corpus

    return read_corpus(find(data, corpus, part), labels="plain" if corpus.startswith("ud_") else None)


@cache
def target_parts(data: str, target: str) -> dict[str, Any]:
    """train, dev and test; where there is no dev, 100 training sentences are held out for it."""
    from acclimate.data.subsets import split

    parts = {part: read(data, target, part) for part in ("train", "test")}
    if any((Path(data) / target).glob("dev.*")):
        return {**parts, "dev": read(data, target, "dev")}
    return {**parts, **split(parts["train"], {"train": "rest", "dev": 100})}


def others(run: Run, transfer: Transfer) -> Any:
    """Source sentences that nobody learns from."""
    part = "test" if transfer.part == "dev" else "dev"
    return read(run.data, transfer.source, part)[: run.limit]


def taken(corpus: Any, amount: str, seed: int) -> Any:
    from acclimate.data.subsets import take_sentences, take_share_of_words

    if amount == "all":
        return corpus
    if "." in amount:
        return take_share_of_words(corpus, float(amount), seed)
    return take_sentences(corpus, int(amount), seed)


def look_at_features(run: Run, job: Job, learner: Any, source: Any, target: Any) -> Row:
    """How far the domains can be told apart by words and by sentences; and a map of words, if it can be drawn."""
    from acclimate.analysis.features import domain_separability, feature_points, project
    from acclimate.analysis.plots import draw_feature_map, save_figure
    from acclimate.data.batches import SOURCE, TARGET
    from acclimate.data.problems import InputError

    readers = {SOURCE: learner[SOURCE], TARGET: learner[TARGET]}
    corpora = {SOURCE: source, TARGET: target}
    found: Row = {}
    for unit in ("word", "sentence"):
        points = feature_points(readers, corpora, unit, POINTS)
        found[f"{unit}_accuracy"] = 100 * domain_separability(points).accuracy
    try:
        points = feature_points(readers, corpora, "word", DRAWN)
        place = Path(run.out) / "maps" / f"{file_name(job.name)}.png"
        place.parent.mkdir(exist_ok=True)
        apart = domain_separability(points)
        save_figure(draw_feature_map(project(points.points), points.domains, apart, job.model), place)
    except (ImportError, InputError) as failure:
        print(f"no map: {failure}", file=sys.stderr)
    return found


# ------------------------------------------------------------------------------------------------------------ parts


@dataclass(frozen=True)
class Cell:
    """A place in a table, and the job, without its seed, whose result stands there."""

    row: str
    column: str
    job: Job


def cells(part: str, options: argparse.Namespace) -> Iterator[Cell]:
    target = options.target
    models = options.models.split(",") if options.models else None
    if part in ("few", "ratio", "languages"):
        target = "conll2002_es" if part == "languages" else target
        amounts = {"few": SIZES, "ratio": SHARES, "languages": ("50", "1000")}[part]
        amounts = tuple(options.amounts.split(",")) if options.amounts else amounts
        for model, amount in product(models or SIX, amounts):
            yield Cell(model, amount, Job(target, amount, model))
    elif part == "table3":
        for model in models or ("base", "DATNet-P", "DATNet-F"):
            yield Cell(model, target, Job(target, "all", model))
    elif part == "pos":
        amounts = {"ud_gl_treegal": ("50", "200", "all"), "ud_fr_sequoia": ("50", "200")}
        for model, (name, some) in product(models or ("base", "DATNet-P", "DATNet-F"), amounts.items()):
            for amount in some:
                yield Cell(model, f"{name} {amount}", Job(name, amount, model))
    elif part == "grid":
        for amount, noise in product(("200", "all"), (False, True)):
            column = f"{amount}{' + AT' if noise else ''}"
            yield Cell("no transfer", column, Job(target, amount, "AT" if noise else "base"))
            for form, discriminator in product("PF", DISCRIMINATORS):
                model = transfer_name(form, discriminator, noise)
                yield Cell(f"{form} ({DISCRIMINATORS[discriminator]})", column, Job(target, amount, model))
    else:
        yield from studies(part, target, options)


def studies(part: str, target: str, options: argparse.Namespace) -> Iterator[Cell]:
    """One setting at a time."""
    form = options.form
    model = f"DATNet-{form}"
    if part == "dropout":
        rows = {"base": ("base", "0"), "base + dropout": ("base", "0.2"), "base + more dropout": ("base", "0.5")}
        rows |= {"base + AT": ("AT", "0"), "base + dropout + AT": ("AT", "0.2")}
        for amount, (row, (name, rate)) in product(("200", "all"), rows.items()):
            changes = () if rate == "0.2" else (f"tagger.input_dropout={rate}",)
            yield Cell(row, amount, Job(target, amount, name, changes))
    elif part == "radius":
        for share, radius in product(SOME_SHARES, RADII):
            changes = () if float(radius) == options.radius else (f"options.radius.target_words={radius}",)
            yield Cell(share, radius, Job(target, share, model, changes))
    elif part == "alpha":
        for share, alpha in product(SOME_SHARES, ALPHAS):
            yield Cell(share, alpha, Job(target, share, model, (f"options.alpha={alpha}",)))
    elif part == "gamma":
        for each, gamma in product("PF", GAMMAS):
            changes = () if gamma == "2" else (f"options.gamma={gamma}",)
            yield Cell(f"DATNet-{each}", gamma, Job(target, "0.1", f"DATNet-{each}", changes))
    elif part == "features":
        for discriminator, told_so in DISCRIMINATORS.items():
            name = transfer_name(form, discriminator, False)
            yield Cell(told_so, "0.5", Job(target, "0.5", name, mapped=True))


TITLES = {
    "few": "Table 6: by the number of labelled target sentences",
    "languages": "Table 6, other language: by the number of labelled target sentences",
    "ratio": "Figure 3: by the share of the target's words",
    "table3": "Table 3: all labelled target sentences",
    "grid": "Table 7: what each part adds, by the number of labelled target sentences",
    "dropout": "Table 8: noise against dropout, by the number of labelled target sentences",
    "radius": "Table 9: share of the target's words × noise on its words",
    "alpha": "Table 10: share of the target's words × GRAD's weight of the source",
    "gamma": "Figure 5: GRAD's focus, a tenth of the target's words",
    "features": "Figure 4: half of the target's words",
    "pos": "Parts of speech",
}


# ----------------------------------------------------------------------------------------------------------- tables


def tables(rows: list[Row], options: argparse.Namespace) -> str:
    found = [table(part, rows, options) for part in options.part.split(",")]
    return "\n\n".join([*found, speed_table(rows, lambda row: row["model"])])


def table(part: str, rows: list[Row], options: argparse.Namespace) -> str:
    plan = list(cells(part, options))
    results: dict[Job, list[Row]] = {}
    for row in rows:
        job = job_of(row)
        results.setdefault(Job(job.target, job.amount, job.model, job.changes, job.mapped), []).append(row)
    target = plan[0].job.target
    source = TRANSFERS[target].source
    measures = {"test": "accuracy" if part == "pos" else "test span F1"}
    if part == "features":
        measures = {"word_accuracy": "words", "sentence_accuracy": "sentences", "test": "test span F1"}
    names = list(dict.fromkeys(cell.column for cell in plan))
    columns = [(name, measure) for name in names for measure in measures]
    head = ["", *(name if len(measures) == 1 else f"{name}: {measures[measure]}" for name, measure in columns)]
    lines = []
    for line in dict.fromkeys(cell.row for cell in plan):
        here = {cell.column: results.get(cell.job, []) for cell in plan if cell.row == line}
        lines.append([line, *(value(part, here.get(name, []), measure, options) for name, measure in columns)])
    for line, numbers in PAPER.get((part, target), {}).items():
        lines.append([f"paper: {line}", *(numbers.get(name, "") for name, _ in columns)])
    told_by = "domain accuracy of a linear classifier (50: cannot tell), and " if part == "features" else ""
    model = f" (DATNet-{options.form})" if part in ("radius", "alpha", "features") else ""
    title = (
        f"{TITLES[part]}{model}. {source} → {target}; {told_by}{measures['test']} in percent, mean ± deviation of seeds"
    )
    return f"{title}\n\n{markdown(head, lines)}"


def value(part: str, rows: Iterable[Row], measure: str, options: argparse.Namespace) -> str:
    """A cell. Where seeds are missing yet, it says how many runs there are."""
    values = [row[measure] for row in rows]
    if not values:
        return ""
    if part == "table3":
        return f"{told(values)} (best {max(values):.2f}, {len(values)} runs)"
    return told(values) + ("" if len(values) >= len(options.seeds.split(",")) else f" ({len(values)})")


# ------------------------------------------------------------------------------------------------------------- main


def main() -> None:
    options = arguments()
    training = training_of(options)
    run = Run(options.data, options.out, training, options.normalise, options.vectors, options.limit, options.radius)
    settings = {"training": training, "normalise": options.normalise, "vectors": options.vectors}
    settings |= {"limit": options.limit, "radius": options.radius}
    wanted = [cell.job for part in options.part.split(",") for cell in cells(part, options)]
    run_grid(wanted, partial(do, run), options, settings, job_of, partial(tables, options=options))


def training_of(options: argparse.Namespace) -> dict[str, Any]:
    from acclimate.settings import with_assignments

    values: dict[str, Any] = {
        "updates": options.updates,
        "evaluate_every": max(1, options.updates // 10),
        "sentences_per_batch": 16,
        "words_per_batch": 100_000,  # a batch is counted in sentences alone
        "optimizer": "adam",
        "weight_decay": 0,
        "learning_rate": options.rate,
        "decay": "linear",
    }
    return with_assignments(values | (PAPER_SCHEDULE if options.paper_schedule else {}), options.set)


def arguments() -> argparse.Namespace:
    parser = common_arguments(__doc__)
    parser.add_argument("--part", default="few", metavar="PARTS", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--target", default="wnut2016", choices=("wnut2016", "conll2002_es"))
    parser.add_argument("--models", metavar="NAMES", help=f"in few, languages, ratio, table3, pos: of {list(MODELS)}")
    parser.add_argument("--amounts", metavar="NUMBERS", help="in few, languages, ratio: sentences, shares (0.1), all")
    parser.add_argument("--form", default="F", choices=("P", "F"), help="of DATNet in radius, alpha and features")
    parser.add_argument("--updates", type=int, default=3000)
    parser.add_argument("--rate", type=float, default=0.003, help="learning rate, falling in a straight line")
    parser.add_argument("--paper-schedule", action="store_true", help="0.001 / (1 + 0.05 t) after t epochs")
    parser.add_argument("--normalise", default="weighted", choices=("weighted", "unweighted", "none"))
    parser.add_argument("--radius", type=float, default=5.0, help="of all noise; the paper's is 5")
    parser.add_argument("--vectors", default="glove", help="of English words: glove, or a file of the like")
    options = parser.parse_args()
    unknown = [part for part in options.part.split(",") if part not in PARTS]
    unknown += [name for name in (options.models or "").split(",") if name and name not in MODELS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    return options


if __name__ == "__main__":
    main()

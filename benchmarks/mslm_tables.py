"""The tables and pictures of benchmarks/mslm.py."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import mslm_published as paper
from adversarial_masking import joined
from grid import Row, markdown, speed_table, told
from mslm_jobs import (
    ENCODERS,
    MAIN_RATES,
    METHODS,
    MSLM,
    SETS,
    UNTOUCHED,
    UNWEIGHTED,
    VANILLA,
    Job,
    answers_of,
    job_of,
    parts_of,
)

MEASURES = {"em": ("Exact match", "span recall"), "micro": ("Micro F1", "span f1"), "macro": ("Macro F1", "macro f1")}
STRATEGIES = (MSLM, "SPAN", "PMI")
ELM, BLM = (0.25, 0.5, 0.75, 1.0), (0.0, 0.075, 0.15, 0.225)
BUDGETS = tuple(zip(ELM, BLM, strict=True))  # Table 5's, too
THEIRS = {"jnlpba_biobert": "jnlpba"}  # what the paper's tables call a set
NEVER = "never"
EVEN = {"elm": 0.5, "blm": 0.5}  # MSLM's weights where they do nothing
SAME = "same training: what a GPU's rounding does"
SEEDS = "mean ± deviation of seeds"


def tables(rows: list[Row], options: argparse.Namespace) -> str:
    makers = {
        "main": main_tables,
        "weights": weight_table,
        "grid": grid_tables,
        "budgets": budget_tables,
        "lengths": length_tables,
        "curves": curve_table,
        "confidence": confidence_tables,
    }
    found = [makers[part](rows, options) for part in options.part if rows]
    trained = [row for row in rows if row["method"] != UNTOUCHED]
    speed = [speed_table(trained, lambda row: f"{row['method']}, {row['encoder']}")] if trained else []
    return "\n\n".join(filter(None, [*found, *speed]))


# ----------------------------------------------------------------------------------------------------------- chosen


def of(rows: Iterable[Row], corpus: str, encoder: str, method: str, rates: Sequence[float] = MAIN_RATES) -> list[Row]:
    """The runs of one kind, by their seeds."""
    wanted = Job(corpus, encoder, method, *rates)
    return sorted((row for row in rows if replace(job_of(row), seed=0) == wanted), key=lambda row: row["seed"])


def cell(rows: Iterable[Row], measure: str, digits: int = 2) -> str:
    return told([row[measure] for row in rows], digits)


def sets_in(rows: Iterable[Row]) -> list[str]:
    there = {row["corpus"] for row in rows}
    return [corpus for corpus in SETS if corpus in there]


def encoders_in(rows: Iterable[Row]) -> list[str]:
    there = dict.fromkeys(row["encoder"] for row in rows)
    return [encoder for encoder in dict.fromkeys([*ENCODERS, *there]) if encoder in there]


def rates_in(rows: Iterable[Row]) -> list[tuple[float, float]]:
    return sorted({(row["elm"], row["blm"]) for row in rows})


def titles(corpora: Iterable[str]) -> list[str]:
    return [SETS[corpus].title for corpus in corpora]


# ------------------------------------------------------------------------------------------------------ main tables


def main_tables(rows: list[Row], options: argparse.Namespace) -> str:
    found = [statistics_table(rows, options)]
    found += [score_table(rows, measure, options) for measure in MEASURES]
    return "\n\n".join([*found, perplexity_table(rows)])


def score_table(rows: list[Row], measure: str, options: argparse.Namespace) -> str:
    """Methods by sets, and what differs from vanilla."""
    title, _ = MEASURES[measure]
    corpora, lines = sets_in(rows), []
    for encoder, method in product(encoders_in(rows), METHODS):
        cells = []
        for corpus in corpora:
            own = of(rows, corpus, encoder, method)
            # with one type micro and macro are the same
            metric = MEASURES["micro" if measure == "macro" and not SETS[corpus].typed else measure][1]
            cells.append(" ".join(filter(None, [cell(own, measure), against(rows, own, VANILLA, metric, options)])))
        if any(cells):
            lines.append([f"{method}, {encoder}", *cells])
    if measure == "em":
        lines += published(paper.EXACT_MATCH, corpora)
    if measure == "micro":
        lines += published({"BioBERT, Table 10": paper.F1}, corpora)
    head = (
        f"{title} on test, in percent, {SEEDS} (difference to vanilla, p of the paired bootstrap, all seeds together)"
    )
    return f"{head}\n\n{markdown(['', *titles(corpora)], lines)}"


def published(found: dict[str, dict[str, tuple[str, str]]], corpora: Iterable[str]) -> list[list[str]]:
    corpora = list(corpora)
    return [
        [
            f"paper: {method}, {encoder}",
            *(theirs.get(THEIRS.get(corpus, corpus), ("", ""))[place] for corpus in corpora),
        ]
        for encoder, theirs in found.items()
        for place, method in enumerate((VANILLA, MSLM))
    ]


def against(rows: list[Row], own: list[Row], other: str, metric: str, options: argparse.Namespace) -> str:
    """The difference to another method at the same rates; vanilla has none."""
    if not own or own[0]["method"] == other:
        return ""
    rates = MAIN_RATES if other == VANILLA else job_of(own[0]).rates
    theirs = {row["seed"] for row in of(rows, own[0]["corpus"], own[0]["encoder"], other, rates)}
    both = tuple(job_of(row) for row in own if row["seed"] in theirs)
    if not both:
        return ""
    difference, p_value = compared(both, other, rates, metric, options.data, options.out, options.limit)
    return f"({100 * difference:+.2f}, p {p_value:.3f})"


@cache
def compared(
    jobs: tuple[Job, ...], other: str, rates: tuple[float, float], metric: Any, data: str, out: str, limit: int | None
) -> tuple[float, float]:
    """A sentence is drawn with the answers of all seeds: seeds are no further sentences, and would make p too small."""
    from acclimate.data.corpus import Corpus
    from acclimate.evaluation.significance import paired_bootstrap

    gold = parts_of(data, jobs[0].corpus, limit)["test"]
    beside = [replace(job, method=other, elm=rates[0], blm=rates[1]) for job in jobs]

    def together(tags: Sequence[Sequence[Sequence[str]]]) -> Any:
        """(seed, sentence, word) → a corpus of long sentences."""
        return Corpus.of(
            joined([sentence.words] * len(tags), [seed[number] for seed in tags])
            for number, sentence in enumerate(gold)
        )

    whole = together([[sentence.tags for sentence in gold]] * len(jobs))
    first, second = (together([answers_of(out, job)["tags"] for job in side]) for side in (beside, jobs))
    found = paired_bootstrap(whole, first, second, metric=metric)
    return found.difference, found.p_value


def perplexity_table(rows: list[Row]) -> str:
    corpora, lines = sets_in(rows), []
    for encoder, method in product(encoders_in(rows), (UNTOUCHED, *METHODS)):
        cells = [cell(of(rows, corpus, encoder, method), "perplexity") for corpus in corpora]
        if any(cells):
            lines.append([f"{method}, {encoder}", *cells])
    lines += published(paper.PERPLEXITY, corpora)
    title = "Table 4: perplexity of dev text at the state of best dev F1, 15 % of the pieces hidden at random"
    return f"{title}\n\n{markdown(['', *titles(corpora)], lines)}"


def statistics_table(rows: list[Row], options: argparse.Namespace) -> str:
    lines = []
    for corpus in sets_in(rows):
        lines.append([SETS[corpus].title, *statistics_of(options.data, corpus, options.limit)])
        theirs = paper.STATISTICS.get(THEIRS.get(corpus, corpus))
        lines += [[f"paper: {SETS[corpus].title}", "", *theirs]] if theirs else []
    head = ["", "types", "sentences", "words each", "mentions", "per sentence", "words each"]
    title = "Table 9: train / dev / test; means are of train"
    return f"{title}\n\n{markdown(head, lines)}"


@cache
def statistics_of(data: str, corpus: str, limit: int | None) -> list[str]:
    from acclimate.analysis.text_comparison import corpus_statistics

    parts = parts_of(data, corpus, limit)
    found = corpus_statistics(parts)
    train = found[0]
    inside = (train.share_in_spans or 0) * train.words
    return [
        str(len(train.labels)),
        " / ".join(f"{one.sentences:,}" for one in found),
        f"{train.mean_length:.2f}",
        " / ".join(f"{one.spans or 0:,}" for one in found),
        f"{train.spans_per_sentence or 0:.2f}",
        f"{inside / max(1, train.spans or 0):.1f}",
    ]


# ---------------------------------------------------------------------------------------------- weights, rates, &c.


def weight_table(rows: list[Row], options: argparse.Namespace) -> str:
    """Table 6. Where the weights are even, both runs are the same training."""
    lines = []
    for corpus, encoder, rates in product(sets_in(rows), encoders_in(rows), rates_in(rows)):
        own, without = (of(rows, corpus, encoder, method, rates) for method in (MSLM, UNWEIGHTED))
        if not own or not without:
            continue
        weights = own[0]["weights"] or EVEN
        # on a CPU they are equal bit for bit; a GPU adds up in another order each time, and a test of that says nothing
        is_same = all((row["weights"] or EVEN) == EVEN for row in own)
        change = SAME if is_same else against(rows, own, UNWEIGHTED, "span recall", options)
        cells = [cell(own, "em"), cell(without, "em"), change]
        theirs = paper.WEIGHTS.get(THEIRS.get(corpus, corpus), ("", "")) if rates == MAIN_RATES else ("", "")
        name = f"{SETS[corpus].title}, {encoder}, {told_rates(rates)}"
        lines.append([name, f"{weights['elm']:.3f} / {weights['blm']:.3f}", *cells, *theirs])
    head = ["", "weights ELM / BLM", "with", "without", "with - without (p)", "paper, BioBERT: with", "without"]
    return f"Table 6: exact match with and without weights, in percent, {SEEDS}\n\n{markdown(head, lines)}"


def told_rates(rates: Sequence[float]) -> str:
    return f"ELM {rates[0]:g}, BLM {rates[1]:g}"


def grid_tables(rows: list[Row], options: argparse.Namespace) -> str:
    return "\n\n".join(
        f"Figure 4: exact match of {told_grid(key)}, in percent, {SEEDS}; ELM down, BLM across; best: "
        f"{told_rates(tuple(map(float, found.best)))}\n\n{grid_table(found)}"
        for key, found in grids(rows, options).items()
    )


def told_grid(key: tuple[str, str, str]) -> str:
    corpus, encoder, method = key
    return f"{method} on {SETS[corpus].title}, {encoder}"


def grids(rows: list[Row], options: argparse.Namespace) -> dict[tuple[str, str, str], Any]:
    """By set, encoder and method; all pairs of rates that were run."""
    from acclimate.analysis.grid import grid_of

    found = {}
    for corpus, encoder, method in product(sets_in(rows), encoders_in(rows), options.grid_methods):
        own = [row for row in rows if (row["corpus"], row["encoder"], row["method"]) == (corpus, encoder, method)]
        if len({job_of(row).rates for row in own}) > 1:
            shares = [{"ELM": row["elm"], "BLM": row["blm"], "exact match": row["em"] / 100} for row in own]
            found[corpus, encoder, method] = grid_of(shares, "ELM", "BLM", "exact match")
    return found


def grid_table(grid: Any) -> str:
    def shown(each: Any) -> str:
        if each is None:
            return ""
        spread = "" if each.deviation is None else f" ± {100 * each.deviation:.2f}"
        return f"{100 * each.mean:.2f}{spread}"

    lines = [[f"{row:g}", *map(shown, cells)] for row, cells in zip(grid.rows, grid.cells, strict=True)]
    return markdown(["ELM", *(f"{column:g}" for column in grid.columns)], lines)


def budget_tables(rows: list[Row], options: argparse.Namespace) -> str:
    """Figure 5: as many words of each sentence, chosen by three strategies."""
    found = []
    for corpus, encoder in product(sets_in(rows), encoders_in(rows)):
        lines = []
        for rates in rates_in(rows):
            runs = [of(rows, corpus, encoder, method, rates) for method in STRATEGIES]
            if sum(map(bool, runs)) > 1:
                share = hidden_share(options.data, corpus, rates, options.limit)
                lines.append([told_rates(rates), f"{100 * share:.1f}", *(cell(own, "em") for own in runs)])
        lines.sort(key=lambda line: float(line[1]))
        if lines:
            title = f"Figure 5: exact match on {SETS[corpus].title}, {encoder}, by strategy and budget, in percent"
            head = ["budget of", "% of words hidden", "joint", *STRATEGIES[1:]]
            found.append(f"{title}\n\n{markdown(head, lines)}")
    return "\n\n".join(found)


@cache
def hidden_share(data: str, corpus: str, rates: tuple[float, float], limit: int | None) -> float:
    """Of the training words, what joint masking hides in one pass."""
    from acclimate.methods.masking.joint import SHOWN, JointMasking

    masking, train = JointMasking(*rates), parts_of(data, corpus, limit)["train"]
    return sum(int((masking.draw_fixed(sentence, 0) != SHOWN).sum()) for sentence in train) / train.word_count


def length_tables(rows: list[Row], options: argparse.Namespace) -> str:
    found = []
    for corpus, encoder in product(sets_in(rows), encoders_in(rows)):
        lines = []
        wanted = [(VANILLA, MAIN_RATES), *product(options.grid_methods, (*BUDGETS, MAIN_RATES))]
        runs = {(method, rates): of(rows, corpus, encoder, method, rates) for method, rates in wanted}
        for (method, rates), own in runs.items():
            if own:
                theirs = paper.LENGTHS.get(rates, ("", "")) if (corpus, method) == ("bc2gm", MSLM) else ("", "")
                name = method if method == VANILLA else f"{method}, {told_rates(rates)}"
                lines.append([name, cell(own, "short_em"), cell(own, "long_em"), *theirs])
        if not lines:
            continue
        one = next(own[0] for own in runs.values() if own)
        border = f"{one['mean_length']:.1f} words ({one['short_sentences']:,} / {one['long_sentences']:,} sentences)"
        title = f"Table 5: exact match on {SETS[corpus].title}, {encoder}: sentences up to and over {border}"
        head = ["", "short", "long", "paper, BioBERT: short", "long"]
        found.append(f"{title}, in percent\n\n{markdown(head, lines)}")
    return "\n\n".join(found)


# ----------------------------------------------------------------------------------------------------------- curves


def score_curve(name: str, looks: Iterable[Sequence[float]]) -> Any:
    from acclimate.analysis.curves import Look, ScoreCurve

    return ScoreCurve(name, tuple(Look(int(update), epoch, 100 * score) for update, epoch, score in looks))


def curve_table(rows: list[Row], options: argparse.Namespace) -> str:
    """Figures 3 and 6, seed by seed."""
    lines = []
    for corpus, encoder, method in product(sets_in(rows), encoders_in(rows), METHODS):
        plain = {row["seed"]: score_curve(VANILLA, row["looks"]) for row in of(rows, corpus, encoder, VANILLA)}
        own = {row["seed"]: score_curve(method, row["looks"]) for row in of(rows, corpus, encoder, method)}
        seeds = sorted(plain.keys() & own.keys())
        if not seeds or method == VANILLA:
            continue
        reached = [own[seed].reaches(plain[seed].best.score) for seed in seeds]
        back = [plain[seed].reaches(own[seed].best.score) for seed in seeds]
        lines.append(
            [
                f"{SETS[corpus].title}, {method}, {encoder}",
                told([own[seed].best.score for seed in seeds]),
                told([own[seed].best.epoch for seed in seeds], 1),
                told([plain[seed].best.score for seed in seeds]),
                told([plain[seed].best.epoch for seed in seeds], 1),
                ", ".join(NEVER if look is None else f"{look.epoch:.1f}" for look in reached),
                ", ".join(NEVER if look is None else f"{look.epoch:.1f}" for look in back),
            ]
        )
    head = ["", "best dev F1", "at epoch", "vanilla's best", "at epoch", "reaches vanilla's best", "vanilla its own"]
    title = "Figures 3 and 6: the epoch at which each seed first reaches the other's best dev F1 (paper: 7 at most)"
    return f"{title}\n\n{markdown(head, lines)}"


def mean_curves(rows: list[Row], corpus: str, encoder: str) -> list[Any]:
    """Of every method, the mean over the seeds at each look, vanilla first."""
    curves = []
    for method in METHODS:
        own = of(rows, corpus, encoder, method)
        looks = zip(*(row["looks"] for row in own), strict=True) if own else ()
        means = [(look[0][0], look[0][1], mean(score for _, _, score in look)) for look in looks]
        if means:
            curves.append(score_curve(method, means))
    return curves


# ------------------------------------------------------------------------------------------------------- confidence


def confidences(rows: list[Row], corpus: str, encoder: str, options: argparse.Namespace) -> list[Any]:
    """For each seed that both have: the confidence of vanilla and MSLM in the terms of the test text."""
    from acclimate.analysis.terms import compare_term_confidences

    gold = parts_of(options.data, corpus, options.limit)["test"]
    jobs = [{row["seed"]: job_of(row) for row in of(rows, corpus, encoder, method)} for method in (VANILLA, MSLM)]
    found = []
    for seed in sorted(jobs[0].keys() & jobs[1].keys()):
        guesses = {side[seed].method: guesses_of(options.out, side[seed]) for side in jobs}
        if all(guesses.values()):
            found.append(compare_term_confidences(gold, guesses, most=25))
    return found


@cache
def guesses_of(out: str, job: Job) -> list[Any]:
    from acclimate.data.schemes import Span
    from acclimate.inference.predict import TermGuess

    return [
        TermGuess(sentence, Span(start, end, label), predicted, probability)
        for sentence, start, end, label, predicted, probability in answers_of(out, job)["guesses"]
    ]


def confidence_tables(rows: list[Row], options: argparse.Namespace) -> str:
    lines = []
    for corpus, encoder in product(sets_in(rows), encoders_in(rows)):
        runs = confidences(rows, corpus, encoder, options) if SETS[corpus].typed else []
        for place, method in enumerate((VANILLA, MSLM)):
            own = [run.taggers[place] for run in runs]
            if own:
                names = ("confidence", "confidence_if_right", "confidence_if_wrong")
                cells = [told([value for one in own if (value := getattr(one, name)) is not None], 3) for name in names]
                right = told([100 * one.right for one in own])
                lines.append([f"{SETS[corpus].title}, {method}, {encoder}", *cells, right])
    head = ["", "confidence", "if right", "if wrong", "% right"]
    title = "Figure 2: probability of the class that gold spans of test are taken for (O is a class)"
    return f"{title}, {SEEDS}\n\n{markdown(head, lines)}" if lines else ""


# --------------------------------------------------------------------------------------------------------- pictures


def draw_all(rows: list[Row], options: argparse.Namespace) -> None:
    """Heat maps and curves, in DIR/pictures."""
    from acclimate.data.problems import InputError

    try:
        for name, figure in pictures(rows, options):
            from acclimate.analysis.plots import save_figure

            place = Path(options.out) / "pictures" / f"{name}.png"
            place.parent.mkdir(parents=True, exist_ok=True)
            save_figure(figure, place)
    except InputError as failure:
        print(f"no picture: {failure}", file=sys.stderr)


def pictures(rows: list[Row], options: argparse.Namespace) -> Iterable[tuple[str, Any]]:
    from acclimate.analysis.curves import EpochsToMatch
    from acclimate.analysis.plots import draw_compared_curves, draw_grid, draw_term_confidences

    if "grid" in options.part:
        for key, grid in grids(rows, options).items():
            yield f"grid-{'-'.join(key)}", draw_grid(grid, f"Exact match of {told_grid(key)}")
    for corpus, encoder in product(sets_in(rows), encoders_in(rows)):
        curves = mean_curves(rows, corpus, encoder) if "curves" in options.part else []
        if len(curves) > 1:
            found = EpochsToMatch(f"dev F1 (%), {SETS[corpus].title}, {encoder}", tuple(curves))
            yield f"curves-{corpus}-{encoder}", draw_compared_curves([found])
        if "confidence" in options.part and SETS[corpus].typed:
            for run in confidences(rows, corpus, encoder, options)[:1]:
                yield f"confidence-{corpus}-{encoder}", draw_term_confidences(run)

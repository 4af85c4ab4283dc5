"""The tables of a comparison, and the files that a report is made from."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from acclimate.comparison.results import Choice, Comparison, Mean, RecipeResult
from acclimate.data.corpus import Corpus
from acclimate.data.writers.shared import encoded, save, write_csv
from acclimate.evaluation.table import Row, align
from acclimate.layout import COMPARISON
from acclimate.runs.run import SOURCE, TARGET, text_figures
from acclimate.runs.task import Task

_SCORES = ("recipe", "runs", "F1", "precision", "recall", "seen", "unseen")
_COSTS = ("source before", "after", "seconds", "MB")
_TEST = ("change", "95 % interval", "bootstrap p", "permutation p")


def score_rows(comparison: Comparison) -> list[Row]:
    """A row for each recipe, the head first. Scores in percent, mean ± deviation; p-values after Holm's correction."""
    head = [*(_SCORES if comparison.is_scored else _SCORES[:2]), *_COSTS, *(_TEST if comparison.is_scored else ())]
    rows: list[Row] = [head]
    leaders = comparison.leaders
    for recipe in comparison.recipes:
        if not recipe.runs:
            rows.append([recipe.recipe, "0", *["-"] * (len(head) - 2)])
            continue
        means = recipe.means
        cells = [f"{recipe.recipe}{' *' if recipe.recipe in leaders else ''}", str(len(recipe.runs))]
        if comparison.is_scored:
            names = ("target_f1", "target_precision", "target_recall", "seen_f1", "unseen_f1")
            cells += [percents(means[name]) for name in names]
        cells += [percents(means["source_before"]), percents(means["source_after"])]
        cells += [plain(means["seconds"], 1), plain(means["megabytes"], 0)]
        rows.append([*cells, *(_against(recipe) if comparison.is_scored else ())])
    return rows


def _against(recipe: RecipeResult) -> list[str]:
    if recipe.against is None:
        return [""] * len(_TEST)
    test = recipe.against.found
    return [
        f"{100 * test.difference:+.2f}",
        f"{100 * test.low:+.2f} to {100 * test.high:+.2f}",
        f"{recipe.against.bootstrap_holm:.3f}",
        f"{recipe.against.permutation_holm:.3f}",
    ]


def source_rows(comparison: Comparison) -> list[Row]:
    """The score of each source after training, where several were joined; nothing otherwise."""
    means = {recipe.recipe: recipe.sources_after for recipe in comparison.recipes if recipe.sources_after}
    names = list(dict.fromkeys(name for row in means.values() for name in row))
    rows: list[Row] = [["source after", *names]] if names else []
    return [*rows, *([recipe, *(percents(row.get(name)) for name in names)] for recipe, row in means.items())]


def choice_rows(choices: Sequence[Choice], is_scored: bool) -> list[Row]:
    head = ["selector", "would choose", "its value", *(("F1", "regret") if is_scored else ())]
    rows: list[Row] = [head]
    for choice in choices:
        cells = [choice.selector, f"{choice.recipe}, seed {choice.seed}", f"{choice.value:.4g}"]
        if is_scored:
            cells += ["-" if figure is None else f"{100 * figure:.2f}" for figure in (choice.target_f1, choice.regret)]
        rows.append(cells)
    return rows


def legend(comparison: Comparison) -> Iterator[str]:
    """What the tables say, and what they do not."""
    reserved = comparison.reservation
    if reserved is not None:
        yield f"{reserved.headline}. {reserved.why}"
    yield from comparison.remarks
    for name, why in comparison.failures.items():
        yield f"Missing: {name}. {why}"
    if comparison.is_scored:
        score = "accuracy" if comparison.metric == "token accuracy" else "span F1"
        alone = len(comparison.leaders) == 1
        star = "* is the best mean" if alone else "* are the best means, equal as far as they are printed"
        yield f"Target test in percent ({score}), mean ± standard deviation over seeds; {star}."
        yield (
            f"Change: against {comparison.against}. Paired bootstrap and permutation test over sentences, all seeds of "
            "a sentence together; p-values after Holm's correction."
        )
        what = "words of" if comparison.metric == "token accuracy" else "mentions labelled in"
        yield f"Seen: {what} the source or the labelled target sentences, the same for every line."
    if silent := [choice.selector for choice in comparison.choices if choice.silent]:
        yield (
            f"Not all runs could be judged by: {', '.join(silent)} (no held-out source sentences for a run that learnt "
            "them all, or for a tagger of the target's own)."
        )
    yield from (remark for remark in remarks_of_runs(comparison) if reserved is None or reserved.why not in remark)


_FIGURE = re.compile(r"\d[\d,.]*\d|\d")


def remarks_of_runs(comparison: Comparison) -> Iterator[str]:
    """The remarks of runs, each once, with its recipes; of those that differ in figures alone, the first seed's."""
    sayers: dict[str, dict[str, None]] = {}
    for result in comparison.recipes:
        by_words: dict[str, dict[int, str]] = {}  # remarks by their words, whatever the figures, and by the seed
        for run in result.runs:
            for remark in run.remarks:
                by_words.setdefault(_FIGURE.sub("#", remark), {})[run.seed] = remark
        for alike in by_words.values():
            (seed, remark), *others = alike.items()
            if any(other != remark for _, other in others):
                remark += f" (Seed {seed}; alike with {', '.join(str(other) for other, _ in others)}.)"
            sayers.setdefault(remark, {})[result.recipe] = None
    everybody = {run.recipe for run in comparison.runs}
    for remark, recipes in sayers.items():
        is_clear = recipes.keys() == everybody or all(remark.startswith(f"{name} ") for name in recipes)
        yield remark if is_clear else f"{', '.join(recipes)}: {remark}"


def render(comparison: Comparison) -> str:
    """The tables for a terminal."""
    parts = ["\n".join(align(rows)) for rows in (score_rows(comparison), source_rows(comparison)) if rows]
    if comparison.choices:
        parts.append("\n".join(align(choice_rows(comparison.choices, comparison.is_scored), words=2)))
    return "\n\n".join([comparison.title, *parts, "\n".join(legend(comparison))])


def markdown(comparison: Comparison) -> str:
    """The same as a page."""
    lines = [f"# {comparison.title}", "", *markdown_table(score_rows(comparison))]
    if rows := source_rows(comparison):
        lines += ["", "## Source by source", "", *markdown_table(rows)]
    if comparison.choices:
        rows = choice_rows(comparison.choices, comparison.is_scored)
        lines += ["", "## What the selectors would choose", "", *markdown_table(rows)]
    for line in legend(comparison):
        lines += ["", line]
    return "\n".join(lines) + "\n"


def markdown_table(rows: Sequence[Row]) -> list[str]:
    shown = [f"| {' | '.join(cells)} |" for cells in rows]
    return [shown[0], f"|---|{'---:|' * (len(rows[0]) - 1)}", *shown[1:]]


def percents(figure: Mean | None) -> str:
    return "-" if figure is None else plain(Mean(100 * figure.mean, 100 * figure.deviation), 2)


def plain(figure: Mean | None, digits: int) -> str:
    if figure is None or not math.isfinite(figure.mean):
        return "-"
    shown = f"{figure.mean:.{digits}f}"
    return f"{shown} ± {figure.deviation:.{digits}f}" if figure.deviation else shown


def write_tables(comparison: Comparison, folder: Path) -> None:
    """comparison.json with all there is, comparison.csv with a row per run, comparison.md for reading."""
    save(encoded(json.dumps(comparison.as_dict(), indent=2, ensure_ascii=False) + "\n"), folder / COMPARISON)
    save(encoded(markdown(comparison)), folder / "comparison.md")
    nested = ("selectors", "remarks", "target_scores", "sources_after")
    rows = []
    for run in comparison.runs:
        row = run.as_dict()
        judged = {f"selector {name}": value for name, value in run.judgements.items()}
        rows.append({name: value for name, value in row.items() if name not in nested} | judged)
    write_csv(rows, folder / "comparison.csv")


MATERIAL = "material.json"


def write_material(task: Task, folder: Path) -> None:
    test, target = task.target_test, task.target or task.target_labelled
    known = {*task.source_labels, *(task.target_labels or ())}  # what a tagger may find there
    source_text = task.source_test or task.source_dev or task.source
    target_text = test or target
    gold = None if test is None or not test.is_labelled else test.open_to(known)
    kept: dict[str, Any] = {
        "test": None if gold is None else _labelled(gold),
        "names": {SOURCE: source_text.name, TARGET: None if target_text is None else target_text.name},
        "text": text_figures(task.source, target),
    }
    save(encoded(json.dumps(kept)), folder / MATERIAL)  # pure ASCII: a word may hold half a surrogate pair


def _labelled(test: Corpus) -> dict[str, Any]:
    rows = {"words": [sentence.words for sentence in test], "gold": [sentence.tags for sentence in test]}
    return {"name": test.name, "kind": test.kind, **rows}

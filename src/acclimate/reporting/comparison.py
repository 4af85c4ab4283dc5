"""A comparison of recipes: which helps and how sure that is, seed by seed, what each costs, what selectors choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acclimate.comparison.tables import MATERIAL
from acclimate.data.problems import InputError
from acclimate.evaluation.seen import Reservation, Shared, reservation
from acclimate.evaluation.table import duration
from acclimate.layout import COMPARISON
from acclimate.reporting.charts import Dot, DotRow, dots, dots_legend
from acclimate.reporting.formatting import MINUS, UNKNOWN, listed, p_value, percent, signed
from acclimate.reporting.page import Block, Cell, Charts, Items, Section, Table, Text, missing
from acclimate.reporting.run_data import LEARNT, read_if_there, read_object, read_settings
from acclimate.reporting.scores import NOTHING, RESERVED, Verdict, change_cell, judge
from acclimate.reporting.svg import Figure
from acclimate.reporting.training import all_settings

Row = Mapping[str, Any]


@dataclass(frozen=True)
class ComparisonData:
    """The contents of comparison.json, with what stands beside it."""

    folder: Path
    settings: Mapping[str, Any] | None
    text: Mapping[str, Any] | None
    title: str
    against: str  # the recipe that all others are compared with
    best: str | None
    leaders: Sequence[str]  # all that share the best mean; `best` is one of them
    measure: str
    recipes: Sequence[Row]  # with their means, in the order of the comparison
    runs: Sequence[Row]
    choices: Sequence[Row]  # of selectors
    failures: Mapping[str, str]
    remarks: Sequence[str]
    learnt: Shared | None

    @property
    def base(self) -> Row | None:
        """The row of the recipe that all others are compared with."""
        return next((row for row in self.recipes if row["recipe"] == self.against), None)

    @property
    def reservation(self) -> Reservation | None:
        """Why nothing may be claimed of any recipe; None if nothing speaks against it."""
        base = self.base or {}
        source, target = ((base.get(name) or {}).get("mean") for name in ("source_after", "target_f1"))
        return reservation(source, target, self.learnt)

    def runs_of(self, recipe: str) -> list[Row]:
        return [run for run in self.runs if run["recipe"] == recipe]


def collect_comparison(folder: Path) -> ComparisonData:
    content = read_object(folder / COMPARISON)
    if not {"title", "against", "best", "leaders", "recipes", "runs"} <= content.keys():
        raise InputError(
            "this is no comparison of `acclimate compare`, or one of another version.", file=folder / COMPARISON
        )
    return ComparisonData(
        folder=folder,
        settings=read_settings(folder / "settings.yaml"),
        text=read_if_there(folder / MATERIAL).get("text"),
        **{name: content[name] for name in ("title", "against", "best", "leaders", "recipes", "runs")},
        measure="accuracy" if content.get("metric") == "token accuracy" else "F1",
        choices=content.get("selectors") or [],
        failures=content.get("failures") or {},
        remarks=content.get("remarks") or [],
        learnt=Shared.from_dict(content.get(LEARNT)),
    )


_PARTS = {"target_f1": "all", "seen_f1": "names seen in training", "unseen_f1": "names not seen"}
_SEEDS, _SELECTORS = "Seed by seed", "What the selectors would choose"


def recipes_section(comparison: ComparisonData) -> Section:
    """Mean and deviation over seeds, the change against the baseline, and how sure it is."""
    if comparison.best is None:
        why = " ".join(comparison.remarks) or "The target's test sentences have no gold tags, so there are no scores."
        return missing("recipes", "Recipes", why)
    about = (
        f"{comparison.measure} on the target test in percent, mean ± standard deviation over seeds. The change is "
        f"against {comparison.against}, with its 95 % interval. Both p-values (paired bootstrap and permutation test "
        "over sentences) are corrected for the number of recipes (Holm). A recipe helps or hurts when both are 0.05 or "
        "less."
    )
    notes = [Text(f"Missing: {name}. {why}", "note") for name, why in comparison.failures.items()]
    blocks = [*_recipe_table(comparison), *_source_table(comparison), *_change_chart(comparison), *notes]
    return Section("recipes", "Recipes", about, blocks)


def _source_table(comparison: ComparisonData) -> list[Block]:
    """The score of each source after training, where several were joined."""
    after = {row["recipe"]: row.get("sources_after") or {} for row in comparison.recipes}
    names = list(dict.fromkeys(name for row in after.values() for name in row))
    rows = [[recipe, *(spread(row.get(name)) for name in names)] for recipe, row in after.items()]
    return [Table(["source after", *names], rows)] if names else []


def verdict_of(row: Row, comparison: ComparisonData) -> Verdict:
    against = row["against"]
    if against is None:
        return NOTHING
    if comparison.reservation is not None:
        return RESERVED
    return judge(against["difference"], max(against["bootstrap_p_holm"], against["permutation_p_holm"]))


def spread(numbers: Mapping[str, float] | None, factor: float = 100.0, digits: int = 1) -> Any:
    """Mean ± deviation; of one seed the figure alone."""
    if numbers is None:
        return UNKNOWN
    deviation = f"± {factor * numbers['std']:.{digits}f}" if numbers["std"] else ""
    return Cell(f"{factor * numbers['mean']:.{digits}f}", range=deviation, is_strong=True)


def _recipe_table(comparison: ComparisonData) -> list[Block]:
    head = ["recipe", "verdict", comparison.measure, "change", "bootstrap p", "permutation p", "precision", "recall"]
    rows = []
    for row in comparison.recipes:
        against = row["against"]
        name = f"{row['recipe']} ★" if row["recipe"] in comparison.leaders else row["recipe"]
        tests = [UNKNOWN, UNKNOWN]
        if against is not None:
            tests = [p_value(against[f"{test}_p_holm"]) for test in ("bootstrap", "permutation")]
        verdict: Any = "compared with" if row["recipe"] == comparison.against else verdict_of(row, comparison).badge
        score = spread(row.get("target_f1"), digits=2)  # as many digits as the star looks at
        others = [spread(row.get(key)) for key in ("target_precision", "target_recall")]
        rows.append([name, verdict, score, change_cell(against), *tests, *others])
    star = "★ the best mean" if len(comparison.leaders) == 1 else "★ the best means, equal as far as they are printed"
    return [Table(head, rows, words=2, class_="tight"), Text(star, "note")]


def _change_chart(comparison: ComparisonData) -> list[Block]:
    rows, spoken = [], []
    for row in comparison.recipes:
        against = row["against"]
        if against is None:
            continue
        dot = Dot(100 * against["difference"], "after", 100 * against["low"], 100 * against["high"], row["recipe"])
        rows.append(DotRow(row["recipe"], [[dot]], [signed(against["difference"])]))
        spoken.append(f"{row['recipe']} {signed(against['difference'])}")
    if not rows:
        return []
    title = f"Change against {comparison.against}"
    drawn = dots(title, "; ".join(spoken), rows, "points", zero=comparison.against)
    return [Charts([Figure(f"{title}, with 95 % intervals", drawn)])]


def seeds_section(comparison: ComparisonData) -> Section:
    """Every run as a dot: how much the seeds of one recipe differ, beside how much recipes differ."""
    figures = [figure for key, name in _PARTS.items() for figure in _seed_chart(comparison, key, name)]
    if not figures:
        return missing("seeds", _SEEDS, "There are no scores on the target, so there is nothing to draw.")
    about = (
        "Every ring is a run, the stroke their mean. Where the rings of two recipes mix, a single run says little "
        "about which is better. The other charts part the entities: those whose very words training had seen with a "
        "label, and those it had not."
    )
    return Section("seeds", _SEEDS, about, [Charts(figures)])


def _seed_chart(comparison: ComparisonData, key: str, name: str) -> list[Figure]:
    rows, spoken = [], []
    for row in comparison.recipes:
        runs = [run for run in comparison.runs_of(row["recipe"]) if run.get(key) is not None]
        if not runs:
            continue
        mean = sum(run[key] for run in runs) / len(runs)
        lane = [Dot(100 * run[key], "seed", title=f"seed {run['seed']}: {percent(run[key])}") for run in runs]
        lane.append(Dot(100 * mean, "mean", title=f"mean: {percent(mean)}"))
        rows.append(DotRow(row["recipe"], [lane], [percent(mean)]))
        spoken.append(f"{row['recipe']}: mean {percent(mean)} of {len(runs)} runs")
    if not rows:
        return []
    drawn = dots(f"Target {comparison.measure} by seed, {name}", "; ".join(spoken), rows, "percent")
    return [Figure(f"target {comparison.measure}: {name}", drawn, dots_legend(seed="a run", mean="mean"))]


def costs_section(comparison: ComparisonData) -> Section:
    """What a recipe costs: the source that is forgotten, time, memory."""
    about = (
        f"What was forgotten: {comparison.measure} on the source test, by the tagger that was not adapted and by the "
        "adapted one. Time is that of training; the baseline's counts only for recipes that start from it. Memory is "
        "the peak: of the GPU's tensors, or of the whole process."
    )
    of = {run.get("memory_of") for run in comparison.runs}
    memory = "MB (GPU)" if of == {"gpu"} else "MB (process)" if of == {"process"} else "MB"
    head = ["recipe", "source before", "source after", "change", "seen names", "unseen names", "seconds", memory]
    rows: list[list[Any]] = []
    for row in comparison.recipes:
        change = row.get("source_change")
        scores = [spread(row.get(key)) for key in ("source_before", "source_after")]
        moved = UNKNOWN if change is None else signed(change["mean"])
        names = [spread(row.get(key)) for key in ("seen_f1", "unseen_f1")]
        costs = [spread(row.get("seconds"), 1.0, 1), spread(row.get("megabytes"), 1.0, 0)]
        rows.append([row["recipe"], *scores, moved, *names, *costs])
    table = Table(head, rows, class_="tight")
    return Section("costs", "Forgetting, time and memory", about, [table])


def selectors_section(comparison: ComparisonData) -> Section:
    """Which run each selector would have chosen without target labels, and what that would have cost."""
    if not comparison.choices:
        return missing("selectors", _SELECTORS, "No selector was asked, or none could judge a run (no target text).")
    about = (
        "In practice there are no target labels to choose by. Each selector gives every run a number without any; the "
        "highest is its choice. Regret is how much better the best run is on the test: 0 is a perfect choice."
    )
    rows: list[list[Any]] = []
    notes = []
    for choice in comparison.choices:
        name = choice["selector"]
        scores = [percent(choice["target_f1"]), percent(choice["regret"])]
        value = f"{choice['value']:.4g}".replace("-", MINUS)
        rows.append([name, f"{choice['recipe']}, seed {choice['seed']}", *scores, value])
        if choice.get("tied"):
            notes.append(f"{name}: {choice['tied']} more with the same value; the first is named.")
        if choice.get("silent"):
            notes.append(f"{name}: {choice['silent']} runs could not be judged.")
    table = Table(["selector", "would choose", comparison.measure, "regret", "its value"], rows, words=2)
    blocks = [table, *(Text(note, "note") for note in notes)]
    return Section("selectors", _SELECTORS, about, blocks)


def comparison_settings_section(comparison: ComparisonData) -> Section:
    """How a comparison was made."""
    rows: list[list[Any]] = []
    for row in comparison.recipes:
        runs = comparison.runs_of(row["recipe"])
        chosen_by = listed(dict.fromkeys(str(run.get("chosen_by")) for run in runs))
        seconds = duration(sum(float(run["seconds"]) for run in runs))
        rows.append([row["recipe"], listed(row["seeds"]), chosen_by, _updates(runs), seconds])
    head = ["recipe", "seeds", "state chosen by", "updates", "training, all seeds"]
    blocks: list[Block] = [Table(head, rows, words=3)]
    warnings = [f"{run['recipe']}: {warning}" for run in comparison.runs for warning in run.get("remarks", ())]
    warnings = list(dict.fromkeys([*warnings, *comparison.remarks]))
    blocks += [Items(warnings)] if warnings else []
    if comparison.settings is None:
        why = "The settings (settings.yaml) are not in this folder; each run holds its own."
        blocks.append(Text(why, "missing"))
    else:
        command = f"acclimate compare --config {comparison.folder / 'settings.yaml'} --out DIR"
        blocks += [Text("The same comparison again:", code=command), all_settings(comparison.settings)]
    return Section("settings", "Settings and seeds", "What this page was made from.", blocks)


def _updates(runs: Sequence[Row]) -> str:
    counts = sorted({int(run["updates"]) for run in runs})
    return UNKNOWN if not counts else f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"

"""`auto` out of finished runs: which of them each selector would have taken, and what that costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import mean
from typing import Any

from grid import Row, markdown
from leaderboard_jobs import MODELS, answers_file, asked, job_of, read_tags

AUTO, TARGET_DEV = "auto", "target dev"
Chooser = Callable[[Sequence[Row]], Row]


@dataclass(frozen=True)
class Field:
    """The candidates of one race: all recipes on one target, with one seed. `rows` have source-only first: of equals
    the first is taken."""

    target: str
    seed: int
    rows: tuple[Row, ...]

    def best(self, measure: str = "f1") -> float:
        """The oracle's, who knows the test, or what else is measured on."""
        return float(max(row[measure] for row in self.rows))


def fields_of(rows: Iterable[Row], targets: Iterable[str], models: Sequence[str]) -> list[Field]:
    """Those in which no recipe is missing: a race with fewer is another race, and one without source-only is none."""
    found: dict[tuple[str, int], dict[str, Row]] = {}
    for row in rows:
        if MODELS[row["model"]].races:
            found.setdefault((row["tested"], row["seed"]), {})[row["model"]] = row
    wanted = [model for model in MODELS if model in models and MODELS[model].races]
    return [
        Field(target, seed, tuple(there[model] for model in wanted))
        for target in targets
        for (tested, seed), there in sorted(found.items())
        if tested == target and {"source-only", *wanted} <= there.keys()
    ]


def with_agreement(field: Field, out: str) -> Field:
    """The same with what the selector says that asks all candidates. source-only among runs with labels has answered on
    other text, and is not asked. Where answers are not at hand, what rows say already is left as it is."""
    from acclimate.comparison.judging import AGREEMENT
    from acclimate.comparison.selectors.agreement import agreement

    places = {row["model"]: answers_file(out, field.target, job_of(row)) for row in field.rows}
    labels = max(row["labels"] for row in field.rows)
    known = {
        row["model"]: read_tags(places[row["model"]])
        for row in field.rows
        if row["labels"] == labels and places[row["model"]].is_file()
    }
    said = {row["model"]: row["selectors"].get(AGREEMENT) for row in field.rows if row["labels"] == labels}
    found = agreement(known) if known else said
    rows = [{**row, "selectors": {**row["selectors"], AGREEMENT: found.get(row["model"])}} for row in field.rows]
    return replace(field, rows=tuple(rows))


def choice(rows: Sequence[Row], judge: str) -> Row:
    """The row that wins the race under this judge."""
    from acclimate.comparison.budget import read_budget
    from acclimate.comparison.race_result import Entry, Race

    def value(row: Row) -> float | None:
        found: float | None = row["target_dev"] if judge == TARGET_DEV else row["selectors"].get(judge)
        return found

    entries = [Entry(row["model"], value(row), row["updates"], row["seconds"], None) for row in rows]
    won = Race.of(entries, {}, judge, read_budget("1u"), 1.0, judge == TARGET_DEV).choice
    return next(row for row in rows if row["model"] == won)


@cache
def default_judge(labels: int) -> str:
    """That of a race: with enough labels, some of them, or else the one for candidates that have learnt none."""
    from acclimate.comparison.race_settings import SELECTOR

    return TARGET_DEV if labels else SELECTOR


def auto_rows(fields: Iterable[Field], labels: int) -> list[Row]:
    """What `auto` gives, as lines of the leaderboard: the winner's figures, and the time of all candidates."""
    return [
        {
            **choice(field.rows, default_judge(labels)),
            "line": AUTO,
            "seconds": sum(row["seconds"] for row in field.rows),
            "updates": sum(row["updates"] for row in field.rows),
        }
        for field in fields
    ]


def regret_table(fields: Sequence[Field], labels: int, selectors: Sequence[str], measure: str = "f1") -> str:
    """How much better the best candidate is than the chosen one, the mean over seeds."""
    judges = [*([TARGET_DEV] if labels else []), *asked(selectors, labels)]
    choosers: dict[str, Chooser] = {
        f"{judge}{' (auto)' if judge == default_judge(labels) else ''}": lambda rows, judge=judge: choice(rows, judge)  # type: ignore[misc]
        for judge in judges
    }
    choosers |= {
        f"always {model}": lambda rows, model=model: next(row for row in rows if row["model"] == model)  # type: ignore[misc]
        for model in ("source-only", "acclimate")
        if all(any(row["model"] == model for row in field.rows) for field in fields)
    }
    targets = list(dict.fromkeys(field.target for field in fields))

    def line(name: str, lost: Callable[[Field], float], chosen: str) -> list[Any]:
        means = [mean(lost(field) for field in fields if field.target == target) for target in targets]
        return [name, *(f"{value:.2f}" for value in means), f"{mean(means):.2f}", chosen]

    lines = [
        line(name, lambda field, take=take: field.best(measure) - take(field.rows)[measure], counted(take, fields))  # type: ignore[misc]
        for name, take in choosers.items()
    ]
    lines.append(line("by lot", lambda field: field.best(measure) - mean(row[measure] for row in field.rows), ""))
    best = counted(lambda rows: max(rows, key=lambda row: float(row[measure])), fields)
    lines.append(["oracle's F1", *oracle(fields, targets, measure), best])
    return markdown(["chosen by", *targets, "mean", "choices"], lines)


def oracle(fields: Sequence[Field], targets: Sequence[str], measure: str) -> list[str]:
    means = [mean(field.best(measure) for field in fields if field.target == target) for target in targets]
    return [f"{value:.2f}" for value in (*means, mean(means))]


def counted(take: Chooser, fields: Sequence[Field]) -> str:
    found = Counter(take(field.rows)["model"] for field in fields)
    return ", ".join(f"{model} {count}" for model, count in found.most_common())

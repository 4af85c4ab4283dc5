"""What a committee brings, and how much of it one student keeps: 1, 2, 3, 5 and 8 members on seven targets.

    python benchmarks/committee.py --data FOLDER --out DIR [--sizes 1,3] [--ways vote,marginals] [--jobs 15]

Data, training and scores are the leaderboard's. The members of a target and seed are trained once, in DIR/runs; a
committee of n is the first n of them. Lines: `member`, the mean of all members; `vote n`, the spans that most of n
members found; `mean n`, the likeliest tags under the mean of their probabilities; `student of vote n` learns the spans
that all n found, other words left open; `student of marginals n` learns the mean of their probabilities; `student of
vote-warm n` begins with the weights of the first member. Students wait until all members are there.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import leaderboard
from leaderboard import TARGETS, TYPING, task_of
from shared import cells_of_means, f1_of, finish_and_show, finish_jobs, markdown, parse_known, parser, show

WAYS = ("vote", "marginals", "vote-warm")


@dataclass(frozen=True)
class Case:
    """One target with one seed."""

    target: str
    labels: int
    typing: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.target}_{self.labels}_{self.typing}_{self.seed}"

    def row(self, line: str, f1: float, began: float, **more: Any) -> dict[str, Any]:
        return {**vars(self), "line": line, "f1": f1, "seconds": time.monotonic() - began, **more}


def main() -> None:
    options = arguments()
    out = Path(options.out)
    if not out.is_file():
        members = {f"{case.name}_member-{n}.jsonl": (options, case, n) for case, n in member_jobs(options)}
        finish_jobs(members, learn_member, out, options)
        missing = [name for name in members if not (out / "rows" / name).exists()]
        if missing:
            return show(f"{len(missing)} members are missing: the same command goes on.", None)
    students = {f"{case.name}_{way}-{n}.jsonl": (options, case, way, n) for case, way, n in jobs_of(options)}
    finish_and_show(students, learn_student, tables, options)


def cases(options: argparse.Namespace) -> list[Case]:
    return [
        Case(target, labels, typing, seed)
        for seed, labels, typing, target in product(options.seeds, options.labels, options.typing, options.targets)
    ]


def member_jobs(options: argparse.Namespace) -> Iterable[tuple[Case, int]]:
    return product(cases(options), range(1, max(options.sizes) + 1))


def jobs_of(options: argparse.Namespace) -> Iterable[tuple[Case, str, int]]:
    """First the students: large committees before small ones, since those say most."""
    sizes = sorted(options.sizes, reverse=True)
    return ((case, way, size) for size, case, way in product(sizes, cases(options), options.ways))


def settings_of(options: argparse.Namespace, case: Case) -> Any:
    from acclimate.runs.settings import RunSettings
    from acclimate.settings import complete, with_assignments

    recipe = options.recipes[0]
    values = {"recipe": recipe, "seed": case.seed, "options": leaderboard.options_of(options.tuning).get(recipe, {})}
    values |= leaderboard.settings_of(options, case.labels)
    return complete(RunSettings, with_assignments(values, options.set), where="committee")


def runs_of(options: argparse.Namespace, case: Case) -> list[Any]:
    """All members, as `acclimate adapt --members` would train them."""
    from acclimate.comparison.committee import planned_members
    from acclimate.runs.settings import CommitteeSettings

    committee = CommitteeSettings(members=max(options.sizes), recipes=tuple(options.recipes))
    runs = planned_members(settings_of(options, case), committee, Path(options.out) / "runs" / case.name)
    return [run for run in runs if run.folder.name != "before"]


def learn_member(options: argparse.Namespace, case: Case, number: int) -> list[dict[str, Any]]:
    """Train a member and keep what it says of the target's text and of the test."""
    from acclimate.comparison.committee import run_member, write_answer
    from acclimate.comparison.results import read_run
    from acclimate.model.tagger import Tagger
    from acclimate.runs.task import BlindTask
    from acclimate.training.loop import device_for

    task, test = task_of(options, case.target, case.labels, case.typing, case.seed)
    run = runs_of(options, case)[number - 1]
    began = time.monotonic()
    for soft in (False, True):
        run_member(run, BlindTask.of(task), True, soft)
    seconds = time.monotonic() - began
    tagger = Tagger.load(run.folder, device_for(run.settings.training))
    (run.folder / "test").mkdir(exist_ok=True)
    write_answer(tagger, run.folder / "test", test.unlabelled(), True)
    row = case.row("member", 100 * (read_run(run, test).f1 or 0.0), began, number=number, recipe=run.recipe)
    return [{**row, "seconds": seconds}]


def learn_student(options: argparse.Namespace, case: Case, way: str, size: int) -> list[dict[str, Any]]:
    """Let the first members label the target's text, train their student, and score it and them."""
    from acclimate.comparison.committee import read_answer, student_of
    from acclimate.comparison.results import read_run
    from acclimate.data.votes import agreed, averaged, open_share, voted
    from acclimate.evaluation.scores import score
    from acclimate.model.tagger import Tagger
    from acclimate.runs.train import train_run

    began = time.monotonic()
    task, test = task_of(options, case.target, case.labels, case.typing, case.seed)
    members = runs_of(options, case)[:size]
    soft = way == "marginals"
    assert task.target is not None
    answers = [read_answer(run.folder, task.target.unlabelled(), soft) for run in members]
    text = (averaged if soft else agreed)(answers)
    own, settings = student_of(task, settings_of(options, case), text)
    start = Tagger.load(members[0].folder) if way == "vote-warm" else None
    student = train_run(own, settings, tagger=start, baseline="none").tagger
    f1 = f1_of(student, test)
    rows = [case.row(f"student of {way}", f1, began, size=size, open=open_share(text), sentences=len(text))]
    if way == "vote":
        found = voted([read_run(run, test).predicted for run in members])
        rows.append(case.row("vote", 100 * score(test, found).span.f1, began, size=size))
    if soft:
        found = averaged([read_answer(run.folder / "test", test.unlabelled(), True) for run in members]).likeliest()
        rows.append(case.row("mean", 100 * score(test, found).span.f1, began, size=size))
    return rows


def tables(rows: list[dict[str, Any]]) -> str:
    shown = []
    for labels, typing in product((0, 100), TYPING):
        some = [row for row in rows if (row["labels"], row["typing"]) == (labels, typing)]
        if some:
            shown.append(f"## {labels or 'No'} target labels, {typing}\n\n{table(some)}")
    return "\n\n".join(shown)


def table(rows: list[dict[str, Any]]) -> str:
    """Span F1 in percent, mean ± standard deviation of the seeds; the last column is the mean of the targets."""
    targets = [target for target in TARGETS if any(row["target"] == target for row in rows)]
    order = ["member", "vote", "mean", *(f"student of {way}" for way in WAYS)]
    values: dict[tuple[int, int], dict[tuple[str, int], list[float]]] = {}
    for row in rows:
        own = values.setdefault((order.index(row["line"]), row.get("size", 0)), {})
        own.setdefault((row["target"], row["seed"]), []).append(row["f1"])  # several members count by their mean
    lines = []
    for (line, size), own in sorted(values.items()):
        scores = {key: fmean(each) for key, each in own.items()}
        lines.append([f"{order[line]} {size or ''}".strip(), *cells_of_means(scores, targets)])
    return markdown(["", *targets, "mean"], lines)


def arguments() -> argparse.Namespace:
    made = parser(
        __doc__,
        "data out seeds jobs minutes limit labels encoder tuning judges set table",
        targets=list(TARGETS),
        typing=["typed"],
        sizes=([1, 2, 3, 5, 8], "numbers of members"),
        ways=(list(WAYS), "what students learn"),
        recipes=(["acclimate"], "of the members, in turn"),
    )
    return parse_known(made, targets=TARGETS, typing=TYPING, ways=WAYS)


if __name__ == "__main__":
    main()

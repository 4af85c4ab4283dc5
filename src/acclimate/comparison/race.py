"""A race of recipes: short runs of each, judged without target labels, and the one to take."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from acclimate.comparison.judging import NO_SOURCE, NO_TEXT, read_judgements, run_and_judge, why_no_judgement
from acclimate.comparison.plan import obstacle_for
from acclimate.comparison.race_settings import (
    LEFT_TO_THE_USER,
    SELECTOR,
    SELECTOR_OF_LABELLED,
    Budget,
    RaceSettings,
    judge_of,
    notes_on,
    read_budget,
)
from acclimate.comparison.scheduler import is_expected
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.subsets import split
from acclimate.evaluation.table import align
from acclimate.layout import REPORT
from acclimate.model.storage import read_sealed_json
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import BASELINE, RECIPES, find_recipe
from acclimate.runs.checksummed_json import read_checksummed, write_checksummed
from acclimate.runs.cost import expected_cost
from acclimate.runs.prepare import CHOSEN_WITH_TARGET_LABELS
from acclimate.runs.run import PlannedRun
from acclimate.runs.settings import RunSettings, SharedSettings
from acclimate.runs.task import BlindTask, Task
from acclimate.settings import UsageError, complete, differences
from acclimate.spelling import argument, count
from acclimate.training.engine import device_for
from acclimate.training.rehearsal import Cost
from acclimate.training.stage import DevelopmentScore

LEARNT = 0.5  # F1 on held-out source sentences, below which a candidate has hardly begun


@dataclass(frozen=True)
class Entry:
    """One candidate after its short run. `value` is the judge's, the higher the better; None where it could not say."""

    recipe: str
    value: float | None
    updates: int
    seconds: float  # of this race; nothing is counted that was there before
    source: float | None  # span F1 (accuracy for plain tags) on held-out source sentences, to see what was forgotten

    @property
    def is_judged(self) -> bool:
        return self.value is not None and math.isfinite(self.value)


@dataclass(frozen=True)
class Race:
    """The candidates in the order of their values, the winner, and the reasons."""

    choice: str
    measure: str
    entries: tuple[Entry, ...]
    left_out: Mapping[str, str]
    budget: Budget
    share: float
    with_target_labels: bool
    reasons: tuple[str, ...]

    @classmethod
    def of(
        cls,
        entries: Sequence[Entry],
        left_out: Mapping[str, str],
        measure: str,
        budget: Budget,
        share: float,
        with_target_labels: bool,
        labels_used: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> Race:
        """The highest value wins, of equal ones the first. `labels_used` says what candidates had of target labels."""
        if not any(entry.recipe == BASELINE.name for entry in entries):
            raise InputError(f"{BASELINE.name} could not be run: {left_out.get(BASELINE.name, 'it is not there')}")
        ranked = sorted(entries, key=lambda entry: -(entry.value or 0.0) if entry.is_judged else math.inf)
        choice = ranked[0].recipe if ranked[0].is_judged else BASELINE.name
        reasons = (*_reasons(ranked, choice, measure, share, with_target_labels, labels_used), *notes)
        return cls(choice, measure, tuple(ranked), dict(left_out), budget, share, with_target_labels, reasons)

    def as_dict(self) -> dict[str, Any]:
        return {
            "choice": self.choice,
            "measure": self.measure,
            "with_target_labels": self.with_target_labels,
            "budget": str(self.budget),
            "share": self.share,
            "candidates": [asdict(entry) for entry in self.entries],
            "left_out": dict(self.left_out),
            "reasons": list(self.reasons),
        }


def _reasons(
    ranked: Sequence[Entry],
    choice: str,
    measure: str,
    share: float,
    with_target_labels: bool,
    labels_used: Sequence[str],
) -> tuple[str, ...]:
    judged = [entry for entry in ranked if entry.is_judged]
    if not judged:
        return (f"{measure} could judge no run: {BASELINE.name} is kept, and nothing is adapted.",)
    said = [f"{choice} is preferred by {measure}: {_told(judged[0])}."]
    others = [f"{entry.recipe} {_told(entry)}" for entry in judged[1:3]]
    baseline = next((entry for entry in judged[3:] if entry.recipe == BASELINE.name), None)
    others += [] if baseline is None else [f"{BASELINE.name} {_told(baseline)}"]
    if others:
        said.append(f"Behind it: {', '.join(others)}.")
    tied = [entry.recipe for entry in judged[1:] if entry.value == judged[0].value]
    if tied:
        said.append(f"{', '.join(tied)} has the very same value; {choice} stands before it in the list.")
    if choice == BASELINE.name:
        said.append("No recipe is preferred to not adapting: nothing is adapted.")
    said.append(_told_of_labels(choice, with_target_labels, labels_used))
    if max((entry.source for entry in judged if entry.source is not None), default=1.0) < LEARNT:
        said.append("No candidate has learnt the source yet, and their order says little: give a larger --budget.")
    if share < 1:
        said.append(f"Every candidate made {share:.1%} of its updates; in full training their order may be another.")
    return tuple(said)


def _told_of_labels(choice: str, with_target_labels: bool, used: Sequence[str]) -> str:
    """What target labels were used for, by the judge and by the candidates."""
    candidates = f" Candidates had {' and '.join(used)}." if used else ""
    if not with_target_labels:
        judge = "The judge used no target label." if used else "No target label was used."
        return f"{judge}{candidates} Selectors without labels err: compare tells by how much on your data."
    learns = "" if choice == BASELINE.name else "; the winner learns from all of them"
    return f"Labelled target sentences were held out to judge by{learns}.{candidates}"


def _told(entry: Entry) -> str:
    return "-" if entry.value is None else f"{entry.value:.4g}"


def render_race(race: Race) -> str:
    """The race as people read it."""
    rows = [["candidate", "value", "source dev", "updates", "seconds"]]
    for entry in race.entries:
        source = "-" if entry.source is None else f"{100 * entry.source:.2f}"
        mark = " *" if entry.recipe == race.choice else ""
        rows.append([entry.recipe + mark, _told(entry), source, f"{entry.updates:,}", f"{entry.seconds:.1f}"])
    lines = [f"race of {count(len(race.entries), 'recipe')}, {race.budget}, judged by {race.measure}", ""]
    lines += [*align(rows), ""]
    lines += [f"left out: {name}. {why}" for name, why in race.left_out.items()]
    return "\n".join([*lines, *race.reasons])


FEWEST = 10  # labelled target sentences that must be held out, or a score on them would say nothing


def hold_out(task: Task, share: float, seed: int) -> tuple[Task, Corpus | None]:
    """The task with less labelled target sentences, and those that judge; None where they would be too few."""
    few = task.target_labelled
    if few is None or share * len(few) < FEWEST:
        return task, None
    for tied_from in (1, 6):
        with suppress(InputError):
            parts = split(few, {"kept": 1 - share, "held": share}, seed, by_document=False, tied_from=tied_from)
            return replace(task, target_labelled=parts["kept"]), parts["held"]
    return task, None


def named_judge(settings: RaceSettings, run: PlannedRun, task: BlindTask) -> str:
    """Which selector the settings name, or what the candidates learn from does."""
    if settings.selector is not None:
        return settings.selector
    labelled = task.target_labelled is not None
    return SELECTOR_OF_LABELLED if labelled or why_no_judgement(SELECTOR, run, task) else SELECTOR


def require_judge(settings: RaceSettings, runs: Sequence[PlannedRun], task: BlindTask) -> None:
    """Refuse a race that no selector could decide: better now than when the budget is spent."""
    selector = judge_of(named_judge(settings, runs[0], task), len(runs))
    silence = why_no_judgement(selector, runs[0], task)
    if silence == NO_TEXT:
        few = task.target_labelled or ()
        held = (
            f", and no labelled sentences are held out: that takes {FEWEST} at least, and here are "
            f"{settings.held_out:g} (options.held_out) of {len(few):,}"
        )
        raise UsageError(
            f"Nothing can judge this race: {silence}{held if few else ''}. Give target text ({argument('target')}), "
            "or more "
            f"labelled target sentences ({argument('target_labelled')}), or name a recipe."
        )
    if silence:
        way_out = (
            f"Give some ({argument('source_dev')}), or name another judge"
            if silence == NO_SOURCE
            else "Name another judge"
        )
        raise UsageError(f"{selector} cannot judge this race: {silence}. {way_out} (options.selector).")


def judged(runs: Sequence[PlannedRun], selector: str, held: Corpus | None) -> dict[str, float | None]:
    """What the judge says of each run, by their names."""
    if held is None:
        return {name: said[selector] for name, said in read_judgements(runs, [selector]).items()}
    judge = DevelopmentScore(held)
    return {run.name: judge(Tagger.load(run.folder, device_for(run.settings.training))) for run in runs}


_PLAN = "race-plan.json"


def race(
    task: Task,
    out: str | Path,
    options: RaceSettings | Mapping[str, Any] | None = None,
    settings: SharedSettings | Mapping[str, Any] | None = None,
    *,
    seed: int = 1,
    tell: Callable[[str], Any] = lambda line: None,
    begin: Callable[[], Any] = lambda: None,
) -> Race:
    """Let recipes race, and say which one to take.

    task: the corpora; the test parts are dropped before anything else is done.
    out: a folder below it for every run. What is finished there is not done again, what was cut off goes on.
    options: budget, candidates and judge. settings: tagger and training, as all candidates have them.
    begin: called when nothing can be refused any more, before the first thing is written.
    """
    if not isinstance(options, RaceSettings):
        options = complete(RaceSettings, options or {}, where="options of auto")
    if not isinstance(settings, SharedSettings):
        settings = complete(SharedSettings, settings or {}, where="settings of the race")
    if not task.has_target:
        raise UsageError(f"A race judges recipes on the target: give target text ({argument('target')}).")
    task, held = _without_tests(task), None
    if task.target_labelled is not None:
        task, held = hold_out(task, options.held_out, seed)
    names, left_out = candidates(task, options, settings.tagger.encoder, held is not None)
    runs = _planned(names, Path(out), options, settings, seed)
    blind = BlindTask.of(task)
    if held is None:
        require_judge(options, list(runs.values()), blind)
    begin()
    share, failed = _share(runs, blind, Path(out), options, tell)
    left_out |= failed
    runners = {name: each for name, each in runs.items() if name not in left_out}
    named = named_judge(options, next(iter(runs.values())), blind)
    asked = {judge_of(named, number) for number in (len(runners), 2)}  # some may fail, and few ask another judge
    finished: dict[str, tuple[PlannedRun, float]] = {}
    for name, each in runners.items():
        short = replace(each, settings=each.settings.model_copy(update={"share": share}))
        tell(f"{name}: {share:.0%} of its updates")
        try:
            finished[name] = short, run_and_judge(short, blind, () if held is not None else sorted(asked))
        except Exception as failure:
            if not is_expected(failure):
                raise
            left_out[name] = str(failure)
    selector = judge_of(named, len(finished))
    values = judged([run for run, _ in finished.values()], selector, held)
    entries = [_entry(run, values[run.name], seconds) for run, seconds in finished.values()]
    measure = selector if held is None else DevelopmentScore(held, "held-out target").name
    budget = read_budget(options.budget)
    notes = notes_on(options, selector) if held is None else ()
    used = _labels_used([run for run, _ in finished.values()], task)
    return Race.of(entries, left_out, measure, budget, share, held is not None, used, notes)


def candidates(task: Task, settings: RaceSettings, encoder: str, has_judges: bool) -> tuple[list[str], dict[str, str]]:
    """Who takes part, source-only first: of equals the first is taken. And why the others do not."""
    asked = settings.recipes or [name for name in RECIPES if name not in LEFT_TO_THE_USER]
    names, left_out = [BASELINE.name], {}
    for name in dict.fromkeys(asked):
        recipe = find_recipe(name)
        obstacle = obstacle_for(recipe, task, encoder)
        if not obstacle and task.trains_target(name) and not has_judges:
            obstacle = (
                "It trains a tagger of the target's own, which only labelled target sentences could judge, and there "
                "are too few to hold any out."
            )
        if obstacle:
            left_out[name] = obstacle
        elif name not in names:
            names.append(name)
    for name in settings.each:
        if name not in names and name not in left_out:
            raise UsageError(f"options.each: {name!r} takes no part in the race: {', '.join(names)}.")
    return names, left_out


def _without_tests(task: Task) -> Task:
    """Nothing that is scored in the end, and no tag of the target's text."""
    text = None if task.target is None else task.target.unlabelled()
    return replace(task, source_test=None, target=text, target_test=None, watch=None)


def _planned(
    names: Sequence[str], out: Path, race: RaceSettings, shared: SharedSettings, seed: int
) -> dict[str, PlannedRun]:
    folders = {name: out / name / f"seed-{seed}" for name in names}
    planned = {}
    for name in names:
        options = complete(find_recipe(name).options, race.each.get(name, {}), where=f"options of recipe {name}")
        own = RunSettings(**dict(shared), recipe=name, seed=seed, options=options.model_dump(mode="json"))
        planned[name] = PlannedRun(own, folders[name], None if name == BASELINE.name else folders[BASELINE.name])
    return planned


def _share(
    runs: Mapping[str, PlannedRun], task: BlindTask, out: Path, settings: RaceSettings, tell: Callable[[str], Any]
) -> tuple[float, dict[str, str]]:
    """How much of its updates every candidate can make within the budget, and who cannot be run at all. Kept on disk:
    a race that goes on must not find another answer."""
    place = out / _PLAN
    asked = {"data": task.fingerprint(), **settings.model_dump(mode="json")}
    if place.is_file():
        found = read_checksummed(place)
        changed = differences(found["asked"], asked)
        if changed:
            shown = "\n".join(changed[:12])
            raise UsageError(f"{out} holds a race that was begun otherwise:\n{shown}\nChoose another folder.")
        return found["share"], found["failed"]
    tell("timing a few updates of each recipe")
    costs: dict[str, Cost] = {}
    failed: dict[str, str] = {}
    for name, run in runs.items():
        try:
            costs[name] = expected_cost(task, run.settings, run.baseline is not None)
        except Exception as failure:
            if not is_expected(failure):
                raise
            failed[name] = str(failure)
    if BASELINE.name in failed:
        raise InputError(f"not even {BASELINE.name} can be run: {failed[BASELINE.name]}")
    total, budget = sum(costs.values(), Cost()), read_budget(settings.budget)
    whole = total.updates if budget.unit == "updates" else total.seconds / 60
    share = min(1.0, float(f"{budget.amount / max(whole, 1e-9):.3g}"))
    out.mkdir(parents=True, exist_ok=True)
    write_checksummed(place, {"asked": asked, "share": share, "failed": failed})
    return share, failed


def _labels_used(runs: Sequence[PlannedRun], task: Task) -> tuple[str, ...]:
    """What candidates had of target labels, apart from the judge's."""
    used: tuple[str, ...] = ()
    if task.target_labelled is not None and any(run.recipe != BASELINE.name for run in runs):
        used += (f"{count(len(task.target_labelled), 'labelled target sentence')} to learn from",)
    if any(CHOSEN_WITH_TARGET_LABELS in read_sealed_json(run.folder / REPORT)["remarks"] for run in runs):
        used += ("target dev sentences to choose their states by",)
    return used


def _entry(run: PlannedRun, value: float | None, seconds: float) -> Entry:
    report = read_sealed_json(run.folder / REPORT)
    source = report["source"]
    return Entry(
        run.recipe,
        value,
        report["training_updates"],
        round(seconds, 1),
        None if source is None else source["after"]["span"]["f1"],
    )

"""Who judges a race: labelled target sentences that are held out, or a selector without any."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from acclimate.comparison.judging import read_judgements
from acclimate.comparison.race_settings import SELECTOR, SELECTOR_OF_LABELLED, RaceSettings, judge_of
from acclimate.comparison.silence import NO_SOURCE, NO_TEXT, silence_of
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.subsets import split
from acclimate.model.tagger import Tagger
from acclimate.runs.run import PlannedRun
from acclimate.runs.task import BlindTask, Task
from acclimate.settings import UsageError
from acclimate.spelling import argument
from acclimate.training.engine import device_for
from acclimate.training.stage import DevelopmentScore

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
    return SELECTOR_OF_LABELLED if labelled or silence_of(SELECTOR, run, task) else SELECTOR


def require_judge(settings: RaceSettings, runs: Sequence[PlannedRun], task: BlindTask) -> None:
    """Refuse a race that no selector could decide: better now than when the budget is spent."""
    selector = judge_of(named_judge(settings, runs[0], task), len(runs))
    silence = silence_of(selector, runs[0], task)
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

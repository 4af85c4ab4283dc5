"""The main job: adapt a tagger, beside the same tagger not adapted, and say honestly what changed."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from acclimate.data.batches import SOURCE
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.evaluation.table import count
from acclimate.model.siblings import Siblings
from acclimate.model.storage import StorageError, read_json
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import BASELINE, default_recipe, record_remarks
from acclimate.recipes.recipe import Recipe
from acclimate.runs.fingerprint import beginning_of, begun_with, claim
from acclimate.runs.lock import in_locked_folder
from acclimate.runs.prepare import Preparation, prepare
from acclimate.runs.result import Outcome, SiblingResult, change_of, predict_all
from acclimate.runs.settings import RunSettings, SelectorName
from acclimate.runs.task import Task
from acclimate.settings import complete, require_seed
from acclimate.training.engine import build_engine, device_for, is_main_process
from acclimate.training.progress_bar import shown_in_training
from acclimate.training.record import Record
from acclimate.training.run import EARLIER, Watcher, first_seed, run_stages
from acclimate.training.selectors import Confidence
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Stage, Watch


@in_locked_folder
@shown_in_training
def adapt(
    tagger: Tagger,
    source: Corpus,
    target: Corpus | None = None,
    recipe: str | None = None,
    *,
    target_labelled: Corpus | None = None,
    source_dev: Corpus | None = None,
    source_test: Corpus | None = None,
    target_dev: Corpus | None = None,
    target_test: Corpus | None = None,
    select: SelectorName = "auto",
    train_on_dev: bool = False,
    watch: Corpus | None = None,
    training: TrainingSettings | Mapping[str, Any] | None = None,
    seed: int = 1,
    out: str | Path | None = None,
    watcher: Watcher | None = None,
    baseline: str | Path | None = None,
    look: Callable[[str, Tagger, Mapping[str, Tagger]], Any] | None = None,
    shortened: float = 1.0,
    begin: Callable[[], Any] | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Outcome:
    """Adapt the tagger, in place, from the source to the target.

    `recipe` is `acclimate` when it is not given, as for the command; without anything of a target it is `source-only`.
    While it trains, a terminal or a notebook shows how far it is; `progress=False` keeps silent.

    The same tagger trained on the source alone is trained beside it; its scores are the "before". Test sentences are
    scored once, when all training is over: no recipe and no selector ever sees them. `source_dev` decides which state
    is kept; when it is not given, a tenth of the source is held out. Tags in `target` are dropped; labelled target
    sentences to learn from are `target_labelled`. `options` are the recipe's own settings.

    A recipe for two sets of labels (datnet) trains a tagger of the target's own when it has `target_labelled`: its
    labels are the tagger's, "before" is the tagger trained on those sentences alone, and `target_dev`, if given,
    chooses the state. `train_on_dev` adds `source_dev` to the source; nothing is chosen then, the last state is kept.
    `watch` are labelled sentences: how sure the tagger is of their tags is written down along training.
    `baseline` is the folder of a finished source-only run (compare makes such): where it was begun as this run's own
    baseline would be, that one is taken, and nothing is trained twice.
    `look` is shown the tagger "before", where there is one, and "after", each with the taggers that were trained beside
    it, by name: DATNet's of the "source", the "second" task's of MAT. The outcome keeps the tagger "before", too.
    `shortened` is the share of every stage's updates that is made: below 1 to try a recipe out, as a race does.
    `begin` is called when nothing is left to refuse, before anything is written or trained.
    """
    started = time.monotonic()
    recipe = recipe or default_recipe(has_target=target is not None or target_labelled is not None)
    require_seed(seed)
    if not isinstance(training, TrainingSettings):
        training = complete(TrainingSettings, training or {}, where="training settings")
    task = Task(source, source_dev, source_test, target, target_labelled, target_dev, target_test, watch)
    settings = RunSettings(
        recipe=recipe, seed=seed, options=options, select=select, train_on_dev=train_on_dev, training=training
    )
    ready = prepare(tagger, task, settings)
    chosen, plan, selector, tests, remarks = ready.recipe, ready.plan, ready.selector, ready.tests, ready.remarks
    folder = None if out is None else Path(out) / "training"
    begun_with = beginning_of(tagger, recipe, plan, selector, shortened)
    if begin is not None and is_main_process():
        begin()
    if folder is not None and is_main_process():
        claim(folder, begun_with, chosen.options)

    def noted(stage: Stage) -> Stage:
        if isinstance(stage.learner, Siblings):
            families[:] = [stage.learner]
        return stage

    def run(which: Recipe, pupil: Tagger) -> list[dict[str, Any]]:
        place = None if folder is None else folder / which.name
        record = Record(place if is_main_process() else None, plan.training.tensorboard and is_main_process())
        engine = build_engine(plan.training, pupil)
        stages: Iterator[Stage] = (noted(stage.shortened(shortened)) for stage in which.stages(pupil, plan))
        if watch is not None:
            stages = _watched(stages, Confidence(watch.labelled(), pupil))
        summaries = run_stages(pupil, stages, engine, selector, seed, place, watcher, record)
        said.extend(record_remarks(record.rows))
        record.close()
        earlier.extend(float(summary.pop(EARLIER)) for summary in summaries)
        return summaries

    said: list[str] = []
    families: list[Siblings] = []  # of the last stage that trained two taggers
    earlier: list[float] = []  # seconds of what was done before this process went on with it
    tagger.seen = ready.seen
    is_first = chosen is ready.first
    plain = tagger if is_first else copy.deepcopy(tagger)
    torch.manual_seed(first_seed(seed))  # as the recipe's own first stage does: equal parts get equal first weights
    make = chosen.remodel(plain, plan)
    remarks += _of_one_make(make)
    needs_own = is_first or ready.for_target or make
    shared = None if baseline is None or needs_own else shared_baseline(baseline, begun_with)
    if shared is None:
        summaries = run(ready.first, plain)
    else:
        plain, summaries = shared.tagger.to(device_for(plan.training)), shared.stages
    before = predict_all(plain, tests)
    after, length = before, ""
    plain_stages = len(summaries)
    look = look if look is not None and is_main_process() else lambda when, shown, siblings: None
    if not is_first:
        look("before", plain, {})
        if chosen.starts_from_baseline:
            tagger.load_state_dict(plain.state_dict())
        plain = plain.to("cpu").eval()
        extra = run(chosen, tagger)
        length = _length(recipe, chosen, summaries, extra)
        summaries = [*summaries, *extra]
        after = predict_all(tagger, tests)
    tagger.eval()
    siblings = _siblings(ready, tagger, families)
    remarks += _of_siblings(siblings)
    look("after", tagger, {name: found.tagger for name, found in siblings.items()})
    changes = {
        name: None if test is None else change_of(test, before[name], after[name], tagger)
        for name, test in tests.items()
    }
    if length:
        fell = changes["target"] is not None and changes["target"].difference <= 0
        remarks += (f"{length}." if fell else f"{length}: longer training alone may explain a part of any gain.",)
    seconds = time.monotonic() - started + sum(earlier)
    outcome = Outcome(
        recipe,
        summaries[-1]["selector"],
        changes["source"],
        changes["target"],
        summaries,
        seconds,
        (*remarks, *said),
        plain_stages,
        is_first or chosen.starts_from_baseline,
        ready.learnt,
        ready.first.name,
        make,
        siblings,
        None if is_first else plain,
    )
    found = outcome.reservation
    return outcome if found is None else replace(outcome, remarks=(*outcome.remarks, found.why))


def _watched(stages: Iterator[Stage], watch: Watch) -> Iterator[Stage]:
    return (replace(stage, watches=(*stage.watches, watch)) for stage in stages)


def _of_one_make(make: tuple[str, ...]) -> tuple[str, ...]:
    """Say so when "before" is not the tagger that the settings alone describe."""
    return (f"Before is a tagger of the same make: it has {', and '.join(make)}.",) if make else ()


def _siblings(ready: Preparation, tagger: Tagger, families: list[Siblings]) -> dict[str, SiblingResult]:
    """The tagger that was trained beside, if it is one to keep: that of the source only where it has labels or words of
    its own."""
    kept = ready.recipe.sibling
    if kept is None or not families or (kept.name == SOURCE and not ready.for_target):
        return {}
    (other,) = (each for each in families[0] if each is not tagger)
    return {kept.name: SiblingResult.of(other.eval(), kept.test(ready.plan.options))}


def _of_siblings(siblings: Mapping[str, SiblingResult]) -> tuple[str, ...]:
    """What became of the taggers that were trained beside, and how good the second task's is."""
    found = siblings.get("second")
    if found is None:
        return ()
    if found.scores is None:
        return (
            "The second task has no score: give options.second_test, labelled sentences of it that are not learnt.",
        )
    size = count(found.scores.sentences, "sentence")
    score = f"{100 * found.scores.span.f1:.2f} on {found.corpus} ({size}; {found.scores.scorer})"
    return (f"Second task: {score}. It is not compared with anything.",)


def _length(recipe: str, chosen: Recipe, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> str:
    """How much longer the recipe trains than the baseline; empty where it does not."""
    plain, more = (sum(stage["updates"] for stage in stages) for stages in (before, after))
    total = plain + more if chosen.starts_from_baseline else more
    return "" if total <= plain else f"{recipe} made {count(total, 'update')}, the baseline {plain:,}"


_DECISIVE = ("seed", "selector", "tagger", "training")  # beside the data: what a baseline's weights depend on


@dataclass(frozen=True)
class SharedBaseline:
    """The tagger trained on the source alone, and the summaries of its stages."""

    tagger: Tagger
    stages: list[dict[str, Any]]


def shared_baseline(folder: str | Path, wanted: Mapping[str, Any]) -> SharedBaseline | None:
    """That of a finished source-only run, if it was begun as the baseline of this run would be; None otherwise, and
    where the folder is damaged. `wanted` is what this run is begun with."""
    folder = Path(folder)
    try:
        found = begun_with(folder / "training")
        if found is None or found["recipe"] != BASELINE.name:
            return None
        if any(found[name] != wanted[name] for name in _DECISIVE):
            return None
        if any(found["data"][part] != wanted["data"][part] for part in ("source", "selector")):
            return None
        return SharedBaseline(Tagger.load(folder), read_json(folder / "report.json")["stages"])
    except (StorageError, InputError, OSError, KeyError, TypeError):
        return None

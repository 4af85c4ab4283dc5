"""The one driver of every training: a recipe, beside its baseline where that is wanted."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import torch

from acclimate.data.batches import SOURCE
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.sources import join_sources
from acclimate.layout import REPORT, RUN, TRAINING, is_begun
from acclimate.model.learner import Learner
from acclimate.model.shipped import GENERAL
from acclimate.model.siblings import Siblings
from acclimate.model.storage import StorageError, read_json
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import BASELINE, default_recipe, record_remarks
from acclimate.recipes.recipe import Recipe
from acclimate.runs.budget import Budget
from acclimate.runs.card import run_card
from acclimate.runs.fingerprint import run_fingerprint, start_fingerprint
from acclimate.runs.folder import add_start, begin, in_locked_folder
from acclimate.runs.prepare import Preparation, prepare
from acclimate.runs.result import Change, Outcome, SiblingResult, change_of, predict_all
from acclimate.runs.settings import RunSettings, SelectorName, SourcesSettings
from acclimate.runs.task import NO_SOURCE, Task, tagger_for
from acclimate.settings import UsageError, complete, require_seed
from acclimate.spelling import count
from acclimate.training.loop import build_engine, device_for, is_main_process
from acclimate.training.progress_bar import shown_in_training
from acclimate.training.record import Record
from acclimate.training.run import EARLIER, Watcher, first_seed, run_stages
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Confidence, Stage

Baseline = Literal["own", "none"] | Path | Tagger
Look = Callable[[str, Tagger, Mapping[str, Tagger]], Any]


@in_locked_folder
@shown_in_training
def adapt(
    tagger: Tagger | None = None,
    source: Corpus | Sequence[Corpus] | None = None,
    target: Corpus | None = None,
    recipe: str | None = None,
    *,
    start: Tagger | str | Path | None = None,
    out: str | Path | None = None,
    select: SelectorName = "auto",
    train_on_dev: bool = False,
    training: TrainingSettings | Mapping[str, Any] | None = None,
    seed: int = 1,
    shortened: float = 1.0,
    sources: SourcesSettings | Mapping[str, Any] | None = None,
    watcher: Watcher | None = None,
    look: Look | None = None,
    progress: bool | None = None,
    target_labelled: Corpus | None = None,
    source_dev: Corpus | None = None,
    source_test: Corpus | None = None,
    target_dev: Corpus | None = None,
    target_test: Corpus | None = None,
    watch: Corpus | None = None,
    **options: Any,
) -> Outcome:
    """Adapt the tagger, in place, from the source to the target.

    source: one corpus or a list, each under a name of its own (`Corpus.renamed`); `sources` says how several are learnt
        from: `{"smoothing": 0.5, "weights": {"a": 2}, "heads": True}`.
    target: text; its tags are dropped. `target_labelled` are labelled target sentences to learn from.
    recipe: `acclimate` by default; without a target `source-only`. `options` are the recipe's own settings.
    start: without a source, `adapt(target=text, start=trained)` adapts a copy of a trained tagger, a folder, or the
        name
        of a shipped one (`general` by default), by recipe `source-free`. It learns labels that are new to it.
    source_dev: chooses the state that is kept; without it, a tenth of the source does. `select` names another judge.
    source_test, target_test: scored once, when all training is over; no recipe and no selector sees them.
    train_on_dev: learn from `source_dev` as well, and keep the last state.
    out: keeps checkpoints, so that a run goes on where it was cut off; `tagger.save(out)` puts the tagger beside them.
    look: is shown the taggers "before" and "after", with those that were trained beside them, by name.
    shortened: the share of every stage's updates that is made. watch: labelled sentences; the record holds how sure
        the tagger is of their tags. progress: whether to show a bar.

    The same tagger is trained on the source alone as well; its scores are the "before". A recipe of the target's own
    labels (`target-only`, `datnet`) learns from `target_labelled`, and "before" is trained on those sentences alone.
    """
    require_seed(seed)
    if not isinstance(training, TrainingSettings):
        training = complete(TrainingSettings, training or {}, where="training settings")
    if source is not None and not isinstance(source, Corpus):
        source = join_sources(source)
    tagger = _tagger_to_train(tagger, source, start)
    parts = (source_dev, source_test, target, target_labelled, target_dev, target_test, watch)
    task = Task(NO_SOURCE if source is None else source, *parts)
    has_target = target is not None or target_labelled is not None
    given = {
        "recipe": recipe or default_recipe(has_target, has_source=source is not None),
        "seed": seed,
        "options": options,
        "select": select,
        "train_on_dev": train_on_dev,
        "training": training,
        "share": shortened,
        "sources": sources or {},
    }
    settings = complete(RunSettings, given, where="adapt")
    return train_run(task, settings, out, tagger=tagger, watcher=watcher, look=look)


def _tagger_to_train(tagger: Tagger | None, source: Corpus | None, start: Tagger | str | Path | None) -> Tagger:
    """The tagger to train: a new one with a source, or a trained one without."""
    if source is not None and tagger is not None and start is None:
        return tagger
    if source is not None or tagger is not None:
        raise UsageError(
            "Give adapt a tagger and a source, adapt(tagger, source, ...), or a trained tagger without a source, "
            "adapt(target=..., start=tagger)."
        )
    return copy.deepcopy(start) if isinstance(start, Tagger) else Tagger.load(start or GENERAL)


def train_run(
    task: Task,
    settings: RunSettings,
    folder: str | Path | None = None,
    *,
    tagger: Tagger | None = None,
    baseline: Baseline = "own",
    watcher: Watcher | None = None,
    look: Look | None = None,
    began: Callable[[Preparation], Any] = lambda ready: None,
    overwrite: bool = False,
    fingerprint: Mapping[str, Any] | None = None,
    budget: Budget | None = None,
) -> Outcome:
    """Train one recipe with one seed, and score it.

    folder: keeps checkpoints in `training/`; a run that was cut off goes on from there.
    tagger: trained in place; built from the settings if None.
    baseline: the "before". own: trained here; a folder: taken from a finished source-only run if that fits; a tagger:
        that one; none: nothing to compare with.
    began: called when nothing is left to refuse, before the training.
    fingerprint: identifies the run in its folder. budget: the shares of their updates that stages make.
    """
    job = _Job(task, settings, watcher, budget)
    known = dict(fingerprint or run_fingerprint(task, settings, has_own_tagger=tagger is not None))
    if tagger is None:
        torch.manual_seed(settings.seed)
        tagger = tagger_for(task, settings)
    job.ready = ready = prepare(tagger, task, settings)
    tagger = ready.tagger
    start = start_fingerprint(tagger, ready)
    if folder is not None:
        folder = Path(folder)
        job.folder = folder / TRAINING
        if is_main_process() and is_begun(folder) and not overwrite:
            add_start(folder, {**known, "start": start})
        elif is_main_process():
            begin(folder, {**known, "start": start}, overwrite)
    began(ready)
    tagger.seen = ready.seen
    shown = look if look is not None and is_main_process() else lambda when, seen, siblings: None
    outcome = _alone(job, tagger) if baseline == "none" else _beside(job, tagger, start, baseline, shown)
    shown("after", tagger, {name: sibling.tagger for name, sibling in outcome.siblings.items()})
    outcome = replace(outcome, seconds=time.monotonic() - job.started + sum(job.earlier))
    tagger.card = run_card(outcome, task, settings)
    return outcome


@dataclass
class _Job:
    """A run in progress, and what its stages have left."""

    task: Task
    settings: RunSettings
    watcher: Watcher | None
    budget: Budget | None
    ready: Preparation = field(init=False)
    folder: Path | None = None
    started: float = field(default_factory=time.monotonic)
    learner: Learner | None = None  # of the last stage
    family: Siblings | None = None  # of the last stage that trained two taggers
    earlier: list[float] = field(default_factory=list)  # seconds before this process went on with a stage
    record_remarks: list[str] = field(default_factory=list)

    def train(self, recipe: Recipe, tagger: Tagger, first: Recipe | None = None) -> list[dict[str, Any]]:
        """Train all stages of a recipe, after those of `first`; returns their summaries."""
        plan = self.ready.plan
        place = None if self.folder is None else self.folder / recipe.name
        record = Record(place if is_main_process() else None, plan.training.tensorboard and is_main_process())
        engine = build_engine(plan.training, tagger)
        recipes = [recipe] if first is None else [first, recipe]
        # a list: a recipe may draw random numbers when it is called, and a stage begins with a seed of its own
        stages = self._prepared(chain.from_iterable([each.stages(tagger, plan) for each in recipes]), tagger)
        selector, seed = self.ready.selector, self.settings.seed
        summaries = run_stages(tagger, stages, engine, selector, seed, place, self.watcher, record)
        if summaries:
            tagger.card = None  # which told of other weights
        self.record_remarks.extend(record_remarks(record.rows))
        record.close()
        self.earlier.extend(float(summary.pop(EARLIER)) for summary in summaries)
        return summaries

    def _prepared(self, stages: Iterator[Stage], tagger: Tagger) -> Iterator[Stage]:
        for stage in stages:
            share = 1.0 if self.budget is None else self.budget.share(stage.name)
            stage = stage.shortened(self.settings.share * share)
            self.learner = stage.learner or tagger
            self.family = stage.learner if isinstance(stage.learner, Siblings) else self.family
            if self.task.watch is not None:
                watched = self.task.watch.labelled().open_to(tagger.labels)
                stage = replace(stage, watches=(*stage.watches, Confidence(watched, tagger)))
            yield stage

    def siblings(self, tagger: Tagger) -> dict[str, SiblingResult]:
        """The tagger that was trained beside, if it is kept: that of the source only with labels or words of its
        own."""
        kept = self.ready.recipe.sibling
        if kept is None or self.family is None or (kept.name == SOURCE and not self.ready.for_target):
            return {}
        (other,) = (each for each in self.family if each is not tagger)
        return {kept.name: SiblingResult.of(other.eval(), kept.test(self.ready.plan.options))}

    def outcome(self, tagger: Tagger, stages: list[dict[str, Any]], remarks: Iterable[str], **more: Any) -> Outcome:
        """What was done, with all remarks in their order."""
        outcome = Outcome(
            recipe=self.ready.recipe.name,
            stages=stages,
            remarks=(*self.ready.remarks, *remarks, *self.record_remarks, *self.ready.plan.remarks),
            training=self.ready.plan.training,
            tagger=tagger,
            learner=self.learner,
            **more,
        )
        reserved = outcome.reservation
        return outcome if reserved is None else replace(outcome, remarks=(*outcome.remarks, reserved.why))


def _alone(job: _Job, tagger: Tagger) -> Outcome:
    """The recipe without a baseline."""
    ready = job.ready
    stages = job.train(ready.recipe, tagger, ready.first if ready.recipe.starts_from_baseline else None)
    tagger.eval()
    tagger.drop_source_heads()
    predicted = {"target": (None, predict_all(tagger, {"target": job.task.target_test}).get("target"))}
    selector = ready.selector.name
    return job.outcome(tagger, stages, (), selector=selector, own_stages=stages, before=None, predicted=predicted)


def _beside(job: _Job, tagger: Tagger, start: Mapping[str, Any], given: Baseline, look: Look) -> Outcome:
    """The recipe and its baseline, which is trained here or taken from another run."""
    ready, plan = job.ready, job.ready.plan
    recipe, is_first = ready.recipe, ready.recipe is ready.first and not isinstance(given, Tagger)
    tests = {**ready.tests, "target": job.task.target_test}  # a blind target test is tagged, and not scored
    plain = tagger if is_first else copy.deepcopy(tagger)
    torch.manual_seed(first_seed(plan.seed))  # as its first stage does: equal parts get equal first weights
    make = recipe.remodel(plain, plan)
    plain, stages = _baseline(job, plain, bool(make), start, given, is_first)
    before = after = predict_all(plain, tests)
    own = list[dict[str, Any]]()
    if not is_first:
        look("before", plain, {})
        if recipe.starts_from_baseline:
            tagger.load_state_dict(plain.state_dict())
        plain = plain.to("cpu").eval()
        own = job.train(recipe, tagger)
        after = predict_all(tagger, tests)
    tagger.eval()
    plain.drop_source_heads()
    tagger.drop_source_heads()
    changes = {
        name: None if test is None else change_of(test, before[name], after[name], tagger)
        for name, test in ready.tests.items()
    }
    siblings = job.siblings(tagger)
    remarks = _remarks(recipe, make, siblings, stages, own, changes["target"])
    return job.outcome(
        tagger,
        [*stages, *own],
        remarks,
        selector=(own or stages)[-1]["selector"],
        source=changes["source"],
        target=changes["target"],
        own_stages=[*stages, *own] if is_first or recipe.starts_from_baseline else own,
        learnt=ready.learnt,
        before=ready.first.name,
        make=make,
        siblings=siblings,
        tagger_before=None if is_first else plain,
        predicted={name: (None if is_first else before[name], after[name]) for name in after},
    )


def _baseline(
    job: _Job, plain: Tagger, has_make: bool, start: Mapping[str, Any], given: Baseline, is_first: bool
) -> tuple[Tagger, list[dict[str, Any]]]:
    """The tagger "before" and the summaries of its stages: a given tagger, one of another run, or trained here."""
    ready, device = job.ready, device_for(job.ready.plan.training)
    if isinstance(given, Tagger):
        return given.to(device), []
    needs_heads = ready.recipe.starts_from_baseline and plain.source_heads is not None  # which no folder keeps
    if isinstance(given, Path) and not (is_first or ready.for_target or has_make or needs_heads):
        shared = _shared_baseline(given, job.settings, start)
        if shared is not None:
            return shared[0].to(device), shared[1]
    return plain, job.train(ready.first, plain)


def _remarks(
    recipe: Recipe,
    make: tuple[str, ...],
    siblings: Mapping[str, SiblingResult],
    before: list[dict[str, Any]],
    own: list[dict[str, Any]],
    target: Change | None,
) -> Iterator[str]:
    """What may surprise: the make of the tagger "before", a second task, longer training, and nothing that is kept.
    `before` are the stages of the baseline, `own` those of the recipe, if it is another."""
    if make:
        yield f"The tagger before is of the same make, to compare fairly: it has {', and '.join(make)}."
    if second := siblings.get("second"):
        if second.scores is None:
            yield (
                "The second task has no score: give options.second_test, labelled sentences of it that are not learnt."
            )
        else:
            size = count(second.scores.sentences, "sentence")
            score = f"{100 * second.scores.span.f1:.2f} on {second.corpus} ({size}; {second.scores.scorer})"
            yield f"Second task: {score}. It is not compared with anything."
    plain, more = (sum(stage["updates"] for stage in stages) for stages in (before, own))
    total = plain + more if recipe.starts_from_baseline else more
    if before and total > plain:
        length = f"{recipe.name} made {count(total, 'update')}, the baseline {plain:,}"
        fell = target is not None and target.difference <= 0
        yield f"{length}." if fell else f"{length}: longer training alone may explain a part of any gain."
    if own and not any(stage["kept_update"] for stage in own):
        yield f"It did not help, by {own[-1]['selector']}: the tagger is left as it was."


def _shared_baseline(
    folder: Path, settings: RunSettings, start: Mapping[str, Any]
) -> tuple[Tagger, list[dict[str, Any]]] | None:
    """The baseline in the folder of a source-only run, if this run would train the same one; else None."""
    try:
        tagger = Tagger.load(folder)  # checks every file of the folder
        found = read_json(folder / RUN)
        if (found["recipe"], found["seed"], found["share"]) != (BASELINE.name, settings.seed, settings.share):
            return None
        if any(found["start"][name] != start[name] for name in ("tagger", "training", "selector", "judge", "source")):
            return None
        return tagger, read_json(folder / REPORT)["stages"]
    except (StorageError, InputError, OSError, ValueError, KeyError, TypeError):
        return None

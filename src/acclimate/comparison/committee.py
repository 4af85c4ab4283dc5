"""A committee: taggers that differ in seed or recipe label the target's text, and one student learns these labels.

Each member is an ordinary run in `members/N` of the run's folder, and never sees the target test's labels. The student
learns the source, the spans that all members found (a word on which they do not agree may be anything) or the mean of
their probabilities, and a batch of the labelled target sentences in each update, if there are any.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from acclimate.comparison.results import RunResult, read_run
from acclimate.comparison.scheduler import (
    Job,
    expected_seconds,
    fitting_recipes,
    make_all,
    obstacle_for,
    seconds_of_all,
)
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.soft_labels import coherent, softened
from acclimate.data.votes import agreed, averaged, open_share, voted
from acclimate.evaluation.scores import score
from acclimate.evaluation.table import align, duration
from acclimate.inference.predict import guess, predict
from acclimate.layout import BEFORE, COMMITTEE, MEMBERS
from acclimate.model.encoders.shipped import CNN_LSTM
from acclimate.model.storage import StorageError, read_tensors, write_tensors
from acclimate.model.tagger import Tagger
from acclimate.recipes.baselines import LA_DTL
from acclimate.recipes.catalogue import BASELINE, find_recipe, for_target_labels
from acclimate.runs.budget import expected_cost
from acclimate.runs.card import run_card
from acclimate.runs.fingerprint import file_digest
from acclimate.runs.folder import read_checksummed, write_checksummed
from acclimate.runs.prepare import choose_selector
from acclimate.runs.result import Outcome
from acclimate.runs.run import PlannedRun, finish_run, using_threads, working_alone
from acclimate.runs.settings import CommitteeSettings, RunSettings
from acclimate.runs.task import BlindTask, StudentTask, Task
from acclimate.runs.train import train_run
from acclimate.settings import GREATEST_SEED, UsageError
from acclimate.spelling import argument, count
from acclimate.training.loop import device_for
from acclimate.training.rehearsal import RULE
from acclimate.training.stage import DevelopmentScore

STRIDE = 1000  # between the seeds of two members: committees of neighbouring seeds share nobody


@dataclass(frozen=True)
class Lesson:
    """What a committee leaves for its student: the target's text under its labels, and the tagger "before"."""

    text: Corpus
    before: Tagger = field(repr=False)
    first: Tagger = field(repr=False)  # the first member
    members: tuple[RunResult, ...]
    committee_f1: float | None  # of the spans that most members found; None without labelled test sentences
    labels: str

    @property
    def open_share(self) -> float:
        return open_share(self.text)

    def as_dict(self, student: Outcome) -> dict[str, Any]:
        members = [
            {"recipe": one.recipe, "seed": one.seed, "f1": one.f1, "seconds": one.seconds} for one in self.members
        ]
        return {
            "labels": self.labels,
            "sentences": len(self.text),
            "open_share": round(self.open_share, 4),
            "members": members,
            "committee_f1": self.committee_f1,
            "student_f1": None if student.target is None else student.target.after.span.f1,
        }


def render_committee(report: dict[str, Any]) -> str:
    """Members, committee and student in lines, as `Lesson.as_dict` tells of them."""
    rows = [["", "seed", "target F1", "seconds"]]
    for one in report["members"]:
        rows.append([f"member, {one['recipe']}", str(one["seed"]), _percent(one["f1"]), f"{one['seconds']:.1f}"])
    rows.append(["committee, by vote", "", _percent(report["committee_f1"]), ""])
    rows.append(["student", "", _percent(report["student_f1"]), ""])
    size = count(len(report["members"]), "member")
    learnt = (
        f"The student learns the mean of their probabilities on {count(report['sentences'], 'target sentence')}."
        if report["labels"] == "marginals"
        else f"The student learns what all agree on in {count(report['sentences'], 'target sentence')}; "
        f"{100 * report['open_share']:.1f} % of the words are left open."
    )
    return "\n".join([f"committee of {size}", "", *align(rows), "", learnt])


def _percent(f1: float | None) -> str:
    return "-" if f1 is None else f"{100 * f1:.2f}"


def auto_committee(task: Task, options: CommitteeSettings, encoder: str) -> CommitteeSettings:
    """The committee of recipe auto: three recipes that differ, without those that the data forbids."""
    if task.target_labelled is not None:
        best = ("acclimate", "pdaln", "mat")
    else:
        best = ("acclimate", "datnet", "self-training" if encoder == CNN_LSTM else "mat")
    permitted = fitting_recipes(task, encoder)
    recipes = options.recipes or tuple(name for name in best if name in permitted and not task.trains_target(name))
    if not recipes:
        raise UsageError(
            f"No recipe of a committee fits here. Train a tagger with the target's own labels: {for_target_labels()}."
        )
    return options.model_copy(update={"recipes": recipes, "members": options.members or max(2, len(recipes))})


def require_committee(task: Task, settings: RunSettings, options: CommitteeSettings) -> None:
    """Refuse what no committee can be made of, before anything is trained."""
    if not task.has_source:
        raise UsageError(f"A committee learns from a labelled source ({argument('source')}), and there is none.")
    if task.target is None or not len(task.target):
        raise UsageError(f"A committee labels target text: give some ({argument('target')}).")
    if settings.seed + STRIDE * (options.members - 1) > GREATEST_SEED:
        raise UsageError(f"The seed {settings.seed} is too large: members have seeds {STRIDE:,} apart.")
    if options.labels == "marginals" and task.source.kind == "plain":
        raise UsageError(f"Plain tags have no soft labels here: use {argument('committee.labels', 'vote')}.")
    for name in dict.fromkeys(options.recipes or (settings.recipe,)):
        if obstacle := obstacle_for(find_recipe(name), task, settings.tagger.encoder):
            raise UsageError(obstacle)
        if task.trains_target(name):
            raise UsageError(
                f"A committee has the source's labels, and recipe {name} trains a tagger with the target's own. Name "
                "another recipe, or leave the committee out."
            )


def planned_members(settings: RunSettings, options: CommitteeSettings, folder: Path) -> list[PlannedRun]:
    """The tagger "before", where no member is that, and all members."""
    recipes = options.recipes or (settings.recipe,)
    before = PlannedRun(_settings(settings, BASELINE.name, settings.seed), folder / MEMBERS / BEFORE)
    members = [
        PlannedRun(
            _settings(settings, recipes[number % len(recipes)], settings.seed + STRIDE * number),
            folder / MEMBERS / str(number + 1),
        )
        for number in range(options.members)
    ]
    return members if members[0].recipe == BASELINE.name else [before, *members]


def _settings(settings: RunSettings, recipe: str, seed: int) -> RunSettings:
    given = settings.options if recipe == settings.recipe else {}
    options = find_recipe(recipe).complete(given).model_dump(mode="json")
    return _plain(settings, recipe=recipe, seed=seed, options=options)


def _plain(settings: RunSettings, **changed: Any) -> RunSettings:
    """The settings of one run without a committee, with changes."""
    return RunSettings(**{name: getattr(settings, name) for name in RunSettings.model_fields} | changed)


def consult(
    task: Task,
    settings: RunSettings,
    options: CommitteeSettings,
    folder: Path,
    *,
    executor: Executor | None = None,
    tell: Callable[[str], Any] = lambda line: None,
) -> Lesson:
    """Train the members that are not finished yet, from where each stands, and let them label the target's text."""
    assert task.target is not None
    runs = planned_members(settings, options, folder)
    members = [run for run in runs if run.folder.name != BEFORE]
    blind = BlindTask.of(replace(task, target=task.target.unlabelled()))
    threads = 1 if executor is not None or options.jobs > 1 else None
    soft = options.labels == "marginals"
    work = [Job(_named(run), run_member, (run, blind, run in members, soft, threads)) for run in runs]
    failures = make_all(work, executor, options.jobs, tell)
    if failures:
        name, why = next(iter(failures.items()))
        raise InputError(f"the committee is not complete: {name} failed. {why}")
    answers = [read_answer(run.folder, task.target.unlabelled(), soft) for run in members]
    text = (averaged if soft else agreed)([answer for answer in answers if answer is not None])
    results = tuple(read_run(run, task.target_test) for run in members)
    return Lesson(
        text,
        Tagger.load(runs[0].folder),
        Tagger.load(members[0].folder),
        results,
        _committee_f1(results, task.target_test),
        options.labels,
    )


def _named(run: PlannedRun) -> str:
    who = run.folder.name
    return f"{'tagger' if who == BEFORE else 'member'} {who} ({run.name})"


def run_member(run: PlannedRun, task: BlindTask, answers: bool, soft: bool, threads: int | None = None) -> float:
    """Finish the run of a member, let it label the target's text, and say how many seconds that took."""
    started = time.monotonic()
    with working_alone(run.folder, threads):
        is_new = run.state(task) != "finished"
        finish_run(run, task, has_baseline=False)
        text = task.target
        if answers and text is not None and (is_new or read_answer(run.folder, text, soft) is None):
            write_answer(Tagger.load(run.folder, device_for(run.settings.training)), run.folder, text, soft)
    return time.monotonic() - started


def _committee_f1(members: Sequence[RunResult], test: Corpus | None) -> float | None:
    predicted = [one.predicted for one in members if one.predicted is not None]
    if test is None or not test.is_labelled or not predicted:
        return None
    return score(test, voted(predicted)).span.f1


def student_of(task: Task, settings: RunSettings, text: Corpus) -> tuple[StudentTask, RunSettings]:
    """The student's corpora and settings: the text that a committee has labelled beside the source. The same gold
    sentences choose its state as in a run without a committee."""
    gold, dev, select = task.source, task.source_dev, settings.select
    if settings.train_on_dev and dev is not None:
        gold, dev, select = gold + dev, None, "last" if select == "auto" else select
    gold = gold.labelled()
    if dev is None and select in ("auto", "source-dev"):
        gold, selector, _ = choose_selector(gold, None, None, "source-dev", settings.seed)
        dev = selector.corpus if isinstance(selector, DevelopmentScore) else None
        select = "last" if dev is None else select
    corpora = {name: getattr(task, name) for name in ("target", "target_labelled", "target_dev", "target_test")}
    learnt = (gold + text).renamed(task.source.name)
    own = StudentTask(learnt, dev, task.source_test, **corpora, watch=task.watch, gold=gold)
    recipe, options = (LA_DTL, {"weight": 0}) if task.target_labelled else (BASELINE, {})
    return own, _plain(settings, recipe=recipe.name, options=options, select=select, train_on_dev=False)


def teach(
    lesson: Lesson,
    options: CommitteeSettings,
    task: Task,
    settings: RunSettings,
    folder: Path | None = None,
    **how: Any,
) -> Outcome:
    """Train the student, and compare it with the tagger "before". `how` goes to `train_run`."""
    own, plainly = student_of(task, settings, lesson.text)
    tagger = lesson.first if options.warm_start else None
    outcome = train_run(own, plainly, folder, tagger=tagger, baseline=lesson.before, **how)
    updates = sum(stage["updates"] for stage in outcome.stages)
    remark = (
        f"{count(len(lesson.members), 'tagger')} labelled {count(len(lesson.text), 'target sentence')}. One student "
        f"learnt these labels, which nobody has checked, in {count(updates, 'update')}."
    )
    outcome = replace(outcome, recipe=COMMITTEE, remarks=(remark, *outcome.remarks))
    assert outcome.tagger is not None
    outcome.tagger.card = run_card(outcome, own, settings)
    return outcome


def expected_time(task: Task, settings: RunSettings, options: CommitteeSettings, folder: Path) -> str:
    """What to tell of the members that are not finished, and of the student. A few updates of each recipe are timed."""
    text = task.target
    assert text is not None
    task = replace(task, source_test=None, target_test=None)
    blind = BlindTask.of(task)
    left = planned_members(settings, options, folder)
    guessed = text.with_tags([["O"] * len(sentence) for sentence in text])
    with using_threads(1 if options.jobs > 1 else None):
        expected = {run.recipe: expected_seconds(run, blind) for run in {run.recipe: run for run in left}.values()}
        student = settings.share * expected_cost(*student_of(task, settings, guessed)).seconds
    hands = min(options.jobs, len(left))
    whole = duration(student + seconds_of_all(left, expected, hands))
    parts = [f"{options.members} members", *(f"one of {name} {duration(each)}" for name, each in expected.items())]
    return f"expected time: about {whole} ({RULE}): {', '.join(parts)}, the student {duration(student)}."


_TAGS, _NOTE, _MARGINALS = "text-tags.json", "text-marginals.json", "text-marginals.safetensors"


def write_answer(tagger: Tagger, folder: Path, text: Corpus, soft: bool) -> None:
    """Tag the text and keep the tags; `soft`: the probabilities of IOB2 tags, in half precision."""
    answer = (guess if soft else predict)(tagger, text)
    if not soft:
        kept = {"kind": answer.kind, "tags": [sentence.tags for sentence in answer]}
        return write_checksummed(folder / _TAGS, kept)
    tags = tagger.labels.tags("IOB2")
    numbers = {tag: number for number, tag in enumerate(tags)}
    rows = [row for sentence in answer for row in sentence.probabilities or ()]
    marginals = torch.zeros(len(rows), len(tags), dtype=torch.float16)
    for place, row in enumerate(rows):
        for tag, probability in row:
            marginals[place, numbers[tag]] = probability
    aside = folder / f"{_MARGINALS}.part"
    write_tensors(aside, {"marginals": marginals})
    aside.replace(folder / _MARGINALS)
    write_checksummed(folder / _NOTE, {"tags": tags, "marginals": file_digest(folder / _MARGINALS)})


def read_answer(folder: Path, text: Corpus, soft: bool) -> Corpus | None:
    """The text as the member labelled it; None where that is not kept whole."""
    try:
        kept = read_checksummed(folder / (_NOTE if soft else _TAGS))
        if not soft:
            return Corpus(text.with_tags(kept["tags"]).sentences, text.name, kept["kind"], text.notes)
        if kept["marginals"] == file_digest(folder / _MARGINALS):
            return _softened(text, kept["tags"], read_tensors(folder / _MARGINALS)["marginals"])
    except (OSError, StorageError, ValueError, KeyError):
        pass
    return None


def _softened(text: Corpus, tags: list[str], marginals: torch.Tensor) -> Corpus:
    sentences, rows = [], iter(marginals.float().tolist())
    for sentence in text:
        found = [dict(zip(tags, next(rows), strict=True)) for _ in sentence.words]
        sentences.append(softened(sentence, coherent(found)))
    return Corpus(tuple(sentences), text.name, "spans", text.notes)

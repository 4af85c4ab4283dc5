"""The jobs of benchmarks/leaderboard.py: one training, what selectors say of it, and its scores."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from grid import Row, file_name
from targets import drawn_from, news, parts_with_judges, source_labels, targets_there

PLAIN, POOLED = "plain", "plain (pooled)"
MAIN, VARIANTS = "main", "variants"
EVERY = "every"  # in the place of a target: nothing of any target is learnt from, and all are tested
LOOK_EVERY = 50  # updates, at dev, where there are labels
QUICKER = ("replay",)  # settings of training that change no more than the last digits
SOURCE_DEV = 1000  # of its sentences, for the selectors that ask for them


@dataclass(frozen=True)
class Model:
    """A line of the leaderboard. Without labels, `reads_text` says whether the target has a part in it."""

    recipe: str
    options: dict[str, Any] = field(default_factory=dict)
    labels: tuple[bool, ...] = (False, True)  # whether it runs without them, and with them
    reads_text: bool = True
    pooled: bool = False  # the labelled target sentences are put to the source's

    @property
    def races(self) -> bool:
        """Or it is there to be compared with, and takes no part in the race; nor does what users write themselves."""
        return not self.options and not self.pooled and self.recipe != "compose"


MODELS = {
    "source-only": Model("source-only", labels=(False,), reads_text=False),
    # every update has a batch of the source and one of the labelled target, and their tags are all that is learnt
    PLAIN: Model("la-dtl", {"weight": 0}, labels=(True,)),
    POOLED: Model("source-only", labels=(True,), pooled=True),
    "target-only": Model("target-only", labels=(True,)),
    "self-training": Model("self-training"),
    "adversarial-masking": Model("adversarial-masking"),
    "mat": Model("mat", reads_text=False),
    "mslm": Model("mslm", reads_text=False),
    "pdaln": Model("pdaln"),
    "la-dtl": Model("la-dtl", labels=(True,)),
    "datnet": Model("datnet"),
    "compose": Model("compose"),
    "acclimate": Model("acclimate"),
}
COSTLY = ("reverse-validation",)
# parts of `acclimate` that read target text
READERS = ("tuning", "alignment", "self_labels", "distillation")


@dataclass(frozen=True)
class Job:
    """One training. `changes` are options of the recipe, those of training with `training.` before them."""

    part: str
    target: str
    labels: int
    typed: bool
    model: str
    changes: tuple[str, ...] = ()
    seed: int = 0

    @property
    def name(self) -> str:
        words = (self.target, f"{self.labels} labels", "typed" if self.typed else "type-less", self.model)
        return f"{self.part}: {', '.join((*words, *self.changes, f'seed {self.seed}'))}"


def job_for(part: str, target: str, labels: int, typed: bool, model: str, changes: tuple[str, ...] = ()) -> Job:
    alone = not labels and not (MODELS[model].reads_text and reads_text(changes))
    return Job(part, EVERY if alone else target, labels, typed, model, changes)


def reads_text(changes: tuple[str, ...]) -> bool:
    """Whether there is a part left that reads target text. Which parts are on is said in full, or not at all."""
    said = dict(change.split("=", 1) for change in changes)
    return not all(said.get(name) == "false" for name in READERS)


def job_of(row: Row) -> Job:
    return Job(
        *(row[name] for name in ("part", "target", "labels", "typed", "model")), tuple(row["changes"]), row["seed"]
    )


@dataclass(frozen=True)
class Run:
    """What all jobs have in common."""

    data: str
    out: str
    encoder: str
    training: dict[str, Any]
    selectors: tuple[str, ...]
    limit: int | None

    @property
    def settings(self) -> dict[str, Any]:
        """What results must have in common; how fast a GPU makes them is another matter."""
        training = {name: value for name, value in self.training.items() if name not in QUICKER}
        return {**asdict(self), "training": training, "data": None, "out": None}


@cache
def drawn(run_data: str, target: str, labels: int, seed: int, typed: bool, limit: int | None) -> tuple[Any, Any]:
    parts = parts_with_judges(run_data, target, limit, typed)
    found: tuple[Any, Any] = drawn_from(parts["pool"], labels, seed, parts["text"])
    return found


def do(run: Run, job: Job) -> list[Row]:
    """All of a job; a row for each target that is tested."""
    import torch

    began = time.monotonic()
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    tagger, facts = trained(run, job)
    facts["scored_after"] = round(time.monotonic() - began, 1)
    rows = []
    for target in targets_there(run.data) if job.target == EVERY else [job.target]:
        scored = {**judged(run, job, tagger, target), **(tested(run, job, tagger, target) if job.part == MAIN else {})}
        rows.append({**asdict(job), "tested": target, **scored, **facts})
    if torch.cuda.is_available():
        facts = {"megabytes": round(torch.cuda.max_memory_allocated() / 2**20)}
        del tagger
        torch.cuda.empty_cache()  # another job may need it
        rows = [{**row, **facts} for row in rows]
    return [{**row, "job_seconds": round((time.monotonic() - began) / len(rows), 1)} for row in rows]


def trained(run: Run, job: Job, folder: Path | None = None) -> tuple[Any, Row]:
    """The tagger, and what its training was like. Stages that are in the folder are not trained again."""
    from one_recipe import train

    from acclimate.model.tagger import Tagger

    model, source = MODELS[job.model], news(run.data, run.limit, job.typed)
    tagger = Tagger.build(run.encoder, labels=source_labels(run.data, job.typed), scheme="IOB2", seed=job.seed)
    learnt, dev, few, text = source["train"], source["dev"], None, None
    if job.target != EVERY:
        few, text = drawn(run.data, job.target, job.labels, job.seed, job.typed, run.limit)
    if job.labels:
        dev = parts_with_judges(run.data, job.target, run.limit, job.typed)["dev"]
    if model.pooled:
        learnt, few = learnt + few, None
    training, options = settings_for(run, job)
    done = train(
        tagger,
        model.recipe,
        learnt,
        few,
        dev,
        text=text,
        training=training,
        options=options,
        seed=job.seed,
        aside={"source": source["dev"]} if model.recipe == "datnet" else None,
        dev_of_target=job.labels > 0,
        folder=folder,
    )
    stages = [[one["stage"], one["updates"], one["kept_update"], one["score"]] for one in done.summaries]
    return tagger, {**done.facts(), "stages": stages}


def settings_for(run: Run, job: Job) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of training, and of the recipe."""
    from acclimate.settings import with_assignments

    looks = {"evaluate_every": LOOK_EVERY} if job.labels else {}
    settings = {"training": {**looks, **run.training}, "options": dict(MODELS[job.model].options)}
    places = [change if change.startswith("training.") else f"options.{change}" for change in job.changes]
    found = with_assignments(settings, places)
    return found["training"], found["options"]


# ----------------------------------------------------------------------------------------------------------- scores


def judged(run: Run, job: Job, tagger: Any, target: str) -> Row:
    """F1 on target sentences that are no test sentences, and what each selector says without any target label."""
    from acclimate.training.selectors import DevelopmentScore

    parts = parts_with_judges(run.data, target, run.limit, job.typed)
    found = {name: 100 * DevelopmentScore(parts[name])(tagger) for name in ("dev", "judges")}
    said = dict(selected(run, job, tagger, target)) if job.part == MAIN and MODELS[job.model].races else {}
    return {"target_dev": found["dev"], "judges": found["judges"], "selectors": said}


def asked(selectors: Iterable[str], labels: int) -> list[str]:
    """With target labels, those that train something for each run are not: labels choose there."""
    return [name for name in selectors if not labels or name not in COSTLY]


def selected(run: Run, job: Job, tagger: Any, target: str) -> Iterator[tuple[str, float | None]]:
    """By selector, the higher the better: as in a race. For the one that asks all candidates, answers are kept."""
    from acclimate.comparison.judging import AGREEMENT, SELECTORS, material_for
    from acclimate.comparison.selectors.agreement import sample_answers
    from acclimate.data.problems import InputError
    from acclimate.data.subsets import take_sentences
    from acclimate.runs.run import PlannedRun
    from acclimate.runs.settings import RunSettings
    from acclimate.runs.task import BlindTask, Task

    source = news(run.data, run.limit, job.typed)
    few, text = drawn(run.data, target, job.labels, job.seed, job.typed, run.limit)
    some = take_sentences(source["dev"], min(SOURCE_DEV, len(source["dev"])))
    task = Task(source["train"], some, target=text, target_labelled=few if job.labels else None)
    wanted = {"recipe": MODELS[job.model].recipe, "seed": job.seed, "training": run.training}
    settings = RunSettings.model_validate({**wanted, "tagger": {"encoder": run.encoder}})
    material = material_for(PlannedRun(settings, Path(run.out)), BlindTask.of(task), text)
    for name in asked(run.selectors, job.labels):
        if name == AGREEMENT:
            keep_tags(answers_file(run.out, target, job), sample_answers(tagger, material) or [])
            continue
        try:
            yield name, SELECTORS[name](tagger, material)
        except InputError:  # too little text for this one
            yield name, None


def tested(run: Run, job: Job, tagger: Any, target: str) -> Row:
    from acclimate.data.mapping import typeless
    from acclimate.evaluation.scores import score
    from acclimate.inference.predict import predict

    gold = parts_with_judges(run.data, target, run.limit, job.typed)["test"]
    found = predict(tagger, gold)
    keep_answers(run.out, target, job, found)
    span = score(gold, found).span
    borders = score(typeless(gold), typeless(found)).span if job.typed else span
    return {**{name: 100 * getattr(span, name) for name in ("f1", "precision", "recall")}, "borders": 100 * borders.f1}


def tags_file(out: str, target: str, job: Job) -> Path:
    return Path(out) / "tags" / f"{file_name(f'{target}, {job.name}')}.json.gz"


def answers_file(out: str, target: str, job: Job) -> Path:
    """What it says of target text that it may learn from."""
    return Path(out) / "tags" / f"text-{file_name(f'{target}, {job.name}')}.json.gz"


def keep_answers(out: str, target: str, job: Job, found: Any) -> None:
    keep_tags(tags_file(out, target, job), [sentence.tags for sentence in found])


def keep_tags(place: Path, tags: Any) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(place, "wt", encoding="utf-8") as file:
        json.dump(tags, file)


def read_tags(place: Path) -> Any:
    return json.loads(gzip.decompress(place.read_bytes()))


def answers(out: str, target: str, job: Job, gold: Any) -> Any:
    """The test sentences under the tags that a job gave them."""
    return gold.with_tags(read_tags(tags_file(out, target, job)))

"""The jobs of benchmarks/pdaln.py: data, models, one training and its tests."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from grid import Row, file_name
from targets import drawn_from, news, parts_with_judges, target_parts
from targets import targets_there as those_there

MINI, LSTM = "acclimate-mini", "character-cnn-lstm"
BILSTM, BASE, POOLED, PDALN = "BiLSTM+CRF", "encoder+CRF", "encoder+CRF (pooled)", "PDALN"
NO_AUGMENTATION = "w/o D_aug"
EVERY = "every"  # in the place of a target: nothing of any target is learnt from, and all are tested
TARGETS = ("wnut2016", "scitech", "wikigold")
LOOK_EVERY = 50  # updates, at these
LSTM_TIMES = 4  # as many updates: it learns from nothing
LSTM_TAGGER: dict[str, Any] = {"character_filters": 100, "lstm_width": 256}
LSTM_TRAINING: dict[str, Any] = {"learning_rate": 0.003, "warm_up": 0.05, "clip": 5.0}


@dataclass(frozen=True)
class Model:
    """What is done with labelled target sentences. Without any, `pdaln` is equation 8, and `la-dtl` plain training."""

    recipe: str
    options: dict[str, Any] = field(default_factory=dict)
    encoder: str = MINI
    needs_labels: bool = True


MODELS = {
    # every update has a batch of the source and one of the labelled target, and their tags are all that is learnt
    BILSTM: Model("la-dtl", {"weight": 0}, LSTM, needs_labels=False),
    BASE: Model("la-dtl", {"weight": 0}, needs_labels=False),
    POOLED: Model("source-only"),
    "La-DTL": Model("la-dtl"),
    "DATNet": Model("datnet"),
    PDALN: Model("pdaln", needs_labels=False),
    "PDALN w/ MT": Model("pdaln", {"variant": "mean-teacher"}),
    "PDALN w/ VAT": Model("pdaln", {"variant": "vat"}),
    "w/o L_c": Model("pdaln", {"contrast": 0}),
    "w/o L_d": Model("pdaln", {"alpha": 0}),
    "w/o L_w": Model("pdaln", {"beta": 0}),
    "w/o L_distill": Model("pdaln", {"variant": "none"}),
    NO_AUGMENTATION: Model("pdaln", {"augment": False}),
}
ABLATIONS = tuple(name for name in MODELS if name.startswith("w/o"))
# options of PDALN that its first stage knows nothing of
OF_ROUNDS = {
    *("variant", "gamma", "chances", "mean_teacher", "virtual"),
    *("rounds", "round_epochs", "round_rate", "round_looks", "keep_best", "patience"),
    *("augment", "augmented_only", "ratio", "target_variants", "source_variants", "source_sentences", "all_entities"),
}
FIRST_STAGE = ("rounds=0",)  # PDALN without its rounds: others go on from it
ALL_ROUNDS = "keep_best=false"  # none is undone, and the tagger is scored after each


@dataclass(frozen=True)
class Job:
    """One training. `changes` are options of the recipe that differ from the model's."""

    target: str
    labels: int
    model: str
    changes: tuple[str, ...] = ()
    seed: int = 0

    @property
    def name(self) -> str:
        return f"{self.target}, {self.labels} labels, {', '.join((self.model, *self.changes))}, seed {self.seed}"

    @property
    def begins_as_pdaln(self) -> bool:
        """Whether its first stage is that of PDALN with as many labels: then it need not be trained again."""
        changed = {re.split("[.=]", change)[0] for change in self.changes} | MODELS[self.model].options.keys()
        return MODELS[self.model].recipe == "pdaln" and self.labels > 0 and changed <= OF_ROUNDS

    @property
    def turn(self) -> int:
        """First stages alone come before all that goes on from them."""
        return 0 if (self.model, self.changes) == (PDALN, FIRST_STAGE) else 1


def job_for(target: str, labels: int, model: str, changes: tuple[str, ...] = ()) -> Job:
    learns_target = labels > 0 or MODELS[model].recipe == "pdaln"
    return Job(target if learns_target else EVERY, labels, model, changes)


def changes_of(variant: str) -> tuple[str, ...]:
    """`gamma=0.3 round_rate=0.1` in one order, so that it is the same job however it is written."""
    return tuple(sorted(variant.split()))


def with_all_rounds(changes: tuple[str, ...]) -> tuple[str, ...]:
    others = (change for change in changes if not change.startswith("keep_best="))
    return tuple(sorted((*others, ALL_ROUNDS)))


def job_of(row: Row) -> Job:
    return Job(row["target"], row["labels"], row["model"], tuple(row["changes"]), row["seed"])


@dataclass(frozen=True)
class Run:
    """What all jobs have in common."""

    data: str
    out: str
    states: str  # where stages that jobs share are kept
    training: dict[str, Any]
    lstm: dict[str, Any]  # what is different in training the LSTM
    vectors: str  # of the LSTM's words
    pdaln: dict[str, Any]  # options of all that is PDALN
    limit: int | None
    judged: bool = False  # scored on judges, which are neither dev nor test: options may be chosen by that


# ------------------------------------------------------------------------------------------------------------- data


def parts_for(data: str, target: str, limit: int | None, judged: bool) -> dict[str, Any]:
    """The same pool and dev with and without judges, but for those of SciTech, which come out of its pool."""
    return parts_with_judges(data, target, limit, True) if judged else target_parts(data, target, limit)


def gold_for(data: str, target: str, limit: int | None, judged: bool) -> Any:
    """What taggers are scored on."""
    return parts_for(data, target, limit, judged)["judges" if judged else "test"]


def drawn(run: Run, job: Job) -> tuple[Any, Any]:
    """The labelled sentences that the seed draws from the pool, and the rest without tags."""
    return _drawn(run.data, job.target, job.labels, job.seed, run.limit, run.judged)


@cache
def _drawn(data: str, target: str, labels: int, seed: int, limit: int | None, judged: bool) -> tuple[Any, Any]:
    parts = parts_for(data, target, limit, judged)
    return drawn_from(parts["pool"], labels, seed, parts.get("text"))


def targets_there(data: str) -> list[str]:
    return those_there(data, TARGETS)


# -------------------------------------------------------------------------------------------------------------- job


def do(run: Run, job: Job) -> list[Row]:
    from one_recipe import forget, train

    source = news(run.data, run.limit)
    tagger = tagger_for(run, job)
    recipe, learnt = MODELS[job.model].recipe, source["train"]
    few: Any = None
    text: Any = None
    dev = source["dev"]
    if job.target != EVERY:
        few, text = drawn(run, job)
    if job.labels:
        dev = parts_for(run.data, job.target, run.limit, run.judged)["dev"]
    elif recipe != "pdaln":
        recipe = "source-only"
    if job.model == POOLED:
        learnt, few = learnt + few, None
    folder = Path(run.states) / file_name(job.name) if job.begins_as_pdaln else None
    if folder is not None:
        fetch_first_stage(run, job, folder)
    after: list[tuple[str, float]] = []  # each stage, and its F1
    follows = ALL_ROUNDS in job.changes

    def follow(stage: str) -> None:
        if follows:
            after.append((stage, figures(scored(run, tagger, job.target)[1].span)["f1"]))

    done = train(
        tagger,
        recipe,
        learnt,
        few,
        dev,
        text=text if recipe == "pdaln" else None,
        training=training_for(run, job),
        options=options_for(run, job) if recipe != "source-only" else {},
        seed=job.seed,
        aside={"source": source["dev"], "target": text} if recipe == "datnet" else None,
        folder=folder,
        after=follow,
    )
    if folder is not None:
        keep_first_stage(run, job, folder)
        forget(folder)
    stages = [[one["stage"], one["updates"], one["kept_update"], one["score"]] for one in done.summaries]
    facts = {**done.facts(), "seconds": round(sum(one["seconds"] for one in done.summaries), 1), "stages": stages}
    facts |= {"after": after} if follows else {}
    tested = targets_there(run.data) if job.target == EVERY else [job.target]
    return [{**asdict(job), **test(run, job, tagger, target), **facts} for target in tested]


def tagger_for(run: Run, job: Job) -> Any:
    from acclimate.model.tagger import Tagger

    source = news(run.data, run.limit)["train"]
    if MODELS[job.model].encoder != LSTM:
        return Tagger.build(MINI, labels=source.labels, scheme="IOB2", seed=job.seed)
    targets = targets_there(run.data) if job.target == EVERY else [job.target]
    few = source[:0] if job.target == EVERY else drawn(run, job)[0]
    # words of the targets' text that have vectors are in the table: words alone, no tags
    more = source[:0]
    for target in targets:
        for part in parts_for(run.data, target, run.limit, run.judged).values():
            more = more + part.unlabelled()
    settings = LSTM_TAGGER if run.vectors == "none" else {**LSTM_TAGGER, "vectors": run.vectors}
    return Tagger.build(LSTM, labels=source.labels, text=source + few, more_text=more, seed=job.seed, **settings)


def options_for(run: Run, job: Job) -> dict[str, Any]:
    from acclimate.settings import with_assignments

    model = MODELS[job.model]
    options = {**run.pdaln, **model.options} if model.recipe == "pdaln" else dict(model.options)
    if job.model == NO_AUGMENTATION:
        options["round_epochs"] = passes_without_augmentation(run, job)
    return with_assignments(options, job.changes)


def training_for(run: Run, job: Job) -> dict[str, Any]:
    """PDALN's rounds are updates, too: with labels, all others make as many in all."""
    model = MODELS[job.model]
    lstm = model.encoder == LSTM
    training = {**run.training, **(run.lstm if lstm else {})}
    times = LSTM_TIMES if lstm else 1
    if job.labels:
        training.setdefault("evaluate_every", LOOK_EVERY * times)
    if job.labels and model.recipe != "pdaln":
        training["updates"] = times * planned_updates(run, job)
    elif training.get("updates"):
        training["updates"] *= times
    else:
        training["epochs"] *= times
    return training


def planned_updates(run: Run, job: Job) -> int:
    """Those of PDALN's first stage and of all its rounds, if none is left out; give or take a few, since its batches
    are planned by pieces, and rounds differ by some sentences."""
    from acclimate.recipes.pdaln import round_text, round_training

    plan = plan_for(run, job, run.pdaln)
    first: int = plan.training.updates_for(batches(plan, plan.source).epoch_length)
    if not plan.options.rounds:
        return first
    each = round_training(plan, batches(plan, round_text(plan, 1))).updates or 0
    return first + int(plan.options.rounds) * each


def passes_without_augmentation(run: Run, job: Job) -> float:
    """As many as make up for the text that is missing then: a round has as many updates as with it."""
    from acclimate.recipes.pdaln import round_text

    with_text, without = (plan_for(run, job, {**run.pdaln, "augment": augment}) for augment in (True, False))
    lengths = [batches(plan, round_text(plan, 1)).epoch_length for plan in (with_text, without)]
    return float(with_text.options.round_epochs * lengths[0] / lengths[1])


def plan_for(run: Run, job: Job, options: dict[str, Any]) -> Any:
    from acclimate.recipes.pdaln import PdalnSettings
    from acclimate.recipes.recipe import Plan
    from acclimate.training.settings import TrainingSettings

    few, text = drawn(run, job)
    training, settings = TrainingSettings(**run.training), PdalnSettings(**options)
    return Plan(news(run.data, run.limit)["train"], text + few, training, settings, job.seed)


def batches(plan: Any, corpus: Any) -> Any:
    from acclimate.data.batches import Batches

    training = plan.training
    return Batches({"source": corpus}, training.words_per_batch, training.sentences_per_batch, plan.seed)


# ----------------------------------------------------------------------------------------------- the first stage


def shared_stage(run: Run, job: Job) -> Path:
    return Path(run.states) / "first" / f"{job.target}-{job.labels}-{job.seed}"


def fetch_first_stage(run: Run, job: Job, folder: Path) -> None:
    """PDALN and its variants begin alike: what one of them has trained, the next goes on from."""
    shared = shared_stage(run, job)
    if shared.is_dir() and not folder.exists():
        copy_aside(shared, folder / shared_name())


def keep_first_stage(run: Run, job: Job, folder: Path) -> None:
    shared = shared_stage(run, job)
    if not shared.exists():
        copy_aside(folder / shared_name(), shared)


def shared_name() -> str:
    return "00-align"  # as the run of stages calls it


def copy_aside(folder: Path, place: Path) -> None:
    """Whole or not at all; somebody else may be about the same."""
    aside = place.with_name(f"{place.name}.{os.getpid()}")
    shutil.copytree(folder, aside)
    try:
        aside.rename(place)
    except OSError:
        shutil.rmtree(aside)


# ------------------------------------------------------------------------------------------------------------ tests


def scored(run: Run, tagger: Any, target: str) -> tuple[Any, Any]:
    """The tagger's answers, and how good they are."""
    from acclimate.evaluation.scores import score
    from acclimate.inference.predict import predict

    gold = gold_for(run.data, target, run.limit, run.judged)
    found = predict(tagger, gold)
    return found, score(gold, found)


def test(run: Run, job: Job, tagger: Any, target: str) -> Row:
    found, scores = scored(run, tagger, target)
    keep_answers(run.out, target, job, [sentence.tags for sentence in found])
    by_type = {label: figures(tally) for label, tally in scores.by_label.items()}
    return {"tested": target, **figures(scores.span), "types": by_type}


def figures(tally: Any) -> Row:
    return {name: 100 * getattr(tally, name) for name in ("f1", "precision", "recall")}


def tags_file(out: str, target: str, job: Job) -> Path:
    name = ", ".join((target, str(job.labels), job.model, *job.changes, str(job.seed)))
    return Path(out) / "tags" / f"{file_name(name)}.json.gz"


def keep_answers(out: str, target: str, job: Job, tags: list[Any]) -> None:
    place = tags_file(out, target, job)
    place.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(place, "wt", encoding="utf-8") as file:
        json.dump(tags, file)


def answers(out: str, target: str, job: Job, gold: Any) -> Any:
    """The test sentences under the tags that a job gave them."""
    return gold.with_tags(json.loads(gzip.decompress(tags_file(out, target, job).read_bytes())))


def settings_of(run: Run) -> dict[str, Any]:
    """What results must have in common. Those on test have never said so, and those on judges do."""
    settings = {**asdict(run), "data": None, "out": None, "states": None}
    return settings if run.judged else {name: value for name, value in settings.items() if name != "judged"}


def in_good_order(jobs: list[Job]) -> list[Job]:
    """PDALN itself before all, and last those that can go on from its first stage: by then it is there."""

    def place(job: Job) -> int:
        if job.begins_as_pdaln:
            return 0 if job.model == PDALN and not job.changes else 2
        return 1

    return sorted(jobs, key=lambda job: (job.turn, place(job)))

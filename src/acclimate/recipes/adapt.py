"""The main job: adapt a tagger, beside the same tagger not adapted, and say honestly what changed."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from acclimate.data.batches import SOURCE, TARGET
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.subsets import split
from acclimate.evaluation.scores import Scores, score
from acclimate.evaluation.significance import Comparison, Metric, paired_bootstrap
from acclimate.evaluation.unseen import Vocabulary as SeenWords
from acclimate.inference.evaluate import require_comparable
from acclimate.inference.predict import predict
from acclimate.model.encoders.shipped import SHIPPED
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.language_model import guesser_for
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import BASELINE, TARGET_ONLY, find_recipe
from acclimate.recipes.claim import claim, file_digest, fingerprint
from acclimate.recipes.recipe import Plan, Recipe
from acclimate.settings import Settings, UsageError, complete
from acclimate.training.engine import build_engine, is_main_process
from acclimate.training.loop import completed
from acclimate.training.record import Record
from acclimate.training.run import Watcher, run_stages
from acclimate.training.selectors import DevelopmentScore, LastUpdate, Selector
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Stage, Watch
from acclimate.training.watches import Confidence

SelectorName = Literal["auto", "source-dev", "target-dev", "last"]


@dataclass(frozen=True)
class Change:
    """One test corpus, before and after. `comparison` says how sure the difference is; None if nothing was adapted."""

    corpus: str
    before: Scores
    after: Scores
    comparison: Comparison | None

    def as_dict(self) -> dict[str, Any]:
        return {
            "corpus": self.corpus,
            "before": self.before.as_dict(),
            "after": self.after.as_dict(),
            "change": None if self.comparison is None else self.comparison.as_dict(),
        }


@dataclass(frozen=True)
class Outcome:
    """What an adaptation did. `source` and `target` are None where no labelled test sentences were given."""

    recipe: str
    selector: str
    source: Change | None
    target: Change | None
    stages: list[dict[str, Any]]
    seconds: float
    remarks: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "recipe": self.recipe,
            "selector": self.selector,
            "source": None if self.source is None else self.source.as_dict(),
            "target": None if self.target is None else self.target.as_dict(),
            "stages": self.stages,
            "seconds": round(self.seconds, 3),
            "remarks": list(self.remarks),
        }


def adapt(
    tagger: Tagger,
    source: Corpus,
    target: Corpus | None = None,
    recipe: str = "source-only",
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
    **options: Any,
) -> Outcome:
    """Adapt the tagger, in place, from the source to the target.

    The same tagger trained on the source alone is trained beside it; its scores are the "before". Test sentences are
    scored once, when all training is over: no recipe and no selector ever sees them. `source_dev` decides which state
    is kept; when it is not given, a tenth of the source is held out. Tags in `target` are dropped; labelled target
    sentences to learn from are `target_labelled`. `options` are the recipe's own settings.

    A recipe for two sets of labels (datnet) trains a tagger of the target's own when it has `target_labelled`: its
    labels are the tagger's, "before" is the tagger trained on those sentences alone, and `target_dev`, if given,
    chooses the state. `train_on_dev` adds `source_dev` to the source; nothing is chosen then, the last state is kept.
    `watch` are labelled sentences: how sure the tagger is of their tags is written down along training.
    """
    started = time.monotonic()
    chosen = find_recipe(recipe)
    if chosen.needs_labels and target_labelled is None:
        raise UsageError(f"Recipe {recipe} learns from labelled target sentences: give some (target_labelled).")
    if chosen.needs_target and target is None and target_labelled is None:
        raise UsageError(f"Recipe {recipe} needs target text: adapt(tagger, source, target, ...).")
    for_target = chosen.for_target and target_labelled is not None
    remarks: tuple[str, ...] = ()
    if train_on_dev:
        source, source_dev, select = _with_dev(source, source_dev, select)
        remarks += ("The source dev sentences were learnt from, too.",)
    if select == "auto":
        select = "source-dev" if not for_target else "last" if target_dev is None else "target-dev"
    if for_target and select == "source-dev":
        raise UsageError("The tagger is the target's own: source sentences cannot choose its state. Select target-dev.")
    if chosen.needs_language_model:
        require_language_model(tagger, recipe)
    if not isinstance(training, TrainingSettings):
        training = complete(TrainingSettings, training or {}, where="training settings")
    training = completed(training, tagger)
    source, selector, told = _choose_selector(source, source_dev, target_dev, select, seed)
    remarks += told
    held_out = selector.corpus if isinstance(selector, DevelopmentScore) and select == "source-dev" else source_dev
    plan = Plan(
        source.labelled(),
        _target(target, target_labelled),
        training,
        complete(chosen.options, options, where=f"options of recipe {recipe}"),
        seed,
        {
            name: corpus.unlabelled()
            for name, corpus in ((SOURCE, held_out), (TARGET, target_dev))
            if corpus is not None
        },
        selector,
    )
    chosen.check(tagger, plan)
    if source_test is None and select == "source-dev" and held_out is not None:
        remarks += ("No source test given: the source score is on the sentences that also chose the model.",)
    if target_labelled is not None:
        remarks += (f"{len(target_labelled):,} labelled target sentences were given to learn from.",)
    tests = {"source": held_out if source_test is None else source_test, "target": target_test}
    teacher: Corpus | None = plan.source if len(plan.source) else None  # without any, the batches will say so
    if for_target:
        tests["source"] = teacher = None
        remarks += (
            "The tagger is the target's own. Before: trained on the labelled target sentences alone, without the "
            "source. It has no source score.",
        )
        if target is not None:
            remarks += ("The target's unlabelled text was not learnt from.",)
    judges = [selector.corpus] if isinstance(selector, DevelopmentScore) else []
    for corpus in (teacher, target_labelled, watch, *judges, *tests.values()):
        if corpus is not None:
            require_comparable(tagger, corpus)  # better said now than after an hour of training
    folder = None if out is None else Path(out) / "training"
    if folder is not None and is_main_process():
        claim(folder, _begun_with(tagger, recipe, plan, selector))

    def run(which: Recipe, pupil: Tagger) -> list[dict[str, Any]]:
        place = None if folder is None else folder / which.name
        record = Record(place if is_main_process() else None, plan.training.tensorboard and is_main_process())
        engine = build_engine(plan.training, pupil)
        stages = which.stages(pupil, plan)
        if watch is not None:
            stages = _watched(stages, Confidence(watch.labelled(), pupil))
        summaries = run_stages(pupil, stages, engine, selector, seed, place, watcher, record)
        said.extend(which.remarks(record.rows))
        record.close()
        return summaries

    said: list[str] = []
    tagger.seen = SeenWords.of(plan.target.labelled() if for_target else plan.source)
    first = TARGET_ONLY if for_target else BASELINE
    baseline = tagger if chosen is first else copy.deepcopy(tagger)
    summaries = run(first, baseline)
    before = _predict_all(baseline, tests)
    after = before
    if chosen is not first:
        if chosen.starts_from_baseline:
            tagger.load_state_dict(baseline.state_dict())
        del baseline
        extra = run(chosen, tagger)
        remarks += _longer(recipe, chosen, summaries, extra)
        summaries += extra
        after = _predict_all(tagger, tests)
    tagger.eval()
    changes = {
        name: None if test is None else _compare(test, before[name], after[name], tagger)
        for name, test in tests.items()
    }
    seconds = time.monotonic() - started
    remarks += tuple(said)
    return Outcome(recipe, selector.name, changes["source"], changes["target"], summaries, seconds, remarks)


def require_language_model(tagger: Tagger, recipe: str) -> None:
    """Better said now than after the baseline is trained."""
    if not isinstance(tagger.encoder, Transformer):
        raise UsageError(
            f"Recipe {recipe} tunes a masked language model, and character-cnn-lstm is none: take the encoder "
            f"{SHIPPED[0]}, or another one."
        )
    guesser_for(tagger.encoder)
    if tagger.encoder.pieces.tokenizer.mask_token_id is None:
        raise UsageError(f"The tokenizer of {tagger.encoder.origin} has no [MASK]: it is no masked language model.")


def _with_dev(
    source: Corpus, source_dev: Corpus | None, select: SelectorName
) -> tuple[Corpus, Corpus | None, SelectorName]:
    """Source and dev as one, and what may choose then."""
    if source_dev is None:
        raise UsageError("train_on_dev needs source_dev, the sentences to train on as well.")
    if select == "source-dev":
        raise UsageError("With train_on_dev the source dev sentences cannot choose the model: leave select=last.")
    return source + source_dev, None, "last" if select == "auto" else select


def _watched(stages: Iterator[Stage], watch: Watch) -> Iterator[Stage]:
    return (replace(stage, watches=(*stage.watches, watch)) for stage in stages)


def _target(target: Corpus | None, labelled: Corpus | None) -> Corpus:
    """The target as a recipe sees it: text whose tags are gone, and behind it the few sentences meant to teach."""
    text = Corpus(()) if target is None else target.unlabelled()
    return text if labelled is None else (text + labelled.labelled()).renamed(text.name)


def _longer(recipe: str, chosen: Recipe, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> tuple[str, ...]:
    """Say so when the recipe trains longer than the baseline: a part of any gain may be that."""
    plain, more = (sum(stage["updates"] for stage in stages) for stages in (before, after))
    total = plain + more if chosen.starts_from_baseline else more
    if total <= plain:
        return ()
    return (f"{recipe} made {total:,} updates, the baseline {plain:,}: longer training alone may explain a part.",)


def _begun_with(tagger: Tagger, recipe: str, plan: Plan, selector: Selector) -> dict[str, Any]:
    """Everything that the weights depend on."""
    judge = selector.corpus.fingerprint if isinstance(selector, DevelopmentScore) else None
    return {
        "recipe": recipe,
        "seed": plan.seed,
        "selector": selector.name,
        "tagger": fingerprint(tagger),
        # how often a state is saved and where it is logged changes no weight
        "training": plan.training.model_dump(mode="json", exclude={"checkpoint_every", "tensorboard"}),
        "options": plan.options.model_dump(mode="json"),
        "extra": {file: file_digest(Path(file)) for file in _files(plan.options)},
        "data": {"source": plan.source.fingerprint, "target": plan.target.fingerprint, "selector": judge},
    }


def _files(options: Settings) -> list[str]:
    """What a recipe reads besides the corpora: text, a second task, synonyms, vectors (not those of a package)."""
    named = [getattr(options, name, None) for name in ("second", "source_vectors", "synonyms", "vectors")]
    return [*getattr(options, "extra", ()), *(file for file in named if file is not None and Path(file).is_file())]


def _choose_selector(
    source: Corpus, source_dev: Corpus | None, target_dev: Corpus | None, select: SelectorName, seed: int
) -> tuple[Corpus, Selector, tuple[str, ...]]:
    """The selector, the source that is left to train on, and what to tell the user about it."""
    if select == "last":
        return source, LastUpdate(), ()
    if select == "target-dev":
        if target_dev is None or not target_dev.is_labelled:
            raise InputError("select=target-dev needs labelled target development sentences (target_dev).")
        remark = "The model was chosen with target labels (target dev): this is not unsupervised adaptation."
        return source, DevelopmentScore(target_dev.labelled(), "target dev"), (remark,)
    if select != "source-dev":
        raise UsageError(f"Unknown selector {select!r}. Known: source-dev, target-dev, last.")
    if source_dev is not None:
        return source, DevelopmentScore(source_dev.labelled(), "source dev"), ()
    source = source.labelled()
    if len(source) < 20:
        return source, LastUpdate(), ("Too few source sentences to hold any out: the last update is kept.",)
    parts = _hold_out(source, seed)
    if parts is None:
        remark = "The source repeats itself too much to hold any of it out: the last update is kept."
        return source, LastUpdate(), (remark,)
    remark = f"No source dev given: {len(parts['dev']):,} of {len(source):,} source sentences were held out for it."
    return parts["train"], DevelopmentScore(parts["dev"], "held-out source"), (remark,)


def _hold_out(source: Corpus, seed: int) -> dict[str, Corpus] | None:
    """A tenth of the source: of whole documents if that can be done, and of single sentences if not."""
    for by_document in (True, False):
        for tied_from in (1, 6):  # equal headlines may tie everything into one lump
            with suppress(InputError):
                return split(source, {"train": 0.9, "dev": 0.1}, seed, by_document, tied_from)
    return None


def _predict_all(tagger: Tagger, tests: Mapping[str, Corpus | None]) -> dict[str, Corpus]:
    return {name: predict(tagger, test) for name, test in tests.items() if test is not None}


def _compare(gold: Corpus, before: Corpus, after: Corpus, tagger: Tagger) -> Change:
    first = score(gold, before, seen=tagger.seen)
    if after is before:
        return Change(gold.name, first, first, None)
    metric: Metric = "token accuracy" if gold.kind == "plain" else "span f1"
    comparison = paired_bootstrap(gold, before, after, metric=metric)
    return Change(gold.name, first, score(gold, after, seen=tagger.seen), comparison)

"""The main job: adapt a tagger, beside the same tagger not adapted, and say honestly what changed."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.subsets import split
from acclimate.evaluation.scores import Scores
from acclimate.inference.evaluate import evaluate
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import BASELINE, find_recipe
from acclimate.recipes.recipe import Plan, Recipe
from acclimate.settings import complete
from acclimate.training.engine import build_engine
from acclimate.training.record import Record
from acclimate.training.run import Watcher, run_stages
from acclimate.training.selectors import DevelopmentScore, LastUpdate, Selector
from acclimate.training.settings import TrainingSettings

SelectorName = Literal["source-dev", "target-dev", "last"]


@dataclass(frozen=True)
class Outcome:
    """What an adaptation did. Scores are None where no labelled test sentences were given."""

    recipe: str
    selector: str
    source_before: Scores | None
    source_after: Scores | None
    target_before: Scores | None
    target_after: Scores | None
    stages: list[dict[str, Any]]
    seconds: float
    remarks: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        def shown(scores: Scores | None) -> dict[str, Any] | None:
            return None if scores is None else scores.as_dict()

        return {
            "recipe": self.recipe,
            "selector": self.selector,
            "source": {"before": shown(self.source_before), "after": shown(self.source_after)},
            "target": {"before": shown(self.target_before), "after": shown(self.target_after)},
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
    source_dev: Corpus | None = None,
    source_test: Corpus | None = None,
    target_dev: Corpus | None = None,
    target_test: Corpus | None = None,
    select: SelectorName = "source-dev",
    training: TrainingSettings | Mapping[str, Any] | None = None,
    seed: int = 1,
    out: str | Path | None = None,
    watcher: Watcher | None = None,
    **options: Any,
) -> Outcome:
    """Adapt the tagger, in place, from the source to the target.

    The same tagger trained on the source alone is trained beside it; its scores are the "before". Test sentences are
    scored once, when all training is over: no recipe and no selector ever sees them. `source_dev` decides which state
    is kept; when it is not given, a tenth of the source is held out. `options` are the recipe's own settings.
    """
    started = time.monotonic()
    chosen = find_recipe(recipe)
    if chosen.needs_target and target is None:
        raise ValueError(f"Recipe {recipe} needs target text: adapt(tagger, source, target, ...).")
    if not isinstance(training, TrainingSettings):
        training = complete(TrainingSettings, training or {}, where="training settings")
    source, selector, remarks = _choose_selector(source, source_dev, target_dev, select, seed)
    plan = Plan(
        source.labelled(),
        target if target is not None else Corpus(()),
        training,
        complete(chosen.options, options, where=f"options of recipe {recipe}"),
        seed,
    )
    folder = None if out is None else Path(out) / "training"
    record = Record(folder, training.tensorboard)

    def run(which: Recipe, pupil: Tagger) -> list[dict[str, Any]]:
        engine = build_engine(plan.training, pupil)
        place = None if folder is None else folder / which.name
        stages = which.stages(pupil, plan)
        return run_stages(pupil, stages, engine, selector, seed, place, watcher, record)

    baseline = tagger if chosen is BASELINE else copy.deepcopy(tagger)
    summaries = run(BASELINE, baseline)
    before = _score(baseline, plan.source, source_test or source_dev, target_test)
    after = before
    if chosen is not BASELINE:
        if chosen.starts_from_baseline:
            tagger.load_state_dict(baseline.state_dict())
        del baseline
        summaries += run(chosen, tagger)
        after = _score(tagger, plan.source, source_test or source_dev, target_test)
    record.close()
    tagger.eval()
    seconds = time.monotonic() - started
    return Outcome(recipe, selector.name, before[0], after[0], before[1], after[1], summaries, seconds, remarks)


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
        return source, DevelopmentScore(target_dev, "target dev"), (remark,)
    if select != "source-dev":
        raise ValueError(f"Unknown selector {select!r}. Known: source-dev, target-dev, last.")
    if source_dev is not None:
        return source, DevelopmentScore(source_dev.labelled(), "source dev"), ()
    if len(source) < 20:
        return source, LastUpdate(), ("Too few source sentences to hold any out: the last update is kept.",)
    parts = split(source.labelled(), {"train": 0.9, "dev": 0.1}, seed=seed)
    remark = f"No source dev given: {len(parts['dev']):,} of {len(source):,} source sentences were held out for it."
    return parts["train"], DevelopmentScore(parts["dev"], "held-out source"), (remark,)


def _score(
    tagger: Tagger, seen: Corpus, source_test: Corpus | None, target_test: Corpus | None
) -> tuple[Scores | None, Scores | None]:
    found = [None if test is None else evaluate(tagger, test, seen=seen) for test in (source_test, target_test)]
    return found[0], found[1]

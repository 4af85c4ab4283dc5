"""Train a tagger by one recipe, without the baseline that `adapt` trains beside it: a grid has a job for that.

The weights are those that `adapt` gives with the same seed. A job that was cut off goes on from its last saved state.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from acclimate.data.corpus import Corpus
from acclimate.inference.evaluate import require_comparable
from acclimate.model.learner import Learner
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import find_recipe
from acclimate.recipes.recipe import Plan
from acclimate.settings import complete
from acclimate.training.engine import build_engine
from acclimate.training.loop import completed
from acclimate.training.record import Record
from acclimate.training.run import run_stages
from acclimate.training.selectors import DevelopmentScore, LastUpdate
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Stage, Watch


@dataclass(frozen=True)
class Trained:
    """What came of it."""

    learner: Learner  # the tagger, or what it is a part of (DATNet's siblings)
    summary: Mapping[str, Any]  # of the last stage
    rows: Sequence[Mapping[str, Any]]  # the record
    seconds: float

    def facts(self) -> dict[str, Any]:
        """What every row of results tells."""
        score, updates = self.summary["score"], self.summary["updates"]
        return {
            "dev": None if score is None else 100 * score,
            "updates": updates,
            "kept_update": self.summary["kept_update"],
            "seconds": round(self.seconds, 1),
            "ms_per_update": round(1000 * self.summary["seconds"] / updates, 1),  # with its share of the looks at dev
        }


def train(
    tagger: Tagger,
    recipe: str,
    source: Corpus,
    target: Corpus | None = None,
    dev: Corpus | None = None,
    *,
    training: Mapping[str, Any],
    options: Mapping[str, Any] | None = None,
    seed: int = 1,
    aside: Mapping[str, Corpus] | None = None,
    watches: Sequence[Watch] = (),
    folder: Path | None = None,
) -> Trained:
    """Train the tagger in place. `target` are labelled sentences; `dev` chooses the state, or else the last one stays.
    `folder` holds saved states while it runs."""
    started = time.monotonic()
    chosen = find_recipe(recipe)
    settings = completed(complete(TrainingSettings, training, where="training settings"), tagger)
    wanted = complete(chosen.options, options or {}, where=f"options of recipe {recipe}")
    few = Corpus(()) if target is None else target.labelled()
    plan = Plan(source.labelled(), few, settings, wanted, seed, {k: v.unlabelled() for k, v in (aside or {}).items()})
    chosen.check(tagger, plan)
    judges = [] if dev is None else [dev]
    for corpus in (*judges, few if chosen.for_target else plan.source):
        require_comparable(tagger, corpus)
    last: list[Learner] = [tagger]

    def stages() -> Any:
        for stage in chosen.stages(tagger, plan):
            last[:] = [stage.learner or tagger]
            yield watched(stage, watches)

    record = Record(folder)
    selector = LastUpdate() if dev is None else DevelopmentScore(dev.labelled(), "dev")
    summaries = run_stages(tagger, stages(), build_engine(settings, tagger), selector, seed, folder, record=record)
    record.close()
    tagger.eval()
    return Trained(last[0], summaries[-1], record.rows, time.monotonic() - started)


def watched(stage: Stage, watches: Sequence[Watch]) -> Stage:
    return replace(stage, watches=(*stage.watches, *watches))


def forget(folder: Path) -> None:
    """The states of a job that is done."""
    shutil.rmtree(folder, ignore_errors=True)

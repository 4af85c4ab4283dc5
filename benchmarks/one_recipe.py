"""Train a tagger by one recipe, without the baseline that `adapt` trains beside it: a grid has a job for that.

The weights are those that `adapt` gives with the same seed. A job that was cut off goes on from its last saved state.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from acclimate.data.corpus import Corpus
from acclimate.inference.evaluate import require_comparable
from acclimate.model.learner import Learner
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import BASELINE, find_recipe
from acclimate.recipes.recipe import Plan, Recipe
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
    summaries: Sequence[Mapping[str, Any]]  # of all stages
    rows: Sequence[Mapping[str, Any]]  # the record
    seconds: float

    @property
    def summary(self) -> Mapping[str, Any]:
        """That of the last stage."""
        return self.summaries[-1]

    def facts(self) -> dict[str, Any]:
        """What every row of results tells. Updates are those of all stages; the one that was kept is the last one's."""
        score, updates = self.summary["score"], sum(stage["updates"] for stage in self.summaries)
        seconds = sum(stage["seconds"] for stage in self.summaries)
        return {
            "dev": None if score is None else 100 * score,
            "updates": updates,
            "kept_update": self.summary["kept_update"],
            "seconds": round(self.seconds, 1),
            "ms_per_update": round(1000 * seconds / updates, 1),  # with its share of the looks at dev
        }


def train(
    tagger: Tagger,
    recipe: str,
    source: Corpus,
    target: Corpus | None = None,
    dev: Corpus | None = None,
    *,
    text: Corpus | None = None,
    training: Mapping[str, Any],
    options: Mapping[str, Any] | None = None,
    seed: int = 1,
    aside: Mapping[str, Corpus] | None = None,
    watches: Sequence[Watch] = (),
    folder: Path | None = None,
    dev_of_target: bool = False,
    after: Callable[[str], None] = lambda stage: None,
) -> Trained:
    """Train the tagger in place. `target` are labelled sentences; `text` is target text whose tags, if any, are
    dropped. `dev` chooses the state (`dev_of_target`: its sentences are the target's), or else the last one stays.
    `folder` holds saved states while it runs. `after` is told the name of each stage when the tagger is as that has
    left it.

    A recipe that goes on from plain training on the source begins with that."""
    started = time.monotonic()
    chosen = find_recipe(recipe)
    settings = completed(complete(TrainingSettings, training, where="training settings"), tagger)
    wanted = complete(chosen.options, options or {}, where=f"options of recipe {recipe}")
    few = Corpus(()) if target is None else target.labelled()
    selector = LastUpdate() if dev is None else DevelopmentScore(dev.labelled(), "dev", of_target=dev_of_target)
    unused = {name: corpus.unlabelled() for name, corpus in (aside or {}).items()}
    whole = few if text is None else text.unlabelled() + few
    plan = Plan(source.labelled(), whole, settings, wanted, seed, unused, selector)
    chosen.check(tagger, plan)
    judges = [] if dev is None else [dev]
    for corpus in (*judges, few if chosen.own_tagger == "always" and few else plan.source):
        require_comparable(tagger, corpus)
    last: list[Learner] = [tagger]

    def stages(which: Recipe) -> Any:
        for stage in which.stages(tagger, plan):
            last[:] = [stage.learner or tagger]
            yield watched(stage, watches)
            after(stage.name)

    def run(which: Recipe, place: Path | None) -> list[dict[str, Any]]:
        engine = build_engine(settings, tagger)
        return run_stages(tagger, stages(which), engine, selector, seed, place, record=record)

    record = Record(folder)
    first = None if folder is None else folder / BASELINE.name
    summaries = run(BASELINE, first) if chosen.starts_from_baseline else []
    summaries += run(chosen, folder)
    record.close()
    tagger.eval()
    return Trained(last[0], summaries, record.rows, time.monotonic() - started)


def watched(stage: Stage, watches: Sequence[Watch]) -> Stage:
    return replace(stage, watches=(*stage.watches, *watches))


def forget(folder: Path) -> None:
    """The states of a job that is done."""
    shutil.rmtree(folder, ignore_errors=True)

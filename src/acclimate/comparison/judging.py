"""The selectors by their names, and what they say about a finished run."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from acclimate.comparison.selectors.certainty import InformationMaximisation, MeanEntropy
from acclimate.comparison.selectors.domain_gap import MeanDiscrepancy, ProxyADistance
from acclimate.comparison.selectors.material import Material, RunSelector
from acclimate.comparison.selectors.neighbourhood import NeighbourhoodDensity
from acclimate.comparison.selectors.reverse_validation import ReverseValidation
from acclimate.comparison.selectors.source_dev import SourceDev
from acclimate.comparison.trial import Ground, Trial
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.model.storage import read_json, write_json
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import find_recipe
from acclimate.recipes.preparation import choose_selector
from acclimate.settings import UsageError
from acclimate.training.engine import device_for
from acclimate.training.selectors import DevelopmentScore

SELECTORS: dict[str, RunSelector] = {
    "source-dev": SourceDev(),
    "entropy": MeanEntropy(),
    "information-maximisation": InformationMaximisation(),
    "neighbourhood-density": NeighbourhoodDensity(),
    "feature-density": NeighbourhoodDensity("features"),
    "reverse-validation": ReverseValidation(),
    "mmd": MeanDiscrepancy(),
    "a-distance": ProxyADistance(),
}
DEFAULT_SELECTORS = tuple(SELECTORS)

_FILE = "selectors.json"


def require_selectors(names: Sequence[str]) -> None:
    for name in names:
        if name not in SELECTORS:
            close = difflib.get_close_matches(name, SELECTORS, n=1)
            hint = f"Did you mean {close[0]!r}? " if close else ""
            raise UsageError(f"Unknown selector {name!r}. {hint}Known: {', '.join(SELECTORS)}.")


def judge(trial: Trial, ground: Ground, selectors: Sequence[str]) -> None:
    """Let the selectors judge a finished run, and keep what they say in its folder. None is asked twice."""
    said = _read(trial)
    missing = [name for name in selectors if name not in said]
    if not missing or ground.task.target is None:
        return
    tagger = Tagger.load(trial.folder, device_for(trial.settings.training))
    material = material_for(trial, ground, ground.task.target)
    for name in missing:
        try:
            said[name] = SELECTORS[name](tagger, material)
        except InputError:  # too little text for this one
            said[name] = None
    place = trial.folder / _FILE
    aside = place.with_suffix(".part")
    write_json(aside, said)
    aside.replace(place)


def read_judgements(trial: Trial, selectors: Sequence[str]) -> dict[str, float | None]:
    """What `judge` kept; None for a selector that was not asked or could not say."""
    said = _read(trial)
    return {name: said.get(name) for name in selectors}


def material_for(trial: Trial, ground: Ground, target: Corpus) -> Material:
    """What selectors may see of this run. A tagger of the target's own knows nothing of the source."""
    task, settings = ground.task, trial.settings
    own = find_recipe(trial.recipe).for_target and task.target_labelled is not None
    dev = None
    if not own and not settings.train_on_dev:
        _, selector, _ = choose_selector(task.source, task.source_dev, None, "source-dev", trial.seed)
        dev = selector.corpus if isinstance(selector, DevelopmentScore) else None
    return Material(
        target.unlabelled(), None if own else task.source, dev, settings.tagger, settings.training, trial.seed
    )


def _read(trial: Trial) -> dict[str, float | None]:
    place = trial.folder / _FILE
    found: dict[str, float | None] = read_json(place) if place.is_file() else {}
    return found

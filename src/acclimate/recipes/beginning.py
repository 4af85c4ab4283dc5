"""What a run is begun with: everything that its weights depend on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from acclimate.model.tagger import Tagger
from acclimate.recipes.claim import file_digest, fingerprint
from acclimate.recipes.recipe import Plan
from acclimate.settings import Settings
from acclimate.training.selectors import DevelopmentScore, Selector

# options that may be a file; the last are collocations
FILES = ("second", "source_vectors", "synonyms", "vectors", "file")


def beginning_of(tagger: Tagger, recipe: str, plan: Plan, selector: Selector, shortened: float) -> dict[str, Any]:
    """As JSON: two runs with the same of it end with the same weights."""
    judge = selector.corpus.fingerprint if isinstance(selector, DevelopmentScore) else None
    return {
        "recipe": recipe,
        "seed": plan.seed,
        "selector": selector.name,
        "tagger": fingerprint(tagger),
        # how often a state is saved and where it is logged changes no weight
        "training": {
            **plan.training.model_dump(mode="json", exclude={"checkpoint_every", "tensorboard"}),
            **({} if shortened == 1 else {"shortened": shortened}),
        },
        "options": plan.options.model_dump(mode="json"),
        "extra": {file: file_digest(Path(file)) for file in _files(plan.options)},
        "data": {"source": plan.source.fingerprint, "target": plan.target.fingerprint, "selector": judge},
    }


def _files(options: Settings) -> list[str]:
    """What a recipe reads besides the corpora: text, a second task, synonyms, vectors (not those of a package)."""
    return list(dict.fromkeys(files_in(options.model_dump(mode="json"))))


def files_in(values: Any) -> Iterator[str]:
    """The files that a tree of settings names: more text, and what stands under the names of files."""
    if isinstance(values, list):
        for value in values:
            yield from files_in(value)
    elif isinstance(values, dict):
        extra = values.get("extra")
        yield from extra if isinstance(extra, list) else ()
        named = [values.get(name) for name in FILES]
        yield from (file for file in named if isinstance(file, str) and Path(file).is_file())
        yield from (file for value in values.values() for file in files_in(value))

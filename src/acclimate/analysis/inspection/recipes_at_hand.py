"""Which recipes can be run with what is given, and what the others lack."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from acclimate.analysis.inspection.facts import Facts
from acclimate.data.labels import kind_of_tags
from acclimate.recipes.catalogue import RECIPES
from acclimate.recipes.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Standing:
    """A recipe, and why it cannot be run; None where it can."""

    recipe: str
    lacks: str | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def standings(facts: Facts) -> tuple[Standing, ...]:
    return tuple(Standing(recipe.name, what_lacks(recipe, facts)) for recipe in RECIPES.values())


def runnable(facts: Facts, *names: str) -> tuple[str, ...]:
    """Those of the names that can be run, in their order."""
    return tuple(name for name in names if what_lacks(RECIPES[name], facts) is None)


def what_lacks(recipe: Recipe, facts: Facts) -> str | None:
    if "target labels" in recipe.needs and not facts.has_few:
        return "it learns from labelled target sentences (--target-labelled)"
    if "language model" in recipe.needs and facts.encoder.losses is None:
        return f"it needs a masked language model, and {facts.encoder.encoder} is none"
    if facts.has_few and recipe.own_tagger == "never":
        target = facts.labels.target
        if target is not None and target.kind != facts.labels.kind:
            return (
                f"the labelled target has {kind_of_tags(target.kind)} and the source {kind_of_tags(facts.labels.kind)}"
            )
        if facts.foreign:
            return f"the source does not teach {', '.join(facts.foreign)} (--typeless, or a --map of your own)"
    if "entities" in recipe.needs and facts.labels.kind == "plain":
        return "it hides entities, and plain tags have none"
    if "entities beside target labels" in recipe.needs and facts.has_few and facts.labels.kind == "plain":
        return "it exchanges entities of both domains, and plain tags have none"
    if facts.is_other_task and not facts.has_few:
        return "the source teaches none of the target's labels (--target-labelled, or --typeless)"
    return None

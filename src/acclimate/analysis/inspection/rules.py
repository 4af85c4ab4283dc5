"""What the facts suggest: which recipes can run, and what is worth trying, each with its reason and its commands."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from acclimate.analysis.inspection.facts import MAP_FILE, Facts
from acclimate.data.corpus import kind_of_tags
from acclimate.data.mapping import map_text
from acclimate.recipes.catalogue import RECIPES
from acclimate.recipes.recipe import Recipe

FEW_SHOT = 100  # labelled target sentences that the settings of PDALN begin with
TEST_ENTITIES = 400  # leave F1 uncertain by about 5 points either way: 1.96 * sqrt(0.25 / n)
BOARD = "docs/explanation/results/leaderboard.md"  # what recipes brought, where one is suggested


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What to try, why, and the commands, one after the other."""

    rule: str
    text: str
    why: str
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """A recipe, and why it cannot be run; None where it can."""

    recipe: str
    lacks: str | None


def standings(facts: Facts) -> tuple[Standing, ...]:
    return tuple(Standing(recipe.name, what_lacks(recipe, facts)) for recipe in RECIPES.values())


def runnable(facts: Facts, *names: str) -> tuple[str, ...]:
    """Those of the names that can be run, in their order."""
    return tuple(name for name in names if what_lacks(RECIPES[name], facts) is None)


def what_lacks(recipe: Recipe, facts: Facts) -> str | None:
    target, kind = facts.labels.target, facts.labels.kind
    if "target labels" in recipe.needs and not facts.has_few:
        return "it learns from labelled target sentences (--target-labelled)"
    if "language model" in recipe.needs and facts.encoder.losses is None:
        return f"it needs a masked language model, and {facts.encoder.encoder} is none"
    if facts.has_few and recipe.own_tagger == "never":
        if target is not None and target.kind != kind:
            return f"the labelled target has {kind_of_tags(target.kind)} and the source {kind_of_tags(kind)}"
        if facts.foreign:
            return f"the source does not teach {', '.join(facts.foreign)} (--typeless, or a --map of your own)"
    if kind == "plain" and "entities" in recipe.needs:
        return "it hides entities, and plain tags have none"
    if kind == "plain" and facts.has_few and "entities beside target labels" in recipe.needs:
        return "it exchanges entities of both domains, and plain tags have none"
    if facts.is_other_task and not facts.has_few:
        return "the source teaches none of the target's labels (--target-labelled, or --typeless)"
    return None


def other_names(facts: Facts) -> Suggestion | None:
    """Labels that are spelled otherwise are mapped before anything else."""
    target = facts.labels.target
    if target is None or facts.map_name is None or facts.given.map_name is not None:
        return None
    if target.bundled_map is not None:
        names = ", ".join(target.only_target)
        why = f"{names}: not among the source's labels, and the map {target.bundled_map}, which ships, knows them."
        return Suggestion("other_names", f"Map the target's labels: --map {target.bundled_map}.", why)
    pairs = ", ".join(f"{name} like {other}" for name, other in target.alike.items())
    mapped = {name: target.alike.get(name, name if name in target.both else "O") for name in target.counts}
    text = f"Map the target's labels with a file {MAP_FILE} (--map {MAP_FILE}); check it: the names alone were "
    text += "compared."
    why = f"Some names only look different: {pairs}. O drops a label."
    return Suggestion("other_names", text, why, (map_text(mapped),))


def labels_without_source(facts: Facts) -> Suggestion | None:
    """What the source does not teach, no recipe finds without labelled target sentences."""
    target = facts.labels.target
    if target is None or not (facts.foreign or facts.is_other_task):
        return None
    names = ", ".join(facts.foreign or target.counts)
    why = f"The source has no {names}; a tagger that learns from it alone cannot predict them."
    if facts.is_other_task and target.kind == facts.labels.kind:
        why += " No name of a label resembles one of the source's. If some mean the same nevertheless, say so in a "
        why += "map: --map FILE, with `labels:` and below it a line `OLD: NEW` for each."
    if facts.has_few:
        text = "Train a tagger with the target's own labels: acclimate or datnet with the source, target-only without."
        commands = [facts.adapt(recipe, use_map=False) for recipe in ("acclimate", "datnet", "target-only")]
        return Suggestion("labels_without_source", text, why, tuple(commands))
    text = f"Label some target sentences with {names} (--target-labelled FEW): datnet can then train a tagger for them."
    few = f"{facts.adapt('datnet', use_map=False)} --target-labelled FEW"
    return Suggestion("labels_without_source", text, why, (few,))


def default_recipe(facts: Facts) -> Suggestion | None:
    """What `adapt` takes when no recipe is named."""
    if facts.is_other_task or not runnable(facts, "acclimate"):
        return None
    text = "Try acclimate, what adapt takes by itself."
    why = f"From news to seven targets its mean is the highest of all: 53.0 F1, 50.6 without adapting ({BOARD})."
    if facts.has_few and len(facts.labels.source) == 1 and runnable(facts, "datnet"):
        text = "Compare datnet and acclimate, what adapt takes by itself."
        why = "With 100 labelled sentences and one type of entity, datnet's mean over seven targets is the highest of "
        why += f"all: 79.4 F1, acclimate's 78.8, 77.2 for learning both corpora together ({BOARD})."
        return Suggestion("default_recipe", text, why, (facts.adapt("datnet"), facts.adapt("acclimate")))
    if facts.has_few:
        why = "With 100 labelled sentences on each of seven targets, and others to choose by, its mean is the highest "
        why += f"of all: 70.6 F1, 68.8 for learning both corpora together ({BOARD})."
    return Suggestion("default_recipe", text, why, (facts.adapt("acclimate"),))


def other_recipes(facts: Facts) -> Suggestion | None:
    """Those that were best on some targets."""
    names = runnable(facts, *(("datnet", "pdaln", "la-dtl") if facts.has_few else ("adversarial-masking", "datnet")))
    if facts.is_other_task or not names:
        return None
    why = "From news to seven targets adversarial-masking, which tunes the encoder to the target's text, brought 1.0 "
    why += f"F1 on the mean, datnet 0.8 ({BOARD})."
    if facts.has_few:
        why = "With 100 labelled sentences on each of seven targets datnet was 0.5 F1 above learning both corpora "
        why += "together (7 below on tweets, 6 above on contracts), pdaln level with it, la-dtl below "
        why += f"({BOARD})."
    text = f"Compare other recipes: {', '.join(names)}."
    return Suggestion("other_recipes", text, why, tuple(facts.adapt(name) for name in names))


def first_labels(facts: Facts) -> Suggestion | None:
    """Without labelled target sentences there is no telling what helped."""
    if facts.has_few:
        return None
    labels, target = facts.labels, facts.labels.target
    of, kind, counts, sentences = "source", labels.kind, labels.source, labels.sentences
    if target is not None:
        of, kind, counts, sentences = "target", target.kind, target.counts, target.sentences
    entities = sum(counts.values())
    if kind == "plain" or not entities:
        return None
    enough = math.ceil(TEST_ENTITIES * sentences / entities)
    text = f"Label target sentences: {FEW_SHOT} to learn from open up more recipes (--target-labelled), "
    text += f"and about {enough:,} others tell which one helped (--target-test)."
    why = f"{FEW_SHOT} of them brought 18 F1 on the mean of seven targets, adapting without them 2 "
    why += f"({BOARD}); {enough:,} sentences have some {TEST_ENTITIES} entities at the {of}'s "
    why += "rate, which leaves F1 uncertain by about 5 points."
    return Suggestion("first_labels", text, why)


RULES: tuple[Callable[[Facts], Suggestion | None], ...] = (
    *(other_names, labels_without_source),  # what is in the way
    *(default_recipe, other_recipes, first_labels),  # what to try
)


def suggestions(facts: Facts) -> tuple[Suggestion, ...]:
    results = (rule(facts) for rule in RULES)
    return tuple(suggestion for suggestion in results if suggestion is not None)

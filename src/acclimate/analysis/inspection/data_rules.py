"""Rules about data: would extra text, names from a list, exchanged entities, or labelled sentences help?

Also what every rule gives, a `Suggestion`, and which recipes can be run with what is given. A suggestion is something
to try and compare; it promises no gain.
"""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass

from acclimate.analysis.inspection import thresholds
from acclimate.analysis.inspection.facts import Facts
from acclimate.data.corpus import kind_of_tags
from acclimate.recipes.catalogue import RECIPES
from acclimate.recipes.recipe import Recipe
from acclimate.spelling import count

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


def extra_text(facts: Facts) -> Suggestion | None:
    """Little target text: more of its kind may be had by selection."""
    wanted = thresholds.TUNING_READS // thresholds.PASSES
    missing = wanted - facts.target.sentences
    gap = facts.encoder.loss_gap
    if missing <= 0 or gap is None or gap < thresholds.LOSS_GAP:
        return None
    why = f"Domain tuning learns more from {wanted:,} target sentences, read {thresholds.PASSES} times each; "
    why += f"there are {facts.target.sentences:,}."
    given, extra = facts.given, facts.extra
    if extra is None:
        text = "Have a look for more text of the target's kind; select takes the lines most like it out of any amount."
        files = "HUGE.txt.gz"
    else:
        of = "more" if extra.distance > facts.words.distance else "less"
        why += f" The extra text is {of} unlike the target than the source is (density ratio {extra.distance:.2f} and "
        why += f"{facts.words.distance:.2f}; 0: the same mix of words)."
        if extra.sentences <= missing and not extra.cut:
            text = "Add the extra text to domain tuning as it is: there is not enough of it to choose from."
            files = '["' + '", "'.join(given.extra) + '"]'
            if not runnable(facts, "adversarial-masking"):
                return None
            command = facts.adapt("adversarial-masking", "--set", f"options.extra={files}")
            return Suggestion("extra_text", text, why, (command,))
        text = "Select from the extra text the lines most like the target, and tune on them as well."
        files = shlex.join(given.extra)
    like = shlex.quote(given.target)
    commands = [f"acclimate data select --like {like} --from {files} --top {missing} --out more.txt.gz"]
    if runnable(facts, "adversarial-masking"):
        commands.append(facts.adapt("adversarial-masking", "--set", 'options.extra=["more.txt.gz"]'))
    return Suggestion("extra_text", text, why, tuple(commands))


def weak_labels(facts: Facts) -> Suggestion | None:
    """Without labels for what is wanted, a list of names makes some."""
    target = facts.labels.target
    if facts.has_few or target is None or target.kind == "plain" or not facts.foreign:
        return None
    label = facts.foreign[0]
    why = (
        "Against gold, a dictionary's labels scored 60 F1 on diseases, 83 on chemicals and 50 on the bundled clinical "
    )
    why += "notes (docs/explanation/results/weak-label.md); nothing is known of other kinds of names."
    command = [
        "acclimate",
        "data",
        "weak-label",
        "--concepts",
        "NAMES.txt",
        "--label",
        label,
        "--text",
        facts.given.target,
    ]
    text = f"If there is a list of names of {label}, have a look at weak labels."
    return Suggestion("weak_labels", text, why, (shlex.join([*command, "--out", "weak.conll"]),))


def exchange(facts: Facts) -> Suggestion | None:
    """Shared labels and few sentences: entities may trade places."""
    target = facts.labels.target
    if not facts.has_few or target is None or target.kind == "plain" or not target.both:
        return None
    why = (
        f"Both sides have {', '.join(target.both)}, so entities of one type can trade places; pdaln does it by itself."
    )
    few = facts.given.target_labelled or ""
    words = [
        "acclimate",
        "data",
        "augment",
        "--source",
        facts.given.first_source,
        "--target",
        few,
        "--out",
        "augmented.conll",
    ]
    words += ["--map", facts.map_name] if facts.map_name is not None else []
    text = "Have a look at sentences with exchanged entities before you train on them."
    return Suggestion("exchange", text, why, (shlex.join(words),))


def weak_support(facts: Facts) -> Suggestion | None:
    """How many more labelled target sentences would give every label some support."""
    target = facts.labels.target
    if not facts.has_few or target is None or target.kind == "plain":
        return None
    rare = {label: number for label, number in target.counts.items() if number < thresholds.SUPPORT}
    absent = [label for label in target.only_source if label not in target.own_names]
    if not rare:
        return None
    rarest = min(rare.values())
    more = math.ceil((thresholds.SUPPORT - rarest) * target.sentences / rarest)
    listed = ", ".join(f"{label} {number}" for label, number in rare.items())
    why = f"Fewer than {thresholds.SUPPORT} mentions in {count(target.sentences, 'sentence')}: {listed}."
    why += f" Not met at all: {', '.join(absent)}." if absent else ""
    text = (
        f"About {more:,} labelled target sentences more would show each label {thresholds.SUPPORT} times, at this rate."
    )
    return Suggestion("weak_support", text, why)


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
    enough = math.ceil(thresholds.TEST_ENTITIES * sentences / entities)
    text = f"Label target sentences: {thresholds.FEW_SHOT} to learn from open up more recipes (--target-labelled), "
    text += f"and about {enough:,} others tell which one helped (--target-test)."
    why = f"{thresholds.FEW_SHOT} of them brought 18 F1 on the mean of seven targets, adapting without them 2 "
    why += f"({BOARD}); {enough:,} sentences have some {thresholds.TEST_ENTITIES} entities at the {of}'s "
    why += "rate, which leaves F1 uncertain by about 5 points."
    return Suggestion("first_labels", text, why)


def cut_out_labels(facts: Facts) -> Suggestion | None:
    """A target that carries tags can be cut into parts to learn from and parts to score on."""
    target, given = facts.labels.target, facts.given
    if facts.has_few or target is None or target.sentences < thresholds.WORTH_CUTTING:
        return None
    text = "Or cut the target, which carries tags, into sentences to learn from, to choose by and to score on."
    why = f"{given.target} has {target.sentences:,} labelled sentences, which no recipe sees as long as it is --target."
    source, whole = shlex.join(given.sources), shlex.quote(given.target)
    return Suggestion(
        "cut_out_labels",
        text,
        why,
        (
            f"acclimate data split {whole} --few-labels {thresholds.FEW_SHOT} --out parts",
            f"acclimate data inspect {source} parts/unlabelled.conll --target-labelled parts/labelled.conll",
        ),
    )

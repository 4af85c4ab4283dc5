"""What the figures suggest. One rule is one small function: facts in, a suggestion or nothing out.

A suggestion is something to try and to compare, with the reason and the command to type. No rule promises a gain: what
was measured, from news to other text, stands in docs/explanation/results.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from dataclasses import dataclass

from acclimate.analysis.inspection.facts import MAP_FILE, Facts
from acclimate.data.corpus import kind_of_tags
from acclimate.data.mapping import map_text
from acclimate.recipes.catalogue import RECIPES
from acclimate.recipes.domain_tuning import DomainTuning
from acclimate.recipes.recipe import Recipe
from acclimate.spelling import count

SHARE_APART = 0.05  # shares of sentences or words that differ by less are not worth a line
LENGTH_APART = 1.25  # times: nor are lengths

# nats per hidden piece. Two parts of one corpus differ by up to 0.4 from sample to sample (CoNLL-2003, train and test;
# bundled news by 0.3), bundled news and posts by 2
LOSS_GAP = 0.75

# proxy A-distance. Parts of bundled news reach 0.5 by chance (four samples: 0.01, 0.15, 0.01, 0.51); 1.5 is a domain
# named rightly 7 times of 8
ALIKE, APART = 0.75, 1.5

UNKNOWN_PIECES = 0.01  # of words: what the encoder cannot spell at all, such as emoji

# how often domain tuning reads the target's text: what is read more often is rather learnt by heart, and the loss on
# held-out text will tell. Where it would read fewer sentences than TUNING_READS, more text is worth looking for
PASSES = round(DomainTuning().passes)
TUNING_READS = 2_000 * 32 // 2
NOTHING_HELD_OUT = 40  # sentences: of fewer, domain tuning holds none out, so nobody notices when it does harm

SUPPORT = 20  # mentions of a label: with fewer, its score hangs on a handful of names

# how many labelled target sentences the settings of PDALN begin with
FEW_SHOT = 100

# entities of a test set that leave F1 uncertain by about 5 points either way: 1.96 * sqrt(0.25 / n)
TEST_ENTITIES = 400

PARAGRAPH = 60  # words: lines of that mean length are hardly sentences

BOARD = "docs/explanation/results/leaderboard.md"  # what recipes brought, where one is suggested
MEASURED_WITHOUT = f"From news to seven targets pdaln brought 0.3 F1 on the mean, datnet 0.8 ({BOARD})."
MEASURED_WITH_FEW = (
    f"With 100 labelled sentences on each of seven targets datnet was 0.5 F1 above learning both corpora together (7 "
    f"below on tweets, 6 above on contracts), pdaln level with it, la-dtl below ({BOARD})."
)


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


def weak_support(facts: Facts) -> Suggestion | None:
    """How many more labelled target sentences would give every label some support."""
    target = facts.labels.target
    if not facts.has_few or target is None or target.kind == "plain":
        return None
    rare = {label: number for label, number in target.counts.items() if number < SUPPORT}
    absent = [label for label in target.only_source if label not in target.own_names]
    if not rare:
        return None
    rarest = min(rare.values())
    more = math.ceil((SUPPORT - rarest) * target.sentences / rarest)
    listed = ", ".join(f"{label} {number}" for label, number in rare.items())
    why = f"Fewer than {SUPPORT} mentions in {count(target.sentences, 'sentence')}: {listed}."
    why += f" Not met at all: {', '.join(absent)}." if absent else ""
    text = f"About {more:,} labelled target sentences more would show each label {SUPPORT} times, at this rate."
    return Suggestion("weak_support", text, why)


def more_text(facts: Facts) -> Suggestion | None:
    """Little target text: more of its kind may be had by selection."""
    missing = TUNING_READS // PASSES - facts.target.sentences
    gap = facts.encoder.loss_gap
    if missing <= 0 or gap is None or gap < LOSS_GAP:
        return None
    why = f"Domain tuning learns more from {TUNING_READS // PASSES:,} target sentences, read {PASSES} times each; "
    why += f"there are {facts.target.sentences:,}."
    text = "Have a look for more text of the target's kind; select takes the lines most like it out of any amount."
    like = f"--like {shlex.quote(facts.given.target)} --from HUGE.txt.gz --top {missing}"
    commands = [f"acclimate data select {like} --out more.txt.gz"]
    if runnable(facts, "adversarial-masking"):
        commands.append(f"{facts.adapt('adversarial-masking')} --target-text more.txt.gz")
    return Suggestion("more_text", text, why, tuple(commands))


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


def alike(facts: Facts) -> Suggestion | None:
    """Domains that can hardly be told apart leave little to adapt."""
    separability, gap = facts.encoder.separability, facts.encoder.loss_gap
    if facts.is_other_task or separability is None or separability.a_distance >= ALIKE or (gap or 0) >= LOSS_GAP:
        return None
    text = "Begin with no adaptation: train on the source and score it on labelled target sentences."
    why = f"To {facts.encoder.encoder} the two read alike (A-distance {separability.a_distance:.2f})."
    return Suggestion("alike", text, why, (facts.adapt("source-only"),))


def default_recipe(facts: Facts) -> Suggestion | None:
    """What `adapt` takes when no recipe is named."""
    if facts.is_other_task or not runnable(facts, "acclimate") or alike(facts) is not None:
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


def domain_tuning(facts: Facts) -> Suggestion | None:
    """Where target words are harder to guess, there is something to learn from target text alone."""
    gap = facts.encoder.loss_gap
    if gap is None or gap < LOSS_GAP:
        return None
    sentences = facts.target.sentences
    why = f"{facts.encoder.encoder} guesses hidden words of the target worse than the source's (loss {gap:+.2f})."
    if sentences < NOTHING_HELD_OUT:
        return None
    if sentences * PASSES < TUNING_READS:
        why += f" There are {sentences:,} sentences: tuning stops when it has read them {PASSES} times."
    if facts.is_other_task:
        tune = ["acclimate", "encoder", "domain-tune", "--text", facts.given.target]
        tune += ["--source", facts.given.first_source]
        text = "Tune the encoder to the target's text, then train on it whatever labelled target sentences there are."
        return Suggestion("domain_tuning", text, why, (shlex.join([*tune, "--out", "tuned-encoder"]),))
    if not runnable(facts, "adversarial-masking"):
        return None
    text = "Try domain tuning by itself: the encoder reads the target's text before the tagger learns. From news to "
    text += f"seven targets it brought 1.0 F1 on the mean, though not where this loss said so ({BOARD}). It is the "
    text += "first stage of acclimate."
    return Suggestion("domain_tuning", text, why, (facts.adapt("adversarial-masking"),))


def alignment(facts: Facts) -> Suggestion | None:
    """Where features give the domain away, recipes that make them alike have something to do; and labelled target
    sentences are worth using even where the domains are close."""
    separability = facts.encoder.separability
    is_apart = separability is not None and separability.a_distance >= APART
    if facts.is_other_task or not (is_apart or facts.has_few):
        return None
    names = runnable(facts, *(("pdaln", "la-dtl", "datnet") if facts.has_few else ("pdaln", "datnet")))
    if not names:
        return None
    why = []
    if separability is not None and is_apart:
        right = 100 * separability.accuracy
        why.append(f"A linear classifier names the domain of {right:.0f} % of unseen sentences rightly.")
    if facts.has_few:
        why.append("These learn from labelled target sentences beside the source's.")
    measured = MEASURED_WITH_FEW if facts.has_few else MEASURED_WITHOUT
    text = f"Compare recipes that make both domains look alike: {', '.join(names)}. {measured}"
    return Suggestion("alignment", text, " ".join(why), tuple(facts.adapt(name) for name in names))


def paragraphs(facts: Facts) -> Suggestion | None:
    """Lines that are no sentences."""
    if facts.target.mean_length < PARAGRAPH or facts.target.mean_length < 2 * facts.source.mean_length:
        return None
    why = f"The target's have {facts.target.mean_length:.0f} words on the mean, the source's "
    why += f"{facts.source.mean_length:.0f}."
    text = "See whether the target's lines are paragraphs: --set reading.paragraphs=true splits raw text into "
    return Suggestion("paragraphs", f"{text}sentences.", why)


RULES: tuple[Callable[[Facts], Suggestion | None], ...] = (
    *(other_names, labels_without_source, paragraphs, alike),  # what is in the way, then what to try
    *(default_recipe, domain_tuning, alignment),
    *(more_text, weak_support, first_labels),  # and what more data would be worth
)


def suggestions(facts: Facts) -> tuple[Suggestion, ...]:
    results = (rule(facts) for rule in RULES)
    return tuple(suggestion for suggestion in results if suggestion is not None)

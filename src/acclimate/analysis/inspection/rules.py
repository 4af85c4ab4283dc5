"""What the figures suggest. One rule is one small function: facts in, a suggestion or nothing out.

A suggestion is something to try and to compare, with the reason and the command to type. No rule promises a gain: what
was measured, from news to other text, stands in docs/explanation/results.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable

from acclimate.analysis.inspection import data_rules as of_data
from acclimate.analysis.inspection import thresholds
from acclimate.analysis.inspection.data_rules import BOARD, Suggestion, runnable
from acclimate.analysis.inspection.facts import MAP_FILE, Facts
from acclimate.data.mapping import map_text
from acclimate.spelling import count

MEASURED_WITHOUT = f"From news to seven targets pdaln brought 0.3 F1 on the mean, datnet 0.8 ({BOARD})."
MEASURED_WITH_FEW = (
    f"With 100 labelled sentences on each of seven targets datnet was 0.5 F1 above learning both corpora together (7 "
    f"below on tweets, 6 above on contracts), pdaln level with it, la-dtl below ({BOARD})."
)


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
    return Suggestion(
        "other_names",
        f"Map the target's labels with a file {MAP_FILE} (--map {MAP_FILE}); check it: the names alone were compared.",
        f"Some names only look different: {pairs}. O drops a label.",
        (map_text(mapped),),
    )


def labels_without_source(facts: Facts) -> Suggestion | None:
    """What the source does not teach, no recipe finds without labelled target sentences."""
    target = facts.labels.target
    if target is None or not (facts.foreign or facts.is_other_task):
        return None
    names = ", ".join(facts.foreign or target.counts)
    why = f"The source has no {names}; a tagger that learns from it alone cannot predict them."
    if facts.is_other_task and target.kind == facts.labels.kind:
        why += (
            " No name of a label resembles one of the source's. If some mean the same nevertheless, say so in a map: "
        )
        why += "--map FILE, with `labels:` and below it a line `OLD: NEW` for each."
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
    if (
        separability is None
        or separability.a_distance >= thresholds.ALIKE
        or (gap is not None and gap >= thresholds.LOSS_GAP)
    ):
        return None
    if facts.is_other_task:
        return None
    return Suggestion(
        "alike",
        "Begin with no adaptation: train on the source and score it on labelled target sentences.",
        f"To {facts.encoder.encoder} the two read alike (A-distance {separability.a_distance:.2f}).",
        (facts.adapt("source-only"),),
    )


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
    if gap is None or gap < thresholds.LOSS_GAP:
        return None
    sentences = facts.target.sentences
    why = f"{facts.encoder.encoder} guesses hidden words of the target worse than the source's (loss {gap:+.2f})."
    if sentences < thresholds.NOTHING_HELD_OUT:
        return None
    if sentences * thresholds.PASSES < thresholds.TUNING_READS:
        why += f" There are {sentences:,} sentences: tuning stops when it has read them {thresholds.PASSES} times."
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


def nothing_to_tune(facts: Facts) -> Suggestion | None:
    """Why domain tuning is not on the list. The loss is no reason: it did not foretell where tuning helps."""
    sentences = facts.target.sentences
    if facts.encoder.loss_gap is None or sentences >= thresholds.NOTHING_HELD_OUT:
        return None
    why = f"{count(sentences, 'target sentence')}: with fewer than {thresholds.NOTHING_HELD_OUT} none is held out."
    return Suggestion("nothing_to_tune", "Leave domain tuning until there is more target text.", why)


def alignment(facts: Facts) -> Suggestion | None:
    """Where features give the domain away, recipes that make them alike have something to do."""
    separability = facts.encoder.separability
    if separability is None or separability.a_distance < thresholds.APART or facts.is_other_task:
        return None
    names = runnable(facts, *(("pdaln", "la-dtl", "datnet") if facts.has_few else ("pdaln", "datnet")))
    if not names:
        return None
    why = f"A linear classifier names the domain of {100 * separability.accuracy:.0f} % of unseen sentences rightly."
    if facts.has_few:
        why += " Labelled target sentences let pdaln exchange entities and teach in rounds."
    measured = MEASURED_WITH_FEW if facts.has_few else MEASURED_WITHOUT
    text = f"Compare recipes that make both domains look alike: {', '.join(names)}. {measured}"
    return Suggestion("alignment", text, why, tuple(facts.adapt(name) for name in names))


def few_labels(facts: Facts) -> Suggestion | None:
    """Labelled target sentences are worth using even where the domains are close."""
    separability = facts.encoder.separability
    if not facts.has_few or (separability is not None and separability.a_distance >= thresholds.APART):
        return None
    names = runnable(facts, "pdaln", "la-dtl", "datnet")
    if not names or facts.is_other_task:
        return None
    why = "These learn from labelled target sentences beside the source's."
    commands = tuple(facts.adapt(name) for name in names)
    return Suggestion("few_labels", f"Compare {', '.join(names)}. {MEASURED_WITH_FEW}", why, commands)


def context(facts: Facts) -> Suggestion | None:
    """Where names are new, they must be told by what stands around them."""
    target = facts.labels.target
    seen = None if target is None else target.mentions_same
    if facts.is_other_task or not runnable(facts, "mat"):
        return None
    if seen is not None and seen < thresholds.SEEN_MENTIONS:
        why = f"The source has shown {100 * seen:.0f} % of the target's entities under the same label."
    elif seen is None and facts.words.unseen_words >= thresholds.MANY_UNSEEN:
        why = f"{100 * facts.words.unseen_words:.0f} % of the target's words do not occur in the source."
    else:
        return None
    text = "Try mat, which hides words so that context must do the work; it needs no target text. From news to seven "
    text += f"targets it brought 0.8 F1 on the mean ({BOARD}), at home 0.5 (docs/explanation/results/mat.md)."
    return Suggestion("context", text, why, (facts.adapt("mat"),))


def self_training(facts: Facts) -> Suggestion | None:
    """Often the first idea, and the one with figures."""
    if not runnable(facts, "self-training"):
        return None
    why = "Bundled news to posts: 38.5 F1 with acclimate-mini, 45.2 for training as long on news alone; it helped only "
    why += "the tagger from random vectors (docs/explanation/results/bundled.md)."
    text = "Do not take self-training without a look at the others."
    return Suggestion("self_training", text, why)


def another_encoder(facts: Facts) -> Suggestion | None:
    """Words in many pieces are words that the encoder's vocabulary was not made for."""
    pieces, given = facts.encoder.pieces, facts.given
    if pieces.target < thresholds.MORE_PIECES * pieces.source:
        return None
    why = f"{facts.encoder.encoder} cuts the target's words into {pieces.target:.2f} pieces, the source's into "
    why += f"{pieces.source:.2f}: its vocabulary was made for other text."
    text = "If there is an encoder for such text, look through that one as well."
    look = shlex.join(["acclimate", "data", "inspect", *given.sources, given.target, "--encoder", "OTHER"])
    return Suggestion("another_encoder", text, why, (look,))


def paragraphs(facts: Facts) -> Suggestion | None:
    """Lines that are no sentences."""
    if facts.target.mean_length < thresholds.PARAGRAPH or facts.target.mean_length < 2 * facts.source.mean_length:
        return None
    why = f"The target's have {facts.target.mean_length:.0f} words on the mean, the source's "
    why += f"{facts.source.mean_length:.0f}."
    text = (
        "See whether the target's lines are paragraphs: --set reading.paragraphs=true splits raw text into sentences."
    )
    return Suggestion("paragraphs", text, why)


RULES: tuple[Callable[[Facts], Suggestion | None], ...] = (
    *(other_names, labels_without_source, paragraphs, alike),  # what is in the way, then what to try
    *(default_recipe, domain_tuning, alignment, few_labels, context, another_encoder, self_training, nothing_to_tune),
    # and what more data would be worth
    *(of_data.extra_text, of_data.weak_labels, of_data.exchange, of_data.weak_support),
    *(of_data.first_labels, of_data.cut_out_labels),
)


def suggestions(facts: Facts) -> tuple[Suggestion, ...]:
    results = (rule(facts) for rule in RULES)
    return tuple(suggestion for suggestion in results if suggestion is not None)

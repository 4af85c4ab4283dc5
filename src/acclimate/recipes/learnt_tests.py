"""Held-out sentences that a run learns from all the same. Only words are looked at, no sentence is left out for it, and
what was found is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from acclimate.data.corpus import Corpus
from acclimate.data.shared_sentences import Shared, texts_in, texts_of
from acclimate.recipes.catalogue import BASELINE, TARGET_ONLY
from acclimate.recipes.recipe import Recipe

TARGET_TEST = "target test"


@dataclass(frozen=True)
class LearntTests:
    """`target` says how much of the target's test was learnt with labels; None without such a test."""

    target: Shared | None
    remarks: tuple[str, ...]


def taught_by(recipe: Recipe, source: Corpus, target_labelled: Corpus | None) -> dict[str, Corpus]:
    """What a recipe learns with labels, by where a sentence of it stands."""
    taught = {
        "in the source": None if recipe is TARGET_ONLY else source,
        "among the labelled target sentences": None if recipe is BASELINE else target_labelled,
    }
    return {where: corpus for where, corpus in taught.items() if corpus is not None}


def look_for_learnt(held_out: Mapping[str, Corpus | None], taught: Mapping[str, Corpus]) -> LearntTests:
    """Held-out parts by their names, and what is learnt by where a sentence of it stands."""
    parts = {name: part for name, part in held_out.items() if part is not None}
    wanted = set().union(*map(texts_of, parts.values()))
    found = {where: texts_in(corpus, wanted) for where, corpus in taught.items()}
    remarks = tuple(
        f"{shared.told(name)} also stand {where}: the score on them measures memory."
        for name, part in parts.items()
        for where, texts in found.items()
        if (shared := Shared.count(part, texts)).is_noteworthy
    )
    test = parts.get(TARGET_TEST)
    return LearntTests(None if test is None else Shared.count(test, set().union(*found.values())), remarks)


def remarks_on_choice(tests: Mapping[str, Corpus | None], judges: Mapping[str, Corpus | None]) -> Iterator[str]:
    """Where the sentences that choose the model are those of a test."""
    for name, test in tests.items():
        for who, judge in judges.items():
            if test is None or judge is None:
                continue
            shared = Shared.count(test, texts_of(judge))
            if shared.is_noteworthy:
                yield f"{shared.told(name)} also stand in the {who}, which chooses the model: their score is too high."


def remarks_on_text(test: Corpus | None, text: Corpus | None) -> Iterator[str]:
    """Adapting to the very text of the test is usual, and worth a word. Compared as it is written: there may be much
    text."""
    if test is None or text is None:
        return
    wanted = {sentence.words for sentence in test}
    found = {sentence.words for sentence in text if sentence.words in wanted}
    shared = Shared(sum(sentence.words in found for sentence in test), len(test))
    if shared.is_most:
        yield f"The target text holds {shared.told(TARGET_TEST)}, without their labels."

"""Text of a composed stage that is edited: all labelled sentences with synonyms in them, or with a few words less."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Literal

from acclimate.data.corpus import Sentence
from acclimate.methods.augmentation.text_edits import delete_span, replace_synonyms
from acclimate.methods.contrastive import Edit
from acclimate.model.tagger import Tagger
from acclimate.recipes.pdaln_edits import synonyms_for
from acclimate.recipes.pdaln_settings import EditSettings
from acclimate.recipes.recipe import Plan

EditName = Literal["synonyms", "deletion"]
Pair = tuple[Sentence, Sentence]


def edited_pairs(name: EditName, tagger: Tagger, plan: Plan, edits: EditSettings, number: int) -> Iterator[Pair]:
    """The labelled sentences of both domains that can be edited, each as it is and as it becomes. `number` is the
    stage's: each has edits of its own."""
    dice = Random(plan.seed * 1_000 + number)
    edit = edit_by(name, tagger, plan, edits)
    for sentence in plan.source.labelled() + plan.target.labelled():
        edited = edit(sentence, dice)
        if edited is not sentence:
            yield sentence, edited


def edit_by(name: EditName, tagger: Tagger, plan: Plan, edits: EditSettings) -> Edit:
    kind = tagger.labels.kind
    if name == "deletion":
        return lambda sentence, dice: delete_span(sentence, dice, edits.edit_share, kind)
    synonyms = synonyms_for(tagger, replace(plan, options=edits))
    return lambda sentence, dice: replace_synonyms(sentence, synonyms, dice, edits.edit_share, kind)

"""The edited twins of PDALN's contrast."""

from __future__ import annotations

import random

from acclimate.data.corpus import Sentence
from acclimate.methods.contrastive import Edit
from acclimate.model.tagger import Tagger
from acclimate.recipes.recipe import Plan


def edit_for(tagger: Tagger, plan: Plan) -> Edit:
    def edit(sentence: Sentence, dice: random.Random) -> Sentence:
        place = int(dice.random() * len(sentence))
        return Sentence((*sentence.words[:place], *sentence.words[place + 1 :])) if len(sentence) > 1 else sentence

    return edit

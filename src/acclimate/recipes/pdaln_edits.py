"""The edited twins of PDALN's contrast: synonyms in the place of some words, or a few words less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from random import Random
from typing import Literal

import torch
from pydantic import Field

from acclimate.data.corpus import Sentence
from acclimate.methods.augmentation.synonyms import NearestWords, Synonyms, open_synonyms
from acclimate.methods.augmentation.text_edits import edit_text, replace_synonyms
from acclimate.methods.contrastive import Edit
from acclimate.model.encoders.character_cnn_lstm import CharacterCnnLstm
from acclimate.model.encoders.encoder import Encoder
from acclimate.model.tagger import Tagger
from acclimate.recipes.recipe import Plan
from acclimate.settings import Settings, UsageError

ONLY_DELETION = (
    "The contrast edited sentences by leaving words out, never by synonyms: the tagger's word table began without "
    "vectors. For synonyms, name a source of them (synonyms, wordnet or vectors) or set tagger.lstm.vectors."
)


class EditSettings(Settings):
    """How much of a sentence is edited, and where synonyms come from."""

    edit_share: float = Field(0.2, gt=0, le=1)
    """Share of the words of a sentence to change."""
    synonyms: str | None = None
    """File of synonyms, one line per word: word<TAB>synonym,synonym; null: none."""
    wordnet: str | None = None
    """Folder with the WordNet files; null: none."""
    vectors: str | None = None
    """Word vectors whose nearest neighbours serve as synonyms; null: the encoder's, if no synonym file is given."""


class ContrastSettings(EditSettings):
    """How sentences are told from one another, and what makes their twins."""

    temperature: float = Field(0.05, gt=0)
    """Temperature of the contrastive loss L_c."""
    vector_size: int = Field(128, ge=1)
    """Size of the projected sentence vectors that L_c compares."""
    normalise: bool = True
    """Scale the vectors that L_c compares to length 1."""
    symmetric: bool = False
    """Also compute L_c in the other direction, from the edited sentence to the original, and average both."""
    edits: Literal["both", "synonyms", "deletion"] = "both"
    """How L_c creates the edited copy of a sentence: synonyms, deletion, or both."""


def edit_for(tagger: Tagger, plan: Plan) -> Edit:
    options: ContrastSettings = plan.options
    share, kind = options.edit_share, tagger.labels.kind
    wanted = options.edits == "synonyms" or (options.edits == "both" and knows_synonyms(tagger, options))
    synonyms = synonyms_for(tagger, plan) if wanted else None

    def edit(sentence: Sentence, dice: Random) -> Sentence:
        if options.edits == "synonyms" and synonyms is not None:
            return replace_synonyms(sentence, synonyms, dice, share, kind)
        return edit_text(sentence, dice, synonyms, share, kind)  # without synonyms it leaves words out

    return edit


def synonyms_for(tagger: Tagger, plan: Plan) -> Synonyms:
    """From the files that are named, or else from the vectors that the encoder began with."""
    options: EditSettings = plan.options
    words = {word for corpus in (plan.source, plan.target) for word in corpus.vocabulary}
    if is_named(options):
        return open_synonyms(options.synonyms, options.wordnet, options.vectors, words)
    if not knows_synonyms(tagger, options):
        raise UsageError(
            "this tagger knows no synonyms: its word table begins at random, and an untrained table has no neighbours. "
            "Name a source (synonyms, wordnet or vectors), or give the tagger vectors: tagger.lstm.vectors=glove."
        )
    encoder = tagger.encoder
    if isinstance(encoder, CharacterCnnLstm):  # its table has random rows as well, of words without a vector
        return open_synonyms(vectors=encoder.settings.vectors, words=words)
    return nearest_in(encoder, words)


def knows_synonyms(tagger: Tagger, options: EditSettings) -> bool:
    """Whether there is a source: files, or vectors that the encoder began with. The LSTM's table may have none."""
    encoder = tagger.encoder
    return is_named(options) or not isinstance(encoder, CharacterCnnLstm) or encoder.settings.vectors is not None


def is_named(options: EditSettings) -> bool:
    return (options.synonyms, options.wordnet, options.vectors) != (None, None, None)


def only_deletes(tagger: Tagger, options: ContrastSettings) -> bool:
    """Whether sentences were to be edited in two ways, and can be edited in one only."""
    return options.edits == "both" and not knows_synonyms(tagger, options)


@torch.no_grad()
def nearest_in(encoder: Encoder, words: Collection[str]) -> NearestWords:
    """Neighbours in the encoder's own table, of words that are one piece: the mean of several says how a word is
    spelled, not how it is used. Words that share one vector are those that the encoder does not know."""
    listed = sorted({word.lower() for word in words if word.isalpha()})
    listed = [word for word, size in zip(listed, encoder.sizes_of(listed), strict=True) if size == 1]
    if not listed:
        return NearestWords({})
    vectors = encoder.vectors_of(listed).float().cpu()  # (word, size)
    keys = [row.tobytes() for row in vectors.numpy()]
    seen = Counter(keys)
    return NearestWords({word: row for word, row, key in zip(listed, vectors, keys, strict=True) if seen[key] == 1})

"""The settings of one run: which recipe, which tagger, how it is trained. Not which corpora: those are a `Task`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from acclimate.model.encoders.character_cnn_lstm import CharacterCnnLstmSettings
from acclimate.model.encoders.transformer import TransformerSettings
from acclimate.model.tagger import DEFAULT_ENCODER
from acclimate.recipes.catalogue import default_recipe
from acclimate.settings import Seed, Settings
from acclimate.training.settings import TrainingSettings

SelectorName = Literal["auto", "source-dev", "target-dev", "last"]


class TaggerSettings(Settings):
    """Which tagger."""

    encoder: str = DEFAULT_ENCODER
    """acclimate-mini, character-cnn-lstm, or a Hugging Face model by name or folder."""
    head: Literal["crf", "softmax"] = "crf"
    """What scores whole tag sequences (crf), or each word alone (softmax)."""
    boundary_scores: bool = False
    """CRF: scores for the first and the last tag of a sentence."""
    constrain_training: bool = False
    """CRF: illegal tags get no probability in training either, not only when decoding."""
    scheme: Literal["IOB2", "BIOES"] | None = None
    """Tag scheme inside the tagger; null: BIOES for the LSTM, IOB2 otherwise."""
    lstm: CharacterCnnLstmSettings = CharacterCnnLstmSettings()
    """Settings of character-cnn-lstm."""
    transformer: TransformerSettings = TransformerSettings()
    """Settings of a pre-trained encoder."""


class SharedSettings(Settings):
    """What all runs of a comparison have in common."""

    select: SelectorName = "auto"
    """What chooses the state to keep: source-dev, target-dev or last; auto: what fits the recipe."""
    train_on_dev: bool = False
    """Learn from the source dev sentences, too, and keep the last state."""
    share: float = Field(1.0, gt=0, le=1)
    """Share of every stage's updates that is made; below 1 for a first look."""
    tagger: TaggerSettings = TaggerSettings()
    """The tagger: its encoder and its head."""
    training: TrainingSettings = TrainingSettings()
    """How the tagger is trained."""


class RunSettings(SharedSettings):
    """One run: a recipe with a seed."""

    recipe: str = default_recipe()
    """How to adapt: a name that `acclimate info recipes` lists, or auto."""
    options: dict[str, Any] = Field(default_factory=dict)
    """The recipe's own settings."""
    seed: Seed = 1
    """Seed of everything random."""

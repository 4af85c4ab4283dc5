"""The settings of one run: which recipe, which tagger, how it is trained. Not which corpora: those are a `Task`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from acclimate.model.encoders.character_cnn_lstm import CharacterCnnLstmSettings
from acclimate.model.encoders.transformer import TransformerSettings
from acclimate.model.tagger import DEFAULT_ENCODER
from acclimate.recipes.catalogue import RecipeNames, default_recipe
from acclimate.settings import Seed, Settings
from acclimate.training.settings import TrainingSettings

SelectorName = Literal["auto", "source-dev", "target-dev", "last"]


class TaggerSettings(Settings):
    """Which tagger."""

    start: str | None = None
    """Trained tagger to start from, in place of a new one: its folder, or the name of a shipped one; null: none."""
    encoder: str = DEFAULT_ENCODER
    """Encoder: acclimate-mini, character-cnn-lstm, or the name or folder of a Hugging Face model."""
    head: Literal["crf", "softmax"] = "crf"
    """Output layer: crf scores whole tag sequences, softmax scores each word separately."""
    boundary_scores: bool = False
    """With crf: learn scores for the first and the last tag of a sentence."""
    constrain_training: bool = False
    """With crf: forbid illegal tag sequences in training as well as in decoding."""
    scheme: Literal["IOB2", "BIOES"] | None = None
    """Tag scheme that the tagger predicts; null: BIOES for the LSTM, IOB2 otherwise."""
    lstm: CharacterCnnLstmSettings = CharacterCnnLstmSettings()
    """Settings of character-cnn-lstm."""
    transformer: TransformerSettings = TransformerSettings()
    """Settings of a pre-trained encoder."""


class SourcesSettings(Settings):
    """How several sources are learnt from; with one source none of it matters."""

    smoothing: float = Field(1.0, ge=0, le=1)
    """How often a source is seen: in proportion to its size (1), to its square root (0.5), or all alike (0)."""
    weights: dict[str, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)
    """Factors by source name: 2 shows a source twice as often as its size says; others have 1."""
    hidden_odds: float = Field(0.1, gt=0, le=1)
    """Odds that a word outside of names is of a type that its corpus does not annotate: 1 leaves it quite open."""
    heads: bool = False
    """In training, give each source an output layer of its own beside the shared one, which predicts."""


class SharedSettings(Settings):
    """What all runs of a comparison have in common."""

    select: SelectorName = "auto"
    """How to choose the checkpoint: source-dev, target-dev or last; auto: what suits the recipe."""
    train_on_dev: bool = False
    """Add the source dev sentences to the training data, and keep the last checkpoint."""
    share: float = Field(1.0, gt=0, le=1)
    """Share of every stage's updates to run; a value below 1 gives a quick first result."""
    sources: SourcesSettings = SourcesSettings()
    """How several sources are learnt from."""
    tagger: TaggerSettings = TaggerSettings()
    """Encoder and output layer of the tagger."""
    training: TrainingSettings = TrainingSettings()
    """How the tagger is trained."""


class RunSettings(SharedSettings):
    """One run: a recipe with a seed."""

    recipe: str = default_recipe()
    """Adaptation method: a name listed by `acclimate info recipes`, a Python file that makes a Recipe, or auto."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Settings of the recipe."""
    seed: Seed = 1
    """Random seed."""


class CommitteeSettings(Settings):
    """Several taggers whose answers on the target's text one student learns."""

    members: int = Field(0, ge=0)
    """Number of taggers to train, each with its own seed; a student learns their answers. 0: no committee."""
    recipes: RecipeNames = ()
    """Recipes of the members, taken in turn; empty: all have the run's own recipe."""
    labels: Literal["vote", "marginals"] = "vote"
    """What the student learns: spans that all members found, other words left open, or their mean probabilities."""
    warm_start: bool = False
    """Let the student begin with the weights of the first member, in place of a new tagger."""
    jobs: int = Field(1, ge=1)
    """Number of members trained side by side, each in a process with one thread."""
    keep: bool = False
    """Keep the members, in the folder members of the run."""

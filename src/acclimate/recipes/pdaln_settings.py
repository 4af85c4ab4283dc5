"""What can be set about PDALN."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from acclimate.methods.distillation import Chances
from acclimate.recipes.mat import RadiusSettings
from acclimate.settings import Settings

Variant = Literal["distillation", "mean-teacher", "vat", "none"]


class MeanTeacherSettings(Settings):
    """The variant `mean-teacher`."""

    weight: float = Field(10.0, ge=0)
    """Weight of agreeing with the teacher."""
    decay: float = Field(0.99, ge=0, le=1)
    """How much of the teacher stays at an update, in the first updates."""
    later: float = Field(0.995, ge=0, le=1)
    """How much of the teacher stays at an update, after those."""
    warm_up: int = Field(300, ge=0)
    """How many updates count as the first; the weight rises as long."""


class VirtualSettings(Settings):
    """The variant `vat`."""

    weight: float = Field(1.0, ge=0)
    """Weight of agreeing under noise."""
    kind: Literal["bond", "mat"] = "bond"
    """bond: divergence both ways, under noise of size `step`; mat: one way, under noise of size `radius`."""
    trial: float = Field(1e-5, gt=0)
    """For bond: deviation of the random noise at which the gradient is taken."""
    step: float = Field(1e-2, gt=0)
    """For bond: the largest number of the noise; its authors' 1e-3 hardly moves a small encoder's tags."""
    radius: RadiusSettings = RadiusSettings()
    """For mat: size of the noise."""


class EditSettings(Settings):
    """How much of a sentence is edited, and where synonyms come from."""

    edit_share: float = Field(0.2, gt=0, le=1)
    """Share of a sentence's words that change."""
    synonyms: str | None = None
    """A file of synonyms, with lines word<TAB>synonym,synonym."""
    wordnet: str | None = None
    """A folder with WordNet's files."""
    vectors: str | None = None
    """Word vectors whose neighbours stand in as synonyms; null: the encoder's own, where nothing is named."""


class ContrastSettings(EditSettings):
    """How sentences are told from one another, and what makes their twins."""

    temperature: float = Field(0.05, gt=0)
    """Temperature of the contrastive loss L_c."""
    vector_size: int = Field(128, ge=1)
    """Width of what L_c compares."""
    normalise: bool = True
    """Scale what L_c compares to length 1."""
    symmetric: bool = False
    """The edited sentence looks for its original, too."""
    edits: Literal["both", "synonyms", "deletion"] = "both"
    """What makes a sentence's twin for L_c: synonyms, deletion, or both."""


class AnchorSettings(Settings):
    """How many sentences with entities of the other domain are made."""

    target_variants: int = Field(4, ge=0)
    """Variants of each labelled target sentence."""
    source_variants: int = Field(2, ge=0)
    """Variants of each source sentence that is taken."""
    source_sentences: int | None = Field(500, ge=1)
    """Source sentences taken in a round; null: all."""
    ratio: float | None = Field(None, ge=0)
    """Source sentences for each target sentence, instead of a fixed number."""
    all_entities: bool = False
    """Exchange all of a sentence's entities, not one."""


class PdalnSettings(ContrastSettings, AnchorSettings):
    """How much each term counts (0 leaves it out), how text is augmented, and who teaches in the rounds."""

    alpha: float = Field(0.1, ge=0)
    """Weight of L_d, which makes sentences alike; the paper's alpha' where there are no target labels."""
    beta: float = Field(0.1, ge=0)
    """Weight of L_w, which makes words of one tag alike; only with labelled target sentences."""
    contrast: float = Field(1.0, ge=0)
    """Weight of the contrastive loss L_c."""
    gamma: float = Field(0.75, ge=0, le=1)
    """Weight of the teacher in a round; the other terms have what is left."""
    variant: Variant = "distillation"
    """What is done in the rounds beside equation 10: distillation, mean-teacher, vat or none."""
    mu: float | dict[str, float] = 0.25
    """Weight of a tag in L_w: one for all, or by tag."""
    unbiased: bool = False
    """Leave a point's likeness to itself out of both discrepancies."""
    scale_free: bool = False
    """In both discrepancies, features that shrink to a point win nothing."""
    most_words: int = Field(256, ge=1)
    """Words of one tag and domain that L_w looks at in a batch, at most."""
    chances: Chances = "marginals"
    """What teacher and student compare: marginals, or the softmax of each word's own scores."""
    rounds: int = Field(3, ge=0)
    """How many rounds."""
    round_epochs: float = Field(4.0, gt=0)
    """Passes over a round's text."""
    round_rate: float = Field(0.25, gt=0)
    """Learning rate of a round, as a share of the run's."""
    round_looks: int = Field(8, ge=1)
    """Evaluations of a round by the run's selector, at least."""
    keep_best: bool = False
    """Undo a round that the run's selector finds worse; else take every round as it is."""
    patience: int = Field(1, ge=0)
    """Rounds in a row that may be undone, each next one with other text; 0: stop at once."""
    augment: bool = True
    """Exchange entities; else rounds take source and labelled target sentences as they are."""
    augmented_only: bool = False
    """In a round, learn tags from augmented sentences alone."""
    mean_teacher: MeanTeacherSettings = MeanTeacherSettings()
    """Settings of the variant mean-teacher."""
    virtual: VirtualSettings = VirtualSettings()
    """Settings of the variant vat, virtual adversarial training."""

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
    decay: float = Field(0.99, ge=0, le=1)  # how much of the teacher stays at an update
    later: float = Field(0.995, ge=0, le=1)  # and after the first of them
    warm_up: int = Field(300, ge=0)  # updates until then; the weight rises as long


class VirtualSettings(Settings):
    """The variant `vat`."""

    weight: float = Field(1.0, ge=0)
    # bond: the divergence both ways, under noise whose largest number in each token is `step`; mat: one way, and noise
    # of the size `radius` in each sentence
    kind: Literal["bond", "mat"] = "bond"
    trial: float = Field(1e-5, gt=0)  # bond: deviation of the random noise at which the gradient is taken
    step: float = Field(1e-2, gt=0)  # bond; its authors' 1e-3 leaves a small encoder's tags all but where they are
    radius: RadiusSettings = RadiusSettings()  # mat


class EditSettings(Settings):
    """How much of a sentence is edited, and where synonyms come from."""

    edit_share: float = Field(0.2, gt=0, le=1)  # of its words, that change
    synonyms: str | None = None  # a file of lines word<TAB>synonym,synonym
    wordnet: str | None = None  # a folder with WordNet's files
    vectors: str | None = None  # word vectors, whose neighbours do; the encoder's own where nothing is named


class ContrastSettings(EditSettings):
    """How sentences are told from one another, and what makes their twins."""

    temperature: float = Field(0.05, gt=0)  # of L_c
    vector_size: int = Field(128, ge=1)  # of what L_c compares
    normalise: bool = True  # to length 1, what L_c compares
    symmetric: bool = False  # the edited sentence looks for its original as well
    edits: Literal["both", "synonyms", "deletion"] = "both"  # what makes a sentence's twin for L_c


class AnchorSettings(Settings):
    """How many sentences with entities of the other domain are made."""

    target_variants: int = Field(4, ge=0)  # of each labelled target sentence
    source_variants: int = Field(2, ge=0)  # of each source sentence that is taken
    source_sentences: int | None = Field(500, ge=1)  # taken in a round; null: all
    ratio: float | None = Field(None, ge=0)  # source sentences for each target sentence, instead
    all_entities: bool = False  # exchange all of a sentence's entities, not one


class PdalnSettings(ContrastSettings, AnchorSettings):
    """How much each term counts (0 leaves it out), how text is augmented, and who teaches in the rounds."""

    alpha: float = Field(0.1, ge=0)  # of L_d, sentences made alike; the paper's alpha' where there are no target labels
    beta: float = Field(0.1, ge=0)  # of L_w, words of each tag made alike; only with labelled target sentences
    contrast: float = Field(1.0, ge=0)  # of L_c
    gamma: float = Field(0.75, ge=0, le=1)  # of the teacher in a round; the other terms have what is left
    variant: Variant = "distillation"  # what is done in the rounds beside equation 10
    mu: float | dict[str, float] = 0.25  # weight of a tag in L_w: one for all, or by tag
    unbiased: bool = False  # leave a point's likeness to itself out of both discrepancies
    scale_free: bool = False  # in both discrepancies nothing is won by features that shrink to a point
    most_words: int = Field(256, ge=1)  # of one tag and domain, that L_w looks at in a batch
    chances: Chances = "marginals"  # what teacher and student compare; or softmax, of each word's own scores
    rounds: int = Field(3, ge=0)
    round_epochs: float = Field(4.0, gt=0)  # passes over a round's text
    round_rate: float = Field(0.25, gt=0)  # learning rate of a round, as a share of the run's
    round_looks: int = Field(8, ge=1)  # at the run's selector in a round, at least: many looks chose what it must beat
    keep_best: bool = False  # undo a round that the run's selector finds worse; or take every round as it is
    patience: int = Field(1, ge=0)  # rounds in a row that may be undone; each next one has other text. 0: stop at once
    augment: bool = True  # exchange entities; or rounds take source and labelled target sentences as they are
    augmented_only: bool = False  # in a round, tags are learnt from augmented sentences alone
    mean_teacher: MeanTeacherSettings = MeanTeacherSettings()
    virtual: VirtualSettings = VirtualSettings()

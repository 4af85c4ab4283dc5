"""The masking policies by name, and their settings. A new policy is a class and one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from acclimate.data.collocations import Collocations, Measure, build_collocations
from acclimate.data.corpus import Corpus
from acclimate.inference.part_of_speech import part_of_speech_tagger
from acclimate.methods.masking.adversarial import Adversarial, Estimator
from acclimate.methods.masking.policy import (
    CONTENT,
    DensityRatio,
    Entropy,
    Mixture,
    PartOfSpeech,
    Policy,
    Uniform,
    piece_counts,
)
from acclimate.methods.masking.word_runs import collocations, spans
from acclimate.model.encoders.transformer import Transformer
from acclimate.settings import Settings, UsageError
from acclimate.spelling import did_you_mean

MIXED = "mix-"


class AdversarySettings(Settings):
    """The mask generator and how it learns."""

    beta: float = Field(0.3, ge=0, le=1)
    """Probability that the adversary is trained in an update."""
    estimator: Estimator = "score"
    """Gradient estimator of the adversary: score, or gumbel-path (as in the paper, biased)."""
    temperature: float = Field(1.0, gt=0)
    """Temperature of the relaxed samples in gumbel-path."""
    paper_boundary: bool = False
    """Use equation 12 exactly as printed in the paper, which gives a distribution biased towards early words."""
    inner: int = Field(256, ge=1)
    """Width of the adversary's two hidden layers."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout in the adversary's hidden layers."""


class PartOfSpeechSettings(Settings):
    """Which words count as content, and how much more they weigh."""

    tagger: str = "acclimate"
    """Part-of-speech tagger: acclimate, spacy, spacy:MODEL, or the folder of a tagger with plain tags."""
    content: tuple[str, ...] = CONTENT
    """Parts of speech that count as content words; add PROPN to include names."""
    weight: float = Field(0.8, gt=0)
    """Sampling weight of content words."""
    other: float = Field(0.2, ge=0)
    """Sampling weight of all other words."""


class CollocationSettings(Settings):
    """Words that belong together: which count as such."""

    file: str | None = None
    """File written by `acclimate data collocations`; null: count collocations in the training text."""
    lengths: tuple[int, ...] = Field((2, 3, 4), min_length=1)
    """Lengths of collocations to count, in words."""
    at_least: int = Field(5, ge=1)
    """Minimum number of occurrences of a collocation."""
    size: int | None = Field(None, ge=1)
    """Number of collocations to keep, those with the highest association score first; null: all."""
    measure: Measure = "levine"
    """Association score: levine, squared (prefers frequent ones) or unigrams (compares with single words only)."""
    lower_case: bool = False
    """Ignore case when counting collocations."""
    ranked: bool = False
    """Hide the highest-scoring collocations first, as in the paper, so that each pass hides the same words."""
    whole: bool = False
    """Skip a collocation that exceeds the remaining masking budget; false: hide only a part of it."""


class PolicySettings(Settings):
    """Settings of the policies; each reads its own."""

    mixed: float = Field(0.5, gt=0, le=1)
    """With a mixture: share of sentences masked by the named policy; the others are masked at random."""
    adversary: AdversarySettings = AdversarySettings()
    """Settings of the learned adversary."""
    parts_of_speech: PartOfSpeechSettings = PartOfSpeechSettings()
    """Settings of masking by part of speech."""
    entropy: Literal["proportional", "top"] = "proportional"
    """Sample words in proportion to the encoder's entropy (proportional), or take those with the highest (top)."""
    spans: tuple[int, ...] = Field((2, 3, 4), min_length=1)
    """Lengths of random spans in words, each equally likely."""
    collocations: CollocationSettings = CollocationSettings()
    """Settings of masking by collocation."""


@dataclass(frozen=True)
class PolicyContext:
    """What a policy is built on."""

    encoder: Transformer
    source: Corpus | None
    target: Corpus
    settings: PolicySettings
    device: str = "cpu"  # where the training will be


def _part_of_speech(context: PolicyContext) -> Policy:
    chosen = context.settings.parts_of_speech
    tagger = part_of_speech_tagger(chosen.tagger, context.device)
    return PartOfSpeech(tagger, chosen.content, chosen.weight, chosen.other)


def _adversarial(context: PolicyContext) -> Policy:
    return Adversarial(context.encoder.state_width, **context.settings.adversary.model_dump())


def _density_ratio(context: PolicyContext) -> Policy:
    texts = context.source or Corpus(()), context.target
    return DensityRatio(*(piece_counts(context.encoder, text) for text in texts))


def _collocations(context: PolicyContext) -> Policy:
    chosen = context.settings.collocations
    if chosen.file is not None:
        listed = Collocations.load(chosen.file)
        if not len(listed):
            raise UsageError(
                f"{chosen.file} lists no collocation: there is nothing to hide by. Make it anew from more text, or "
                "with a smaller at_least (acclimate data collocations), or choose another masking."
            )
        return collocations(listed, chosen.ranked, chosen.whole)
    texts = [corpus for corpus in (context.source, context.target) if corpus is not None]
    counted = build_collocations(
        (sentence.words for corpus in texts for sentence in corpus),
        chosen.at_least,
        chosen.size,
        chosen.lengths,
        measure=chosen.measure,
        lower_case=chosen.lower_case,
    )
    return collocations(counted, chosen.ranked, chosen.whole)


POLICIES: dict[str, Callable[[PolicyContext], Policy]] = {
    "random": lambda context: Uniform(),
    "whole-words": lambda context: Uniform(whole_words=True),
    "pos": _part_of_speech,
    "entropy": lambda context: Entropy(context.settings.entropy),
    "adversarial": _adversarial,
    "density-ratio": _density_ratio,
    "span": lambda context: spans(context.settings.spans),
    "pmi": _collocations,
}


COUNTING = ("density-ratio", "pmi")  # policies that count words in the text before they begin


def policy_names() -> list[str]:
    """Every name that `build_policy` takes: each policy, and each but plain chance mixed with it."""
    return [*POLICIES, *(f"{MIXED}{name}" for name in POLICIES if name != "random")]


def known_policy(name: str) -> str:
    """The name, if there is such a policy."""
    if name in policy_names():
        return name
    raise UsageError(
        f"Unknown masking {name!r}.{did_you_mean(name, policy_names())} Known: {', '.join(policy_names())}."
    )


def require_texts(name: str, source: Corpus | None, target: Corpus) -> None:
    """Refuse a policy that compares two domains where one of them has no text."""
    for domain, text in (("source", source), ("target", target)):
        if name.removeprefix(MIXED) == "density-ratio" and not text:
            raise UsageError(f"Masking by density ratio compares two domains: give {domain} text as well.")


def build_policy(name: str, context: PolicyContext) -> Policy:
    known_policy(name)
    require_texts(name, context.source, context.target)
    policy = POLICIES[name.removeprefix(MIXED)](context)
    return Mixture(policy, context.settings.mixed) if name.startswith(MIXED) else policy

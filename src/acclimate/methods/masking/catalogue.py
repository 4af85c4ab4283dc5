"""The policies by the names people type, and their settings. To add one is to add one file and one line here."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from acclimate.data.collocations import Collocations, build_collocations, usual_shares
from acclimate.data.corpus import Corpus
from acclimate.data.ngrams import Measure
from acclimate.inference.part_of_speech import part_of_speech_tagger
from acclimate.methods.masking import runs_of_words
from acclimate.methods.masking.adversarial import Adversarial, Estimator
from acclimate.methods.masking.density_ratio import DensityRatio, piece_counts
from acclimate.methods.masking.entropy import Entropy
from acclimate.methods.masking.mixture import Mixture
from acclimate.methods.masking.part_of_speech import CONTENT, PartOfSpeech
from acclimate.methods.masking.policy import Policy
from acclimate.methods.masking.uniform import Uniform
from acclimate.model.encoders.transformer import Transformer
from acclimate.settings import Settings, UsageError

MIXED = "mix-"


class AdversarySettings(Settings):
    """The puzzle generator and how it learns."""

    beta: float = Field(0.3, ge=0, le=1)  # share of the updates at which it learns
    estimator: Estimator = "score"  # score, gumbel-path (the paper's, biased) or relaxed
    temperature: float = Field(1.0, gt=0)  # of the softened choices of the last two
    paper_boundary: bool = False  # the paper's Eq. 12 as printed: another law, which prefers early words
    inner: int = Field(256, ge=1)  # width of its two layers
    dropout: float = Field(0.1, ge=0, lt=1)


class PartOfSpeechSettings(Settings):
    """Which words count as content, and how much more they weigh."""

    tagger: str = "acclimate"  # or spacy, spacy:MODEL, or the folder of a tagger of plain tags
    content: tuple[str, ...] = CONTENT  # add PROPN for names
    weight: float = Field(0.8, gt=0)
    other: float = Field(0.2, ge=0)


class CollocationSettings(Settings):
    """Words that belong together: which count as such."""

    file: str | None = None  # what `acclimate collocations` wrote; counted in the text itself when not given
    lengths: tuple[int, ...] = Field((2, 3, 4), min_length=1)  # words of a collocation
    at_least: int = Field(5, ge=1)  # times seen
    size: int | None = Field(None, ge=1)  # how many to keep, the most tightly bound first
    measure: Measure = "levine"  # or squared, which prefers frequent ones, or unigrams: cut into single words only
    lower_case: bool = False
    ranked: bool = False  # the paper's order: the most tightly bound first, the same words each time
    whole: bool = False  # pass over what no longer fits into the budget instead of cutting it


class PolicySettings(Settings):
    """What the policies can be told. Each reads its own."""

    mixed: float = Field(0.5, gt=0, le=1)  # share of sentences for the named policy in a mixture
    adversary: AdversarySettings = AdversarySettings()
    parts_of_speech: PartOfSpeechSettings = PartOfSpeechSettings()
    entropy: Literal["proportional", "top"] = "proportional"
    spans: tuple[int, ...] = Field((2, 3, 4), min_length=1)  # lengths of random runs of words, all with equal chance
    collocations: CollocationSettings = CollocationSettings()


@dataclass(frozen=True)
class Ground:
    """What a policy is built on."""

    encoder: Transformer
    source: Corpus | None
    target: Corpus
    settings: PolicySettings
    device: str = "cpu"  # where the training will be


def _part_of_speech(ground: Ground) -> Policy:
    chosen = ground.settings.parts_of_speech
    tagger = part_of_speech_tagger(chosen.tagger, ground.device)
    return PartOfSpeech(tagger, chosen.content, chosen.weight, chosen.other)


def _adversarial(ground: Ground) -> Policy:
    encoder, chosen = ground.encoder, ground.settings.adversary
    return Adversarial(encoder.state_width, encoder.pieces.tokenizer.mask_token_id, **chosen.model_dump())


def _density_ratio(ground: Ground) -> Policy:
    texts = ground.source or Corpus(()), ground.target
    return DensityRatio(*(piece_counts(ground.encoder, text) for text in texts))


def _collocations(ground: Ground) -> Policy:
    chosen = ground.settings.collocations
    if chosen.file is not None:
        listed = Collocations.load(chosen.file)
        if not len(listed):
            raise UsageError(
                f"{chosen.file} lists no collocation: there is nothing to hide by. Make it anew from more text, or "
                "with a smaller --at-least (acclimate collocations), or choose another masking."
            )
        return runs_of_words.collocations(listed, chosen.ranked, chosen.whole)
    texts = [corpus for corpus in (ground.source, ground.target) if corpus is not None]
    counted = build_collocations(
        (sentence.words for corpus in texts for sentence in corpus),
        chosen.at_least,
        chosen.size,
        usual_shares(chosen.lengths),
        measure=chosen.measure,
        lower_case=chosen.lower_case,
    )
    return runs_of_words.collocations(counted, chosen.ranked, chosen.whole)


POLICIES: dict[str, Callable[[Ground], Policy]] = {
    "random": lambda ground: Uniform(),
    "whole-words": lambda ground: Uniform(whole_words=True),
    "pos": _part_of_speech,
    "entropy": lambda ground: Entropy(ground.settings.entropy),
    "adversarial": _adversarial,
    "density-ratio": _density_ratio,
    "span": lambda ground: runs_of_words.spans(ground.settings.spans),
    "pmi": _collocations,
}


def policy_names() -> list[str]:
    """Every name that `build_policy` takes: each policy, and each but plain chance mixed with it."""
    return [*POLICIES, *(f"{MIXED}{name}" for name in POLICIES if name != "random")]


def known_policy(name: str) -> str:
    """The name, if there is such a policy."""
    if name in policy_names():
        return name
    close = difflib.get_close_matches(name, policy_names(), n=1)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    raise UsageError(f"Unknown masking {name!r}. {hint}Known: {', '.join(policy_names())}.")


def require_texts(name: str, source: Corpus | None, target: Corpus) -> None:
    """Refuse a policy that compares two domains where one of them has no text: all its chances would be the same."""
    for domain, text in (("source", source), ("target", target)):
        if name.removeprefix(MIXED) == "density-ratio" and not text:
            raise UsageError(f"Masking by density ratio compares two domains: give {domain} text as well.")


def build_policy(name: str, ground: Ground) -> Policy:
    known_policy(name)
    require_texts(name, ground.source, ground.target)
    policy = POLICIES[name.removeprefix(MIXED)](ground)
    return Mixture(policy, ground.settings.mixed) if name.startswith(MIXED) else policy

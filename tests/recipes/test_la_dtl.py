"""La-DTL: tagging of both domains, and words of one tag alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acclimate.data.corpus import Corpus
from acclimate.methods.alignment.mmd import BANK, WordDiscrepancy
from acclimate.model.tagger import Tagger
from acclimate.recipes.baselines import LaDtlSettings, la_dtl
from acclimate.recipes.recipe import Plan
from acclimate.runs.train import adapt
from acclimate.settings import UsageError
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Stage


def stage_of(tagger: Tagger, news: Corpus, target: Corpus, **options: Any) -> Stage:
    (stage,) = la_dtl(tagger, Plan(news, target, TrainingSettings(updates=1), LaDtlSettings(**options), 1))
    return stage


def test_its_own_kernels_weight_and_floor_are_used(build: Callable[..., Tagger], news: Corpus, tweets: Corpus) -> None:
    stage = stage_of(build(), news, tweets[4:].unlabelled() + tweets[:4])
    words = stage.objectives["words"]
    assert isinstance(words, WordDiscrepancy)
    assert (words.kernel, words.usual, words.floor, words.unbiased) == (BANK, 0.02, 1e-4, False)
    assert set(tweets[:4].sentences).issuperset(stage.batches.batch(0)["target"])


def test_of_weight_zero_it_is_not_there(build: Callable[..., Tagger], news: Corpus, tweets: Corpus) -> None:
    assert set(stage_of(build(), news, tweets, weight=0).objectives) == {"tag"}


def test_it_needs_labelled_target_sentences(build: Callable[..., Tagger], news: Corpus, tweets: Corpus) -> None:
    with pytest.raises(UsageError, match="learns from labelled target sentences"):
        adapt(build(), news, tweets.unlabelled(), "la-dtl")

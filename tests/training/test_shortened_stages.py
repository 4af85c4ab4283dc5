"""Stages with less of their updates: what a first look makes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from acclimate.data.batches import SOURCE, Batches
from acclimate.data.corpus import Corpus
from acclimate.methods.objective import Tagging
from acclimate.model.tagger import Tagger
from acclimate.runs.train import adapt
from acclimate.settings import UsageError
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Stage

TRAINING = {"updates": 8, "words_per_batch": 60}


@pytest.mark.parametrize(("share", "updates", "evaluations"), [(1.0, 20, 10), (0.5, 10, 5), (0.26, 5, 3), (1e-6, 1, 1)])
def test_updates_and_looks_become_fewer_and_never_none(
    news: Corpus, share: float, updates: int, evaluations: int
) -> None:
    settings = TrainingSettings(updates=20, evaluate_every=10)
    short = Stage("a", {"tag": Tagging()}, Batches({SOURCE: news}), settings).shortened(share)
    assert (short.updates, short.evaluate_every) == (updates, evaluations)


def test_epochs_are_shortened_as_well(news: Corpus) -> None:
    stage = Stage("a", {"tag": Tagging()}, Batches({SOURCE: news}, 40), TrainingSettings(epochs=4))
    assert stage.shortened(0.5).updates == round(stage.updates / 2)


def test_a_shortened_run_is_the_run_of_so_many_updates(build: Callable[..., Tagger], same_weights, news) -> None:
    short, plain = build(), build()
    adapt(short, news, None, training=TRAINING, select="last", shortened=0.5)
    adapt(plain, news, None, training={**TRAINING, "updates": 4}, select="last")
    assert same_weights(short, plain)


def test_a_folder_is_not_gone_on_with_at_another_length(build: Callable[..., Tagger], news, tmp_path: Path) -> None:
    adapt(build(), news, None, training=TRAINING, select="last", out=tmp_path, shortened=0.5)
    with pytest.raises(UsageError, match=r"share: 0\.5 then, 1\.0 now"):
        adapt(build(), news, None, training=TRAINING, select="last", out=tmp_path)

"""A stage: objectives, their weights, and when to look."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from acclimate.data.batches import Batches
from acclimate.data.corpus import Corpus
from acclimate.methods.objective import Tagging
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Stage


def stage_of(news: Corpus, **given: Any) -> Stage:
    batches = Batches({"source": news}, words_per_batch=10_000, sentences_per_batch=6)  # 24 sentences: 4 batches
    return Stage("teach", **({"objectives": {"tag": Tagging(), "more": Tagging()}, "batches": batches} | given))


LOSSES = {"tag": torch.tensor(2.0), "more": torch.tensor(5.0)}


def test_the_total_is_the_weighted_sum_and_a_missing_weight_is_one(news: Corpus) -> None:
    assert stage_of(news).total(LOSSES, 0).item() == 7
    assert stage_of(news, weights={"more": 0.5}).total(LOSSES, 0).item() == 4.5


def test_a_weight_may_be_a_schedule(news: Corpus) -> None:
    stage = stage_of(news, weights={"more": lambda update: 0.1 * update})
    assert [stage.total(LOSSES, update).item() for update in (0, 10)] == [2, 7]


def test_a_term_of_weight_zero_cannot_spoil_the_sum(news: Corpus) -> None:
    stage = stage_of(news, weights={"more": 0})
    assert stage.total({"tag": torch.tensor(2.0), "more": torch.tensor(torch.nan)}, 0).item() == 2


def test_a_stage_without_any_weight_is_refused(news: Corpus) -> None:
    with pytest.raises(ValueError, match="Stage teach: every objective has weight 0 at update 3"):
        stage_of(news, weights={"tag": 0, "more": lambda update: 0}).total(LOSSES, 3)


def test_a_weight_for_nothing_is_refused(news: Corpus) -> None:
    with pytest.raises(ValueError, match=r"weights for \['mor'\], but its objectives are: tag, more"):
        stage_of(news, weights={"mor": 1})


def test_a_stage_without_objectives_is_refused(news: Corpus) -> None:
    with pytest.raises(ValueError, match="its objectives are: none"):
        stage_of(news, objectives={})


@pytest.mark.parametrize(
    ("settings", "updates", "every"),
    [
        ({"epochs": 2}, 8, 4),
        ({"epochs": 2, "accumulate": 2}, 4, 2),
        ({"epochs": 2, "accumulate": 9}, 1, 1),
        ({"updates": 5, "evaluate_every": 3}, 5, 3),
    ],
)
def test_it_looks_once_per_epoch_unless_told_otherwise(news: Corpus, settings: Any, updates: int, every: int) -> None:
    stage = stage_of(news, settings=TrainingSettings(**settings))
    assert (stage.updates, stage.evaluate_every) == (updates, every)

"""MSLM's worked numbers come out, and those of its released code and of its printed algorithm do not."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from acclimate.data.corpus import Sentence
from acclimate.methods.masking.word_runs import lay_spans, words_to_hide
from acclimate.methods.mslm import TERM, JointMasking, MaskWeights, mask_weights, weighted_loss

# oracle 2: counts of (ELM, BLM) → weights of (ELM, BLM)
WEIGHTS = {
    (300, 700): (0.5986876601124521, 0.4013123398875481),
    (900, 100): (0.5, 0.5),
    (600, 400): (0.5, 0.5),
}
RELEASED = {
    (300, 700): (0.5498339973124778, 0.4501660026875221),
    (900, 100): (0.598687660112452, 0.401312339887548),
    (600, 400): (0.5249791874789399, 0.47502081252106),
}


def released(elm: int, blm: int) -> tuple[float, float]:
    """With the wrong index (C2.3): the share of the other kind is what is held against the threshold for terms."""
    raw_blm = 1 - blm / (elm + blm)
    chosen_elm, chosen_blm = max(0.5, raw_blm), min(0.5, raw_blm)
    total = math.exp(chosen_elm) + math.exp(chosen_blm)
    return math.exp(chosen_elm) / total, math.exp(chosen_blm) / total


@pytest.mark.parametrize("counts", WEIGHTS)
def test_the_weights_of_oracle_2_come_out_and_not_those_of_the_released_code(counts: tuple[int, int]) -> None:
    assert released(*counts) == pytest.approx(RELEASED[counts])
    found = mask_weights(*counts)
    assert found == pytest.approx(WEIGHTS[counts])
    assert found != pytest.approx(RELEASED[counts])


def test_the_limits_of_oracle_2_are_reached_and_not_passed() -> None:
    ratios = [elm / blm for elm, blm in (mask_weights(n, 1000 - n) for n in range(0, 1001, 10))]
    assert min(ratios) == pytest.approx(1)
    assert max(ratios) == pytest.approx(math.e)


# oracle 2b
LOSSES = -torch.tensor([0.5, 0.25, 0.1], dtype=torch.float64).log()
IS_ELM = torch.tensor([True, True, False])
ALL = torch.ones(3, dtype=torch.bool)
ORACLE = MaskWeights(*WEIGHTS[300, 700])


def test_the_losses_of_oracle_2b_come_out() -> None:
    mean, by_weight = (float(weighted_loss(LOSSES, IS_ELM, ALL, ORACLE, how)) for how in ("masked", "weights"))
    assert 3 * mean == pytest.approx(2.168991802388559)
    assert mean == pytest.approx(0.722997267462853)
    assert by_weight == pytest.approx(1.3567326855053046)


# oracle 2c: terms of a sentence and rate → how many are hidden
CHOSEN = {(0, 0.25): 0, (1, 0.25): 1, (3, 0.25): 1, (4, 0.25): 1, (5, 0.5): 3, (3, 0.75): 3, (4, 1.0): 4}
FLOORED = {(0, 0.25): 0, (1, 0.25): 0, (3, 0.25): 0, (4, 0.25): 1, (5, 0.5): 2, (3, 0.75): 2, (4, 1.0): 4}


def test_the_numbers_of_hidden_terms_of_oracle_2c_come_out_and_not_the_floored_ones() -> None:
    found = {}
    for terms, rate in CHOSEN:
        sentence = Sentence(("x", *("a", "b") * terms), ("O", *("B-X", "O") * terms))
        kinds = JointMasking(rate, 0.0).draw(sentence, np.random.default_rng(0))
        found[terms, rate] = int((kinds == TERM).sum())
    assert found == CHOSEN
    assert found != FLOORED
    assert {(terms, rate): int(rate * terms) for terms, rate in CHOSEN} == FLOORED


@pytest.mark.parametrize(("share", "count", "hidden"), [(0.15, 10, 2), (0.075, 25, 2), (0.225, 40, 9)])
def test_base_level_masking_spends_the_budgets_of_oracle_2d(share: float, count: int, hidden: int) -> None:
    assert words_to_hide(share, count) == hidden
    sentence = Sentence(("x",) * count, ("O",) * count)
    assert (JointMasking(1.0, share).draw(sentence, np.random.default_rng(0)) != 0).sum() == hidden


# oracle 2e
ANCHORS, LENGTHS = [8, 2, 5, 0], [4, 3, 2, 2]


def as_printed(count: int, budget: int) -> list[int]:
    """Algorithm 1 with its slice assignment: a run at the end makes the sentence longer (E2.1)."""
    mask = [0] * count
    for start, length in zip(ANCHORS, LENGTHS, strict=True):
        length = min(length, budget - sum(mask))
        if length > 0 and not any(mask[start : start + length]):
            mask[start : start + length] = [1] * length
    return mask


def test_the_spans_of_oracle_2e_come_out_and_the_sentence_keeps_its_length() -> None:
    chosen = lay_spans(10, words_to_hide(0.4, 10), zip(ANCHORS, LENGTHS, strict=True))
    found = [int(word in chosen) for word in range(10)]
    assert found == [0, 0, 1, 1, 0, 0, 0, 0, 1, 1]
    assert as_printed(10, 4) == [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1]
    assert found != as_printed(10, 4)
    assert max(chosen) < 10

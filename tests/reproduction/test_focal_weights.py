"""The weights of sentences in GRAD's loss (DATNet, Figure 2)."""

from __future__ import annotations

import math

import pytest

from acclimate.reproduction.measures import source_weight, target_weight


def test_the_weights_are_those_of_the_loss() -> None:
    """Oracle 3_grad: r = 0.9 for a source and 0.2 for a target sentence, alpha 0.3, gamma 2; the loss is 0.006564."""
    source, target = source_weight(0.9, 0.3, 2), target_weight(0.2, 0.3, 2)
    assert -source * math.log(0.9) - target * math.log(1 - 0.2) == pytest.approx(0.006564, abs=5e-7)


def test_with_gamma_0_every_sentence_counts_the_same() -> None:
    assert {source_weight(chance, 0.3, 0) for chance in (0.0, 0.5, 1.0)} == {0.3}
    assert {target_weight(chance, 0.3, 0) for chance in (0.0, 0.5, 1.0)} == {0.7}

"""Joint masking: whole terms, other words, never both; and what each of them weighs."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.corpus import Sentence
from acclimate.data.schemes import Span
from acclimate.methods.mslm import (
    BASE,
    EVEN,
    SHOWN,
    TERM,
    JointMasking,
    MaskWeights,
    count_masks,
    mask_weights,
    weighted_loss,
)

SHARES = st.floats(0, 1)
SEEDS = st.integers(0, 10_000)


@st.composite
def sentences(draw: st.DrawFn) -> Sentence:
    """Up to six terms of one to three words, with zero to four other words before and after each."""
    words, spans = 0, []
    for length in draw(st.lists(st.integers(1, 3), max_size=6)):
        words += draw(st.integers(0, 4))
        spans.append(Span(words, words + length, draw(st.sampled_from(["A", "B"]))))
        words += length
    words += draw(st.integers(0 if words else 1, 4))
    return Sentence(tuple(f"w{number}" for number in range(words))).with_spans(spans)


@given(sentences(), SHARES, SHARES, st.booleans(), SEEDS)
def test_terms_are_hidden_whole_and_as_many_as_the_rate_rounded_up(
    sentence: Sentence, elm: float, blm: float, other_terms: bool, seed: int
) -> None:
    kinds = JointMasking(elm, blm, other_terms).draw(sentence, np.random.default_rng(seed))
    assert len(kinds) == len(sentence)
    whole = [span for span in sentence.spans if set(kinds[span.start : span.end]) == {TERM}]
    assert len(whole) == math.ceil(round(elm * len(sentence.spans), 9))
    assert (kinds == TERM).sum() == sum(span.end - span.start for span in whole)  # no term in part, nothing outside


@given(sentences(), SHARES, SHARES, st.booleans(), SEEDS)
def test_other_words_are_hidden_as_often_as_the_rate_says_while_there_are_any(
    sentence: Sentence, elm: float, blm: float, other_terms: bool, seed: int
) -> None:
    kinds = JointMasking(elm, blm, other_terms).draw(sentence, np.random.default_rng(seed))
    inside = np.zeros(len(sentence), bool)
    for span in sentence.spans:
        inside[span.start : span.end] = True
    free = (kinds != TERM).sum() if other_terms else (~inside).sum()
    assert (kinds == BASE).sum() == min(free, math.ceil(round(blm * len(sentence), 9)))
    if not other_terms:
        assert not (inside & (kinds == BASE)).any()


TEXT = Sentence(tuple("abcdefgh"), ("B-X", "I-X", "O", "O", "B-Y", "O", "O", "O"))


def test_words_of_terms_that_stay_may_be_hidden_one_by_one_if_that_is_wished() -> None:
    dice = np.random.default_rng(0)
    drawn = [JointMasking(0.5, 0.5, other_terms=True).draw(TEXT, dice) for _ in range(200)]
    assert {4} <= {word for kinds in drawn for word in np.flatnonzero(kinds == BASE).tolist()}
    assert all((kinds == TERM).sum() in (1, 2) for kinds in drawn)


def test_every_term_and_every_other_word_has_the_same_chance() -> None:
    dice = np.random.default_rng(0)
    drawn = [JointMasking(0.5, 0.2).draw(TEXT, dice) for _ in range(3_000)]
    terms = Counter(int(kinds[0] == TERM) for kinds in drawn)
    assert terms[1] / 3_000 == pytest.approx(0.5, abs=0.03)
    others = Counter(word for kinds in drawn for word in np.flatnonzero(kinds == BASE).tolist())
    assert [others[word] / 3_000 for word in (2, 3, 5, 6, 7)] == pytest.approx([0.4] * 5, abs=0.03)


def test_a_sentence_without_terms_or_without_labels_has_only_other_words_hidden() -> None:
    for tags in (("O",) * 4, None):
        kinds = JointMasking(1.0, 0.5).draw(Sentence(tuple("abcd"), tags), np.random.default_rng(0))
        assert sorted(kinds.tolist()) == [SHOWN, SHOWN, BASE, BASE]


def test_a_sentence_that_is_all_terms_has_nothing_else_to_hide() -> None:
    one = Sentence(("a",), ("B-X",))
    assert JointMasking().draw(one, np.random.default_rng(0)).tolist() == [TERM]


def test_masks_are_drawn_anew_each_time_or_belong_to_the_sentence() -> None:
    masking, dice = JointMasking(0.5, 0.3), np.random.default_rng(0)
    assert len({tuple(masking.draw(TEXT, dice)) for _ in range(20)}) > 5
    assert len({tuple(masking.draw_fixed(TEXT, 1)) for _ in range(20)}) == 1
    assert len({tuple(masking.draw_fixed(TEXT, seed)) for seed in range(20)}) > 5
    other = Sentence(tuple("abcdefgx"), TEXT.tags)
    assert any((masking.draw_fixed(TEXT, seed) != masking.draw_fixed(other, seed)).any() for seed in range(5))


# weights


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.floats(0, 1))
def test_terms_weigh_at_least_as_much_and_at_most_e_times_as_much(elm: int, blm: int, threshold: float) -> None:
    weights = mask_weights(elm, blm, threshold)
    assert sum(weights) == pytest.approx(1)
    assert 1 - 1e-9 <= weights.elm / weights.blm <= math.e + 1e-9


@given(st.integers(0, 10**9))
def test_equal_counts_weigh_alike(count: int) -> None:
    assert mask_weights(count, count) == pytest.approx(EVEN)


def test_the_counts_are_those_of_the_masks_that_the_same_seed_draws() -> None:
    masking, size = JointMasking(0.5, 0.3), {"a": 2, "c": 3}
    text = [TEXT, Sentence(("c", "a", "a"), ("O", "O", "B-X"))] * 2
    found = count_masks(masking, text, lambda words: [size.get(word, 1) for word in words], 7)
    expected = Counter(
        {
            kind: sum(
                size.get(word, 1)
                for sentence in text
                for word, here in zip(sentence.words, masking.draw_fixed(sentence, 7), strict=True)
                if here == kind
            )
            for kind in (TERM, BASE)
        }
    )
    assert found == (expected[TERM], expected[BASE])
    assert count_masks(masking, [], lambda words: [], 7) == (0, 0)


# the loss


@pytest.mark.parametrize("normalise", ["masked", "weights"])
def test_only_what_is_counted_counts_and_the_gradient_is_the_true_one(normalise: str) -> None:
    losses = torch.rand(3, 4, dtype=torch.float64, requires_grad=True)
    is_elm, counted = torch.rand(3, 4) < 0.5, torch.rand(3, 4) < 0.6
    weights = MaskWeights(0.7, 0.3)

    def loss(values: torch.Tensor) -> torch.Tensor:
        return weighted_loss(values, is_elm, counted, weights, normalise)  # type: ignore[arg-type]

    assert torch.autograd.gradcheck(loss, losses)
    spoilt = torch.where(counted, losses, torch.nan)
    assert torch.equal(loss(losses), loss(spoilt))


@pytest.mark.parametrize("normalise", ["masked", "weights"])
def test_nothing_hidden_costs_nothing(normalise: str) -> None:
    nothing = torch.zeros(2, 3, dtype=torch.bool)
    found = weighted_loss(torch.ones(2, 3), nothing, nothing, EVEN, normalise)  # type: ignore[arg-type]
    assert found == 0


def test_without_weights_the_loss_keeps_its_size() -> None:
    losses, is_elm, all_of_them = torch.ones(10), torch.arange(10) < 5, torch.ones(10, dtype=torch.bool)
    weighted = weighted_loss(losses, is_elm, all_of_them, mask_weights(5, 5))
    assert weighted == weighted_loss(losses, is_elm, all_of_them, EVEN) == 0.5

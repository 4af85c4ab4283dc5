"""Which pieces are hidden, and what stands in their place."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from acclimate.methods.masking.masked_batch import Corruption, Hidden, MaskedBatch, hide, pose, word_beginnings
from acclimate.methods.masking.policy import Policy, Uniform

MASK = 4


def as_mask(hidden: Hidden, shape: torch.Size) -> Tensor:
    """The slow way: a boolean for every piece."""
    found = torch.zeros(shape, dtype=torch.bool)
    for row, (places, counts) in enumerate(zip(hidden.places.tolist(), hidden.counts.tolist(), strict=True)):
        for place, meant in zip(places, counts, strict=True):
            if meant:
                assert not found[row, place], "hidden twice"
                found[row, place] = True
    return found


def posed(pieces: Tensor, share: float, first: Tensor | None = None, by_words: bool = False) -> MaskedBatch:
    """Piece 0 is special, and never hidden."""
    return pose(pieces, torch.tensor([0]), share, first=first, by_words=by_words)


def hidden_by(policy: Policy, batch: MaskedBatch) -> Tensor:
    return as_mask(hide(batch, policy(batch)), batch.pieces.shape)


@given(st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=1, max_size=5), st.floats(0.05, 1.0))
def test_it_hides_its_share_of_what_it_may_hide_and_nothing_else(rows: list[list[bool]], share: float) -> None:
    allowed = torch.tensor(rows)
    hidden = hidden_by(Uniform(), posed(allowed.long(), share))
    assert not (hidden & ~allowed).any()
    most = max(1, round(share * allowed.shape[1]))
    for row, may in zip(hidden, allowed, strict=True):
        wanted = max(1, torch.tensor(share * int(may.sum())).round().int().item())
        assert row.sum() == min(wanted, int(may.sum()), most)


def test_every_piece_has_the_same_chance() -> None:
    hidden = hidden_by(Uniform(), posed(torch.ones(4_000, 8, dtype=torch.long), 0.25))
    assert hidden.float().mean(0) == pytest.approx(torch.full((8,), 0.25), abs=0.03)


def test_other_random_numbers_hide_other_pieces() -> None:
    batch = posed(torch.ones(20, 30, dtype=torch.long), 0.2)
    assert not torch.equal(hidden_by(Uniform(), batch), hidden_by(Uniform(), batch))


FIRST = torch.tensor([[0, 1, 1, 1, 4, 5, 5, 7]]).repeat(500, 1)
WORDS = ([0], [1, 2, 3], [4], [5, 6], [7])


def test_pieces_of_a_word_are_hidden_together() -> None:
    """All but the last word drawn, which may not fit the budget whole."""
    hidden = hidden_by(Uniform(whole_words=True), posed(torch.ones_like(FIRST), 0.5, FIRST))
    assert (hidden.sum(1) == 4).all()
    in_part = [sum(bool(row[word].any() and not row[word].all()) for word in WORDS) for row in hidden]
    assert max(in_part) == 1
    assert 0 < sum(in_part) < 400


def test_a_budget_of_words_hides_that_many_words_whole() -> None:
    hidden = hidden_by(Uniform(), posed(torch.ones_like(FIRST), 0.4, FIRST, by_words=True))
    for row in hidden:
        assert [bool(row[word].any()) for word in WORDS] == [bool(row[word].all()) for word in WORDS]
    chosen = torch.stack([hidden[:, word].all(1) for word in WORDS], 1)
    assert (chosen.sum(1) == 2).all()
    assert chosen.float().mean(0) == pytest.approx(torch.full((5,), 0.4), abs=0.08)


def test_a_priority_of_minus_infinity_is_still_above_what_may_not_be_hidden() -> None:
    batch = posed(torch.tensor([[0, 1, 1, 0]]), 1.0)
    hidden = as_mask(hide(batch, torch.full((1, 4), -torch.inf)), batch.pieces.shape)
    assert hidden.tolist() == [[False, True, True, False]]


def test_words_begin_where_their_number_changes() -> None:
    words = torch.tensor([[-1, 3, 3, 4, 5, 5, -1, -1]])
    assert word_beginnings(words).tolist() == [[0, 1, 1, 3, 4, 4, 6, 7]]


def corrupted(swapped: float, kept: float) -> tuple[Tensor, Tensor, Tensor]:
    pieces = torch.randint(5, 90, (300, 40))
    batch = posed(pieces, 0.5)
    hidden = hide(batch, Uniform()(batch))
    shown = Corruption(MASK, torch.arange(5, 90), swapped, kept)(pieces, hidden)
    return pieces, shown, as_mask(hidden, pieces.shape)


def test_what_is_not_hidden_is_shown_as_it_is() -> None:
    pieces, shown, hidden = corrupted(0.1, 0.1)
    assert torch.equal(pieces[~hidden], shown[~hidden])


def test_eight_in_ten_become_the_mask_one_another_piece_and_one_stays() -> None:
    pieces, shown, hidden = corrupted(0.1, 0.1)
    was, now = pieces[hidden], shown[hidden]
    assert (now == MASK).float().mean() == pytest.approx(0.8, abs=0.02)
    assert (now == was).float().mean() == pytest.approx(0.1 + 0.1 / 85, abs=0.02)
    assert ((now >= 5) | (now == MASK)).all()  # no special piece is ever drawn


def test_without_swaps_and_kept_pieces_all_become_the_mask() -> None:
    _, shown, hidden = corrupted(0, 0)
    assert (shown[hidden] == MASK).all()


def test_places_that_only_fill_a_row_up_change_nothing() -> None:
    pieces = torch.arange(5, 11).unsqueeze(0)
    hidden = Hidden(torch.tensor([[1, 3]]), torch.tensor([[True, False]]))
    assert Corruption(MASK, torch.arange(5, 11), 0, 0)(pieces, hidden).tolist() == [[5, MASK, 7, 8, 9, 10]]


def test_shares_beyond_the_whole_are_refused() -> None:
    with pytest.raises(ValueError, match="add up to 1"):
        Corruption(MASK, torch.arange(5), 0.6, 0.5)

"""Which pieces are hidden, and what stands in their place."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from acclimate.methods.masking.corruption import Corruption
from acclimate.methods.masking.hidden import Hidden
from acclimate.methods.masking.uniform import Uniform

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


@given(st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=1, max_size=5), st.floats(0.05, 1.0))
def test_it_hides_its_share_of_what_it_may_hide_and_nothing_else(rows: list[list[bool]], share: float) -> None:
    allowed = torch.tensor(rows)
    hidden = as_mask(Uniform(share)(allowed), allowed.shape)
    assert not (hidden & ~allowed).any()
    most = max(1, round(share * allowed.shape[1]))
    for row, may in zip(hidden, allowed, strict=True):
        wanted = max(1, torch.tensor(share * int(may.sum())).round().int().item())
        assert row.sum() == min(wanted, int(may.sum()), most)


def test_every_piece_has_the_same_chance() -> None:
    hidden = as_mask(Uniform(0.25)(torch.ones(4_000, 8, dtype=torch.bool)), torch.Size([4_000, 8]))
    assert hidden.float().mean(0) == pytest.approx(torch.full((8,), 0.25), abs=0.03)


def test_other_random_numbers_hide_other_pieces() -> None:
    allowed = torch.ones(20, 30, dtype=torch.bool)
    assert not torch.equal(Uniform(0.2)(allowed).places, Uniform(0.2)(allowed).places)


def test_pieces_of_a_word_are_hidden_together() -> None:
    """All but the last word drawn, which may not fit the budget whole."""
    first = torch.tensor([[0, 1, 1, 1, 4, 5, 5, 7]]).repeat(500, 1)
    hidden = as_mask(Uniform(0.5)(torch.ones_like(first, dtype=torch.bool), first), first.shape)
    assert (hidden.sum(1) == 4).all()
    parts = 0
    for row in hidden:
        words = [row[torch.tensor(word)] for word in ([0], [1, 2, 3], [4], [5, 6], [7])]
        in_part = sum(bool(word.any() and not word.all()) for word in words)
        assert in_part <= 1
        parts += in_part
    assert 0 < parts < 400


@pytest.mark.parametrize("share", [0.0, -0.1, 1.5])
def test_an_impossible_share_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        Uniform(share)


def corrupted(swapped: float, kept: float) -> tuple[Tensor, Tensor, Tensor]:
    pieces = torch.randint(5, 90, (300, 40))
    hidden = Uniform(0.5)(torch.ones_like(pieces, dtype=torch.bool))
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

"""Rows of text of which some places are to be hidden: the masking budget, the hiding, and what is shown instead.

A `MaskedBatch` says what may be hidden and how much. A policy gives each place a priority, `hide` takes the places with
the highest, and `Corruption` puts [MASK] there (Devlin et al. 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from acclimate.data.corpus import Sentence
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.language_model import MlmHead
from acclimate.model.learner import eval_mode


@dataclass(frozen=True)
class Hidden:
    """The places to hide in each row. Every row has as many columns as the fullest one needs: gathering a fixed number
    of places keeps the CPU from waiting for the GPU, as picking by a boolean mask would."""

    places: Tensor  # (row, hidden), positions in the row
    counts: Tensor  # (row, hidden), True where a place is meant, False where it only fills the row up


def as_hidden(chosen: Tensor, most: int) -> Hidden:
    """The True of `chosen` (row, place) as places to hide: those meant come first, in their order, and those that only
    fill a row up are other places, for a place written twice could undo itself."""
    length = chosen.shape[1]
    order = torch.arange(length, 0, -1, device=chosen.device) + length * chosen  # (row, place), no two alike
    places = order.topk(most, dim=1).indices
    return Hidden(places, chosen.gather(1, places))


def as_chosen(hidden: Hidden, places: int) -> Tensor:
    """The way back, (row, place), True where a place is meant."""
    nothing = torch.zeros(len(hidden.places), places, dtype=torch.bool, device=hidden.places.device)
    return nothing.scatter(1, hidden.places, hidden.counts)


Look = Callable[[Transformer, Tensor, Tensor | None], Tensor]
"""An encoder's states without dropout, whichever mode it is in: rows of pieces, attention → (row, piece, feature)."""

_LOWEST = -1e30  # below any priority that a policy gives, above what may not be hidden at all


@dataclass(frozen=True)
class MaskedBatch:
    """Text, what of it may be hidden, and how much. A policy says where; the budget is the same for all policies.

    The places to choose among are pieces, or words: then each stands for itself by its first piece.
    """

    pieces: Tensor  # (row, piece)
    allowed: Tensor  # (row, piece), True at the places to choose among
    sizes: Tensor  # (row), how many of them to hide
    most: int  # no row hides more; known without asking a GPU
    ordinary: Tensor  # (row, piece), True at what is neither special nor padding
    attention: Tensor | None = None  # (row, piece); None: the rows are full
    first: Tensor | None = None  # (row, piece), where the word of each piece begins, if that is known
    by_words: bool = False
    words: Tensor | None = None  # (row, piece), the number of each piece's word in the whole batch, -1 where none is
    originals: Sequence[Sentence] = ()  # of the whole batch
    encoder: Transformer | None = None  # who will have to solve it
    mlm_head: MlmHead | None = None
    quick: bool = True  # looks at the text in half precision where that is fast
    look: Look | None = None  # a faster one

    @cached_property
    def states(self) -> Tensor:
        """The encoder's last layer on the text as it is (row, piece, feature); without gradient and dropout."""
        encoder, _ = self.model
        with torch.no_grad(), looking(self.pieces.device, self.quick):
            return (self.look or in_evaluation(Transformer.states))(encoder, self.pieces, self.attention).float()

    @property
    def model(self) -> tuple[Transformer, MlmHead]:
        if self.encoder is None or self.mlm_head is None:
            raise ValueError("This policy asks a language model, and the batch has none: give encoder and guesser.")
        return self.encoder, self.mlm_head

    def some(self, rows: Tensor) -> MaskedBatch:
        """The batch of some rows only."""

        def part(whole: Tensor | None) -> Tensor | None:
            return None if whole is None else whole[rows]

        return replace(
            self,
            pieces=self.pieces[rows],
            allowed=self.allowed[rows],
            sizes=self.sizes[rows],
            ordinary=self.ordinary[rows],
            attention=part(self.attention),
            first=part(self.first),
            words=part(self.words),
        )

    def spread(self, values: Tensor) -> Tensor:
        """One value per word of the batch, put at every piece of that word (row, piece)."""
        if self.words is None:
            raise ValueError("Word by word is possible only for text that came as sentences, not for bare pieces.")
        return values[self.words.clamp(min=0)]

    def per_place(self, values: Tensor) -> Tensor:
        """A value per piece (row, piece) as one per place: where words are chosen, the mean over each word's pieces."""
        if not self.by_words or self.first is None:
            return values
        kept = torch.where(self.ordinary, values, 0.0)
        sums = torch.zeros_like(kept).scatter_add(1, self.first, kept)
        counts = torch.zeros_like(kept).scatter_add(1, self.first, self.ordinary.to(kept.dtype))
        return sums / counts.clamp(min=1)


def in_evaluation(read: Look) -> Look:
    def look(encoder: Transformer, pieces: Tensor, attention: Tensor | None) -> Tensor:
        with eval_mode(encoder):
            return read(encoder, pieces, attention)

    return look


def looking(device: torch.device, quick: bool = True) -> torch.autocast:
    """Number formats for a look that only decides what to hide. On processors that are fast in half precision that is
    taken, if `quick`; where autocast is on already it goes on.

    It remembers no narrowed weights: those made without a gradient would be used again in the training pass, and the
    weights behind them would learn nothing.
    """
    kind = device.type
    enabled, narrow = torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)
    if quick and not enabled and kind == "cpu" and torch.cpu._is_avx512_bf16_supported():
        enabled, narrow = True, torch.bfloat16
    return torch.autocast(kind, narrow, enabled, cache_enabled=False)


def pose(
    pieces: Tensor,
    special: Tensor,
    share: float,
    attention: Tensor | None = None,
    first: Tensor | None = None,
    by_words: bool = False,
) -> MaskedBatch:
    """What may be hidden of these rows, and how much: a share of the places, rounded, and at least one. `special`
    pieces, of whatever number, are left alone."""
    ordinary = ~torch.isin(pieces, special)
    if attention is not None:
        ordinary = ordinary & attention.bool()
    allowed = ordinary
    if by_words:
        if first is None:
            raise ValueError("Whole words are to be chosen, but where words begin is not known.")
        allowed = ordinary & (first == torch.arange(pieces.shape[1], device=pieces.device))
    counts = allowed.sum(1)
    most = max(1, round(share * pieces.shape[1]))
    sizes = (share * counts).round().clamp(1, most).minimum(counts).long()
    return MaskedBatch(pieces, allowed, sizes, most, ordinary, attention, first, by_words)


def hide(batch: MaskedBatch, priorities: Tensor) -> Hidden:
    """The places with the highest priorities (row, piece), as many in each row as it is to hide."""
    ranked = priorities.float().clamp(min=_LOWEST).masked_fill(~batch.allowed, -torch.inf)
    places = ranked.topk(batch.most, dim=1).indices
    counts = torch.arange(batch.most, device=places.device) < batch.sizes.unsqueeze(1)
    hidden = Hidden(places, counts)
    return whole_words(batch, hidden) if batch.by_words else hidden


def whole_words(batch: MaskedBatch, hidden: Hidden) -> Hidden:
    """All pieces of the words whose first pieces are hidden. How many that are at most must be asked: a GPU waits."""
    assert batch.first is not None
    chosen = as_chosen(hidden, batch.pieces.shape[1]).gather(1, batch.first) & batch.ordinary
    return as_hidden(chosen, int(chosen.sum(1).max()))


def word_beginnings(words: Tensor) -> Tensor:
    """Word numbers (row, piece), -1 where there is none → where the word of each piece begins (row, piece)."""
    places = torch.arange(words.shape[1], device=words.device).expand_as(words)
    goes_on = torch.zeros_like(words, dtype=torch.bool)
    goes_on[:, 1:] = (words[:, 1:] == words[:, :-1]) & (words[:, 1:] >= 0)
    return places.masked_fill(goes_on, 0).cummax(1).values


class Corruption(nn.Module):
    """[MASK] mostly; now and then a random piece, or the piece itself, so that no visible piece can be trusted blindly.

    With `swapped` and `kept` 0 every hidden piece becomes [MASK].
    """

    def __init__(self, mask: int, ordinary: Tensor, swapped: float = 0.1, kept: float = 0.1) -> None:
        """`ordinary` holds the numbers that a random piece is drawn from: no special ones."""
        super().__init__()
        if swapped < 0 or kept < 0 or swapped + kept > 1:
            raise ValueError(f"swapped {swapped} and kept {kept} must be shares that add up to 1 at most.")
        self.mask, self.swapped, self.kept = mask, swapped, kept
        self.register_buffer("ordinary", ordinary, persistent=False)
        self.ordinary: Tensor

    @classmethod
    def of(cls, tokenizer: Any, swapped: float, kept: float) -> Corruption:
        special = set(tokenizer.all_special_ids)
        ordinary = torch.tensor([number for number in range(len(tokenizer)) if number not in special])
        return cls(tokenizer.mask_token_id, ordinary, swapped, kept)

    def forward(self, pieces: Tensor, hidden: Hidden) -> Tensor:
        """Pieces (row, piece) as they are shown to the encoder."""
        original = pieces.gather(1, hidden.places)
        lot = torch.rand(original.shape, device=pieces.device)
        drawn = self.ordinary[torch.randint(len(self.ordinary), original.shape, device=pieces.device)]
        shown = torch.full_like(original, self.mask)
        shown = torch.where(lot < self.swapped + self.kept, drawn, shown)
        shown = torch.where((lot < self.kept) | ~hidden.counts, original, shown)
        return pieces.scatter(1, hidden.places, shown)

"""Rows of text to be masked. A `MaskedBatch` says what may be hidden and how much; a policy gives priorities, `hide`
takes the places with the highest, and `Corruption` puts [MASK] there (Devlin et al. 2019)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from acclimate.data.corpus import Sentence
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.language_model import MlmHead
from acclimate.model.learner import eval_mode


@dataclass(frozen=True)
class Hidden:
    """The places to hide in each row. All rows have as many columns as the fullest one, so that a GPU need not wait."""

    places: Tensor  # (row, hidden), positions in the row
    counts: Tensor  # (row, hidden), True where a place is meant, False where it only fills the row up


def as_hidden(chosen: Tensor, most: int) -> Hidden:
    """The True of `chosen` (row, place) as places to hide, filled up with other places of the row."""
    length = chosen.shape[1]
    order = torch.arange(length, 0, -1, device=chosen.device) + length * chosen  # (row, place), no two alike
    places = order.topk(most, dim=1).indices
    return Hidden(places, chosen.gather(1, places))


def as_chosen(hidden: Hidden, places: int) -> Tensor:
    """The inverse, (row, place), True at hidden places."""
    nothing = torch.zeros(len(hidden.places), places, dtype=torch.bool, device=hidden.places.device)
    return nothing.scatter(1, hidden.places, hidden.counts)


ReadStates = Callable[[Transformer, Tensor, Tensor | None], Tensor]
"""An encoder's states without dropout, whichever mode it is in: rows of pieces, attention → (row, piece, feature)."""

_LOWEST = -1e30  # below any priority of a policy


@dataclass(frozen=True)
class MaskedBatch:
    """Text, what of it may be hidden, and how much. Places are pieces, or words, which stand at their first piece."""

    pieces: Tensor  # (row, piece)
    allowed: Tensor  # (row, piece), True at the places to choose among
    sizes: Tensor  # (row), how many of them to hide
    most: int  # no row hides more
    ordinary: Tensor  # (row, piece), True at what is neither special nor padding
    attention: Tensor | None = None  # (row, piece); None: the rows are full
    first: Tensor | None = None  # (row, piece), where the word of each piece begins, if that is known
    by_words: bool = False
    words: Tensor | None = None  # (row, piece), the number of each piece's word in the whole batch, or -1
    originals: Sequence[Sentence] = ()  # of the whole batch
    encoder: Transformer | None = None
    mlm_head: MlmHead | None = None
    quick: bool = True  # looks at the text in half precision where that is fast
    look: ReadStates | None = None  # a faster one

    @cached_property
    def states(self) -> Tensor:
        """The encoder's last layer on the unmasked text (row, piece, feature); without gradient and dropout."""
        encoder, _ = self.model
        with torch.no_grad(), policy_autocast(self.pieces.device, self.quick):
            return (self.look or without_dropout(Transformer.states))(encoder, self.pieces, self.attention).float()

    @property
    def model(self) -> tuple[Transformer, MlmHead]:
        if self.encoder is None or self.mlm_head is None:
            raise ValueError("This policy asks a language model, and the batch has none: give encoder and guesser.")
        return self.encoder, self.mlm_head

    def changed(self, change: Callable[[Tensor], Tensor]) -> MaskedBatch:
        """The same change made to all that has rows."""
        names = ("pieces", "allowed", "sizes", "ordinary", "attention", "first", "words")
        values = ((name, getattr(self, name)) for name in names)
        changed: dict[str, Any] = {name: change(value) for name, value in values if value is not None}
        return replace(self, **changed)

    def some(self, rows: Tensor) -> MaskedBatch:
        """The batch of some rows only."""
        return self.changed(lambda values: values[rows])

    def spread(self, values: Tensor) -> Tensor:
        """One value per word of the batch, put at every piece of that word (row, piece)."""
        if self.words is None:
            raise ValueError("Word by word is possible only for text that came as sentences, not for bare pieces.")
        return values[self.words.clamp(min=0)]

    def per_place(self, values: Tensor) -> Tensor:
        """A value per piece (row, piece) as one per place: for words, the mean over their pieces."""
        if not self.by_words or self.first is None:
            return values
        kept = torch.where(self.ordinary, values, 0.0)
        sums = torch.zeros_like(kept).scatter_add(1, self.first, kept)
        counts = torch.zeros_like(kept).scatter_add(1, self.first, self.ordinary.to(kept.dtype))
        return sums / counts.clamp(min=1)


def without_dropout(read: ReadStates) -> ReadStates:
    def look(encoder: Transformer, pieces: Tensor, attention: Tensor | None) -> Tensor:
        with eval_mode(encoder):
            return read(encoder, pieces, attention)

    return look


def policy_autocast(device: torch.device, quick: bool = True) -> torch.autocast:
    """Autocast for a look that only decides what to hide; `quick` takes half precision where a CPU is fast in it. It
    caches no cast weights: those made without a gradient would be used again in the training pass."""
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
    """A batch of which a share of the places, rounded, and at least one, is to be hidden; `special` pieces are left
    alone."""
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
    """All pieces of the words whose first pieces are hidden."""
    assert batch.first is not None
    chosen = as_chosen(hidden, batch.pieces.shape[1]).gather(1, batch.first) & batch.ordinary
    return as_hidden(chosen, int(chosen.sum(1).max()))


def word_beginnings(words: Tensor) -> Tensor:
    """Word numbers (row, piece), -1 where there is none → where the word of each piece begins (row, piece)."""
    places = torch.arange(words.shape[1], device=words.device).expand_as(words)
    goes_on = torch.zeros_like(words, dtype=torch.bool)
    goes_on[:, 1:] = (words[:, 1:] == words[:, :-1]) & (words[:, 1:] >= 0)
    return places.masked_fill(goes_on, 0).cummax(1).values


def losses_at(places: Tensor, states: Tensor, pieces: Tensor, mlm_head: MlmHead) -> Tensor:
    """The cross-entropy of the pieces at some places of each row (row, hidden), from states (row, piece, feature). The
    head works there only, since its product with the vocabulary would otherwise cost more than the encoder."""
    scores = mlm_head(states.gather(1, places.unsqueeze(2).expand(-1, -1, states.shape[2])))
    wanted = pieces.gather(1, places)
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32)).flatten(0, 1)  # (place, vocabulary)
    return functional.cross_entropy(scores, wanted.flatten(), reduction="none").view(wanted.shape)


class Corruption(nn.Module):
    """Hidden pieces become [MASK]; a share is `swapped` for a random piece, a share is `kept` as it is."""

    def __init__(self, mask: int, ordinary: Tensor, swapped: float = 0.1, kept: float = 0.1) -> None:
        """`ordinary` holds the pieces that random ones are drawn from."""
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

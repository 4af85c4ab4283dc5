"""What the laws over subsets share: the question they are asked, and the two ways to write a subset down."""

from __future__ import annotations

import torch
from torch import Tensor

from acclimate.methods.masking.hidden import Hidden


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


def refuse_impossible(allowed: Tensor, sizes: Tensor, most: int) -> None:
    """Raise a ValueError that says which row asks for too much. Only where looking does not mean waiting for a GPU."""
    if not 0 <= most <= allowed.shape[1]:
        raise ValueError(f"most is {most}, but a row has {allowed.shape[1]} places: give a number from 0 to that.")
    if torch.compiler.is_compiling() or sizes.device.type != "cpu":
        return
    limits = allowed.sum(1).clamp(max=most)
    wrong = (sizes < 0) | (sizes > limits)  # (row)
    if wrong.any():
        row = int(wrong.int().argmax())
        raise ValueError(
            f"Row {row} is to choose {int(sizes[row])} of {int(allowed[row].sum())} allowed places, and no row more "
            f"than {most}. Ask for less: sizes.clamp(max=most).minimum(allowed.sum(1))."
        )


def possible_sizes(allowed: Tensor, sizes: Tensor, most: int) -> Tensor:
    """The sizes as near to those asked for as there are places, (row)."""
    return sizes.clamp(0, most).minimum(allowed.sum(1))


def in_full(scores: Tensor) -> Tensor:
    """As float32, or float64 where they are that."""
    return scores.to(torch.promote_types(scores.dtype, torch.float32))

"""Noise of a given size along a gradient (Miyato et al. 2017; MAT, equations 3 and 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor

from acclimate.model.learner import View

Scope = Literal["sentence", "token", "batch"]
"""What one norm is taken over: all of a sentence, as the papers have it; each word (the letters of a word together, or
each piece); or the whole batch."""

Radii = Mapping[str, float]
"""How large the noise is, by the name of the embedding: `words`, `characters`, `pieces`."""


class OwnGradient:
    """An objective that takes a gradient of its own, and multiplies its loss by `loss_scale` first: in fp16 a small
    gradient would vanish."""

    loss_scale = 1.0


LETTERS = "characters"  # whose rows are words; rows of the others are sentences, or windows of one


def norms(values: Tensor, scope: Scope, owners: Tensor, sentences: int, rows_are_words: bool = False) -> Tensor:
    """The norm that each number of `values` (row, place, size) shares in, shaped so that it can be divided by.

    `owners` (row) says which sentence each row belongs to.
    """
    exact = torch.promote_types(values.dtype, torch.float32)
    # the gradient of a sentence that is all but learnt is tiny, and its squares would be lost in single precision
    squares = values.detach().double().square()
    if scope == "batch":
        return squares.sum().sqrt().to(exact)
    if scope == "token":
        return squares.sum((1, 2) if rows_are_words else 2, keepdim=True).sqrt().to(exact)
    if scope != "sentence":
        raise ValueError(f"Unknown scope {scope!r} of a norm: expected sentence, token or batch.")
    whole = squares.new_zeros(sentences).index_add_(0, owners, squares.sum((1, 2)))
    return whole.sqrt().to(exact)[owners].view(-1, 1, 1)


def along(values: Tensor, norm: Tensor, radius: float | Tensor) -> Tensor:
    """As long as the radius where the norm was taken, and nothing where there is no direction; nor is there one
    where a scaled gradient has outgrown half precision, and the update will not be made."""
    direction = values.detach() / norm.clamp_min(torch.finfo(torch.float32).tiny)
    return torch.where((norm > 0) & norm.isfinite(), radius * direction, torch.zeros_like(direction))


def noise_for(
    view: View, directions: Mapping[str, Tensor], radii: Radii, scope: Scope = "sentence", by_size: bool = False
) -> dict[str, Tensor]:
    """Noise for the embeddings of a view, along these directions.

    The radius of `pieces` is counted in typical sizes of a number in the sentence's own embeddings: a pre-trained table
    is not normalised, and one radius would drown the pieces of one encoder and not be felt by another. The radii of
    `words` and `characters` are absolute, as in the papers; or `by_size`, times the square root of how many numbers the
    norm is taken over: a long sentence is then moved as far at each of its numbers as a short one.
    """
    rows, count = view.encoder.embedding_rows(view.inputs), len(view.sentences)
    noise = {}
    for name, direction in directions.items():
        owners, inside = rows[name].owners, rows[name].inside
        direction = direction * inside.unsqueeze(-1)
        norm = norms(direction, scope, owners, count, name == LETTERS)
        radius: float | Tensor = radii[name]
        if name == "pieces":
            places = inside.sum(1).float()
            numbers = places.new_zeros(count).index_add_(0, owners, places) * direction.size(-1)
            embeddings = view.embeddings[name] * inside.unsqueeze(-1)
            whole = norms(embeddings, "sentence", owners, count)  # (row, 1, 1)
            radius = radii[name] * whole / numbers.clamp_min(1).sqrt()[owners].view(-1, 1, 1)
        elif by_size:
            ones = inside.unsqueeze(-1).expand_as(direction).to(direction.dtype)
            radius = radii[name] * norms(ones, scope, owners, count, name == LETTERS)
        noise[name] = along(direction, norm, radius)
    return noise

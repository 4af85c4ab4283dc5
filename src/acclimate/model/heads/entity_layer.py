"""Features and one more vector → scores: the layer under two entity heads (MSLM, equations 7 and 10)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

Extra = Literal["shared", "token"]
_SPREAD = 0.02  # of the first vectors, as in BERT's own tables


class EntityLayer(nn.Module):
    """Linear, ReLU, dropout, Linear on the features with an extra vector at their end.

    `shared`: one vector for all words, as the paper has it; it can do no more than the layer's bias. `token`: a
    row for each piece of the vocabulary, as the released code has it. That code looks up the words as they were before
    some were hidden; here the layer is handed what the encoder reads, so a hidden word is [MASK] to it too.
    """

    def __init__(
        self,
        width: int,
        outputs: int,
        extra: Extra = "shared",
        extra_width: int = 100,
        dropout: float = 0.1,
        pieces: int | None = None,
    ) -> None:
        """`pieces` is the size of the vocabulary, for `token`."""
        super().__init__()
        if extra == "token" and pieces is None:
            raise ValueError("A vector for each piece needs an encoder that reads pieces: take extra='shared'.")
        self.extra = extra
        self.vector = nn.Parameter(_SPREAD * torch.randn(extra_width)) if pieces is None or extra == "shared" else None
        self.table = None
        if pieces is not None and extra == "token":
            self.table = nn.Embedding(pieces, extra_width)
            nn.init.normal_(self.table.weight, std=_SPREAD)
        self.inner, self.dropout = nn.Linear(width + extra_width, width), nn.Dropout(dropout)
        self.outer = nn.Linear(width, outputs)

    def forward(self, features: Tensor, pieces: Tensor | None) -> Tensor:
        """(sentence, word, feature) and the first piece of each word as it is read (sentence, word) → (sentence, word,
        output)."""
        return self.decide(self.joined(features, pieces))

    def joined(self, features: Tensor, pieces: Tensor | None) -> Tensor:
        """The features with the extra vector at their end, (sentence, word, feature + extra)."""
        if self.vector is not None:
            more = self.vector.expand(*features.shape[:-1], -1)
        else:
            assert self.table is not None
            more = self.table(pieces)
        return torch.cat([features, more.to(features.dtype)], dim=-1)

    def decide(self, joined: Tensor) -> Tensor:
        """What `joined` gives, or means of it, of any leading shape → scores."""
        scores: Tensor = self.outer(self.dropout(self.inner(joined).relu()))
        return scores

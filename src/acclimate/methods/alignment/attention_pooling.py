"""One vector for a whole sentence: a mean of its words, weighed by how much each of them matters."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def attention_weights(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the words of each sentence, (sentence, word); 0 at padding, and all 0 where there is no word."""
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)  # not -inf: a row of those gives NaN
    return scores.softmax(1) * mask


class AttentionPooling(nn.Module):
    """Words weighed by a softmax of v · tanh(W h) over the words of their sentence (Zhou et al. 2019, section 3.2.3).

    Whatever stands at padding counts nothing. Computed in the precision of its own weights, also inside autocast.
    """

    def __init__(self, width: int, inner: int | None = None) -> None:
        """`width` of the states; `inner` rows of W, as many as the states are wide if not given."""
        super().__init__()
        inner = width if inner is None else inner
        if width < 1 or inner < 1:
            raise ValueError(
                f"Pooling needs states and an inner layer of at least one number, not {width} and {inner}."
            )
        self.inner = nn.Linear(width, inner, bias=False)  # W
        self.score = nn.Linear(inner, 1, bias=False)  # v

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """(sentence, word, feature), (sentence, word) → (sentence, feature)"""
        with torch.autocast(states.device.type, enabled=False):
            # padding is emptied first: nothing times infinity is not nothing
            states = states.to(self.inner.weight.dtype).masked_fill(~mask.unsqueeze(2), 0)
            scores: Tensor = self.score(self.inner(states).tanh()).squeeze(2)  # (sentence, word)
            return (attention_weights(scores, mask).unsqueeze(1) @ states).squeeze(1)

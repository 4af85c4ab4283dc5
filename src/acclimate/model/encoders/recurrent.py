"""Recurrent layers and their dropout."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn


class VariationalDropout(nn.Module):
    """Dropout that drops the same features at every word of a sentence (Gal and Ghahramani 2016)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        if not 0 <= rate < 1:
            raise ValueError(f"A dropout rate lies in [0, 1), not {rate}.")
        self.rate = rate

    def forward(self, states: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return states
        keep = torch.empty_like(states[:, :1]).bernoulli_(1 - self.rate)  # (sentence, 1, feature)
        return states * keep / (1 - self.rate)


class BidirectionalLstm(nn.Module):
    """Layers of two LSTMs, one reading from the left, one from the right, with variational dropout between.

    Each direction is an LSTM of its own over left-aligned words: the right-to-left one reads the sentence reversed
    inside its own length. So padding never comes before a word, the result does not depend on batch-mates, and no
    packing is needed (packed sequences miss the fast CPU kernels).
    """

    def __init__(
        self, input_width: int, width: int, layers: int = 1, dropout: float = 0.0, input_dropout: float | None = None
    ) -> None:
        super().__init__()
        widths = [input_width, *[2 * width] * (layers - 1)]
        self.rightward = nn.ModuleList(nn.LSTM(size, width, batch_first=True) for size in widths)
        self.leftward = nn.ModuleList(nn.LSTM(size, width, batch_first=True) for size in widths)
        self.dropout = VariationalDropout(dropout)
        self.input_dropout = VariationalDropout(dropout if input_dropout is None else input_dropout)
        self.width = 2 * width
        for lstm in (*self.rightward, *self.leftward):
            _initialise(lstm)

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """(sentence, word, feature) → (sentence, word, 2 × width); dropout on the input and output of each layer."""
        if self.training or torch.is_grad_enabled() or states.device.type != "cpu":
            return self._read(states, lengths)
        # A CPU pays for padding as for words. A batch in order of length, as `predict` makes them, falls into runs of
        # sentences that need little of it.
        features = states.new_zeros(*states.shape[:2], self.width)
        for run in _runs(lengths.tolist()):
            longest = int(lengths[run].max())
            features[run, :longest] = self._read(states[run, :longest], lengths[run])
        return features

    def _read(self, states: Tensor, lengths: Tensor) -> Tensor:
        reversal = reversed_places(lengths.to(states.device), states.size(1))
        first = torch.arange(len(states), device=states.device).unsqueeze(1) * states.size(1)
        mirror = (first + reversal).flatten()  # of all words in one row
        states = self.input_dropout(states)
        for rightward, leftward in zip(self.rightward, self.leftward, strict=True):
            mirrored = _rearranged(states, mirror)
            from_left, _ = rightward(states)
            from_right, _ = leftward(mirrored)
            states = self.dropout(torch.cat([from_left, _rearranged(from_right, mirror)], dim=-1))
        return states


def reversed_places(lengths: Tensor, longest: int) -> Tensor:
    """Where each word goes when every sentence is read backwards and its padding stays put: its own inverse."""
    place = torch.arange(longest, device=lengths.device).expand(len(lengths), longest)
    mirrored = lengths.unsqueeze(1) - 1 - place
    return torch.where(mirrored >= 0, mirrored, place)


def _rearranged(states: Tensor, places: Tensor) -> Tensor:
    """The words in another order. Whole rows are copied: `gather`, which looks up number by number, takes ten times as
    long."""
    return states.flatten(0, 1).index_select(0, places).view_as(states)


def _runs(lengths: list[int], words: int = 2048) -> Iterator[slice]:
    """Neighbours in the batch, so many that they fill at most `words` places, padding counted."""
    first = longest = 0
    for place, length in enumerate(lengths):
        longest = max(longest, length)
        if place > first and longest * (place + 1 - first) > words:
            yield slice(first, place)
            first, longest = place, length
    yield slice(first, len(lengths))


def _initialise(lstm: nn.LSTM) -> None:
    for name, weight in lstm.named_parameters():
        if "weight_hh" in name:
            for gate in weight.data.chunk(4):
                nn.init.orthogonal_(gate)
        elif "weight_ih" in name:
            nn.init.xavier_uniform_(weight)
        else:
            nn.init.zeros_(weight)
            if "bias_ih" in name:  # an open forget gate lets the gradient through from the first update on
                weight.data[lstm.hidden_size : 2 * lstm.hidden_size] = 1.0

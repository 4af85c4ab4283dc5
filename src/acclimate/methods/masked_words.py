"""Masked-language-model training: hide pieces, guess them from what is left (Devlin et al. 2019)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from acclimate.methods.masking.corruption import Corruption
from acclimate.methods.masking.uniform import Uniform
from acclimate.methods.objective import Objective
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.view import TextView
from acclimate.model.word_guesser import WordGuesser


class MaskedWords(Objective):
    """Cross-entropy of the hidden pieces, averaged over all that were hidden.

    Needs no labels: text of the named domain. What pre-training and domain tuning both make small; they differ in the
    text, and in where they start. The guesser works at the hidden places only, a quarter of the text or less: its
    product with the whole table of pieces would otherwise cost more than the encoder.
    """

    def __init__(
        self,
        masker: Uniform,
        corruption: Corruption,
        special: tuple[int, ...],
        guesser: WordGuesser | None = None,
        domain: Literal["source", "target"] = "target",
        continues: Tensor | None = None,
    ) -> None:
        """`special` pieces ([CLS], [SEP], padding) are never hidden. Without a guesser the learner's own is asked.
        `continues` (piece of the vocabulary) is True for pieces that go on with a word: given it, whole words are
        hidden."""
        super().__init__()
        self.guesser, self.masker, self.corruption, self.domain = guesser, masker, corruption, domain
        self.register_buffer("special", torch.tensor(special), persistent=False)
        self.special: Tensor
        self.register_buffer("continues", continues, persistent=False)
        self.continues: Tensor | None
        self._quick: Callable[..., Tensor] | None = None

    def forward(self, source: TextView, target: TextView) -> Tensor:
        view = source if self.domain == "source" else target
        encoder = view.encoder
        assert isinstance(encoder, Transformer)
        guesser = self.guesser or view.guesser
        if guesser is None:
            raise ValueError(
                "Masked words need a language-model head: MaskedWords(..., guesser=WordGuesser.of(model))."
            )
        loss = self._quick if self._quick is not None and self.training else self.loss
        return loss(encoder, guesser, view.inputs["pieces"], view.inputs.get("attention"))

    def speed_up(self) -> None:
        """Compile the training pass: a minute's wait at the start, then about twice as fast on a GPU."""
        self._quick = torch.compile(self.loss)

    def loss(
        self, encoder: Transformer, guesser: WordGuesser, pieces: Tensor, attention: Tensor | None = None
    ) -> Tensor:
        """`pieces` and `attention` (row, piece); no attention means that the rows are full."""
        allowed = ~torch.isin(pieces, self.special)
        if attention is not None:
            allowed = allowed & attention.bool()
        hidden = self.masker(allowed, None if self.continues is None else first_pieces(pieces, self.continues))
        shown = self.corruption(pieces, hidden)
        states = encoder.states(shown, attention)
        places = hidden.places.unsqueeze(2).expand(-1, -1, states.shape[2])
        scores = guesser(states.gather(1, places))  # (row, hidden, piece of the vocabulary)
        wanted = pieces.gather(1, hidden.places)
        losses: Tensor = functional.cross_entropy(scores.flatten(0, 1).float(), wanted.flatten(), reduction="none")
        counts = hidden.counts.flatten()
        mean: Tensor = (losses * counts).sum() / counts.sum().clamp_min(1)
        return mean


def first_pieces(pieces: Tensor, continues: Tensor) -> Tensor:
    """Where the word of each piece begins (row, piece). A row that begins in mid-word begins a word."""
    places = torch.arange(pieces.shape[1], device=pieces.device).expand_as(pieces)
    return places.masked_fill(continues[pieces], 0).cummax(1).values

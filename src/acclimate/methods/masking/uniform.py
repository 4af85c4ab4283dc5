"""Hide places at random, all with the same chance (Devlin et al. 2019)."""

from __future__ import annotations

import torch
from torch import Tensor

from acclimate.methods.masking.policy import Policy
from acclimate.methods.masking.puzzle import Puzzle


class Uniform(Policy):
    """Every place alike. With `whole_words` a piece shares the lot of its word; where the budget is counted in pieces
    only the last word drawn may then be hidden in part."""

    def __init__(self, whole_words: bool = False) -> None:
        super().__init__()
        self.whole_words = whole_words
        self.name = "whole-words" if whole_words else "random"

    def forward(self, puzzle: Puzzle) -> Tensor:
        lots = torch.rand(puzzle.pieces.shape, device=puzzle.pieces.device)
        if not self.whole_words:
            return lots
        if puzzle.first is None:
            raise ValueError("Whole words are to be hidden, but where words begin is not known.")
        return lots.gather(1, puzzle.first)

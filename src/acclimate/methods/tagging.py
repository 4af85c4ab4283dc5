"""Plain supervised tagging."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from acclimate.methods.objective import Objective
from acclimate.model.view import View


class Tagging(Objective):
    """Negative log-likelihood of the gold tags: what a tagger without adaptation is trained on.

    Needs labelled sentences in the named domain; rows without tags count nothing. Averaged per word, so that batches
    of long and of short sentences pull alike (`average="sentence"` is what most CRF papers do).
    """

    def __init__(
        self, domain: Literal["source", "target"] = "source", average: Literal["word", "sentence"] = "word"
    ) -> None:
        super().__init__()
        self.domain, self.average = domain, average

    def forward(self, source: View, target: View) -> Tensor:
        view = source if self.domain == "source" else target
        labelled = view.sentences.labelled
        size = view.sentences.mask.sum(1) if self.average == "word" else labelled
        losses = view.losses.masked_fill(~labelled, 0)
        return losses.sum() / (size * labelled).sum().clamp_min(1)

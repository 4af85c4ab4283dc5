"""An encoder that reads running text and tags nothing: what pre-training trains."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from acclimate.model.encoders.transformer import Transformer, TransformerSettings
from acclimate.model.learner import Learner
from acclimate.model.view import TextView
from acclimate.model.word_guesser import WordGuesser


class Reader(Learner):
    """A masked language model. Sees rows of pieces that are full to the brim: no words, no tags, no padding."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        """`model` is an `AutoModelForMaskedLM`; its parts are shared, not copied, so it can be saved as it is."""
        super().__init__()
        self.encoder: Transformer = Transformer(TransformerSettings(dropout=0.0), model.base_model, tokenizer)
        self.guesser = WordGuesser.of(model)

    def view(self, part: Tensor) -> TextView:
        if self.device.type == "cuda":
            part = part.pin_memory()  # from other memory the copy waits for all work under way on the GPU
        view = TextView(self.encoder, {"pieces": part.to(self.device, non_blocking=True)})
        view.guesser = self.guesser
        return view

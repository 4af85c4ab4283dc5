"""The language-model head: which piece stood here?"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

_HEADS = ("cls", "lm_head", "predictions")  # as BERT, RoBERTa and ALBERT call theirs, with their kin


class MlmHead(nn.Module):
    """The head of a masked language model of `transformers`, apart from its encoder, so that it can be asked about
    chosen places only. Its last layer is the encoder's own table of pieces where the model ties the two."""

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.head = head

    @classmethod
    def of(cls, model: Any) -> MlmHead:
        """The head of an `AutoModelForMaskedLM`."""
        for name in _HEADS:
            if hasattr(model, name):
                return cls(getattr(model, name))
        if hasattr(model, "head") and hasattr(model, "decoder"):  # ModernBERT
            return cls(nn.Sequential(model.head, model.decoder))
        if hasattr(model, "vocab_transform"):  # DistilBERT
            layers = (model.vocab_transform, model.activation, model.vocab_layer_norm, model.vocab_projector)
            return cls(nn.Sequential(*layers))
        if hasattr(model, "generator_predictions"):  # ELECTRA
            return cls(nn.Sequential(model.generator_predictions, model.generator_lm_head))
        raise ValueError(
            f"{type(model).__name__} keeps its language-model head in a way that Acclimate does not know. "
            f"Known: {', '.join(_HEADS)}, ModernBERT's, DistilBERT's and ELECTRA's."
        )

    def forward(self, states: Tensor) -> Tensor:
        """Scores of every piece of the vocabulary, for states of any leading shape."""
        scores: Tensor = self.head(states)
        return scores

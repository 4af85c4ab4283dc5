"""Whether a tagger stands on a masked language model."""

from __future__ import annotations

from acclimate.model.encoders.shipped import SHIPPED, EncoderNotFound
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.language_model import guesser_for
from acclimate.model.tagger import Tagger
from acclimate.settings import UsageError


def require_language_model(tagger: Tagger, who: str) -> None:
    """Better said now than after the baseline is trained."""
    if not isinstance(tagger.encoder, Transformer):
        raise UsageError(
            f"{who} tunes a masked language model, and character-cnn-lstm is none: take the encoder "
            f"{SHIPPED[0]}, or another one."
        )
    guesser_for(tagger.encoder)
    if tagger.encoder.pieces.tokenizer.mask_token_id is None:
        raise UsageError(f"The tokenizer of {tagger.encoder.origin} has no [MASK]: it is no masked language model.")


def is_language_model(tagger: Tagger) -> bool:
    """Whether its encoder can be tuned to text."""
    try:
        require_language_model(tagger, "This tagger")
    except (UsageError, EncoderNotFound):
        return False
    return True

"""Loading pre-trained encoders and tokenizers by hub name or folder. Nothing is fetched unless it is asked for here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers.pre_tokenizers import ByteLevel
from torch import nn


class EncoderNotFound(ValueError):
    """An encoder that is neither a folder nor to be had under that name."""


def load_tokenizer(name: str) -> Any:
    from transformers import AutoTokenizer

    require_possible(name)

    # byte-level tokenizers need a blank before each word when words come one by one; others ignore the option
    options = {"add_prefix_space": True}
    try:
        tokenizer = quietly(AutoTokenizer.from_pretrained, name, **options)
    except TypeError:
        tokenizer = quietly(AutoTokenizer.from_pretrained, name)
    except (OSError, ValueError) as failure:
        raise _not_found(name, "tokenizer", failure) from None
    splitter = getattr(getattr(tokenizer, "backend_tokenizer", None), "pre_tokenizer", None)
    if isinstance(splitter, ByteLevel):  # a tokenizer without a class of its own (ModernBERT's) drops the option
        splitter.add_prefix_space = True
    return tokenizer


def require_possible(name: str) -> None:
    """A mistyped folder is told at once; looking for it on the hub would take its time."""
    if (name.startswith((".", "/", "~")) or name.count("/") > 1) and not Path(name).is_dir():
        raise EncoderNotFound(f"No encoder under {name!r}: there is no such folder, and no model name looks like that.")


def load_backbone(name: str) -> nn.Module:
    """The encoder under a token classifier: its layers, without a pooler or a head."""
    from transformers import AutoModelForTokenClassification

    require_possible(name)
    try:
        # the number format is named because the default follows the checkpoint, which may be half precision
        model = quietly(AutoModelForTokenClassification.from_pretrained, name, dtype=torch.float32)
    except (OSError, ValueError) as failure:
        raise _not_found(name, "encoder", failure) from None
    backbone: nn.Module = model.base_model
    return backbone


def longest_row(tokenizer: Any, model: nn.Module) -> int:
    """How many pieces the encoder takes at once, special ones included."""
    limits = [limit for limit in (getattr(tokenizer, "model_max_length", None),) if limit and limit < 100_000]
    positions = getattr(model.config, "max_position_embeddings", None)
    if positions and positions > 0:  # XLNet says -1 for "no limit"
        limits.append(positions - _first_position(model))
    return min(limits, default=512)


def _first_position(model: nn.Module) -> int:
    """RoBERTa and its kin count positions from behind the padding number on; their table of positions tells."""
    tables = [module for name, module in model.named_modules() if name.endswith("position_embeddings")]
    marked = [table.padding_idx for table in tables if isinstance(table, nn.Embedding)]
    return max((number + 1 for number in marked if number is not None), default=0)


def quietly(act: Any, name: str, **options: Any) -> Any:
    """Without the library's bars, and its remarks about unused heads: dropping the language-model head is meant."""
    from transformers.utils import logging as library_logging

    logging: Any = library_logging
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        return act(name, **options)
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def _not_found(name: str, what: str, failure: Exception) -> EncoderNotFound:
    reason = str(failure).strip().splitlines()[0] if str(failure).strip() else type(failure).__name__
    where = "That folder was found but could not be loaded" if Path(name).is_dir() else "It is no folder here, and"
    hint = f"{where} the model hub gave: {reason}" if not Path(name).is_dir() else f"{where}: {reason}"
    return EncoderNotFound(
        f"No {what} under {name!r}. {hint} "
        "Use 'character-cnn-lstm', a folder with a saved encoder, or a model name while online."
    )

"""Loading pre-trained encoders and tokenizers by name or folder. Nothing is fetched unless it is asked for here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers.pre_tokenizers import ByteLevel
from torch import nn

from acclimate.model.encoders.shipped import OWN_ENCODER, SHIPPED, EncoderNotFound, resolved

_PATIENCE = 5.0  # seconds without an answer after which the model hub counts as out of reach


def load_tokenizer(encoder: str | Path) -> Any:
    """The tokenizer of an encoder: a shipped one or one of the model hub by name, or a folder."""
    from transformers import AutoTokenizer

    place, options = _where(encoder)
    # byte-level tokenizers need a blank before each word when words come one by one; others ignore the option
    blank = {"add_prefix_space": True}
    try:
        tokenizer = quietly(AutoTokenizer.from_pretrained, place, **blank, **options)
    except TypeError:
        tokenizer = quietly(AutoTokenizer.from_pretrained, place, **options)
    except (OSError, ValueError) as failure:
        raise _not_found(place, "tokenizer", failure) from None
    splitter = getattr(getattr(tokenizer, "backend_tokenizer", None), "pre_tokenizer", None)
    if isinstance(splitter, ByteLevel):  # a tokenizer without a class of its own (ModernBERT's) drops the option
        splitter.add_prefix_space = True
    return tokenizer


def load_shell(encoder: str | Path, layers: int | None = None) -> Any:
    """An encoder inside a token classifier of `transformers`: its layers, without a pooler or a language-model head.

    The classifier on top is random, unless a tagger was saved in that folder. `layers` leaves out all above the first
    so many.
    """
    from transformers import AutoConfig, AutoModelForTokenClassification

    place, options = _where(encoder)
    try:
        chosen: dict[str, Any] = {}
        if layers is not None:
            there = quietly(AutoConfig.from_pretrained, place, **options).num_hidden_layers
            if layers > there:  # the library would draw the missing ones at random
                raise ValueError(f"it has {there} layers, so the first {layers} cannot be read.")
            chosen = {"num_hidden_layers": layers}
        # the classifier is drawn at random, and how often depends on the library: a seed must not mean other weights
        # for the tagger because of that
        with torch.random.fork_rng(devices=[]):
            # the number format is named because the default follows the checkpoint, which may be half precision
            return quietly(
                AutoModelForTokenClassification.from_pretrained, place, dtype=torch.float32, **options, **chosen
            )
    except (OSError, ValueError) as failure:
        raise _not_found(place, "encoder", failure) from None


def load_masked_language_model(encoder: str | Path, **changes: Any) -> Any:
    """An encoder with its language-model head. `changes` are made to its configuration first."""
    from transformers import AutoModelForMaskedLM

    place, options = _where(encoder)
    try:
        model, told = quietly(
            AutoModelForMaskedLM.from_pretrained,
            place,
            dtype=torch.float32,
            output_loading_info=True,
            **options,
            **changes,
        )
    except (OSError, ValueError) as failure:
        raise _not_found(place, "masked language model", failure) from None
    if told["missing_keys"]:  # the library would go on with random ones
        raise EncoderNotFound(
            f"{place} is no masked language model: it lacks {sorted(told['missing_keys'])[0]} and "
            f"{len(told['missing_keys']) - 1} more weights. A tagger's encoder has lost its language-model head."
        )
    return model


def weight_files(encoder: str | Path) -> list[Path]:
    """The files that hold the weights of an encoder that is on this machine as a folder."""
    place = Path(resolved(encoder))
    return sorted([*place.glob("*.safetensors"), *place.glob("*.bin")]) if place.is_dir() else []


def load_backbone(encoder: str | Path, layers: int | None = None) -> nn.Module:
    """An encoder alone, or the first layers of one."""
    backbone: nn.Module = load_shell(encoder, layers).base_model
    return backbone


def _where(encoder: str | Path) -> tuple[str, dict[str, bool]]:
    """What to hand to `from_pretrained`, and whether it may look further than this machine."""
    if str(encoder) == OWN_ENCODER:  # the hub would be asked for it
        raise EncoderNotFound(
            f"{encoder} is no masked language model: take {SHIPPED[0]}, a folder with a saved encoder, or a model name."
        )
    place = resolved(encoder)
    if isinstance(place, str):
        require_possible(place)
    is_local = isinstance(place, Path) or Path(place).is_dir() or not _hub_answers(place)
    return str(place), {"local_files_only": is_local}


def require_possible(name: str) -> None:
    """A mistyped folder is told at once; looking for it on the hub would take its time."""
    if (name.startswith((".", "/", "~")) or name.count("/") > 1) and not Path(name).is_dir():
        raise EncoderNotFound(f"No encoder under {name!r}: there is no such folder, and no model name looks like that.")


def _hub_answers(name: str) -> bool:
    """Whether the model hub can be asked. The library itself would knock six times for each of a dozen files, which
    takes minutes where there is no network, even for a model that was downloaded long ago."""
    from huggingface_hub import constants, model_info
    from huggingface_hub.errors import HfHubHTTPError

    if constants.HF_HUB_OFFLINE:
        return False
    try:
        model_info(name, timeout=_PATIENCE)
    except (HfHubHTTPError, ValueError):  # an answer too, or no name that could be asked for: the library explains it
        return True
    except Exception:  # no connection; which error says so depends on the library's version
        return False
    return True


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


def _not_found(place: str, what: str, failure: Exception) -> EncoderNotFound:
    if _is_unfinished(Path(place)):
        return EncoderNotFound(
            f"{place}: this encoder is not finished. Give its command (`acclimate domain-tune` or `pretrain`) again to "
            "go on with it."
        )
    said = str(failure).strip().splitlines()
    reason = said[0] if said else type(failure).__name__
    if Path(place).is_dir():
        hint = f"That folder was found but could not be loaded: {reason}"
    else:
        hint = f"It is no folder here, and the model hub gave: {reason}"
    ours = "" if what == "masked language model" else f" or {OWN_ENCODER!r}"
    return EncoderNotFound(
        f"No {what} under {place!r}. {hint} Use {', '.join(map(repr, SHIPPED))}{ours}, from the package, "
        "a folder with a saved encoder, or a model name while online."
    )


def _is_unfinished(folder: Path) -> bool:
    """Whether training was begun there that has not saved an encoder yet."""
    return (folder / "training").is_dir() and not (folder / "config.json").is_file()

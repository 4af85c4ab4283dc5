"""Loads pre-trained encoders and tokenizers by name or folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from tokenizers.pre_tokenizers import ByteLevel
from torch import nn

from acclimate.model.encoders.shipped import CNN_LSTM, SHIPPED, EncoderNotFound, resolved
from acclimate.model.storage import MANIFEST, is_plain_name, verify

SAFELY = {"trust_remote_code": False}  # otherwise the library asks on standard input
_CONFIGS = ("config.json", "tokenizer_config.json")
_ADAPTER, _INDEX = "adapter_config.json", "model.safetensors.index.json"
_BUILT_IN = (None, "eager", "sdpa")  # attention that needs no foreign code
_MOST_LAYERS = 1000


def require_harmless(place: str, is_local: bool) -> None:
    """Refuse an encoder or a tokenizer whose files ask for code, or for anything outside its own folder."""
    for name in _CONFIGS:
        for key, value in _entries(_read(place, name, is_local)):
            problem = _problem(key, value)
            if problem is not None:
                raise EncoderNotFound(f"{place}: {name} {problem}")
    if _find(place, _ADAPTER, is_local) is not None:
        raise EncoderNotFound(
            f"{place}: {_ADAPTER} stands there. Adapters are not read, since their base model may be anywhere. Merge "
            "the adapter into its model and save that."
        )
    shards = _read(place, _INDEX, is_local).get("weight_map", {})
    for name in shards.values() if isinstance(shards, dict) else [shards]:
        if not isinstance(name, str) or not is_plain_name(name) or "/" in name or not name.endswith(".safetensors"):
            raise EncoderNotFound(f"{place}: {_INDEX} names {name!r}, which is no safetensors file of that folder.")


def _problem(key: str, value: Any) -> str | None:
    if key == "auto_map" and value:
        return f"names Python code ({key}). Acclimate never runs code that comes with an encoder. Choose another one."
    if key.strip("_").removesuffix("_internal").endswith(("attn_implementation", "experts_implementation")):
        if isinstance(value, dict):
            return None  # its entries are checked, too
        if value not in _BUILT_IN:
            return f"asks for {key} {value!r}, which may be code from elsewhere. Remove it, or write 'sdpa'."
    if key in ("quantization_config", "transformers_weights") and value:
        return f"has {key}, which is not supported. Save the encoder with plain weights."
    if "layers" in key and type(value) is int and not 0 <= value <= _MOST_LAYERS:
        return f"says {key} {value}: expected a number from 0 to {_MOST_LAYERS}."
    if "heads" in key and type(value) is int and value < 1:
        return f"says {key} {value}: expected at least 1."
    return None


def _entries(content: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """All keys and values, however deep; inside an `..._implementation` under that name."""
    if isinstance(content, dict):
        for key, value in content.items():
            name = above if above.endswith("_implementation") else key
            yield name, value
            yield from _entries(value, name)
    elif isinstance(content, list):
        for value in content:
            yield from _entries(value, above)


def _read(place: str, name: str, is_local: bool) -> dict[str, Any]:
    path = _find(place, name, is_local)
    if path is None:
        return {}
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise EncoderNotFound(f"{path}: damaged, it is not JSON. Get the encoder again.") from None
    if not isinstance(content, dict):
        raise EncoderNotFound(f"{path}: damaged, it holds no JSON object. Get the encoder again.")
    return content


def _find(place: str, name: str, is_local: bool) -> Path | None:
    """A file of a folder or of a hub model; None where there is none."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, HFValidationError

    if Path(place).is_dir():
        path = Path(place) / name
        return path if path.is_file() else None
    try:
        return Path(hf_hub_download(place, name, local_files_only=is_local))
    except (EntryNotFoundError, HfHubHTTPError, HFValidationError):  # the library will explain it
        return None


ENCODER = "encoder"  # the folder inside a tagger's that holds its encoder
_PATIENCE = 5.0  # seconds to wait for the model hub


def load_tokenizer(encoder: str | Path, *, is_verified: bool = False) -> Any:
    """The tokenizer of an encoder, by name or folder. `is_verified`: its checksums were checked just before."""
    from transformers import AutoTokenizer

    place, options = _where(encoder, is_verified)
    with _explained(place, "tokenizer"):
        # for byte-level tokenizers, which expect a blank before each word
        try:
            tokenizer = quietly(AutoTokenizer.from_pretrained, place, add_prefix_space=True, **options)
        except TypeError:
            tokenizer = quietly(AutoTokenizer.from_pretrained, place, **options)
    splitter = getattr(getattr(tokenizer, "backend_tokenizer", None), "pre_tokenizer", None)
    if isinstance(splitter, ByteLevel):  # ModernBERT's drops the option
        splitter.add_prefix_space = True
    return tokenizer


def load_backbone(encoder: str | Path, layers: int | None = None, *, is_verified: bool = False) -> nn.Module:
    """An encoder without pooler and language-model head, or only its first `layers`."""
    from transformers import AutoConfig, AutoModelForTokenClassification

    place, options = _where(encoder, is_verified)
    with _explained(place, "encoder"):
        chosen: dict[str, Any] = {}
        if layers is not None:
            there = quietly(AutoConfig.from_pretrained, place, **options).num_hidden_layers
            if layers > there:  # the library would make random ones
                raise ValueError(f"it has {there} layers, so the first {layers} cannot be read.")
            chosen = {"num_hidden_layers": layers}
        # a token classifier has no pooler; its random layer must not change what a seed means
        with torch.random.fork_rng(devices=[]):
            shell, report = _load_model(AutoModelForTokenClassification, place, options | chosen)
        backbone: nn.Module = shell.base_model
        own = {name.removeprefix(f"{shell.base_model_prefix}.") for name in report["missing_keys"]}
        lacking = sorted(own & backbone.state_dict().keys())
        if lacking:  # the library has drawn them at random
            raise EncoderNotFound(
                f"{place} is no whole encoder: it lacks {lacking[0]} and {len(lacking) - 1} more weights."
            )
    return backbone


def load_masked_language_model(encoder: str | Path, **changes: Any) -> Any:
    """An encoder with its language-model head. `changes` are made to its configuration."""
    from transformers import AutoModelForMaskedLM

    place, options = _where(encoder)
    with _explained(place, "masked language model"):
        model, report = _load_model(AutoModelForMaskedLM, place, options | changes)
    if report["missing_keys"]:  # the library would use random ones
        raise EncoderNotFound(
            f"{place} is no masked language model: it lacks {sorted(report['missing_keys'])[0]} and "
            f"{len(report['missing_keys']) - 1} more weights. A tagger's encoder has lost its language-model head."
        )
    return model


def _load_model(kind: Any, place: str, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A model in full precision from safetensors (others are pickles), and the library's report on its weights."""
    safely = {"dtype": torch.float32, "use_safetensors": True, "output_loading_info": True}
    loaded: tuple[Any, dict[str, Any]] = quietly(kind.from_pretrained, place, **safely, **options)
    return loaded


def weight_files(encoder: str | Path) -> list[Path]:
    """The weight files of a local encoder."""
    place = Path(_folder_of(encoder))
    return sorted(place.glob("*.safetensors")) if place.is_dir() else []


def _where(encoder: str | Path, is_verified: bool = False) -> tuple[str, dict[str, Any]]:
    """The place and the options for `from_pretrained`, after all checks."""
    if str(encoder) == CNN_LSTM:  # the hub would be asked for it
        raise EncoderNotFound(
            f"{encoder} is no masked language model: take {SHIPPED[0]}, a folder with a saved encoder, or a model name."
        )
    place = _folder_of(encoder)
    if isinstance(place, str):
        require_possible(place)
    is_local = isinstance(place, Path) or Path(place).is_dir() or not _hub_answers(place)
    folder = Path(place)
    for sealed in () if is_verified else (folder, folder.parent) if folder.name == ENCODER else (folder,):
        if (sealed / MANIFEST).exists():
            verify(sealed)
    require_harmless(str(place), is_local)
    return str(place), {"local_files_only": is_local, **SAFELY}


def _folder_of(encoder: str | Path) -> str | Path:
    """A name or a folder; that of a tagger leads to its encoder."""
    place = resolved(encoder)
    inside = Path(place) / ENCODER
    is_tagger = (inside / "config.json").is_file() and not (Path(place) / "config.json").is_file()
    return inside if is_tagger else place


def require_possible(name: str) -> None:
    """Refuse a mistyped folder at once, without asking the hub."""
    if (name.startswith((".", "/", "~")) or name.count("/") > 1) and not Path(name).is_dir():
        raise EncoderNotFound(f"No encoder under {name!r}: there is no such folder, and no model name looks like that.")


def _hub_answers(name: str) -> bool:
    """Whether the model hub answers. The library itself would try for minutes, also for a model in its cache."""
    from huggingface_hub import constants, model_info
    from huggingface_hub.errors import HfHubHTTPError

    if constants.HF_HUB_OFFLINE:
        return False
    try:
        model_info(name, timeout=_PATIENCE)
    except (HfHubHTTPError, ValueError):  # an answer, too; the library explains it
        return True
    except Exception:  # no connection
        return False
    return True


def longest_row(tokenizer: Any, model: nn.Module) -> int:
    """The longest input in pieces, special ones included."""
    limits = [limit for limit in (getattr(tokenizer, "model_max_length", None),) if limit and limit < 100_000]
    positions = getattr(model.config, "max_position_embeddings", None)
    if positions and positions > 0:  # XLNet: -1
        # RoBERTa and similar models count positions from after the padding number
        tables = [module for name, module in model.named_modules() if name.endswith("position_embeddings")]
        padding = [table.padding_idx for table in tables if isinstance(table, nn.Embedding)]
        limits.append(positions - max((number + 1 for number in padding if number is not None), default=0))
    return min(limits, default=512)


def quietly(act: Any, name: str, **options: Any) -> Any:
    """Without the library's progress bars and its warnings about unused heads."""
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


@contextmanager
def _explained(place: str, what: str) -> Iterator[None]:
    """Turn every failure of the library into `EncoderNotFound`."""
    try:
        yield
    except (EncoderNotFound, torch.OutOfMemoryError):
        raise
    except BaseException as failure:
        # a panic of Rust is no Exception
        if not isinstance(failure, Exception) and type(failure).__name__ != "PanicException":
            raise
        raise _not_found(place, what, failure) from None


def _not_found(place: str, what: str, failure: BaseException) -> EncoderNotFound:
    folder = Path(place)
    if (folder / "training").is_dir() and not (folder / "config.json").is_file():
        return EncoderNotFound(
            f"{place}: this encoder is not finished. Give its command (`acclimate encoder domain-tune` or `pretrain`) "
            "again to go on with it."
        )
    reason = next(iter(str(failure).strip().splitlines()), type(failure).__name__)
    if "use_safetensors" in reason or "no file named model.safetensors" in reason:
        reason = "it has no safetensors weights (model.safetensors). Others are pickles, which can run code."
    if Path(place).is_dir():
        hint = f"That folder was found but could not be loaded: {reason}"
    else:
        hint = f"It is no folder here, and the model hub gave: {reason}"
    ours = "" if what == "masked language model" else f" or {CNN_LSTM!r}"
    return EncoderNotFound(
        f"No {what} under {place!r}. {hint} Use {', '.join(map(repr, SHIPPED))}{ours}, from the package, "
        "a folder with a saved encoder, or a model name while online."
    )

"""What the files of an encoder may not ask for. Anybody may have written them, and `transformers` does what they say:
it runs Python code, fetches kernels, and reads weights from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from acclimate.model.encoders.shipped import EncoderNotFound
from acclimate.model.storage import is_plain_name

SAFELY = {"trust_remote_code": False}  # or the library asks on standard input, and text that comes in may answer
_CONFIGS = ("config.json", "tokenizer_config.json")
_ADAPTER, _INDEX = "adapter_config.json", "model.safetensors.index.json"
_BUILT_IN = (None, "eager", "sdpa")  # ways of computing attention that need no code from elsewhere
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
            return None  # its own entries are looked at
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
    """Every entry, however deep. Entries of an `..._implementation` have its name: each is one such choice."""
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
    """A file of a folder, or of a model of the hub; None where there is none."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, HFValidationError

    if Path(place).is_dir():
        path = Path(place) / name
        return path if path.is_file() else None
    try:
        return Path(hf_hub_download(place, name, local_files_only=is_local))
    except (EntryNotFoundError, HfHubHTTPError, HFValidationError):  # the library will say what is the matter
        return None

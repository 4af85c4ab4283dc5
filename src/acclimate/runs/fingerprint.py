"""What a run depends on, as JSON: two runs with the same of it end with the same weights."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from acclimate.data.problems import InputError
from acclimate.model.encoders.pretrained import weight_files
from acclimate.model.encoders.shipped import CNN_LSTM
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import AUTO, find_recipe
from acclimate.runs.prepare import Preparation
from acclimate.runs.settings import RunSettings, TaggerSettings
from acclimate.runs.task import Task
from acclimate.settings import differences
from acclimate.training.stage import DevelopmentScore

_UNIMPORTANT = {"checkpoint_every", "tensorboard"}  # change no weight
_MODELS = ("encoder", "tagger")  # settings that may be the folder of a model
_FILES = ("extra", "second", "source_vectors", "synonyms", "vectors", "file")  # the last is a file of collocations


def run_fingerprint(task: Task, settings: RunSettings, has_own_tagger: bool = False) -> dict[str, Any]:
    """Settings, corpora, and what the files hold that a run reads. `has_own_tagger`: it is not built from the
    settings."""
    values = settings.model_dump(mode="json", include=set(RunSettings.model_fields))
    values["training"] = {name: value for name, value in values["training"].items() if name not in _UNIMPORTANT}
    if has_own_tagger:
        values["tagger"] = None
    if settings.recipe != AUTO:
        values["options"] = find_recipe(settings.recipe).complete(settings.options).model_dump(mode="json")
    labels = task.target_labels
    files = files_read(None if has_own_tagger else settings.tagger, values["options"])
    if settings.recipe.endswith(".py"):
        files[settings.recipe] = file_digest(Path(settings.recipe))
    return _as_read(
        {
            **values,
            "data": task.fingerprints,
            "target_labels": None if labels is None else list(labels.names),
            "files": files,
        }
    )


def start_fingerprint(tagger: Tagger, ready: Preparation) -> dict[str, Any]:
    """What is known when preparing is over: the first weights, and what is learnt."""
    plan, selector = ready.plan, ready.selector
    return _as_read(
        {
            "tagger": fingerprint(tagger),
            "training": plan.training.model_dump(mode="json", exclude=_UNIMPORTANT),
            "selector": selector.name,
            "judge": selector.corpus.fingerprint if isinstance(selector, DevelopmentScore) else None,
            "source": plan.source.fingerprint,
            "target": plan.target.fingerprint,
        }
    )


def _as_read(values: Mapping[str, Any]) -> dict[str, Any]:
    """As a file gives it back."""
    read: dict[str, Any] = json.loads(json.dumps(values))
    return read


def changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs from the beginning of a run, a line each; names that `now` lacks are skipped, as are files that are
    gone."""
    kept = {name: value for name, value in then.items() if name in now and name not in ("data", "files")}
    rest = {name: value for name, value in now.items() if name in then and name not in ("data", "files")}
    return [
        *changed_data(then.get("data") or {}, now.get("data") or {}),
        *differences(kept, rest),
        *_changed_files(then.get("files") or {}, now.get("files") or {}),
    ]


def changed_data(then: Mapping[str, str | None], now: Mapping[str, str | None]) -> list[str]:
    """Which corpora are not those that a run was begun with."""
    return [f"  data.{part}: {_fate(then.get(part), here)}" for part, here in now.items() if then.get(part) != here]


def _fate(then: str | None, now: str | None) -> str:
    if then is None:
        return "none then, given now"
    return "given then, none now" if now is None else "other sentences or tags now"


def _changed_files(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    return [
        f"  files.{name}: its content has changed ({then.get(name, 'no such file')} then, {content} now)"
        for name, content in now.items()
        if then.get(name) != content
    ]


def fingerprint(tagger: Tagger) -> str:
    """Changes with the tagger's make, labels and first weights: a run may only go on from the same beginning."""
    make = {"encoder": tagger.encoder.description(), "head": tagger.head_name, "tags": tagger.tags}
    digest = hashlib.sha256(json.dumps(make, sort_keys=True, default=str).encode("utf-8", "replace"))
    for name, tensor in sorted(tagger.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def file_digest(path: Path) -> str:
    """Of every byte. A file that has not been changed since is not read twice."""
    if path.is_dir():
        raise InputError("this is a folder; name the text files in it.", file=path)
    if not path.is_file():
        raise InputError("there is no such text file.", file=path)
    found = path.stat()
    return _digest(path, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


@lru_cache(maxsize=256)
def _digest(path: Path, size: int, *state: int) -> str:
    """`state` changes with the file, so that an old digest is not taken for the new one."""
    with path.open("rb") as file:
        return f"{size} bytes, {hashlib.file_digest(file, 'sha256').hexdigest()[:16]}"


def encoder_digest(encoder: str) -> dict[str, str] | str:
    """Changes with the weights of an encoder that is a folder; one of the hub is known by its name."""
    return {weights.name: file_digest(weights) for weights in weight_files(encoder)} or encoder


def files_read(tagger: TaggerSettings | None, options: Mapping[str, Any]) -> dict[str, str]:
    """The digest of each file that settings name, as far as it is here."""
    chosen: dict[str, Any] = {}
    if tagger is not None:
        own = tagger.encoder == CNN_LSTM
        chosen = {"lstm": tagger.lstm.model_dump(mode="json")} if own else {"encoder": tagger.encoder}
    files: dict[str, Path] = {}
    for name, value in _texts({**chosen, **options}):
        if name in _MODELS:
            files |= {f"{value}/{file.name}": file for file in weight_files(value)}
        elif name in _FILES and Path(value).is_file():
            files[value] = Path(value)
    return {name: file_digest(file) for name, file in files.items()}


def _texts(values: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a tree of settings, with the name of its setting."""
    if isinstance(values, str):
        yield name, values
    elif isinstance(values, Mapping):
        for key, value in values.items():
            yield from _texts(value, key)
    elif isinstance(values, list | tuple):
        for value in values:
            yield from _texts(value, name)

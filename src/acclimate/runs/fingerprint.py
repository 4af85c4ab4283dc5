"""A run's folder belongs to the run that began in it: other data, settings or seed may not go on there."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from acclimate.data.problems import InputError
from acclimate.model.encoders.pretrained import weight_files
from acclimate.model.encoders.shipped import CNN_LSTM
from acclimate.model.storage import read_json, write_json
from acclimate.model.tagger import Tagger
from acclimate.recipes.recipe import Plan
from acclimate.runs.settings import TaggerSettings
from acclimate.settings import Settings, UsageError, as_known_now, differences
from acclimate.spelling import argument
from acclimate.training.selectors import DevelopmentScore, Selector

CLAIM = "begun-with.json"
_SETTLED = 2.0  # seconds: no file system counts time more coarsely


def claim(folder: Path, begun_with: Mapping[str, Any], options: type[Settings] | None = None) -> None:
    """Note what this run is begun with, or see that it is what the run on disk was begun with. `options`: the kind of
    the recipe's, some of which an earlier version may not have had."""
    place = folder / CLAIM
    if place.is_file():
        found = _read(place)
        if options is not None:
            found["options"] = as_known_now(options, found.get("options") or {})
        changed = differences(found, begun_with)
        if changed:
            shown = "\n".join(changed[:12])
            raise UsageError(
                f"{folder.parent} holds a run that was begun otherwise:\n{shown}\n"
                "To go on with it give the same data, settings and tagger (Tagger.build with the same seed); "
                "otherwise choose another folder."
            )
        return
    folder.mkdir(parents=True, exist_ok=True)
    aside = place.with_suffix(".part")
    write_json(aside, begun_with)
    aside.replace(place)


def begun_with(folder: Path) -> dict[str, Any] | None:
    """What the run of this `training` folder was begun with; None where none was."""
    place = folder / CLAIM
    return _read(place) if place.is_file() else None


def _read(place: Path) -> dict[str, Any]:
    try:
        found = read_json(place)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(
            f"damaged: it does not say what the run there was begun with. Remove {place.parent} to start anew, or "
            f"choose another folder ({argument('out')}).",
            file=place,
        )
    return found


def clear_stages(training: Path) -> None:
    """Weights along the way are not needed any more when a run is finished."""
    for stage in training.glob("*/[0-9][0-9]-*"):
        shutil.rmtree(stage, ignore_errors=True)


def fingerprint(tagger: Tagger) -> str:
    """Changes with the tagger's make, labels and first weights: a run may only go on from the same beginning."""
    make = {"encoder": tagger.encoder.description(), "head": tagger.head_name, "tags": tagger.tags}
    digest = hashlib.sha256(json.dumps(make, sort_keys=True, default=str).encode("utf-8", "replace"))
    for name, tensor in sorted(tagger.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def file_digest(path: Path) -> str:
    """Of every byte, however large the file is. One that has not been touched since is not read twice."""
    if path.is_dir():
        raise InputError("this is a folder; name the text files in it.", file=path)
    if not path.is_file():
        raise InputError("there is no such text file.", file=path)
    found = path.stat()
    state = (str(path.resolve()), found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
    # what was written just now may be written again before the clock of the file system moves on
    is_old = time.time() - max(found.st_mtime, found.st_ctime) > _SETTLED
    return _known_digest(*state) if is_old else _digest(path)


@lru_cache(maxsize=256)
def _known_digest(path: str, *state: int) -> str:
    return _digest(Path(path))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return f"{path.stat().st_size} bytes, {hashlib.file_digest(file, 'sha256').hexdigest()[:16]}"


def encoder_digest(encoder: str) -> dict[str, str] | str:
    """Changes with the weights of an encoder that is a folder; one of the hub is known by its name."""
    return {weights.name: file_digest(weights) for weights in weight_files(encoder)} or encoder


# options that may be a file; the last are collocations
FILES = ("second", "source_vectors", "synonyms", "vectors", "file")


def beginning_of(tagger: Tagger, recipe: str, plan: Plan, selector: Selector, shortened: float) -> dict[str, Any]:
    """As JSON: two runs with the same of it end with the same weights."""
    judge = selector.corpus.fingerprint if isinstance(selector, DevelopmentScore) else None
    return {
        "recipe": recipe,
        "seed": plan.seed,
        "selector": selector.name,
        "tagger": fingerprint(tagger),
        # how often a state is saved and where it is logged changes no weight
        "training": {
            **plan.training.model_dump(mode="json", exclude={"checkpoint_every", "tensorboard"}),
            **({} if shortened == 1 else {"shortened": shortened}),
        },
        "options": plan.options.model_dump(mode="json"),
        "extra": {file: file_digest(Path(file)) for file in _files(plan.options)},
        "data": {"source": plan.source.fingerprint, "target": plan.target.fingerprint, "selector": judge},
    }


def _files(options: Settings) -> list[str]:
    """What a recipe reads besides the corpora: text, a second task, synonyms, vectors (not those of a package)."""
    return list(dict.fromkeys(files_in(options.model_dump(mode="json"))))


def files_in(values: Any) -> Iterator[str]:
    """The files that a tree of settings names: more text, and what stands under the names of files."""
    if isinstance(values, list):
        for value in values:
            yield from files_in(value)
    elif isinstance(values, dict):
        extra = values.get("extra")
        yield from extra if isinstance(extra, list) else ()
        named = [values.get(name) for name in FILES]
        yield from (file for file in named if isinstance(file, str) and Path(file).is_file())
        yield from (file for value in values.values() for file in files_in(value))


_MODELS = ("encoder", "tagger")  # settings that may be the folder of a model


def files_read(tagger: TaggerSettings, options: Mapping[str, Any]) -> dict[str, str]:
    """What each file holds, by its name. What is not here has no part in it: a model of the hub, the vectors of a
    package, a file that is gone."""
    own = tagger.encoder == CNN_LSTM
    chosen = {"lstm": tagger.lstm.model_dump(mode="json")} if own else {"encoder": tagger.encoder}
    settings = {"tagger": chosen, "options": dict(options)}
    files = {file: Path(file) for file in files_in(settings)}
    files |= {f"{model}/{file.name}": file for model in _models_in(settings) for file in weight_files(model)}
    return {name: file_digest(file) for name, file in files.items() if file.is_file()}


def _models_in(values: Any) -> Iterator[str]:
    if isinstance(values, dict):
        named = [values.get(name) for name in _MODELS]
        yield from (model for model in named if isinstance(model, str))
    for value in values.values() if isinstance(values, dict) else values if isinstance(values, list) else ():
        yield from _models_in(value)

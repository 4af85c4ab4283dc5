"""A run's folder belongs to the run that began in it: other data, settings or seed may not go on there."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acclimate.data.problems import InputError
from acclimate.model.encoders.pretrained import weight_files
from acclimate.model.storage import read_json, write_json
from acclimate.model.tagger import Tagger
from acclimate.settings import Settings, UsageError, as_known_now, differences

CLAIM = "begun-with.json"


def claim(folder: Path, begun_with: Mapping[str, Any], options: type[Settings] | None = None) -> None:
    """Note what this run is begun with, or see that it is what the run on disk was begun with. `options`: the kind of
    the recipe's, some of which an earlier version may not have had."""
    place = folder / CLAIM
    if place.is_file():
        found = read_json(place)
        if options is not None:
            found["options"] = as_known_now(options, found["options"])
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
    found: dict[str, Any] | None = read_json(place) if place.is_file() else None
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
    """Size, beginning and end: a change in the middle of a huge file is not worth reading all of it each time."""
    if path.is_dir():
        raise InputError("this is a folder; name the text files in it.", file=path)
    if not path.is_file():
        raise InputError("there is no such text file.", file=path)
    with path.open("rb") as file:
        digest = hashlib.sha256(file.read(2**20))
        size = path.stat().st_size
        file.seek(max(0, size - 2**20))
        digest.update(file.read())
    return f"{size} bytes, {digest.hexdigest()[:16]}"


def encoder_digest(encoder: str) -> dict[str, str] | str:
    """Changes with the weights of an encoder that is a folder; one of the hub is known by its name."""
    return {weights.name: file_digest(weights) for weights in weight_files(encoder)} or encoder

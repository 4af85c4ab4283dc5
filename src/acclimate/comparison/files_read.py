"""The files that a run reads besides its corpora, by their content: under the same name there may be another one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from acclimate.model.encoders.pretrained import weight_files
from acclimate.model.encoders.shipped import OWN_ENCODER
from acclimate.recipes.beginning import files_in
from acclimate.recipes.claim import file_digest
from acclimate.recipes.task import TaggerSettings

_MODELS = ("encoder", "tagger")  # settings that may be the folder of a model


def files_read(tagger: TaggerSettings, options: Mapping[str, Any]) -> dict[str, str]:
    """What each file holds, by its name. What is not here has no part in it: a model of the hub, the vectors of a
    package, a file that is gone."""
    own = tagger.encoder == OWN_ENCODER
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

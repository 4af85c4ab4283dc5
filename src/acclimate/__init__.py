"""Acclimate: adapt a sequence labeller from a labelled source domain to a new target domain.

>>> from acclimate import Tagger, adapt, evaluate, read_corpus
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from acclimate.comparison.compare import compare as compare
    from acclimate.data.corpus import Corpus as Corpus
    from acclimate.data.corpus import Sentence as Sentence
    from acclimate.data.mapping import LabelMap as LabelMap
    from acclimate.data.mapping import map_labels as map_labels
    from acclimate.data.mapping import typeless as typeless
    from acclimate.data.reading import load_bundled as load_bundled
    from acclimate.data.reading import read_corpus as read_corpus
    from acclimate.data.schemes import Span as Span
    from acclimate.data.sources import join_sources as join_sources
    from acclimate.data.writing import write_corpus as write_corpus
    from acclimate.evaluation.scores import score as score
    from acclimate.inference.compact import CompactTagger as CompactTagger
    from acclimate.inference.export import export_onnx as export_onnx
    from acclimate.inference.export_transformers import export_transformers as export_transformers
    from acclimate.inference.part_of_speech import part_of_speech_tagger as part_of_speech_tagger
    from acclimate.inference.predict import evaluate as evaluate
    from acclimate.inference.predict import guess as guess
    from acclimate.inference.predict import predict as predict
    from acclimate.model.encoders.shipped import shipped_encoder_path as shipped_encoder_path
    from acclimate.model.storage import finish_saving as finish_saving
    from acclimate.model.tagger import Tagger as Tagger
    from acclimate.runs.compress import compress as compress
    from acclimate.runs.task import Task as Task
    from acclimate.runs.train import adapt as adapt

# names are fetched when they are first used: `acclimate --help` must not wait for torch
_HOMES = {
    "CompactTagger": "acclimate.inference.compact",
    "Corpus": "acclimate.data.corpus",
    "LabelMap": "acclimate.data.mapping",
    "Sentence": "acclimate.data.corpus",
    "Span": "acclimate.data.schemes",
    "Tagger": "acclimate.model.tagger",
    "Task": "acclimate.runs.task",
    "adapt": "acclimate.runs.train",
    "compare": "acclimate.comparison.compare",
    "compress": "acclimate.runs.compress",
    "evaluate": "acclimate.inference.predict",
    "export_onnx": "acclimate.inference.export",
    "export_transformers": "acclimate.inference.export_transformers",
    "finish_saving": "acclimate.model.storage",
    "guess": "acclimate.inference.predict",
    "join_sources": "acclimate.data.sources",
    "load_bundled": "acclimate.data.reading",
    "map_labels": "acclimate.data.mapping",
    "part_of_speech_tagger": "acclimate.inference.part_of_speech",
    "predict": "acclimate.inference.predict",
    "read_corpus": "acclimate.data.reading",
    "score": "acclimate.evaluation.scores",
    "shipped_encoder_path": "acclimate.model.encoders.shipped",
    "typeless": "acclimate.data.mapping",
    "write_corpus": "acclimate.data.writing",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'acclimate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])

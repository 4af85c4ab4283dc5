"""The taggers of a server by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acclimate.data.corpus import Corpus
from acclimate.inference.compact import CompactTagger
from acclimate.inference.loading import load_tagger, tagger_in
from acclimate.inference.predict import predict
from acclimate.layout import BEFORE
from acclimate.model.storage import MANIFEST
from acclimate.model.text_tagger import Entity, TextTagger
from acclimate.settings import UsageError

_NAMED = re.compile(r"([\w.-]+)=(.+)", re.DOTALL)


@dataclass(frozen=True)
class ServedTagger:
    """A tagger, how it is called, and the name of the one from which it was adapted."""

    name: str
    tagger: TextTagger
    before: str | None = None

    @property
    def form(self) -> str:
        return "compact" if isinstance(self.tagger, CompactTagger) else "torch"

    @property
    def reads_alone(self) -> bool:
        """Whether a text must have a batch of its own: 8-bit graphs scale numbers by all that is in a batch."""
        return isinstance(self.tagger, CompactTagger) and self.tagger.description.weights == "int8"

    def entities(self, texts: Sequence[str]) -> list[list[dict[str, Any]]]:
        """Of each text, as JSON holds them."""
        found = self.tagger.pipe(texts, batch_size=max(1, len(texts)))
        return [[_as_dict(entity) for entity in entities] for entities in found]

    def tags(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """Of a sentence without words there are none."""
        filled = [words for words in sentences if words]
        tagged = iter(predict(self.tagger, Corpus.of_texts(filled)) if filled else ())
        return [list(next(tagged).tags or ()) if words else [] for words in sentences]

    def as_dict(self) -> dict[str, Any]:
        """What the list of taggers says of it."""
        return {
            "name": self.name,
            "labels": list(self.tagger.labels.names),
            "kind": self.tagger.labels.kind,
            "form": self.form,
            "before": self.before,
        }


def _as_dict(entity: Entity) -> dict[str, Any]:
    score = min(1.0, max(0.0, entity.score))  # rounding may leave it a hair outside
    return {"label": entity.label, "text": entity.text, "start": entity.start, "end": entity.end, "score": score}


def load_taggers(specs: Sequence[str], device: str = "auto", before: bool = True) -> list[ServedTagger]:
    """The taggers that `RUN` or `name=RUN` name; of a run also the one before, as `name/before`."""
    found: dict[str, str] = {}
    for spec in specs:
        name, place = _named(spec)
        if name in found:
            raise UsageError(
                f"{found[name]} and {place} would both be called {name}. Give one another name: other={place}"
            )
        found[name] = place
    served = []
    for name, place in found.items():
        folder, beside = tagger_in(place), f"{name}/{BEFORE}"
        has_before = before and (folder / BEFORE / MANIFEST).is_file()
        served.append(ServedTagger(name, load_tagger(place, device), beside if has_before else None))
        if has_before:
            served.append(ServedTagger(beside, load_tagger(folder / BEFORE, device)))
    return served


def _named(spec: str) -> tuple[str, str]:
    match = _NAMED.fullmatch(spec)
    if match and not Path(spec).exists():
        return match[1], match[2]
    return Path(spec).resolve().name or spec, spec

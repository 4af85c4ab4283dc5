"""Entities found by one head and typed by another (MSLM, Abaho et al. 2024): the choices, and how they are built."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from acclimate.data.corpus import LabelSet
from acclimate.data.problems import InputError
from acclimate.data.schemes import TYPELESS, Scheme
from acclimate.model.heads.entity_layer import EntityLayer, Extra
from acclimate.model.heads.span_types import SpanTypes
from acclimate.settings import Settings


class EntitySettings(Settings):
    """The detection head, and the classification head on the mean of a span."""

    tags: Literal["untyped", "typed"] = "untyped"
    """untyped: bare B, I, O and a type for each span that is found; typed: B-PER and so on."""
    extra: Extra = "shared"
    """One more vector for all words (shared), or one for each piece of the vocabulary (token)."""
    width: int = Field(100, ge=1)
    """Width of that vector in the detection head."""
    type_width: int = Field(100, ge=1)
    """Width of that vector in the classification head."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout in both heads."""


def types_apart(settings: EntitySettings | None, labels: LabelSet) -> bool:
    """Whether spans are found first and typed by a head of their own."""
    return settings is not None and settings.tags == "untyped" and len(labels) > 1


def detected_labels(settings: EntitySettings | None, labels: LabelSet) -> LabelSet:
    """The labels of the tags that words are scored for."""
    return LabelSet((TYPELESS,)) if types_apart(settings, labels) else labels


def detection_layer(settings: EntitySettings, width: int, outputs: int, pieces: int | None) -> EntityLayer:
    return EntityLayer(width, outputs, settings.extra, settings.width, settings.dropout, pieces)


def span_types(
    settings: EntitySettings | None, width: int, labels: LabelSet, scheme: Scheme, pieces: int | None
) -> SpanTypes | None:
    """The head that types spans; None where the tags tell the types, or there is only one."""
    if settings is None or not types_apart(settings, labels):
        return None
    layer = EntityLayer(width, len(labels), settings.extra, settings.type_width, settings.dropout, pieces)
    return SpanTypes(layer, labels.tags(scheme), detected_labels(settings, labels).tags(scheme), labels.names)


def require_entities(settings: EntitySettings, labels: LabelSet, scheme: Scheme) -> None:
    """Refuse what has no entities to find, or cannot tell where one begins."""
    if labels.kind == "plain":
        raise InputError("entities are spans of words, and this tagger's labels are one tag per word.")
    if types_apart(settings, labels) and scheme not in ("IOB2", "BIOES"):
        raise InputError(
            f"with the scheme {scheme} neighbouring entities run together before they are typed: take IOB2 or BIOES, "
            "or let the tags tell the types (tags=typed)."
        )

"""The heads by the names people type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch

from acclimate.data.corpus import LabelSet
from acclimate.data.schemes import Scheme, is_legal
from acclimate.model.heads.crf import ConditionalRandomField
from acclimate.model.heads.legality import Legality
from acclimate.model.heads.softmax import IndependentTags

HeadName = Literal["crf", "softmax"]
Head = ConditionalRandomField | IndependentTags


def build_head(name: HeadName, labels: LabelSet, scheme: Scheme, crf: Mapping[str, bool]) -> Head:
    """A head for the tags of these labels; `crf` are the CRF's own options."""
    legal = legality(labels, scheme)
    if name == "crf":
        return ConditionalRandomField(legal.tag_count, legal=legal, **crf)
    if name == "softmax":
        return IndependentTags(legal.tag_count, legal=legal)
    raise ValueError(f"Unknown head {name!r}: expected crf or softmax.")


def legality(labels: LabelSet, scheme: Scheme) -> Legality:
    """What the scheme allows of the labels' tags."""
    tags = labels.tags(scheme)
    if labels.kind == "plain":
        return Legality.everything(len(tags))
    return Legality(
        start=torch.tensor([is_legal(None, tag, scheme) for tag in tags]),
        moves=torch.tensor([[is_legal(before, after, scheme) for after in tags] for before in tags]),
        end=torch.tensor([is_legal(tag, None, scheme) for tag in tags]),
    )

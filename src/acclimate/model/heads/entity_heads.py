"""MSLM's heads: find entities first, then type them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from acclimate.data.corpus import LabelSet
from acclimate.data.problems import InputError
from acclimate.data.schemes import OUTSIDE, TYPELESS, Scheme, split_tag
from acclimate.settings import Settings

Extra = Literal["shared", "token"]
_SPREAD = 0.02  # of new vectors, as in BERT's tables


class EntityLayer(nn.Module):
    """Linear, ReLU, dropout, Linear on the features with a learned vector at their end: the same for all words
    (`shared`, the paper), or one for each of `pieces` of the vocabulary (`token`, the released code)."""

    def __init__(
        self,
        width: int,
        outputs: int,
        extra: Extra = "shared",
        extra_width: int = 100,
        dropout: float = 0.1,
        pieces: int | None = None,
    ) -> None:
        super().__init__()
        self.extra, self.vector, self.table = extra, None, None
        if extra == "shared":
            self.vector = nn.Parameter(_SPREAD * torch.randn(extra_width))
        elif pieces is None:
            raise ValueError("A vector for each piece needs an encoder that reads pieces: take extra='shared'.")
        else:
            self.table = nn.Embedding(pieces, extra_width)
            nn.init.normal_(self.table.weight, std=_SPREAD)
        self.inner, self.dropout = nn.Linear(width + extra_width, width), nn.Dropout(dropout)
        self.outer = nn.Linear(width, outputs)

    def forward(self, features: Tensor, pieces: Tensor | None) -> Tensor:
        """Features (sentence, word, feature) and first pieces (sentence, word) → (sentence, word, output)."""
        return self.decide(self.joined(features, pieces))

    def joined(self, features: Tensor, pieces: Tensor | None) -> Tensor:
        """(sentence, word, feature + extra)"""
        if self.vector is not None:
            more = self.vector.expand(*features.shape[:-1], -1)
        else:
            assert self.table is not None
            more = self.table(pieces)
        return torch.cat([features, more.to(features.dtype)], dim=-1)

    def decide(self, joined: Tensor) -> Tensor:
        """`joined` features of any leading shape → scores."""
        scores: Tensor = self.outer(self.dropout(self.inner(joined).relu()))
        return scores


class SpanTypes(nn.Module):
    """Scores the type of each span from the mean of its words' features; another finds spans by bare tags (B, I, O).
    Training uses gold spans, everything else predicted ones."""

    bare: Tensor
    types: Tensor
    tags: Tensor
    inside: Tensor
    begins: Tensor

    def __init__(self, layer: EntityLayer, tags: Sequence[str], bare_tags: Sequence[str], names: Sequence[str]) -> None:
        """`tags` are typed (B-PER), `bare_tags` the same without types; `names` are the types. For IOB2 and BIOES."""
        super().__init__()
        self.layer = layer
        bare_letters = [split_tag(tag)[0] for tag in bare_tags]
        split = [split_tag(tag) for tag in tags]
        numbers = {tag: number for number, tag in enumerate(split)}
        typed = [[numbers[letter, "" if letter == OUTSIDE else name] for name in names] for letter in bare_letters]
        tables = {
            "bare": torch.tensor([bare_letters.index(letter) for letter, _ in split]),  # (tag)
            "types": torch.tensor([names.index(name) if name else 0 for _, name in split]),  # (tag)
            "tags": torch.tensor(typed),  # (bare tag, type)
            "inside": torch.tensor([letter != OUTSIDE for letter in bare_letters]),  # (bare tag)
            "begins": torch.tensor([letter in "BS" for letter in bare_letters]),
        }
        for name, table in tables.items():  # not persistent: the saved tag names tell it
            self.register_buffer(name, table, persistent=False)

    def scores(self, features: Tensor, pieces: Tensor | None, bare: Tensor) -> Tensor:
        """Scores of the types of each word's span (sentence, word, type). A word outside counts as a span."""
        joined = self.layer.joined(features, pieces)
        joined = joined.to(torch.promote_types(joined.dtype, torch.float32)).flatten(0, 1)
        owners = self.owners(bare).flatten()
        sums = torch.zeros_like(joined).index_add(0, owners, joined)
        counts = torch.zeros_like(joined[:, :1]).index_add(0, owners, torch.ones_like(joined[:, :1]))
        by_owner = self.layer.decide(sums / counts.clamp(min=1))
        return by_owner[owners].view(*bare.shape, -1)

    def owners(self, bare: Tensor) -> Tensor:
        """The flat number of the first word of each word's span (sentence, word)."""
        inside = self.inside[bare]
        starts = ~inside | self.begins[bare]
        starts[:, 0] = True
        starts[:, 1:] |= ~inside[:, :-1]
        places = torch.arange(bare.shape[1], device=bare.device).expand_as(bare)
        first = places.masked_fill(~starts, 0).cummax(1).values
        return first + bare.shape[1] * torch.arange(len(bare), device=bare.device).unsqueeze(1)

    def losses(
        self, features: Tensor, pieces: Tensor | None, tags: Tensor, mask: Tensor, soft: Tensor | None = None
    ) -> Tensor:
        """The cross-entropy of the types of gold spans, summed over each sentence (sentence). With `soft` labels, a
        span counts by the probability with which each type begins there."""
        scores = self.scores(features, pieces, self.bare[tags])
        logarithms = scores.to(torch.promote_types(scores.dtype, torch.float32)).log_softmax(-1)
        if soft is None:
            chosen = logarithms.gather(-1, self.types[tags].unsqueeze(-1)).squeeze(-1)
        else:
            chosen = (logarithms[..., self.types] * soft * self.begins[self.bare]).sum(-1)
        return -chosen.masked_fill(~self.spans_begin(tags, mask), 0).sum(1)

    def bare_odds(self, odds: Tensor) -> Tensor:
        """Odds of typed tags → of bare tags (sentence, word, bare tag)."""
        return torch.stack([odds[..., self.bare == bare].amax(-1) for bare in range(len(self.inside))], -1)

    def bare_soft(self, soft: Tensor) -> Tensor:
        """Distributions over typed tags → over bare tags (sentence, word, bare tag)."""
        return soft @ nn.functional.one_hot(self.bare, len(self.inside)).to(soft.dtype)

    def spans_begin(self, tags: Tensor, mask: Tensor) -> Tensor:
        """The first word of each gold span, (sentence, word)."""
        return self.begins[self.bare[tags]] & mask

    def marginals(self, bare: Tensor, scores: Tensor) -> Tensor:
        """Probabilities of bare tags, and type scores → probabilities of typed tags (sentence, word, tag)."""
        of_types = scores.to(bare.dtype).softmax(-1)[..., self.types]
        return bare[..., self.bare] * torch.where(self.inside[self.bare], of_types, 1)

    def typed(self, bare: Tensor, scores: Tensor) -> Tensor:
        """Typed tags (sentence, word) from bare tags with the best type of each span."""
        return self.tags[bare, scores.argmax(-1)]


class EntitySettings(Settings):
    """MSLM's heads: detection of spans, and classification of their mean."""

    tags: Literal["untyped", "typed"] = "untyped"
    """untyped: predict B, I, O, then classify each span found; typed: predict tags with types (B-PER and so on)."""
    extra: Extra = "shared"
    """Learned vector appended to the features: the same for all words (shared), or one per vocabulary piece (token)."""
    width: int = Field(100, ge=1)
    """Size of that vector in the detection head."""
    type_width: int = Field(100, ge=1)
    """Size of that vector in the classification head."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout in both heads."""


def types_apart(settings: EntitySettings, labels: LabelSet) -> bool:
    """Whether spans get their types from a head of their own."""
    return settings.tags == "untyped" and len(labels) > 1


def detected_labels(settings: EntitySettings, labels: LabelSet) -> LabelSet:
    """The labels of the tags that words are scored for."""
    return LabelSet((TYPELESS,)) if types_apart(settings, labels) else labels


def span_types(
    settings: EntitySettings, width: int, labels: LabelSet, scheme: Scheme, pieces: int | None
) -> SpanTypes | None:
    """The head that types spans; None where tags have types, or there is only one."""
    if not types_apart(settings, labels):
        return None
    layer = EntityLayer(width, len(labels), settings.extra, settings.type_width, settings.dropout, pieces)
    return SpanTypes(layer, labels.tags(scheme), detected_labels(settings, labels).tags(scheme), labels.names)


def require_entities(settings: EntitySettings, labels: LabelSet, scheme: Scheme) -> None:
    """Refuse labels and schemes without clear entities."""
    if labels.kind == "plain":
        raise InputError("entities are spans of words, and this tagger's labels are one tag per word.")
    if types_apart(settings, labels) and scheme not in ("IOB2", "BIOES"):
        raise InputError(
            f"with the scheme {scheme} neighbouring entities run together before they are typed: take IOB2 or BIOES, "
            "or let the tags tell the types (tags=typed)."
        )

"""Types for spans that are found without one (MSLM, Abaho et al. 2024, equations 9 to 11)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from acclimate.data.schemes import OUTSIDE, split_tag
from acclimate.model.heads.entity_layer import EntityLayer


class SpanTypes(nn.Module):
    """Scores each span's type from the mean of its words' features.

    Words are tagged bare (B, I, O) by another head. Training looks at the spans of the gold tags, everything else at
    those that were found. Both together are a distribution over typed tags: the bare tags' probability times that of
    each span's type.
    """

    bare: Tensor
    types: Tensor
    tags: Tensor
    inside: Tensor
    begins: Tensor

    def __init__(self, layer: EntityLayer, tags: Sequence[str], bare_tags: Sequence[str], names: Sequence[str]) -> None:
        """`tags` are typed (B-PER), `bare_tags` the same under one name; `names` are the types, as `layer` scores
        them. Schemes in which a span shows its beginning (IOB2, BIOES)."""
        super().__init__()
        self.layer = layer
        bare_letters = [split_tag(tag)[0] for tag in bare_tags]
        split = [split_tag(tag) for tag in tags]
        numbers = {tag: number for number, tag in enumerate(split)}
        typed = [
            [numbers[letter, "" if letter == OUTSIDE else name] for name in names] for letter in bare_letters
        ]  # (bare tag, type)
        tables = {
            "bare": torch.tensor([bare_letters.index(letter) for letter, _ in split]),  # (tag)
            "types": torch.tensor([names.index(name) if name else 0 for _, name in split]),  # (tag)
            "tags": torch.tensor(typed),
            "inside": torch.tensor([letter != OUTSIDE for letter in bare_letters]),  # (bare tag)
            "begins": torch.tensor([letter in "BS" for letter in bare_letters]),
        }
        for name, table in tables.items():  # not persistent: the tag names say it already
            self.register_buffer(name, table, persistent=False)

    def scores(self, features: Tensor, pieces: Tensor | None, bare: Tensor) -> Tensor:
        """At each word the scores of its span's types (sentence, word, type). A word outside of all spans is scored as
        if it were one."""
        joined = self.layer.joined(features, pieces)
        joined = joined.to(torch.promote_types(joined.dtype, torch.float32)).flatten(0, 1)
        owners = self.owners(bare).flatten()
        sums = torch.zeros_like(joined).index_add(0, owners, joined)
        counts = torch.zeros_like(joined[:, :1]).index_add(0, owners, torch.ones_like(joined[:, :1]))
        by_owner = self.layer.decide(sums / counts.clamp(min=1))
        return by_owner[owners].view(*bare.shape, -1)

    def owners(self, bare: Tensor) -> Tensor:
        """The flat number of the first word of each word's span (sentence, word); a word outside owns itself."""
        inside = self.inside[bare]
        starts = ~inside | self.begins[bare]
        starts[:, 0] = True
        starts[:, 1:] |= ~inside[:, :-1]
        places = torch.arange(bare.shape[1], device=bare.device).expand_as(bare)
        first = places.masked_fill(~starts, 0).cummax(1).values
        return first + bare.shape[1] * torch.arange(len(bare), device=bare.device).unsqueeze(1)

    def losses(self, features: Tensor, pieces: Tensor | None, tags: Tensor, mask: Tensor) -> Tensor:
        """The cross-entropy of the types of the spans in typed `tags`, summed over each sentence's spans (sentence)."""
        scores = self.scores(features, pieces, self.bare[tags])
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        chosen = scores.log_softmax(-1).gather(-1, self.types[tags].unsqueeze(-1)).squeeze(-1)
        return -chosen.masked_fill(~self.spans_begin(tags, mask), 0).sum(1)

    def spans_begin(self, tags: Tensor, mask: Tensor) -> Tensor:
        """True at the first word of each span of typed `tags`, (sentence, word)."""
        return self.begins[self.bare[tags]] & mask

    def marginals(self, bare: Tensor, scores: Tensor) -> Tensor:
        """Probabilities of bare tags (sentence, word, bare tag) and type scores (sentence, word, type) → those of typed
        tags (sentence, word, tag)."""
        chances = scores.to(bare.dtype).softmax(-1)[..., self.types]
        return bare[..., self.bare] * torch.where(self.inside[self.bare], chances, 1)

    def typed(self, bare: Tensor, scores: Tensor) -> Tensor:
        """Bare tags with the likeliest type of each span, as numbers of typed tags (sentence, word)."""
        return self.tags[bare, scores.argmax(-1)]

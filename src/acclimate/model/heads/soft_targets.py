"""Soft labels as a head learns them: the expected score of tags that are drawn from distributions.

The distributions are of single words. What joins neighbours follows from them, where the scheme binds one tag to the
tag before: I-PER goes on with B-PER or I-PER, in proportion to both. All else is independent. So no mass lies on tags
that spell no spans, and where each word has one tag, the expected score is that of the one path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from acclimate.data.corpus import Distribution, Sentence
from acclimate.data.problems import InputError
from acclimate.data.schemes import Scheme
from acclimate.data.soft_labels import rows_in_scheme

_REMEMBERED = 1 << 16  # sentences whose distributions are kept as tensors
_TINY = 1e-12


class SoftTargets:
    """The distributions of sentences as tensors, over a tagger's own tags. Each epoch asks again, so they are kept."""

    def __init__(self, tag_numbers: Mapping[str, int], scheme: Scheme) -> None:
        self.tag_numbers, self.scheme = tag_numbers, scheme
        self._kept: dict[tuple[Distribution, ...], Tensor] = {}

    def of(self, sentences: Sequence[Sentence], tags: Tensor) -> Tensor | None:
        """(sentence, word, tag), all on the one tag that is known where a sentence has no distributions; None where no
        sentence has. `tags` are numbers (sentence, word)."""
        if all(sentence.probabilities is None for sentence in sentences):
            return None
        targets = nn.functional.one_hot(tags, len(self.tag_numbers)).float()
        for row, sentence in zip(targets, sentences, strict=True):
            if sentence.probabilities is not None:
                row[: len(sentence)] = self._of(sentence, sentence.probabilities)
        return targets

    def _of(self, sentence: Sentence, probabilities: tuple[Distribution, ...]) -> Tensor:
        if probabilities not in self._kept:
            if len(self._kept) >= _REMEMBERED:
                self._kept.clear()
            targets = torch.zeros(len(sentence), len(self.tag_numbers))
            for word, row in enumerate(rows_in_scheme(sentence, self.scheme)):
                for tag, probability in row.items():
                    if tag not in self.tag_numbers:
                        raise InputError(
                            f"the guess {tag!r} is not among this tagger's tags ({', '.join(self.tag_numbers)}). Map "
                            "the labels by name first (--map, or acclimate.map_labels).",
                            file=sentence.place.file,
                            line=sentence.place.line,
                        )
                    targets[word, self.tag_numbers[tag]] = probability
            self._kept[probabilities] = targets
        return self._kept[probabilities]


def expected_score(
    scores: Tensor,
    transitions: Tensor,
    start: Tensor | None,
    end: Tensor | None,
    targets: Tensor,
    mask: Tensor,
    legal_start: Tensor,
    legal_moves: Tensor,
) -> Tensor:
    """The mean score of the paths that the targets (sentence, word, tag) draw, (sentence)."""
    with torch.autocast(scores.device.type, enabled=False):
        mask = mask.bool()
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        targets = (targets * mask.unsqueeze(-1)).to(scores.dtype)
        total = (torch.where(mask.unsqueeze(-1), scores, 0) * targets).sum((1, 2))
        total = total + (expected_moves(targets, legal_start, legal_moves) * transitions).sum((1, 2))
        if start is not None:
            total = total + targets[:, 0] @ start.to(scores.dtype)
        if end is not None:
            places = (mask.sum(1) - 1).clamp(min=0)
            total = total + targets[torch.arange(len(targets), device=places.device), places] @ end.to(scores.dtype)
        return total


@torch.no_grad()
def expected_moves(targets: Tensor, legal_start: Tensor, legal_moves: Tensor) -> Tensor:
    """How often each tag follows each other one, (sentence, from tag, to tag). `targets` are zero at padding. A tag
    that may begin no sentence goes on with something: it is reached from nowhere but where the law allows."""
    before, after = targets[:, :-1], targets[:, 1:]  # (sentence, word - 1, tag)
    bound = (legal_moves & ~legal_start).to(targets.dtype)  # (from tag, to tag)
    free = legal_start.to(targets.dtype)
    share = after * (1 - free) / (before @ bound).clamp_min(_TINY)
    bound_moves = bound * (before.transpose(1, 2) @ share)
    left = (before - before * (share @ bound.T)).clamp_min(0)  # what no tag goes on with
    begun = after * free
    free_moves = left.transpose(1, 2) @ (begun / begun.sum(-1, keepdim=True).clamp_min(_TINY))
    return bound_moves + free_moves

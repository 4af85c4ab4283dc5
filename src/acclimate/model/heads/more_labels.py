"""A head for more labels that answers as the old one did: what a tagger knows stays, and new types can be learnt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from acclimate.data.schemes import OUTSIDE

if TYPE_CHECKING:
    from acclimate.model.tagger import Tagger

MARGIN = 2.0  # by so much a new tag scores below O, in nats


@torch.no_grad()
def take_over(tagger: Tagger, known: Tagger) -> None:
    """Give the layer of scores and the head of `tagger` the weights of `known`, tag by tag. A new tag gets those of O
    and a lower score: no best path goes through it, and it is close enough to be learnt."""
    old = {tag: number for number, tag in enumerate(known.tags)}
    rows = torch.tensor([old.get(tag, old[OUTSIDE]) for tag in tagger.tags])
    is_new = torch.tensor([tag not in old for tag in tagger.tags])
    heads = (tagger.scores, known.scores), (tagger.head, known.head)
    for ours, theirs in heads:
        weights = dict(theirs.named_parameters())
        for name, weight in ours.named_parameters():
            taken = weights[name].cpu()[rows]
            weight.copy_(taken[:, rows] if name == "transitions" else taken)
            if name == "bias":
                weight[is_new] -= MARGIN

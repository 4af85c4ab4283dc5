"""What is hidden in a batch of labelled sentences, piece by piece."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from acclimate.methods.masking.hidden import Hidden
from acclimate.methods.masking.joint import BASE, SHOWN, TERM
from acclimate.methods.masking.policy import Policy
from acclimate.methods.masking.puzzle import Puzzle, hide, word_beginnings
from acclimate.methods.masking.subsets import as_chosen, as_hidden
from acclimate.model.sentences import Sentences


@dataclass(frozen=True)
class Masks:
    """What is hidden, and why. It stands with the sentences it belongs to: weights kept by the number of a step would
    meet other words in the next epoch (C2.4)."""

    kinds: Tensor  # (word of the batch): shown, hidden with its term, hidden by itself; stays on the CPU
    is_elm: Tensor  # (row, piece), True at hidden pieces of terms
    is_blm: Tensor  # (row, piece), True at other hidden pieces
    asked: Tensor  # (row, piece), True at those of them that are to be guessed
    hidden: Hidden  # all of them as places

    def to(self, device: torch.device) -> Masks:
        """All that a GPU needs there."""
        moved = {name: getattr(self, name).to(device, non_blocking=True) for name in ("is_elm", "is_blm", "asked")}
        places = Hidden(self.hidden.places.to(device, non_blocking=True), self.hidden.counts.to(device))
        return replace(self, hidden=places, **moved)


def masks_of(sentences: Sentences, kinds: Tensor, special: Tensor) -> Masks:
    """The kinds of words (word of the batch) laid over their pieces: a hidden word is hidden whole, in every row that
    holds it. `special` pieces, such as [UNK], are hidden with their word too, but there is nothing to guess in them."""
    words = sentences.inputs["words"]
    of_pieces = kinds[words.clamp(min=0)].masked_fill(words < 0, SHOWN)
    hidden = of_pieces != SHOWN
    asked = hidden & ~torch.isin(sentences.inputs["pieces"], special) & _kept(sentences)
    places = as_hidden(hidden, int(hidden.sum(1).max()))
    return Masks(kinds, of_pieces == TERM, of_pieces == BASE, asked, places)


def chosen_instead(policy: Policy, puzzle: Puzzle, sentences: Sentences) -> Tensor:
    """The words that a policy hides, as kinds (word of the batch)."""
    chosen = as_chosen(hide(puzzle, policy(puzzle)), puzzle.pieces.shape[1]).cpu()
    return chosen.flatten()[_first_places(sentences)].to(torch.int8) * BASE


def equal_puzzle(sentences: Sentences, kinds: Tensor) -> Puzzle:
    """The rows of a batch, in which as many words are to be hidden as `kinds` hides: each word in the one row that it
    has its features from."""
    inputs, first = sentences.inputs, _first_places(sentences)
    rows, length = inputs["pieces"].shape
    allowed = torch.zeros(rows * length, dtype=torch.bool)
    allowed[first] = True
    sizes = torch.bincount(first // length, (kinds != SHOWN).double(), minlength=rows).long()
    return Puzzle(
        inputs["pieces"],
        allowed.view(rows, length),
        sizes,
        int(sizes.max()),
        inputs["words"] >= 0,
        inputs["attention"],
        word_beginnings(inputs["words"]),
        by_words=True,
        words=inputs["words"],
        originals=sentences.originals,
    )


def _first_places(sentences: Sentences) -> Tensor:
    """Where in the flat rows each word has its first piece (word of the batch)."""
    return sentences.inputs["first"][sentences.mask]


def _kept(sentences: Sentences) -> Tensor:
    """True in the one row of each word that it has its features from, (row, piece): rows of a long sentence overlap."""
    words = sentences.inputs["words"]
    rows = _first_places(sentences) // words.shape[1]
    return rows[words.clamp(min=0)] == torch.arange(len(words)).unsqueeze(1)

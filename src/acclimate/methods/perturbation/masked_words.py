"""A word hidden or swapped now and then, so that its neighbours must do the work (MAT, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor, nn

from acclimate.methods.augmentation.similar_words import MOST_PIECES, Substitutes
from acclimate.model.encoders.encoder import Change, Encoder
from acclimate.model.learner import View


class WordChanges(nn.Module):
    """Picks a share of the sentences; in each, one word is hidden or, more seldom, read as another. Its tag stays."""

    def __init__(
        self,
        words: Sequence[str],
        rate: float = 0.06,
        hide: float = 0.9,
        substitutes: Substitutes | None = None,
        context: bool = False,
    ) -> None:
        """`words` may stand in for others, a list without repetition. `rate` of the sentences are picked, `hide` of
        those lose their word, the rest get another. `context`: frozen contextual features are made anew as well."""
        super().__init__()
        for name, share in (("rate", rate), ("hide", hide)):
            if not 0 <= share <= 1:
                raise ValueError(f"{name} is a share, between 0 and 1, not {share}.")
        self.words, self.rate, self.hide, self.context = tuple(words), rate, hide, context
        self.substitutes = substitutes or Substitutes()

    def forward(self, view: View) -> View:
        return self.made(view, self.draw(view))

    def made(self, view: View, changes: Sequence[Change]) -> View:
        """The view with these changes."""
        return view.with_words(changes, self.context) if changes else view

    def draw(self, view: View) -> list[Change]:
        lengths = torch.tensor([len(sentence) for sentence in view.originals])
        picked = torch.rand(len(lengths)) < self.rate
        places = (torch.rand(len(lengths)) * lengths).long().clamp_max(lengths - 1)
        hidden = torch.rand(len(lengths)) < self.hide
        before = lengths.cumsum(0) - lengths
        found = []
        for sentence in picked.nonzero().flatten().tolist():
            place = int(places[sentence])
            word = view.originals[sentence].words[place]
            by = None if hidden[sentence] else self._another(word, view.encoder)
            if by != word:
                found.append(Change(sentence, place, int(before[sentence]) + place, by))
        return found

    def _another(self, word: str, encoder: Encoder) -> str | None:
        """A word that fits into its place; the word is hidden if there is none."""
        number = self._numbers.get(word)
        words = list(self.words) if number is not None else [*self.words, word]
        number = len(self.words) if number is None else number
        sizes, rows = torch.tensor(encoder.sizes_of(words)), _numbered(encoder.rows_of(words))
        known = rows >= 0  # any other would be read as unknown
        known[len(self.words) :] = False
        fitting = known & (sizes == sizes[number]) & (rows != rows[number])  # one row: no other word to the tagger
        if not fitting.any():
            return None
        pieces = sizes.clamp_max(MOST_PIECES)
        alike = known & (pieces == pieces[number])  # whatever the word, so that what is usual does not hang on it
        vectors = encoder.vectors_of(words).detach()
        chosen, fitting, alike = (each.to(vectors.device) for each in (torch.tensor([number]), fitting, alike))
        return words[int(self.substitutes.draw(vectors, chosen, fitting, int(pieces[number]), alike))]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}


def _numbered(rows: Sequence[int | None]) -> Tensor:
    """Rows of the table; -1 for words that have none."""
    return torch.tensor([-1 if row is None else row for row in rows])

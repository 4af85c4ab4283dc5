"""Teaching without labels: a tagger learns the target's text from what it guesses itself.

A teacher reads each sentence as it is written. A student reads the same sentence made harder: some words are hidden,
and some sentences have lost their capitals. The student learns the teacher's probabilities of all tags. So it learns to
find by the context what the teacher finds by the word (Xie et al. 2020, and for taggers without their source Liang et
al. 2020, BOND).

Three things keep a mistake from being learnt again and again:

- The teacher moves slowly. It begins as the tagger that was given, and follows the student as a moving average.
- A guess counts by how far it can be trusted. The teacher reads the sentence once more, with other words hidden; where
  the two answers differ, the word counts less.
- Every type counts. Nearly all words are O, and a tagger that says O everywhere would be right nearly always.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from acclimate.data.corpus import Sentence
from acclimate.data.schemes import split_tag
from acclimate.methods.distillation import log_probabilities
from acclimate.methods.mean_teacher import MeanTeacher
from acclimate.methods.objective import Objective
from acclimate.model.encoders.encoder import Change
from acclimate.model.learner import Learner, NoView, View
from acclimate.model.tagger import Tagger


@dataclass(frozen=True)
class HarderReading:
    """Shares of what a reading loses: `hidden` of the words, and the capitals of `lower_cased` of the sentences."""

    hidden: float = 0.15
    lower_cased: float = 0.3

    def __call__(self, view: View) -> View:
        """The same sentences, read anew by the same tagger."""
        drawn = torch.rand(len(view.originals)) < self.lower_cased
        if drawn.any():
            rows = zip(view.originals, drawn.tolist(), strict=True)
            view = view.tagger.view([lower_cased(each) if is_drawn else each for each, is_drawn in rows])
        changes = self._hidden(view.originals)
        return view.with_words(changes) if changes else View(view.tagger, view.sentences)

    def _hidden(self, sentences: Sequence[Sentence]) -> list[Change]:
        places = [(row, word) for row, sentence in enumerate(sentences) for word in range(len(sentence))]
        drawn = (torch.rand(len(places)) < self.hidden).tolist()
        return [Change(row, word, number, None) for number, (row, word) in enumerate(places) if drawn[number]]


def lower_cased(sentence: Sentence) -> Sentence:
    """The words without capitals; the tags stay."""
    return replace(sentence, words=tuple(word.lower() for word in sentence.words), text=None, offsets=None)


def trust(one: Tensor, other: Tensor) -> Tensor:
    """How much of two distributions (…, tag) is common to both, from 0 to 1."""
    return torch.minimum(one, other).sum(-1)


def balance(guesses: Tensor, types: Tensor, counted: Tensor, strength: float) -> Tensor:
    """A weight for each word (sentence, word), so that rare types are heard.

    `guesses` (sentence, word, tag) are summed to types by `types` (tag, type), and `counted` says how much each word
    counts. A type that n words are guessed to have weighs n ** -strength: with 0 each word counts alike, with 1 each
    type does. Fewer than one word is taken for one: a type that hardly occurs is no type to learn.
    """
    shares = guesses @ types
    sizes = (shares * counted.unsqueeze(-1)).sum((0, 1)).clamp_min(1)
    return shares @ sizes.pow(-strength)


class Teaching(MeanTeacher):
    """Cross-entropy of the teacher's guesses and the student's on a harder reading of the target sentences, weighted by
    trust and balance, and divided by the sum of the weights.

    Needs no labels. Reaches the learner only. Tags of types that the tagger began without (`new_labels`) count as O on
    both sides: a teacher that does not know a type must not teach that there is none of it.
    """

    def __init__(
        self,
        tagger: Tagger,
        harder: HarderReading,
        decay: float = 0.999,
        strength: float = 0.5,
        new_labels: Sequence[str] = (),
    ) -> None:
        super().__init__(tagger, decay, decay, 0)
        self.harder, self.strength = harder, strength
        known = [label for label in tagger.labels if label not in new_labels]
        kept = [tag for tag in tagger.tags if (split_tag(tag)[1] or tag) not in new_labels]
        self.register_buffer("merging", _members(tagger.tags, kept, new_labels), persistent=False)
        types = kept if tagger.labels.kind == "plain" else ["O", *known]
        of_type = kept if tagger.labels.kind == "plain" else [split_tag(tag)[1] or "O" for tag in kept]
        self.register_buffer("types", _members(of_type, types), persistent=False)
        self.merging: Tensor
        self.types: Tensor

    def forward(self, source: View, target: View) -> Tensor:
        with torch.no_grad():
            reader = View(self.teacher, target.sentences)
            guesses, again = self.probabilities_of(reader), self.probabilities_of(self.harder(reader))
        student = self.probabilities_of(self.harder(target))
        with torch.autocast(guesses.device.type, enabled=False):
            counted = trust(guesses, again).masked_fill(~target.sentences.mask, 0)
            weights = counted * balance(guesses, self.types.to(guesses.dtype), counted, self.strength)
            losses = -(guesses * student.clamp_min(torch.finfo(student.dtype).tiny).log()).sum(-1)
            return (weights * losses).sum() / weights.sum().clamp_min(torch.finfo(weights.dtype).eps)

    def probabilities_of(self, view: View) -> Tensor:
        """Of each tag that the tagger began with, (sentence, word, tag)."""
        found = log_probabilities(view, "marginals").exp()
        with torch.autocast(found.device.type, enabled=False):
            return found @ self.merging.to(found.dtype)


def _members(names: Sequence[str], groups: Sequence[str], others: Sequence[str] = ()) -> Tensor:
    """Which group each name belongs to, (name, group), as ones; a tag of one of the `others` belongs to the first."""
    numbers = [groups.index(name) if name in groups else 0 for name in names]
    return torch.nn.functional.one_hot(torch.tensor(numbers), len(groups)).float()


class NearStart(Objective):
    """Half the squared distance of all weights from where they began (L2-SP; Li, Grandvalet, Davoine 2018).

    Needs no labels, and no sentences either. A tagger that learns from itself has nothing else to hold it.
    """

    def __init__(self, tagger: Tagger) -> None:
        super().__init__()
        self._start = [weight.detach().clone() for weight in tagger.parameters()]

    def begin(self, learner: Learner) -> None:
        self._start = [weight.to(learner.device) for weight in self._start]

    def forward(self, source: View, target: View) -> Tensor:
        tagger = (source if isinstance(target, NoView) else target).tagger
        pairs = zip(tagger.parameters(), self._start, strict=True)
        return 0.5 * torch.stack([(weight - start).float().square().sum() for weight, start in pairs]).sum()

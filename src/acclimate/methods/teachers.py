"""Teachers: distillation (PDALN, equation 11), Mean Teacher, and teaching without labels."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from acclimate.data.corpus import Sentence
from acclimate.data.schemes import split_tag
from acclimate.methods.objective import Average, Objective, count_of, present
from acclimate.model.encoders.encoder import Change
from acclimate.model.learner import Learner, View
from acclimate.model.tagger import Tagger

TagProbabilities = Literal["marginals", "softmax"]
"""Tag probabilities: marginals of the CRF, or a softmax of the word's own scores."""


def frozen_copy(tagger: Tagger) -> Tagger:
    """A copy of the tagger that no longer learns and has no dropout."""
    return copy.deepcopy(tagger).eval().requires_grad_(False)


def log_probabilities(view: View, probabilities: TagProbabilities) -> Tensor:
    """Log probability of each tag at each word, (sentence, word, tag)."""
    with torch.autocast(view.scores.device.type, enabled=False):
        exact = torch.promote_types(view.scores.dtype, torch.float32)
        if probabilities == "softmax":
            return view.scores.to(exact).log_softmax(-1)
        return view.marginals.to(exact).clamp_min(torch.finfo(exact).tiny).log()


def cross_entropy(teacher: Tensor, student: Tensor, mask: Tensor, average: Average = "word") -> Tensor:
    """Cross-entropy of two distributions given as logs (sentence, word, tag): mean over words (PDALN, equation 11), or
    mean over sentences of their words' sum."""
    each = -(teacher.exp() * student).sum(-1)  # (sentence, word)
    return each.masked_fill(~mask, 0).sum() / count_of(mask, average)


class Distillation(Objective):
    """Cross-entropy between a frozen teacher's tag probabilities and the learner's. Needs no labels."""

    def __init__(
        self,
        teacher: Tagger,
        probabilities: TagProbabilities = "marginals",
        domain: Literal["source", "target"] = "source",
        average: Average = "word",
    ) -> None:
        super().__init__()
        if any(weight.requires_grad for weight in teacher.parameters()) or teacher.training:
            raise ValueError("A teacher does not learn: hand in frozen_copy(tagger).")
        self._teacher = (teacher,)  # hidden from nn.Module: no part of checkpoints, and `train` must not reach it
        self.probabilities: TagProbabilities = probabilities
        self.domain, self.average = domain, average

    @property
    def teacher(self) -> Tagger:
        return self._teacher[0]

    def begin(self, learner: Learner) -> None:
        self.teacher.to(learner.device)

    def forward(self, source: View, target: View) -> Tensor:
        view = source if self.domain == "source" else target
        with torch.no_grad():
            taught = log_probabilities(View(self.teacher, view.sentences), self.probabilities)
        return cross_entropy(taught, log_probabilities(view, self.probabilities), view.sentences.mask, self.average)


def rising(update: int, updates: int) -> float:
    """Ramp-up exp(-5 (1 - t)²), where t is the share of the warm-up that is done."""
    return math.exp(-5 * (1 - min(1.0, update / max(1, updates))) ** 2)


class MeanTeacher(Objective):
    """Squared differences to the tag probabilities of a moving-average teacher, on unlabelled target sentences
    (Tarvainen and Valpola 2017)."""

    def __init__(
        self,
        tagger: Tagger,
        decay: float = 0.99,
        later: float = 0.995,
        warm_up: int = 300,
        probabilities: TagProbabilities = "marginals",
        average: Average = "word",
    ) -> None:
        super().__init__()
        self.teacher = frozen_copy(tagger)  # a part of this module, so that checkpoints hold it
        self.decay, self.later, self.warm_up = decay, later, warm_up
        self.probabilities: TagProbabilities = probabilities
        self.average = average
        self.update = 0

    def train(self, mode: bool = True) -> MeanTeacher:
        super().train(mode)
        self.teacher.eval()
        return self

    def forward(self, source: View, target: View) -> Tensor:
        sentences = target.sentences
        with torch.no_grad():
            taught = log_probabilities(View(self.teacher, sentences), self.probabilities).exp()
        student = log_probabilities(target, self.probabilities).exp()
        differences = (student - taught).square().sum(-1)  # (sentence, word)
        counted = sentences.mask & ~sentences.labelled.unsqueeze(1)
        return differences.masked_fill(~counted, 0).sum() / count_of(counted, self.average)

    def before_update(self, update: int) -> None:
        self.update = update

    @torch.no_grad()
    def after_update(self, learner: Learner) -> None:
        decay = self.decay if self.update < self.warm_up else self.later
        weights: dict[str, Any] = learner.state_dict()
        pairs = [(value, weights[name].to(value.dtype)) for name, value in self.teacher.state_dict().items()]
        moving = [pair for pair in pairs if pair[0].is_floating_point()]
        # one launch for all parameters
        torch._foreach_lerp_([mine for mine, _ in moving], [theirs for _, theirs in moving], 1 - decay)
        for mine, theirs in pairs:
            if not mine.is_floating_point():
                mine.copy_(theirs)


@dataclass(frozen=True)
class HarderReading:
    """Reads sentences with a share `hidden` of the words masked, and a share `lower_cased` of the sentences in lower
    case."""

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
    """Agreement of two distributions (…, tag): the sum of the tag-wise minimum, from 0 to 1."""
    return torch.minimum(one, other).sum(-1)


def balance(guesses: Tensor, types: Tensor, counted: Tensor, strength: float) -> Tensor:
    """A weight per word (sentence, word): a type that n words are predicted to have weighs n ** -strength."""
    shares = guesses @ types
    sizes = (shares * counted.unsqueeze(-1)).sum((0, 1)).clamp_min(1)
    return shares @ sizes.pow(-strength)


class Teaching(MeanTeacher):
    """Cross-entropy of teacher and student, weighted by trust and balance; the student reads a harder version of the
    sentence. Tags of `new_labels`, which the teacher does not know, count as O on both sides."""

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
        """Probabilities of the tags that the tagger began with, (sentence, word, tag)."""
        probabilities = log_probabilities(view, "marginals").exp()
        with torch.autocast(probabilities.device.type, enabled=False):
            return probabilities @ self.merging.to(probabilities.dtype)


def _members(names: Sequence[str], groups: Sequence[str], others: Sequence[str] = ()) -> Tensor:
    """Which group each name belongs to, one-hot (name, group); names in no group belong to the first."""
    numbers = [groups.index(name) if name in groups else 0 for name in names]
    return torch.nn.functional.one_hot(torch.tensor(numbers), len(groups)).float()


class NearStart(Objective):
    """Half the squared distance of all weights from where they began (L2-SP; Li, Grandvalet, Davoine 2018)."""

    def __init__(self, tagger: Tagger) -> None:
        super().__init__()
        self._start = [weight.detach().clone() for weight in tagger.parameters()]

    def begin(self, learner: Learner) -> None:
        self._start = [weight.to(learner.device) for weight in self._start]

    def forward(self, source: View, target: View) -> Tensor:
        tagger = present(target, source)[0].tagger
        pairs = zip(tagger.parameters(), self._start, strict=True)
        return 0.5 * torch.stack([(weight - start).float().square().sum() for weight, start in pairs]).sum()

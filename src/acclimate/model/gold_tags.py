"""Gold tags as tensors: numbers, what may stand at partly labelled words, and soft labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from acclimate.data.corpus import Distribution, LabelSet, Sentence
from acclimate.data.problems import InputError
from acclimate.data.schemes import ANY_LABEL, OUTSIDE, Scheme, convert_tags, hidden_labels, split_tag
from acclimate.data.soft_labels import rows_in_scheme

_REMEMBERED = 1 << 16  # rows of tags that are kept for the next epoch
_ADVICE = "Map the labels by name first (--map, or acclimate.map_labels)."


class TagTensors(NamedTuple):
    """The tags of a batch."""

    tags: Tensor  # (sentence, word), 0 where there is none
    odds: Tensor | None  # (sentence, word, tag), which tags a word may have; None where each has one
    soft: Tensor | None  # (sentence, word, tag), probabilities; None where all tags are certain


class GoldTags:
    """Turns the tags of sentences into tensors. Results are kept, as each epoch asks again."""

    def __init__(self, labels: LabelSet, scheme: Scheme) -> None:
        self.labels, self.scheme, self.tags = labels, scheme, labels.tags(scheme)
        self.numbers = {tag: number for number, tag in enumerate(self.tags)}
        self._hard: dict[tuple[tuple[str, ...], float], tuple[NDArray[np.int64], NDArray[np.float32] | None]] = {}
        self._soft: dict[tuple[Distribution, ...], Tensor] = {}

    def tensors(self, sentences: Sequence[Sentence], mask: Tensor, hidden_odds: float) -> TagTensors:
        """`mask` (sentence, word) is True on words; `hidden_odds` are those of a label nobody looked for, beside O."""
        tags, odds = torch.zeros(mask.shape, dtype=torch.long), None
        if any(sentence.tags is not None for sentence in sentences):
            numbered = [self._numbered(sentence, hidden_odds) for sentence in sentences]
            tags[mask] = torch.from_numpy(np.concatenate([numbers for numbers, _ in numbered]))
            if any(choices is not None for _, choices in numbered):
                odds = nn.functional.one_hot(tags, len(self.tags)).float()
                for row, (_, choices) in zip(odds, numbered, strict=True):
                    if choices is not None:
                        row[: len(choices)] = torch.from_numpy(choices)
        soft = None
        if any(sentence.probabilities is not None for sentence in sentences):
            soft = nn.functional.one_hot(tags, len(self.tags)).float()
            for row, sentence in zip(soft, sentences, strict=True):
                if sentence.probabilities is not None:
                    row[: len(sentence)] = self._distributions(sentence, sentence.probabilities)
        return TagTensors(tags, odds, soft)

    def _numbered(self, sentence: Sentence, hidden_odds: float) -> tuple[NDArray[np.int64], NDArray[np.float32] | None]:
        """The tags' numbers, zeros where there are none; and the odds of tags, if any word is open."""
        if sentence.tags is None:
            return np.zeros(len(sentence), np.int64), None
        key = sentence.tags, hidden_odds
        if key not in self._hard:
            if len(self._hard) >= _REMEMBERED:
                self._hard.clear()
            closed = tuple(OUTSIDE if hidden_labels(tag) else tag for tag in sentence.tags)
            spelled = closed if self.labels.kind == "plain" else convert_tags(closed, self.scheme)
            unknown = next((tag for tag in spelled if tag not in self.numbers), None)
            if unknown is not None:
                problem = f"tag {unknown!r} is not among this tagger's labels ({', '.join(self.labels)}). {_ADVICE}"
                raise InputError(problem, file=sentence.place.file, line=sentence.place.line)
            numbers = np.array([self.numbers[tag] for tag in spelled])
            self._hard[key] = numbers, self._odds(sentence, numbers, hidden_odds) if sentence.is_open else None
        return self._hard[key]

    def _odds(self, sentence: Sentence, numbers: NDArray[np.int64], hidden_odds: float) -> NDArray[np.float32]:
        """The odds of the tags of each word, (word, tag): 1 where it may be anything, less where it may hide a label.
        A marked span ends where it is marked: no tag continues it."""
        assert sentence.tags is not None
        labels = [split_tag(tag)[1] for tag in self.tags]
        choices = np.eye(len(self.tags), dtype=np.float32)[numbers]
        ends = {span.end for span in sentence.spans}
        for word, tag in enumerate(sentence.tags):
            hidden = hidden_labels(tag)
            for number, label in enumerate(labels):
                begins = split_tag(self.tags[number])[0] in "BS" or self.scheme == "IO"
                if label and (label in hidden or ANY_LABEL in hidden) and (begins or word not in ends):
                    choices[word, number] = 1 if ANY_LABEL in hidden else hidden_odds
        return choices

    def _distributions(self, sentence: Sentence, probabilities: tuple[Distribution, ...]) -> Tensor:
        """Soft labels, (word, tag)."""
        if probabilities not in self._soft:
            if len(self._soft) >= _REMEMBERED:
                self._soft.clear()
            targets = torch.zeros(len(sentence), len(self.tags))
            for word, row in enumerate(rows_in_scheme(sentence, self.scheme)):
                for tag, probability in row.items():
                    if tag not in self.numbers:
                        problem = (
                            f"the guess {tag!r} is not among this tagger's tags ({', '.join(self.tags)}). {_ADVICE}"
                        )
                        raise InputError(problem, file=sentence.place.file, line=sentence.place.line)
                    targets[word, self.numbers[tag]] = probability
            self._soft[probabilities] = targets
        return self._soft[probabilities]

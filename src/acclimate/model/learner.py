"""What a stage trains (a tagger, or a language model), its view of a batch of one domain, and gold tags as tensors:
numbers, what may stand at partly labelled words, and soft labels."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from acclimate.data.batches import SOURCE
from acclimate.data.corpus import LabelSet, Sentence
from acclimate.data.problems import InputError
from acclimate.data.schemes import ANY_LABEL, OUTSIDE, Scheme, convert_tags, hidden_labels, split_tag
from acclimate.data.soft_labels import rows_in_scheme
from acclimate.model.encoders.encoder import Change, Embeddings, Encoder, Inputs
from acclimate.model.heads.entity_heads import EntityLayer

if TYPE_CHECKING:
    from acclimate.model.language_model import MlmHead
    from acclimate.model.tagger import Tagger


@dataclass(frozen=True)
class Sentences:
    """A batch of one domain as tensors."""

    originals: tuple[Sentence, ...]
    inputs: dict[str, Tensor]
    mask: Tensor  # (sentence, word), True on words
    tags: Tensor  # (sentence, word), 0 where there is none, O where a label may be hidden
    labelled: Tensor  # (sentence), True on rows with tags
    numbers: Tensor  # the tags on the CPU (sentence, word), -1 where none is known
    odds: Tensor | None = None  # (sentence, word, tag), which tags a word may have; None where each has one
    soft: Tensor | None = None  # (sentence, word, tag), probabilities of tags; None where all are certain

    def __len__(self) -> int:
        return len(self.originals)

    def reading(self, inputs: Mapping[str, Tensor]) -> Sentences:
        """The same sentences with other inputs."""
        return replace(self, inputs=dict(inputs))

    def to(self, device: torch.device | str) -> Sentences:
        """Everything on the device, but `lengths` and `numbers`, which the CPU reads."""
        inputs = {
            name: tensor if name == "lengths" else tensor.to(device, non_blocking=True)
            for name, tensor in self.inputs.items()
        }
        names = [name for name in ("mask", "tags", "labelled", "odds", "soft") if getattr(self, name) is not None]
        moved = {name: getattr(self, name).to(device, non_blocking=True) for name in names}
        return replace(self, inputs=inputs, **moved)


class TextView:
    """Text as an encoder reads it: embeddings and features, each computed once on demand."""

    mlm_head: MlmHead | None = None
    originals: Sequence[Sentence] = ()

    def __init__(self, encoder: Encoder, inputs: Inputs, embeddings: Embeddings | None = None) -> None:
        self.encoder, self.inputs = encoder, inputs
        if embeddings is not None:
            self.embeddings = dict(embeddings)

    @cached_property
    def embeddings(self) -> dict[str, Tensor]:
        """By name: `words` and `characters` (and `context`), or `pieces`."""
        return self.encoder.embed(self.inputs)

    @cached_property
    def last_layer(self) -> Tensor:
        """At every word, or every piece; features and sentence vectors are made from it."""
        return self.encoder.last_layer(self.embeddings, self.inputs)

    @cached_property
    def features(self) -> Tensor:
        """(sentence, word, feature)"""
        return self.encoder.features_of(self.last_layer, self.inputs)

    @cached_property
    def sentence_vectors(self) -> Tensor:
        """At [CLS], or the mean of the words; (sentence, size)"""
        return self.encoder.sentence_vectors(self.last_layer, self.inputs)


class View(TextView):
    """Sentences as a tagger sees them: with scores, losses and marginals."""

    def __init__(self, tagger: Tagger, sentences: Sentences, embeddings: Embeddings | None = None) -> None:
        super().__init__(tagger.encoder, sentences.inputs, embeddings)
        self.tagger, self.sentences, self.originals = tagger, sentences, sentences.originals

    @cached_property
    def scores(self) -> Tensor:
        """(sentence, word, tag), not normalised; of bare tags where types have a head of their own."""
        layer = self.tagger.scores
        scores: Tensor = layer(self.features, self.shown) if isinstance(layer, EntityLayer) else layer(self.features)
        return scores

    @cached_property
    def shown(self) -> Tensor | None:
        """The first piece of each word, (sentence, word); None where the encoder reads no pieces."""
        return self.inputs["pieces"].flatten()[self.inputs["first"]] if "pieces" in self.inputs else None

    @cached_property
    def losses(self) -> Tensor:
        """Negative log-likelihood of the gold tags, (sentence): of all paths that agree with partial labels, in
        expectation under soft labels. Meaningless where `sentences.labelled` is False."""
        return self.tag_losses if self.type_losses is None else self.tag_losses + self.type_losses

    @cached_property
    def tag_losses(self) -> Tensor:
        """The losses without those of typed spans, (sentence)."""
        types, tags, odds = self.tagger.types, self.sentences.tags, self.sentences.odds
        soft, mask = self.sentences.soft, self.sentences.mask
        if types is not None:
            tags, odds = types.bare[tags], None if odds is None else types.bare_odds(odds)
            soft = None if soft is None else types.bare_soft(soft)
        scores, heads = self.scores, self.tagger.source_heads
        if heads is not None and heads.training:
            scores = scores + heads(self.features, self.originals)
        if soft is None:
            return self.tagger.head.loss(scores, tags, mask, odds)
        expected = self.tagger.head.expected_loss(scores, soft, mask)
        if odds is None:
            return expected
        is_open = ((odds > 0).sum(-1) > 1).any(1)  # no sentence is both open and soft
        return torch.where(is_open, self.tagger.head.loss(scores, tags, mask, odds), expected)

    @cached_property
    def type_losses(self) -> Tensor | None:
        """Those of the types of gold spans, (sentence); None where tags have types."""
        types, sentences = self.tagger.types, self.sentences
        if types is None:
            return None
        return types.losses(self.features, self.shown, sentences.tags, sentences.mask, sentences.soft)

    @cached_property
    def marginals(self) -> Tensor:
        """Probability of each tag at each word, (sentence, word, tag)."""
        tags = self.tagger.head.marginals(self.scores, self.sentences.mask)
        return tags if self.tagger.types is None else self.tagger.types.marginals(tags, self._type_scores)

    @cached_property
    def decoded(self) -> Tensor:
        """The predicted tags, (sentence, word), 0 at padding."""
        types = self.tagger.types
        return self._detected if types is None else types.typed(self._detected, self._type_scores)

    @property
    def type_probabilities(self) -> Tensor:
        """The probability of the type of each word's span, (sentence, word); 1 where tags have types."""
        if self.tagger.types is None:
            return torch.ones_like(self.scores[..., 0], dtype=torch.float32)
        return self._type_scores.float().softmax(-1).amax(-1)

    @cached_property
    def _detected(self) -> Tensor:
        return self.tagger.head.decode(self.scores, self.sentences.mask)

    @cached_property
    def _type_scores(self) -> Tensor:
        """Of the predicted spans, at each of their words (sentence, word, type)."""
        assert self.tagger.types is not None
        return self.tagger.types.scores(self.features, self.shown, self._detected)

    @property
    def shared_features(self) -> Tensor:
        """The features that both domains share, (sentence, word, feature)."""
        private = self.encoder.width - self.encoder.shared_width
        return self.features[..., private:] if private else self.features

    def with_noise(self, noise: Mapping[str, Tensor]) -> View:
        """The same sentences with noise on the named embeddings."""
        added = {
            name: value + fitted(noise[name], value) if name in noise else value
            for name, value in self.embeddings.items()
        }
        return View(self.tagger, self.sentences, added)

    def with_words(self, changes: Sequence[Change], context: bool = False) -> View:
        """The same sentences with some words hidden or replaced. Contextual features stay, unless `context` is set."""
        inputs = self.encoder.replaced(self.inputs, changes, self.originals if context else ())
        changed = View(self.tagger, self.sentences.reading(inputs))
        if "context" in self.embeddings and not context:
            kept = {"context": self.embeddings["context"]}
            changed.embeddings = {**self.encoder.embed(inputs, but=("context",)), **kept}
        return changed


def fitted(noise: Tensor, like: Tensor) -> Tensor:
    """Noise cut or padded to the length of the embeddings, as a longer word may have replaced a shorter one."""
    missing = like.size(1) - noise.size(1)
    return noise if missing == 0 else nn.functional.pad(noise, (0, 0, 0, missing))


class NoView(View):
    """Stands in for a domain without sentences; any use of it is an error."""

    def __init__(self, domain: str) -> None:
        self._domain = domain

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_"):
            return super().__getattribute__(name)
        raise ValueError(
            f"This objective needs {self._domain} sentences, but the stage's batches have none. "
            f"Give the stage batches of both domains: Batches({{'source': ..., 'target': ...}})."
        )


class Learner(nn.Module):
    """What the training loop trains: an encoder and what stands on it."""

    encoder: Encoder

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def stand_alone(self, alone: bool) -> None:
        """Whether no sentence may share rows of embeddings with another one."""
        for encoder in self.modules():
            if isinstance(encoder, Encoder):
                encoder.stand_alone(alone)

    def view(self, part: Any, domain: str = SOURCE) -> TextView:
        """One domain's part of a batch on the learner's device."""
        raise NotImplementedError


_GUARD = threading.Lock()
_READERS: WeakKeyDictionary[nn.Module, int] = WeakKeyDictionary()  # modules in evaluation mode, and by how many callers


@contextmanager
def eval_mode(learner: nn.Module, but: tuple[type[nn.Module], ...] = ()) -> Iterator[None]:
    """Evaluation mode for a while, `but` for some kinds of modules. Several threads may use one learner: the last one
    restores training mode."""
    with _GUARD:
        modules = [module for module in learner.modules() if not isinstance(module, but)]
        held = [module for module in modules if module.training or module in _READERS]
        for module in held:
            _READERS[module] = _READERS.get(module, 0) + 1
            module.training = False
    try:
        yield
    finally:
        with _GUARD:
            for module in held:
                _READERS[module] -= 1
                if not _READERS[module]:
                    del _READERS[module]
                    module.training = True


_REMEMBERED = 1 << 16  # rows of tags that are kept for the next epoch
_ADVICE = "Map the labels by name first (--map, or acclimate.map_labels)."


class _Gold(NamedTuple):
    """What is known of one sentence's tags."""

    numbers: NDArray[np.int64]  # (word), 0 where there is none
    odds: Tensor | None = None  # (word, tag), which tags a word may have; None where each has one
    soft: Tensor | None = None  # (word, tag), probabilities; None where all tags are certain


class GoldTags:
    """Turns the tags of sentences into tensors. Results are kept, as each epoch asks again."""

    def __init__(self, labels: LabelSet, scheme: Scheme) -> None:
        self.labels, self.scheme, self.tags = labels, scheme, labels.tags(scheme)
        self.numbers = {tag: number for number, tag in enumerate(self.tags)}
        self._known: dict[tuple[object, ...], _Gold] = {}

    def tensors(
        self, sentences: Sequence[Sentence], mask: Tensor, hidden_odds: float
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """The `tags`, `odds` and `soft` labels of a batch, as in `Sentences`. `mask` (sentence, word) is True on words;
        `hidden_odds` are those of a label nobody looked for, beside O."""
        gold = [self._gold(sentence, hidden_odds) for sentence in sentences]
        tags = torch.zeros(mask.shape, dtype=torch.long)
        tags[mask] = torch.from_numpy(np.concatenate([each.numbers for each in gold]))
        return tags, self._laid_out(tags, [each.odds for each in gold]), self._laid_out(tags, [e.soft for e in gold])

    def _laid_out(self, tags: Tensor, rows: Sequence[Tensor | None]) -> Tensor | None:
        """Rows of sentences (word, tag) as (sentence, word, tag); where there is none, 1 at each word's tag."""
        if all(row is None for row in rows):
            return None
        whole = nn.functional.one_hot(tags, len(self.tags)).float()
        for place, row in zip(whole, rows, strict=True):
            if row is not None:
                place[: len(row)] = row
        return whole

    def _gold(self, sentence: Sentence, hidden_odds: float) -> _Gold:
        if sentence.tags is None and sentence.probabilities is None:
            return _Gold(np.zeros(len(sentence), np.int64))
        key = sentence.tags, sentence.probabilities, hidden_odds
        if key not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            numbers, odds, soft = np.zeros(len(sentence), np.int64), None, None
            if sentence.tags is not None:
                closed = tuple(OUTSIDE if hidden_labels(tag) else tag for tag in sentence.tags)
                spelled = closed if self.labels.kind == "plain" else convert_tags(closed, self.scheme)
                numbers = np.array([self._number(tag, sentence) for tag in spelled])
                odds = self._odds(sentence, numbers, hidden_odds) if sentence.is_open else None
            if sentence.probabilities is not None:
                soft = torch.zeros(len(sentence), len(self.tags))
                for word, row in enumerate(rows_in_scheme(sentence, self.scheme)):
                    for tag, probability in row.items():
                        soft[word, self._number(tag, sentence)] = probability
            self._known[key] = _Gold(numbers, odds, soft)
        return self._known[key]

    def _number(self, tag: str, sentence: Sentence) -> int:
        if tag not in self.numbers:
            problem = f"tag {tag!r} is not among this tagger's labels ({', '.join(self.labels)}). {_ADVICE}"
            raise InputError(problem, file=sentence.place.file, line=sentence.place.line)
        return self.numbers[tag]

    def _odds(self, sentence: Sentence, numbers: NDArray[np.int64], hidden_odds: float) -> Tensor:
        """The odds of the tags of each word, (word, tag): 1 where it may be anything, less where it may hide a label.
        A marked span ends where it is marked: no tag continues it."""
        assert sentence.tags is not None
        choices = np.eye(len(self.tags), dtype=np.float32)[numbers]
        ends = {span.end for span in sentence.spans}
        for word, tag in enumerate(sentence.tags):
            hidden = hidden_labels(tag)
            for number, (letter, label) in enumerate(map(split_tag, self.tags)):
                begins = letter in "BS" or self.scheme == "IO"
                if label and (label in hidden or ANY_LABEL in hidden) and (begins or word not in ends):
                    choices[word, number] = 1 if ANY_LABEL in hidden else hidden_odds
        return torch.from_numpy(choices)

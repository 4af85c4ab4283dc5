"""A batch of one domain as one learner sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from torch import Tensor

from acclimate.data.corpus import Sentence
from acclimate.model.encoders.encoder import Embeddings, Encoder, Inputs
from acclimate.model.sentences import Sentences

if TYPE_CHECKING:
    from acclimate.model.tagger import Tagger
    from acclimate.model.word_guesser import WordGuesser


class TextView:
    """Text that an encoder reads: embeddings and features, each computed once and only when somebody asks."""

    guesser: WordGuesser | None = None  # the learner's language-model head, if it has one
    originals: Sequence[Sentence] = ()  # what was numbered, where it came as sentences

    def __init__(self, encoder: Encoder, inputs: Inputs, embeddings: Embeddings | None = None) -> None:
        self.encoder, self.inputs = encoder, inputs
        if embeddings is not None:
            self.embeddings = dict(embeddings)

    @cached_property
    def embeddings(self) -> dict[str, Tensor]:
        """The continuous inputs by name: `words` and `characters`, or `pieces`."""
        return self.encoder.embed(self.inputs)

    @cached_property
    def features(self) -> Tensor:
        """(sentence, word, feature)"""
        return self.encoder.encode(self.embeddings, self.inputs)


class View(TextView):
    """Sentences that a tagger tags: scores, losses and marginals besides."""

    def __init__(self, tagger: Tagger, sentences: Sentences, embeddings: Embeddings | None = None) -> None:
        super().__init__(tagger.encoder, sentences.inputs, embeddings)
        self.tagger, self.sentences, self.originals = tagger, sentences, sentences.originals

    @property
    def shared_features(self) -> Tensor:
        """What both domains have in common, (sentence, word, feature)."""
        return self.tagger.encoder.shared(self.features)

    @cached_property
    def scores(self) -> Tensor:
        """(sentence, word, tag), before the head's own normalisation."""
        scores: Tensor = self.tagger.scores(self.features)
        return scores

    @cached_property
    def losses(self) -> Tensor:
        """Negative log-likelihood of the gold tags, (sentence); meaningless where `sentences.labelled` is False."""
        return self.tagger.head.loss(self.scores, self.sentences.tags, self.sentences.mask)

    @cached_property
    def marginals(self) -> Tensor:
        """Probability of each tag at each word under the head, (sentence, word, tag)."""
        return self.tagger.head.marginals(self.scores, self.sentences.mask)

    def with_noise(self, noise: Mapping[str, Tensor]) -> View:
        """The same sentences with something added to the named embeddings."""
        return View(
            self.tagger,
            self.sentences,
            {name: value + noise[name] if name in noise else value for name, value in self.embeddings.items()},
        )


class NoView(View):
    """Stands where a stage has no sentences of a domain; any use of it says so."""

    def __init__(self, domain: str) -> None:
        self._domain = domain

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_") or name == "refuse":
            return super().__getattribute__(name)
        self.refuse()

    def refuse(self) -> NoReturn:
        raise ValueError(
            f"This objective needs {self._domain} sentences, but the stage's batches have none. "
            f"Give the stage batches of both domains: Batches({{'source': ..., 'target': ...}})."
        )

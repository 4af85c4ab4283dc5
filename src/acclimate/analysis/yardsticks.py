"""What hidden words are judged by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from acclimate.analysis.domain_distance import DensityRatio
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.evaluation.unseen import Vocabulary

if TYPE_CHECKING:  # its home needs torch
    from acclimate.inference.part_of_speech import PartOfSpeechTagger

Words = tuple[str, ...]


@dataclass(frozen=True)
class Yardsticks:
    """Whatever is at hand; what is not given is not told.

    `source` says which words are unseen, with `target` also how much a word is the target's (density ratio). In `gold`
    sentences are looked up for their entities. `tagger` must give universal parts of speech. `lower_case` is how words
    are compared, but sentences are looked up as they are written.
    """

    source: Corpus | None = None
    target: Corpus | None = None
    gold: Sequence[Corpus] = ()
    tagger: PartOfSpeechTagger | None = None
    lower_case: bool = True

    def __post_init__(self) -> None:
        for corpus in self.gold:
            if corpus.kind == "plain" or not corpus.is_labelled:
                raise InputError(f"{corpus.name} has no spans to look hidden words up in; give a corpus with entities.")

    @cached_property
    def density_ratio(self) -> DensityRatio | None:
        if self.source is None or self.target is None:
            return None
        return DensityRatio.of(self.source, self.target, lower_case=self.lower_case)

    @cached_property
    def known(self) -> Vocabulary | None:
        """The words of the source."""
        return None if self.source is None else Vocabulary.of(self.source, lower_cased=self.lower_case)

    @cached_property
    def remembering_tagger(self) -> RememberingTagger | None:
        return None if self.tagger is None else RememberingTagger(self.tagger)

    @cached_property
    def entities(self) -> dict[Words, frozenset[int]]:
        """Which words of each labelled sentence are in an entity. Of equal sentences the first one counts."""
        found: dict[Words, frozenset[int]] = {}
        for sentence in (sentence for corpus in self.gold for sentence in corpus.labelled()):
            inside = (number for span in sentence.spans for number in range(span.start, span.end))
            found.setdefault(sentence.words, frozenset(inside))
        return found


class RememberingTagger:
    """A part-of-speech tagger that tags a sentence once: the log of a run shows the same ones in every epoch."""

    def __init__(self, tagger: PartOfSpeechTagger, most: int = 100_000) -> None:
        self.tagger, self.most = tagger, most
        self._tags: dict[Words, Words] = {}

    @property
    def name(self) -> str:
        return self.tagger.name

    def tag(self, corpus: Corpus, progress: Callable[[int], None] | None = None) -> Corpus:
        """The same sentences under plain tags."""
        if len(self._tags) > self.most:
            self._tags.clear()  # a memory that only grows would hold a whole big corpus
        new = dict.fromkeys(sentence.words for sentence in corpus if sentence.words not in self._tags)
        if new:
            tagged = self.tagger.tag(Corpus.of(map(Sentence, new)))
            self._tags.update((sentence.words, sentence.tags or ()) for sentence in tagged)
        if progress is not None:
            progress(len(corpus))
        known = corpus.with_tags(self._tags[sentence.words] for sentence in corpus)
        return Corpus(known.sentences, corpus.name, "plain", corpus.notes)

"""Anchor pairs: two entities of one type, one of each domain, that may stand in for each other (PDALN, 4.1.1).

The paper compares the first tags of two entities, which is to compare their types: a donor brings its words and its
type, and its tags are spelled anew where it comes to stand (E3.17).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.schemes import Scheme, Span, tags_from_spans

Mention = tuple[str, ...]  # the words of an entity, as they are written


@dataclass(frozen=True, slots=True)
class AnchorPair:
    """An entity of the source and one of the target; both are of type `label`, and their words differ."""

    label: str
    source: Mention
    target: Mention


def mentions(corpus: Corpus) -> dict[str, tuple[Mention, ...]]:
    """The different entities of each type, in the order in which they first occur."""
    found: dict[str, dict[Mention, None]] = {}
    for sentence in corpus:
        for span in sentence.spans:
            found.setdefault(span.label, {})[sentence.words[span.start : span.end]] = None
    return {label: tuple(found[label]) for label in sorted(found)}


def anchor_pairs(source: Corpus, target: Corpus) -> Iterator[AnchorPair]:
    """All of them, type by type. They are many, and so are given one at a time."""
    of_source, of_target = mentions(source), mentions(target)
    for label in sorted(of_source.keys() & of_target.keys()):
        for mine in of_source[label]:
            yield from (AnchorPair(label, mine, theirs) for theirs in of_target[label] if mine != theirs)


def replace_entities(sentence: Sentence, donors: Mapping[Span, Mention], scheme: Scheme = "IOB2") -> Sentence:
    """The sentence with other entities of the same type in the place of some, and tags for the new length."""
    words: list[str] = []
    spans: list[Span] = []
    reached = 0
    for span in sentence.spans:
        words += sentence.words[reached : span.start]
        filling = donors.get(span, sentence.words[span.start : span.end])
        spans.append(Span(len(words), len(words) + len(filling), span.label))
        words += filling
        reached = span.end
    words += sentence.words[reached:]
    return sentence.with_words(words, tags_from_spans(spans, len(words), scheme))

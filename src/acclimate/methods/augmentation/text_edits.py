"""Two small edits of a sentence: synonyms, and a few words less (PDALN, section 4.2.1). Words of entities are never
touched; in text without labels, or with plain tags, nothing is protected. A sentence in which nothing can be changed
comes back as it is."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from acclimate.data.corpus import Kind, Sentence
from acclimate.data.schemes import Scheme, Span, keep_open, spans_from_tags, tags_from_spans
from acclimate.methods.augmentation.synonyms import Synonyms


def shuffled(count: int, dice: Random) -> Iterator[int]:
    """The numbers below `count` in random order, each drawn when it is asked for: there may be billions."""
    moved: dict[int, int] = {}
    for place in range(count):
        other = place + number_below(count - place, dice)
        yield moved.get(other, other)
        moved[other] = moved.get(place, place)


def number_below(limit: int, dice: Random) -> int:
    """A random number from 0 on, for a limit of any size."""
    if limit < 1 << 33:
        return int(dice.random() * (1 << 53)) * limit >> 53
    drawn = bits = 0
    while bits < limit.bit_length() + 20:  # 20 more, so that no number is favoured
        drawn = drawn << 53 | int(dice.random() * (1 << 53))
        bits += 53
    return drawn * limit >> bits


SHARE = 0.2


def replace_synonyms(
    sentence: Sentence, synonyms: Synonyms, dice: Random, share: float = SHARE, kind: Kind = "spans"
) -> Sentence:
    """Replace this share of the words (at least one) by synonyms, as far as words have any."""
    _require_share(share)
    free = _free_words(sentence, kind)
    words = list(sentence.words)
    left = _how_many(share, sentence)
    for number in shuffled(len(free), dice):
        place = free[number]
        found = synonyms.of(words[place])
        if found:
            words[place] = found[number_below(len(found), dice)]
            left -= 1
        if not left:
            break
    return sentence if tuple(words) == sentence.words else sentence.with_words(words, sentence.tags)


def delete_span(
    sentence: Sentence, dice: Random, share: float = SHARE, kind: Kind = "spans", scheme: Scheme = "IOB2"
) -> Sentence:
    """Leave out neighbouring words, this share of the sentence (at least one), or fewer where entities stand close. Two
    entities of one type that come to touch stay two."""
    _require_share(share)
    free = set(_free_words(sentence, kind))
    longest = min(_how_many(share, sentence), len(sentence) - 1, len(free))
    for size in range(longest, 0, -1):
        starts = [start for start in sorted(free) if free.issuperset(range(start, start + size))]
        for number in shuffled(len(starts), dice):
            shorter = _without(sentence, starts[number], size, kind, scheme)
            if shorter is not None:
                return shorter
    return sentence


def edit_text(
    sentence: Sentence,
    dice: Random,
    synonyms: Synonyms | None = None,
    share: float = SHARE,
    kind: Kind = "spans",
    scheme: Scheme = "IOB2",
) -> Sentence:
    """One of the two edits, each with probability 1/2; the other one where it changes nothing."""
    deletes_first = synonyms is None or dice.random() < 0.5
    edited = sentence
    for deletes in (deletes_first, not deletes_first):
        if edited is sentence and deletes:
            edited = delete_span(sentence, dice, share, kind, scheme)
        elif edited is sentence and synonyms is not None:
            edited = replace_synonyms(sentence, synonyms, dice, share, kind)
    return edited


def _free_words(sentence: Sentence, kind: Kind) -> list[int]:
    """Where words stand that may be changed."""
    taken = set() if kind == "plain" else {place for span in sentence.spans for place in range(span.start, span.end)}
    return [place for place in range(len(sentence)) if place not in taken]


def _without(sentence: Sentence, start: int, size: int, kind: Kind, scheme: Scheme) -> Sentence | None:
    """The sentence without some words, or None when its tags could not say what they said."""
    words = sentence.words[:start] + sentence.words[start + size :]
    tags = sentence.tags and sentence.tags[:start] + sentence.tags[start + size :]
    if tags is None or kind == "plain":
        return sentence.with_words(words, tags)
    spans = [
        Span(span.start - size, span.end - size, span.label) if span.start > start else span for span in sentence.spans
    ]
    spelled = keep_open(tags_from_spans(spans, len(words), scheme), tags)
    return sentence.with_words(words, spelled) if spans_from_tags(spelled) == spans else None


def _how_many(share: float, sentence: Sentence) -> int:
    return max(1, round(share * len(sentence)))


def _require_share(share: float) -> None:
    if not 0 < share <= 1:
        raise ValueError(f"The share of words to change must be above 0 and at most 1, not {share}.")

"""From the tags of a file, in any scheme, to sentences with IOB2 or plain tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from acclimate.data.corpus import Kind, Sentence
from acclimate.data.problems import InputError, Place
from acclimate.data.readers.source import RawSentence, ReadingLog
from acclimate.data.schemes import (
    OUTSIDE,
    convert_tags,
    count_faults,
    count_moves,
    is_outside,
    looks_like_span_tag,
    names_a_span,
    scheme_of_moves,
    tags_from_spans,
)
from acclimate.spelling import argument

CHARACTER_SPANS = "character spans"  # what the notes call the scheme of formats that mark stretches of text


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentences whose tags are IOB2 or plain, and how the file spelled them."""

    sentences: tuple[Sentence, ...]
    kind: Kind
    scheme: str | None
    repaired: int = 0


def to_sentences(sentences: Iterable[RawSentence], log: ReadingLog, file: str) -> Sentences:
    sentences = list(sentences)
    tagged = [sentence for sentence in sentences if sentence.tags is not None]
    if not tagged:
        return _from_spans(sentences, log, file)
    counts = Counter(chain.from_iterable(sentence.tags or () for sentence in tagged))
    kind = log.options.labels or log.kind or guess_kind(counts)
    if kind == "plain":
        return Sentences(_sentences(sentences, file), "plain", None)
    odd = {tag for tag in counts if not looks_like_span_tag(tag)}
    if odd:
        sentences = [sentence for sentence in sentences if _fits(sentence, odd, log, file)]
    return _from_tags(sentences, file)


def _fits(sentence: RawSentence, odd: set[str], log: ReadingLog, file: str) -> bool:
    """Whether no tag of a sentence is odd; the first one is refused."""
    tags = sentence.tags or ()
    position = next((position for position, tag in enumerate(tags) if tag in odd), None)
    if position is None:
        return True
    tag, word = tags[position], sentence.words[position]
    problem = (
        f"tag {tag!r} fits no span scheme, as the file's other tags do. Allowed are O, and B- I- E- S- (or L- U-) "
        f"before a label. Mend it; pass {argument('labels', 'plain')} if the tags are labels of single words; or pass "
        f"{argument('skip_bad', True)}."
    )
    hint = " If lines that begin with # are comments, pass comments=True." if word.startswith("#") else ""
    error = InputError(problem + hint, line=sentence.lines[position], text=f"{word}\t{tag}")
    log.refuse(error, file=sentence.file or file)
    return False


def guess_kind(counts: Counter[str]) -> Kind:
    """ "spans" if at least half of the tags, O and open ones apart, are spelled as span tags.

    Bare letters, which are parts of speech in some tag sets, count only together with tags that have a label.
    """
    labelled = {tag: count for tag, count in counts.items() if not is_outside(tag)}
    lettered = sum(count for tag, count in labelled.items() if names_a_span(tag))
    bare = sum(count for tag, count in labelled.items() if len(tag) == 1 and looks_like_span_tag(tag))
    others = sum(labelled.values()) - lettered - bare
    if not others:
        return "spans"
    return "spans" if lettered and lettered + bare >= others else "plain"


def _from_spans(sentences: list[RawSentence], log: ReadingLog, file: str) -> Sentences:
    """Sentences of formats with marked spans, or without any label."""
    marked = any(sentence.spans is not None for sentence in sentences)
    if marked and log.options.labels == "plain":
        problem = f"{argument('labels', 'plain')} was asked for, but this format marks spans of text."
        raise InputError(problem, file=file)
    return Sentences(_sentences(sentences, file), log.options.labels or "spans", CHARACTER_SPANS if marked else None)


def _from_tags(sentences: list[RawSentence], file: str) -> Sentences:
    moves = count_moves(sentence.tags for sentence in sentences if sentence.tags is not None)
    scheme = scheme_of_moves(moves)
    repaired = count_faults(moves, scheme)
    is_plain_iob2 = all(tag is None or tag == OUTSIDE or tag[1:2] == "-" for _, tag in moves)
    if scheme != "IOB2" or repaired or not is_plain_iob2:
        for sentence in sentences:
            if sentence.tags is not None:
                sentence.tags = convert_tags(sentence.tags, "IOB2")
    return Sentences(_sentences(sentences, file), "spans", scheme, repaired)


def _sentences(sentences: list[RawSentence], file: str) -> tuple[Sentence, ...]:
    made = []
    for raw in sentences:
        tags = raw.tags if raw.spans is None else tags_from_spans(raw.spans, len(raw.words))
        offsets = None if raw.offsets is None else tuple(raw.offsets)
        place = Place(raw.file or file, raw.lines[0] if raw.lines else None)
        tags = None if tags is None else tuple(tags)
        made.append(
            Sentence(tuple(raw.words), tags, raw.text, offsets, place, raw.document, probabilities=raw.probabilities)
        )
    return tuple(made)

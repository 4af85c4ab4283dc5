"""From the tags of a file, in any scheme, to sentences with IOB2 or plain tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from acclimate.data.corpus import Kind, Sentence
from acclimate.data.problems import InputError, Place
from acclimate.data.readers.source import RawSentence, ReadingLog
from acclimate.data.schemes import (
    OUTSIDE,
    Scheme,
    convert_tags,
    count_faults,
    count_moves,
    faults,
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
    scheme = log.options.scheme
    if scheme and kind == "plain":
        problem = f"{argument('scheme', scheme)} was asked for, but the tags are plain, one label per word."
        advice = f"Leave out the scheme, or choose another column ({argument('column', ...)})."
        raise InputError(f"{problem} {advice}", file=file)
    if kind == "plain":
        return Sentences(_sentences(sentences, file), "plain", None)
    odd = {tag for tag in counts if not looks_like_span_tag(tag)}
    if odd:
        advice = f"pass {argument('labels', 'plain')} if the tags are labels of single words"
        problem = (
            "tag {tag!r} fits no span scheme, as the file's other tags do. Allowed are O, and B- I- E- S- (or L- U-) "
            f"before a label. Mend it; {advice}; or pass {argument('skip_bad', True)}."
        )

        def odd_positions(tags: Sequence[str]) -> Iterator[int]:
            return (position for position, tag in enumerate(tags) if tag in odd)

        sentences = _without_bad(sentences, odd_positions, problem, log, file)
    if scheme:
        problem = (
            f"tag {{tag!r}} breaks the scheme {scheme}: {_RULES[scheme]} Mend it; leave out {argument('scheme', ...)} "
            f"to have it read leniently; or pass {argument('skip_bad', True)}."
        )
        sentences = _without_bad(sentences, lambda tags: iter(faults(tags, scheme)), problem, log, file)
    return _from_tags(sentences, scheme, file)


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
    if marked and log.options.scheme:
        log.count("a scheme was not needed: this format marks spans of text, not tags")
    return Sentences(_sentences(sentences, file), log.options.labels or "spans", CHARACTER_SPANS if marked else None)


def _from_tags(sentences: list[RawSentence], forced: Scheme | None, file: str) -> Sentences:
    rows = [sentence.tags for sentence in sentences if sentence.tags is not None]
    moves = count_moves(rows)
    scheme = forced or scheme_of_moves(moves)
    repaired = count_faults(moves, scheme)
    is_plain_iob2 = all(tag is None or tag == OUTSIDE or tag[1:2] == "-" for _, tag in moves)
    if scheme != "IOB2" or repaired or not is_plain_iob2:
        for sentence in sentences:
            if sentence.tags is not None:
                sentence.tags = convert_tags(sentence.tags, "IOB2")
    return Sentences(_sentences(sentences, file), "spans", scheme, repaired)


_RULES: dict[Scheme, str] = {
    "IOB2": "a span begins with B- and goes on with I- of the same label.",
    "IOB1": "a span begins with I-; B- stands only between two neighbours of the same label.",
    "BIOES": "a span is S-, or B-, then I- as often as needed, then E-, all of the same label.",
    "IO": "only I- and O occur.",
}


def _without_bad(
    sentences: list[RawSentence],
    bad_positions: Callable[[Sequence[str]], Iterator[int]],
    problem: str,
    log: ReadingLog,
    file: str,
) -> list[RawSentence]:
    """The sentences without a bad tag; the others are refused."""
    good = []
    for sentence in sentences:
        tags = sentence.tags or ()
        position = next(bad_positions(tags), None)
        if position is None:
            good.append(sentence)
            continue
        position = min(position, len(tags) - 1)  # an unclosed span at the end is the fault of the last word
        tag, word = tags[position], sentence.words[position]
        hint = " If lines that begin with # are comments, pass comments=True." if word.startswith("#") else ""
        error = InputError(problem.format(tag=tag) + hint, line=sentence.lines[position], text=f"{word}\t{tag}")
        log.refuse(error, file=sentence.file or file)
    return good


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

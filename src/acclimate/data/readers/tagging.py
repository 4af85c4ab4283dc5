"""Tags at the door: which scheme spells them, what breaks it, and IOB2 from here on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from acclimate.data.corpus import Kind, Sentence
from acclimate.data.problems import InputError, Place
from acclimate.data.readers.source import Found, Ledger
from acclimate.data.schemes import (
    OUTSIDE,
    Scheme,
    convert_tags,
    count_faults,
    count_moves,
    faults,
    looks_like_span_tag,
    names_a_span,
    scheme_of_moves,
    tags_from_spans,
)

CHARACTER_SPANS = "character spans"  # what the notes call the scheme of formats that mark stretches of text


@dataclass(frozen=True, slots=True)
class Settled:
    """Sentences whose tags are IOB2 or plain, and how the file spelled them."""

    sentences: tuple[Sentence, ...]
    kind: Kind
    scheme: str | None
    repaired: int = 0


def settle(found: Iterable[Found], ledger: Ledger, file: str) -> Settled:
    """Turn sentences as the file spells them into sentences as the library knows them."""
    found = list(found)
    tagged = [one for one in found if one.tags is not None]
    if not tagged:
        return _settle_spans(found, ledger, file)
    counts = Counter(chain.from_iterable(one.tags or () for one in tagged))
    kind = ledger.request.labels or ledger.kind or guess_kind(counts)
    if ledger.request.scheme and kind == "plain":
        problem = f"scheme={ledger.request.scheme!r} was asked for, but the tags are plain, one label per word."
        raise InputError(f"{problem} Leave out scheme=, or choose another column=.", file=file)
    if kind == "plain":
        return Settled(_sentences(found, file), "plain", None)
    found = _without_odd_tags(found, counts, ledger, file)
    if ledger.request.scheme:
        found = _without_faults(found, ledger.request.scheme, ledger, file)
    return _settle_tags(found, ledger.request.scheme, file)


def guess_kind(counts: Counter[str]) -> Kind:
    """Span tags if at least half of those that are not `O` are spelled in a span scheme; plain ones otherwise.

    A bare letter says little: `S`, `E`, `B` and `I` are parts of speech in some tag sets. It counts as a span tag
    only where nothing speaks against it.
    """
    labelled = {tag: count for tag, count in counts.items() if tag != OUTSIDE}
    lettered = sum(count for tag, count in labelled.items() if names_a_span(tag))
    bare = sum(count for tag, count in labelled.items() if len(tag) == 1 and looks_like_span_tag(tag))
    others = sum(labelled.values()) - lettered - bare
    if not others:
        return "spans"
    return "spans" if lettered and lettered + bare >= others else "plain"


def _settle_spans(found: list[Found], ledger: Ledger, file: str) -> Settled:
    """Formats that mark stretches of text, and files without any label: nothing to guess."""
    marked = any(one.spans is not None for one in found)
    if marked and ledger.request.labels == "plain":
        raise InputError('labels="plain" was asked for, but this format marks spans of text.', file=file)
    if marked and ledger.request.scheme:
        ledger.count("option scheme= was not needed: this format marks spans of text, not tags")
    return Settled(_sentences(found, file), ledger.request.labels or "spans", CHARACTER_SPANS if marked else None)


def _settle_tags(found: list[Found], forced: Scheme | None, file: str) -> Settled:
    rows = [one.tags for one in found if one.tags is not None]
    moves = count_moves(rows)
    scheme = forced or scheme_of_moves(moves)
    repaired = count_faults(moves, scheme)
    spelled_right = scheme == "IOB2" and not repaired and all(_is_plainly_spelled(after) for _, after in moves)
    if not spelled_right:
        for one in found:
            if one.tags is not None:
                one.tags = convert_tags(one.tags, "IOB2")
    return Settled(_sentences(found, file), "spans", scheme, repaired)


def _is_plainly_spelled(tag: str | None) -> bool:
    return tag is None or tag == OUTSIDE or tag[1:2] == "-"


def _without_odd_tags(found: list[Found], counts: Counter[str], ledger: Ledger, file: str) -> list[Found]:
    """In a file of span tags, a tag that is none of them is a slip of the pen, not a label."""
    odd = {tag for tag in counts if not looks_like_span_tag(tag)}
    if not odd:
        return found
    problem = (
        "tag {tag!r} fits no span scheme, as the file's other tags do. Allowed are O, and B- I- E- S- (or L- U-) "
        'before a label. Mend it; pass labels="plain" if the tags are labels of single words; or pass skip_bad=True.'
    )
    return [one for one in found if not _refused(one, _first(one.tags or (), odd), problem, ledger, file)]


def _without_faults(found: list[Found], scheme: Scheme, ledger: Ledger, file: str) -> list[Found]:
    """Under a scheme that the user insists on, a tag that breaks it is a bad line."""
    problem = (
        "tag {tag!r} breaks the scheme "
        f"{scheme}: {_RULES[scheme]} Mend it; leave out scheme= to have it read leniently; or pass skip_bad=True."
    )
    return [
        one
        for one in found
        if not _refused(one, next(iter(faults(one.tags or (), scheme)), None), problem, ledger, file)
    ]


_RULES: dict[Scheme, str] = {
    "IOB2": "a span begins with B- and goes on with I- of the same label.",
    "IOB1": "a span begins with I-; B- stands only between two neighbours of the same label.",
    "BIOES": "a span is S-, or B-, then I- as often as needed, then E-, all of the same label.",
    "IO": "only I- and O occur.",
}


def _first(tags: Sequence[str], wanted: set[str]) -> int | None:
    return next((position for position, tag in enumerate(tags) if tag in wanted), None)


def _refused(one: Found, position: int | None, problem: str, ledger: Ledger, file: str) -> bool:
    """Refuse the sentence for the tag at a position, if there is one."""
    if position is None or one.tags is None:
        return False
    position = min(position, len(one.tags) - 1)  # an unclosed span at the end is the fault of the last word
    tag, word = one.tags[position], one.words[position]
    hint = " If lines that begin with # are comments, pass comments=True." if word.startswith("#") else ""
    error = InputError(problem.format(tag=tag) + hint, line=one.lines[position], text=f"{word}\t{tag}")
    ledger.refuse(error, file=one.file or file)
    return True


def _sentences(found: list[Found], file: str) -> tuple[Sentence, ...]:
    return tuple(
        Sentence(
            tuple(one.words),
            _iob2(one),
            one.text,
            None if one.offsets is None else tuple(one.offsets),
            Place(one.file or file, one.lines[0] if one.lines else None),
            one.document,
        )
        for one in found
    )


def _iob2(one: Found) -> tuple[str, ...] | None:
    if one.spans is not None:
        return tuple(tags_from_spans(one.spans, len(one.words)))
    return None if one.tags is None else tuple(one.tags)

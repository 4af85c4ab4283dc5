"""Tag schemes: how spans are spelled as one tag per word (IOB1, IOB2, BIOES, IO), and back.

Readers turn every scheme into IOB2. One reading serves all schemes, that of conlleval: a span begins at `B-`/`S-`, or
where the label changes, or after a closed one; it ends before the next beginning, at `E-`/`S-`, or at `O`.

A word may hide a label that nobody annotated. Then its tag is open: `O|LOC|MISC` is O or any tag of LOC or MISC, and
`O|*` is O or any tag at all. An open tag marks no span.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from typing import Literal

from acclimate.data.problems import InputError

Scheme = Literal["IOB1", "IOB2", "BIOES", "IO"]
SCHEMES: tuple[Scheme, ...] = ("IOB1", "IOB2", "BIOES", "IO")

OUTSIDE = "O"
ANY_LABEL = "*"  # in an open tag: any label may be hidden
_OPEN = "O|"
TYPELESS = "ENTITY"  # the label of spans that have none: bare B and I tags, and type-less mode

# BILOU and BMEWO are BIOES with other letters
_SAME_LETTER = {"L": "E", "U": "S", "M": "I", "W": "S"}
_PREFIXES = frozenset("BIES") | frozenset(_SAME_LETTER)
_FEW = 1 << 16  # different tags, or threes of them, that are remembered: more than any label set makes


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The words `start` to `end` (exclusive) carry `label`."""

    start: int
    end: int
    label: str


def open_tag(labels: Iterable[str]) -> str:
    """The tag of a word that may hide these labels: `O|LOC|MISC`; plain `O` for none."""
    return "|".join((OUTSIDE, *sorted(set(labels))))


@lru_cache(_FEW)
def hidden_labels(tag: str) -> tuple[str, ...]:
    """The labels that a word with this tag may hide: those of an open tag, and none for any other."""
    return tuple(tag.split("|")[1:]) if tag.startswith(_OPEN) else ()


def is_outside(tag: str) -> bool:
    """Whether a tag marks no span: `O`, or an open tag."""
    return tag == OUTSIDE or (tag.startswith(_OPEN) and all(hidden_labels(tag)))


def has_open_tags(tags: Iterable[str] | None) -> bool:
    """Whether any of the tags is open."""
    return any(tag.startswith(_OPEN) for tag in tags or ())


def may_agree(one: str, other: str) -> bool:
    """Whether two tags can both be right of one word: equal ones, or an open tag beside what it may hide."""
    for tag, beside in ((one, other), (other, one)):
        hidden = hidden_labels(tag)
        if hidden and (is_outside(beside) or ANY_LABEL in hidden or split_tag(beside)[1] in hidden):
            return True
    return one == other


def keep_open(tags: Sequence[str], former: Sequence[str]) -> list[str]:
    """Tags that were made from spans, with the open tags that stood at the same words before."""
    pairs = zip(tags, former, strict=True)
    return [old if tag == OUTSIDE and old.startswith(_OPEN) else tag for tag, old in pairs]


def looks_like_span_tag(tag: str) -> bool:
    """Whether a tag is spelled in some span scheme: `O`, `B-PER`, `S-LOC`, a bare `B`, or an open tag."""
    return is_outside(tag) or (tag[:1] in _PREFIXES and (len(tag) == 1 or (tag[1] in "-_" and len(tag) > 2)))


def names_a_span(tag: str) -> bool:
    """Whether a tag is spelled in a span scheme and has a label: `B-PER`, and not `O` or a bare `B`."""
    return len(tag) > 1 and not is_outside(tag) and looks_like_span_tag(tag)


@lru_cache(_FEW)
def split_tag(tag: str) -> tuple[str, str]:
    """`B-PER` → (`B`, `PER`); the letter is one of B, I, E, S, O. An open tag counts as O."""
    if is_outside(tag):
        return OUTSIDE, ""
    if not looks_like_span_tag(tag):
        raise InputError(f"tag {tag!r} fits no span scheme: expected O, or one of B- I- E- S- and a label.")
    letter = _SAME_LETTER.get(tag[0], tag[0])
    return letter, tag[2:] or TYPELESS


def spans_from_tags(tags: Sequence[str]) -> list[Span]:
    """The spans of one sentence, whatever scheme spells them. `I-PER I-LOC` is two spans."""
    spans: list[Span] = []
    start, label = 0, ""  # an empty label means that no span is open
    for position, tag in enumerate(tags):
        letter, name = split_tag(tag)
        if label and (letter in "BSO" or name != label):
            spans.append(Span(start, position, label))
            label = ""
        if letter != OUTSIDE and not label:
            start, label = position, name
        if label and letter in "ES":
            spans.append(Span(start, position + 1, label))
            label = ""
    if label:
        spans.append(Span(start, len(tags), label))
    return spans


def tags_from_spans(spans: Iterable[Span], length: int, scheme: Scheme = "IOB2") -> list[str]:
    """Spell spans as tags. Spans may not overlap, and IO cannot keep two neighbours of one label apart."""
    tags = [OUTSIDE] * length
    previous: Span | None = None
    for span in sorted(spans):
        if not 0 <= span.start < span.end <= length:
            raise InputError(f"{span} does not fit into a sentence of {length} words.")
        if previous is not None and span.start < previous.end:
            raise InputError(f"{previous} and {span} overlap; one tag per word cannot hold both.")
        touching = previous is not None and previous.end == span.start and previous.label == span.label
        for position in range(span.start, span.end):
            tags[position] = f"{_letter(position, span, scheme, touching)}-{span.label}"
        previous = span
    return tags


def _letter(position: int, span: Span, scheme: Scheme, touching: bool) -> str:
    first, last = position == span.start, position == span.end - 1
    if scheme == "IO":
        return "I"
    if scheme == "IOB1":
        return "B" if first and touching else "I"
    if scheme == "IOB2":
        return "B" if first else "I"
    if first and last:
        return "S"
    return "B" if first else "E" if last else "I"


def is_legal(before: str | None, after: str | None, scheme: Scheme) -> bool:
    """Whether one tag may follow another; None stands for the sentence's border."""
    left, left_label = split_tag(before) if before is not None else (OUTSIDE, "")
    right, right_label = split_tag(after) if after is not None else (OUTSIDE, "")
    inside = left in "BI" and right in "IE" and left_label == right_label
    if scheme == "IO":
        return left in "IO" and right in "IO"
    if scheme == "IOB1":  # I may begin a span; B is only for a neighbour of the same label
        return left in "BIO" and right in "BIO" and (right != "B" or left_label == right_label)
    if scheme == "IOB2":
        return left in "BIO" and right in "BIO" and (right != "I" or inside)
    return inside if left in "BI" else right not in "IE"


def legal_moves(tags: Sequence[str], scheme: Scheme) -> tuple[list[bool], list[list[bool]], list[bool]]:
    """What the scheme allows: first tags (tag), moves (from tag, to tag) and last tags (tag)."""
    start = [is_legal(None, tag, scheme) for tag in tags]
    moves = [[is_legal(before, after, scheme) for after in tags] for before in tags]
    return start, moves, [is_legal(tag, None, scheme) for tag in tags]


def faults(tags: Sequence[str], scheme: Scheme) -> list[int]:
    """Positions whose tag may not stand there under the scheme (len(tags) for an unclosed span at the end)."""
    bordered = [None, *tags, None]
    return [place for place in range(len(tags) + 1) if not is_legal(bordered[place], bordered[place + 1], scheme)]


def detect_scheme(sentences: Iterable[Sequence[str]]) -> Scheme:
    """The scheme with the fewest faults. A file of `O` alone is IOB2; one without any B is IO."""
    return scheme_of_moves(count_moves(sentences))


def scheme_of_moves(moves: Counter[tuple[str | None, str | None]]) -> Scheme:
    order: tuple[Scheme, ...] = ("IOB2", "BIOES", "IO", "IOB1")
    return min(order, key=lambda scheme: count_faults(moves, scheme))


def count_moves(sentences: Iterable[Sequence[str]]) -> Counter[tuple[str | None, str | None]]:
    """How often each tag follows each other one (None: the border). They are few, whatever the size of the corpus."""
    moves: Counter[tuple[str | None, str | None]] = Counter()
    for tags in sentences:
        moves.update(zip((None, *tags), (*tags, None), strict=True))
    return moves


def count_faults(moves: Counter[tuple[str | None, str | None]], scheme: Scheme) -> int:
    """How many of the moves the scheme does not allow."""
    return sum(times for (before, after), times in moves.items() if not is_legal(before, after, scheme))


def convert_tags(tags: Sequence[str], scheme: Scheme) -> list[str]:
    """The same spans in another spelling."""
    return list(map(_converted, (None, *tags), tags, (*tags[1:], None), repeat(scheme)))


@lru_cache(_FEW)
def _converted(before: str | None, tag: str, after: str | None, scheme: Scheme) -> str:
    """One tag in another spelling, which depends on its two neighbours alone. An open tag stays as it is."""
    if tag.startswith(_OPEN):
        return tag
    tags = [each for each in (before, tag, after) if each is not None]
    return tags_from_spans(spans_from_tags(tags), len(tags), scheme)[before is not None]

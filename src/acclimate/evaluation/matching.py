"""Which predicted span answers which gold span, so that a mistake can be named and labels be compared."""

from __future__ import annotations

from collections.abc import Sequence

from acclimate.data.schemes import Span

Match = tuple[Span | None, Span | None]


def match_spans(gold: Sequence[Span], predicted: Sequence[Span]) -> list[Match]:
    """One partner at most for every span, in the order of the text; None stands beside what has no partner.

    Equal borders find each other first, then spans that overlap: those of the same label before others, the longer
    overlap before the shorter, the earlier before the later. With the label first, `PER` cut into `PER LOC` is one
    wrong border and one invention, which is what a reader sees; the longest overlap alone would call it a wrong label.
    """
    at_borders = {(guess.start, guess.end): guess for guess in predicted}
    partner = {right: at_borders[borders] for right in gold if (borders := (right.start, right.end)) in at_borders}
    taken = set(partner.values())
    # only what is left is compared span by span: in a long sentence of plain tags that is nothing
    lost = [right for right in gold if right not in partner]
    guesses = [guess for guess in predicted if guess not in taken]
    for *_, right, guess in sorted(
        (right.label != guess.label, -overlap(right, guess), right, guess)
        for right in lost
        for guess in guesses
        if overlap(right, guess)
    ):
        if right not in partner and guess not in taken:
            partner[right] = guess
            taken.add(guess)
    matches: list[Match] = [(right, partner.get(right)) for right in gold]
    matches += [(None, guess) for guess in predicted if guess not in taken]
    return sorted(matches, key=_position)


def same_borders(one: Span, other: Span) -> bool:
    return (one.start, one.end) == (other.start, other.end)


def overlap(one: Span, other: Span) -> int:
    """How many words two spans share."""
    return max(0, min(one.end, other.end) - max(one.start, other.start))


def _position(match: Match) -> tuple[int, int]:
    return min((span.start, span.end) for span in match if span is not None)

"""What an offset counts: characters, or the 16-bit units of JavaScript.

Annotation tools that run in a browser have counted an emoji as two (HumanSignal/label-studio#1347, doccano#2290), so
every span behind one is off. Such exports are recognised: read by characters the spans miss the words or the text that
the tool noted, read by 16-bit units all of them fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate

from acclimate.data.borders import CharacterSpan

_BEYOND_16_BITS = 0x10000


def in_characters(
    spans: list[CharacterSpan], text: str, fits: Callable[[Sequence[CharacterSpan]], bool]
) -> tuple[list[CharacterSpan], bool]:
    """The spans by characters, and whether they had to be counted anew. When nothing fits they stay as they are."""
    if not spans or not any(ord(character) >= _BEYOND_16_BITS for character in text) or fits(spans):
        return spans, False
    units = accumulate((1 + (ord(character) >= _BEYOND_16_BITS) for character in text), initial=0)
    position = {unit: character for character, unit in enumerate(units)}
    if not all(span.start in position and span.end in position for span in spans):
        return spans, False
    moved = [replace(span, start=position[span.start], end=position[span.end]) for span in spans]
    return (moved, True) if fits(moved) else (spans, False)

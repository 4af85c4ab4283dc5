"""A piece of the work of selection: the best lines of some text. Any process on any machine may do it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from acclimate.data.best_lines import BestLines, RankedLines
from acclimate.data.line_ngrams import MEASURES, Measure, Target, TargetNgrams
from acclimate.data.problems import InputError
from acclimate.data.text_blocks import Piece, TextBlock, read_blocks


@dataclass(frozen=True)
class Choice:
    """Which lines are wanted."""

    top: int
    measure: Measure
    shortest: int
    longest: float

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise InputError(f"measure={self.measure!r}: choose one of {', '.join(map(repr, MEASURES))}.")
        if self.top < 1:
            raise InputError(f"top={self.top}: at least one line must be wanted.")
        if self.longest < self.shortest:
            raise InputError(f"no line has at least {self.shortest} and at most {self.longest} words.")


@dataclass(frozen=True)
class Found:
    """What a task brings back."""

    best: RankedLines  # in no order
    lowest: float  # of the wanted number of lines: whatever others find, a lower score is not wanted
    lines: dict[int, int]  # in each piece
    too_long: int
    text: int  # bytes
    stored: int


def best_of_pieces(
    pieces: Sequence[Piece],
    target: Target,
    choice: Choice,
    floor: float,
    tell: Callable[[int, int], None] = lambda stored, text: None,
) -> Found:
    """A task: it depends on nothing but its arguments, so it may be done anywhere that the files can be read."""
    best = BestLines(choice.top, floor, in_order=True)
    lines, too_long, text = dict.fromkeys((piece.number for piece in pieces), 0), 0, 0
    with _ngrams(target) as ngrams:
        for piece in pieces:
            stored = 0
            for block in read_blocks(piece):
                _offer_lines(block, piece, ngrams, choice, best)
                lines[piece.number] += block.lines
                too_long, text = too_long + block.left_out, text + len(block.text)
                tell(block.stored - stored, len(block.text))
                stored = block.stored
    return Found(best.collected(), best.lowest, lines, too_long, text, sum(piece.size for piece in pieces))


def _offer_lines(block: TextBlock, piece: Piece, ngrams: TargetNgrams, choice: Choice, best: BestLines) -> None:
    read = ngrams.words.read(block.text)
    promising = ngrams.promising(read, best.floor, choice.measure)
    lines = ngrams.words.number(read, promising)
    scores = ngrams.count(lines).scores(choice.measure)
    fits = (lines.lengths >= max(1, choice.shortest)) & (lines.lengths <= choice.longest)
    taken = np.flatnonzero(fits & (scores >= best.floor))
    places, pieces = promising[taken], np.full(len(taken), piece.number)
    best.offer(RankedLines(scores[taken], pieces, block.first_line + places, read.lines(places)))


_idle_ngrams: dict[str, list[TargetNgrams]] = {}  # by fingerprint of the target


@contextmanager
def _ngrams(target: Target) -> Iterator[TargetNgrams]:
    """The target's n-grams: made once for each process or thread that works, for what they learnt of words is of use in
    the next piece too. Those of other targets are forgotten."""
    idle = _idle_ngrams.get(target.fingerprint)
    if idle is None:
        _idle_ngrams.clear()
        idle = _idle_ngrams[target.fingerprint] = []
    try:
        ngrams = idle.pop()
    except IndexError:
        ngrams = TargetNgrams(target)
    yield ngrams
    idle.append(ngrams)


def forget_ngrams() -> None:
    """Give the memory back."""
    _idle_ngrams.clear()

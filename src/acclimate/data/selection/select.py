"""Select the lines of huge raw text that are most similar to a target text (`likeness`).

Any number of processes read pieces of the files; the result does not depend on their number.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from acclimate.data.problems import InputError
from acclimate.data.processes import processes
from acclimate.data.readers.source import Tokenize
from acclimate.data.selection.likeness import (
    MEASURES,
    Likeness,
    Measure,
    Target,
    Text,
    likeness_to,
    read_target,
    with_sample,
)
from acclimate.data.selection.text_files import Piece, TextBlock, Watch, cut_into_pieces, read_blocks
from acclimate.data.words import find_sentences
from acclimate.data.writers.shared import atomic_file

_BLANKS = {"words": "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f ", "blanks": "\t\n\r "}


class Candidate(NamedTuple):
    """A line, or one of its sentences, and where it stands: a piece of the input and a line of it, from 0."""

    score: float
    piece: int
    line: int
    place: int  # in the line
    words: int
    text: str

    @property
    def rank(self) -> tuple[float, int, int, int]:
        return -self.score, self.piece, self.line, self.place


class BestLines:
    """The `top` best lines of those offered. Of equal lines the first one counts, of equal scores the earlier place.

    Lines are collected until there are a quarter too many, and the worse ones are dropped together. A dropped line
    cannot come back with a duplicate, whose place is later.
    """

    def __init__(self, top: int, least_score: float = 0.0) -> None:
        self.top = top
        self.least_score = least_score  # a lower score is not wanted any more
        self._collected: list[Candidate] = []

    def offer(self, lines: Iterable[Candidate]) -> None:
        self._collected.extend(lines)
        if len(self._collected) > self.top + max(self.top // 4, 1000):
            self.ranked()

    def ranked(self) -> list[Candidate]:
        """The best lines, the best first."""
        first: dict[str, Candidate] = {}
        for line in sorted(self._collected, key=lambda line: line.rank):
            first.setdefault(line.text, line)
        self._collected = list(islice(first.values(), self.top))
        if len(self._collected) == self.top:
            self.least_score = max(self.least_score, self._collected[-1].score)
        return self._collected


@dataclass(frozen=True)
class LineCriteria:
    """Which lines are wanted."""

    top: int
    measure: Measure
    shortest: int
    longest: float
    sentences: bool = False  # which a line may have several of

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise InputError(f"measure={self.measure!r}: choose one of {', '.join(map(repr, MEASURES))}.")
        if self.top < 1:
            raise InputError(f"top={self.top}: at least one line must be wanted.")
        if self.longest < self.shortest:
            raise InputError(f"no line has at least {self.shortest} and at most {self.longest} words.")


@dataclass(frozen=True)
class TaskResult:
    """The best lines of some pieces."""

    best: list[Candidate]
    least_score: float  # of the wanted number of lines
    lines: dict[int, int]  # in each piece
    too_long: int
    text: int  # bytes
    stored: int


Report = Callable[[int, int], None]  # bytes read on disk, and bytes of text


class Selector:
    """What every process needs to select lines of pieces."""

    def __init__(self, target: Target, criteria: LineCriteria) -> None:
        self.target, self.criteria = target, criteria
        self.likeness: Likeness = likeness_to(target, criteria.measure)

    def best_of(self, pieces: Sequence[Piece], least_score: float, report: Report) -> TaskResult:
        best = BestLines(self.criteria.top, least_score)
        lines, too_long, text = dict.fromkeys((piece.number for piece in pieces), 0), 0, 0
        for piece in pieces:
            stored = 0
            for block in read_blocks(piece):
                best.offer(self._candidates(block, piece, best.least_score))
                lines[piece.number] += block.lines
                too_long, text = too_long + block.left_out, text + len(block.text)
                report(block.stored - stored, len(block.text))
                stored = block.stored
        return TaskResult(best.ranked(), best.least_score, lines, too_long, text, sum(piece.size for piece in pieces))

    def _candidates(self, block: TextBlock, piece: Piece, least_score: float) -> Iterator[Candidate]:
        shortest, longest = max(1, self.criteria.shortest), self.criteria.longest
        for number, line in enumerate(block.text.decode("utf-8").split("\n"), start=block.first_line):
            for place, text in enumerate(self._texts(line)):
                words = self.target.words_of(text)
                if shortest <= len(words) <= longest:
                    score = self.likeness.score(words)
                    if score >= least_score:
                        yield Candidate(score, piece.number, number, place, len(words), text)

    def _texts(self, line: str) -> Sequence[str]:
        if not self.criteria.sentences:
            return (line.strip(_BLANKS[self.target.tokenize]),)
        return [" ".join(line[start:end].split()) for start, end in find_sentences(line)]


_selectors: list[Selector] = []  # of a worker process: the one it was started with


def _start_worker(target: Target, criteria: LineCriteria) -> None:
    _selectors.append(Selector(target, criteria))


def _best_of_pieces(pieces: Sequence[Piece], least_score: float) -> TaskResult:
    return _selectors[0].best_of(pieces, least_score, lambda stored, text: None)


_SMALL_FILES = 8 << 20  # bytes on disk that make up a task


@dataclass(frozen=True)
class Selection:
    """What was selected out of what."""

    lines_read: int
    lines_kept: int
    lines_too_long: int  # more than a megabyte; left out
    lowest: float
    highest: float
    words_per_line: float  # of the lines taken
    target_words_per_line: float
    megabytes: float  # of text, 10^6 bytes
    seconds: float

    @property
    def megabytes_per_second(self) -> float:
        return self.megabytes / max(self.seconds, 1e-9)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "megabytes_per_second": round(self.megabytes_per_second, 3)}


def select_text(
    like: Text | Sequence[Text],
    files: Iterable[str | Path],
    top: int,
    out: str | Path,
    *,
    jobs: int | None = None,
    measure: Measure = "overlap",
    lower_case: bool = True,
    tokenize: Tokenize = "words",
    shortest: int = 1,
    longest: int | None = None,
    sentences: bool = False,
    scores: str | Path | None = None,
    format: str | None = None,
    watch: Watch = lambda stored, of, text: None,
) -> Selection:
    """Write the `top` lines of files that are most like a text, the best first, each line once.

    like: raw text or a corpus, or several (`format` as in `read_corpus`).
    files: raw text, plain, .gz or .xz, a sentence or paragraph per line. out: compressed if it ends in .gz or .xz.
    measure: see `likeness`. lower_case: `The` and `the` are one word.
    tokenize: "words", or "blanks" for text that is already split into words.
    shortest, longest: lines with fewer or more words are left out. sentences: take single sentences of a line.
    scores: a file with the score, file and line of each line of `out`.
    """
    started = time.monotonic()
    places = [str(file) for file in files]
    criteria = LineCriteria(top, measure, shortest, math.inf if longest is None else longest, sentences)
    _check_places(like, places, out, scores)
    pieces = cut_into_pieces(places)
    target = read_target(like, format, lower_case=lower_case, tokenize=tokenize)
    if measure == "contrast":
        target = with_sample(target, pieces)
    tally = _Tally(top, sum(piece.size for piece in pieces), watch)
    _do_all(_tasks(pieces), target, criteria, tally, jobs or 1)
    best, lines_read = tally.best.ranked(), sum(tally.lines.values())
    if not best:
        raise InputError(f"none of {lines_read:,} lines can be taken. Give other text, or other limits of length.")
    _write(best, out, scores, _places(best, pieces, tally.lines))
    return Selection(
        lines_read=lines_read,
        lines_kept=len(best),
        lines_too_long=tally.too_long,
        lowest=best[-1].score,
        highest=best[0].score,
        words_per_line=sum(line.words for line in best) / len(best),
        target_words_per_line=target.words_per_line,
        megabytes=tally.text / 1e6,
        seconds=round(time.monotonic() - started, 3),
    )


def _tasks(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Pieces in their order; small ones together, so that many small files are not many small tasks."""
    tasks: list[list[Piece]] = []
    size = math.inf
    for piece in pieces:
        if size + piece.size > _SMALL_FILES:
            tasks.append([])
            size = 0
        tasks[-1].append(piece)
        size += piece.size
    return tasks


class _Tally:
    """What all tasks have brought so far."""

    def __init__(self, top: int, stored_of: int, watch: Watch) -> None:
        self.best = BestLines(top)
        self.lines: dict[int, int] = {}  # in each piece
        self.too_long = self.text = 0
        self._stored, self._stored_of, self._watch = 0, stored_of, watch

    def add(self, result: TaskResult) -> None:
        self.best.offer(result.best)
        self.best.least_score = max(self.best.least_score, result.least_score)
        self.lines.update(result.lines)
        self.too_long += result.too_long

    def read(self, stored: int, text: int) -> None:
        self._stored += stored
        self.text += text
        self._watch(self._stored, self._stored_of, self.text)


def _do_all(tasks: Sequence[list[Piece]], target: Target, criteria: LineCriteria, tally: _Tally, jobs: int) -> None:
    """Do all tasks, here or in several processes."""
    if min(jobs, len(tasks)) < 2:
        selector = Selector(target, criteria)
        for pieces in tasks:
            tally.add(selector.best_of(pieces, tally.best.least_score, tally.read))
        return
    advice = "perhaps there was too little memory: name fewer jobs, or take fewer lines"
    with processes(min(jobs, len(tasks)), "read", advice, _start_worker, target, criteria) as workers:
        _do_in(workers, tasks, tally, at_once=2 * jobs)


def _do_in(workers: ProcessPoolExecutor, tasks: Sequence[list[Piece]], tally: _Tally, at_once: int) -> None:
    """Later tasks get the score that a line must have by now, and bring back less."""
    waiting: set[Future[TaskResult]] = set()
    left = iter(tasks)
    while True:
        for pieces in islice(left, at_once - len(waiting)):
            waiting.add(workers.submit(_best_of_pieces, pieces, tally.best.least_score))
        if not waiting:
            return
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for result in [future.result() for future in done]:
            tally.add(result)
            tally.read(result.stored, result.text)


def _check_places(like: Text | Sequence[Text], files: Sequence[str], *written: str | Path | None) -> None:
    """Refuse to write over a file that is read."""
    texts = [like] if isinstance(like, Text) else like
    read = {os.path.realpath(file) for file in [*files, *(text for text in texts if isinstance(text, str | Path))]}
    places = [os.path.realpath(place) for place in written if place is not None]
    for place in places:
        if place in read:
            raise InputError("this file is read; it cannot be written over. Name another one.", file=place)
    if len(set(places)) < len(places):
        raise InputError("the lines and their scores cannot go to the same file.", file=places[0])


def _write(best: Sequence[Candidate], out: str | Path, scores: str | Path | None, places: Iterable[str]) -> None:
    """Both files, or none of them."""
    with ExitStack() as files:
        files.enter_context(atomic_file(out)).writelines(f"{line.text}\n".encode() for line in best)
        if scores is not None:
            rows = (f"{line.score!r}\t{place}\n" for line, place in zip(best, places, strict=True))
            file = files.enter_context(atomic_file(scores))
            file.writelines(row.encode() for row in ("score\tfile\tline\n", *rows))


def _places(best: Iterable[Candidate], pieces: Sequence[Piece], lines: Mapping[int, int]) -> Iterator[str]:
    """File and line of the best lines. `lines`: how many each piece has."""
    before: dict[int, int] = {}  # in the same file
    for piece in pieces:
        before[piece.number] = before[piece.number - 1] + lines[piece.number - 1] if piece.start else 0
    for line in best:
        yield f"{pieces[line.piece].file}\t{before[line.piece] + line.line + 1}"

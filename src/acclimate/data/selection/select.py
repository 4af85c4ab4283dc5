"""Select the lines of huge raw text that are most similar to a target text.

"overlap", the default, is the share of a line's n-grams that the target has, averaged over n = 1 to 4. "jaccard" is the
rule of the adversarial masking paper, which prefers long lines. "contrast" is the cross-entropy difference of target
and pool. Any number of processes read pieces of the files; the result does not depend on their number.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from acclimate.data.problems import InputError
from acclimate.data.processes import done_side_by_side, processes
from acclimate.data.readers.source import Tokenize
from acclimate.data.selection.ngram_scores import (
    MEASURES,
    Contrast,
    Measure,
    Scores,
    Target,
    TargetNgrams,
    Text,
    read_target,
    with_sample,
)
from acclimate.data.selection.text_files import Piece, TextBlock, Watch, cut_into_pieces, read_blocks
from acclimate.data.selection.word_numbers import Numbers
from acclimate.data.words import find_sentences
from acclimate.data.writers.shared import atomic_file


class RankedLines(NamedTuple):
    """Lines, where they stand, and how long they are."""

    scores: Scores
    facts: Numbers  # (line, 3): the piece of the input, the line of that piece, both counted from 0; and its words
    texts: list[bytes]

    def only(self, places: list[int]) -> RankedLines:
        return RankedLines(self.scores[places], self.facts[places], [self.texts[place] for place in places])


def _joined(parts: Sequence[RankedLines]) -> RankedLines:
    scores, facts, texts = zip(_NO_LINES, *parts, strict=True)
    return RankedLines(np.concatenate(scores), np.concatenate(facts), list(chain.from_iterable(texts)))


_NO_LINES = RankedLines(np.zeros(0), np.zeros((0, 3), np.int64), [])


class BestLines:
    """The `top` best lines of those offered. Of equal lines the first one counts, of equal scores the earlier place.

    Lines are collected until there are a quarter too many, and the worse ones are dropped together. A dropped line
    cannot come back with a duplicate, whose place is later.
    """

    def __init__(self, top: int, least_score: float = 0.0) -> None:
        self.top = top
        self.least_score = least_score  # a lower score is not wanted
        self._parts: list[RankedLines] = []
        self._waiting = 0

    def offer(self, lines: RankedLines) -> None:
        self._parts.append(lines)
        self._waiting += len(lines.texts)
        if self._waiting > self.top + max(self.top // 4, 1000):
            self.ranked()

    def ranked(self) -> RankedLines:
        """The best lines, the best first."""
        lines = _joined(self._parts)
        lines = lines.only(np.lexsort((lines.facts[:, 1], lines.facts[:, 0], -lines.scores)).tolist())
        first: dict[bytes, int] = dict(zip(reversed(lines.texts), range(len(lines.texts) - 1, -1, -1), strict=True))
        best = sorted(first.values())[: self.top]
        lines = lines.only(best)
        self._parts, self._waiting = [lines], len(best)
        if len(best) == self.top:
            self.least_score = max(self.least_score, float(lines.scores[-1]))
        return lines


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
    """What a task found."""

    best: RankedLines
    least_score: float  # no lower score is wanted any more
    lines: dict[int, int]  # in each piece
    too_long: int
    text: int  # bytes
    stored: int


Task = tuple[Sequence[Piece], float]  # what to read, and the score that a line must have


def best_of_pieces(
    target: Target,
    criteria: LineCriteria,
    task: Task,
    report: Callable[[int, int], None] = lambda stored, text: None,
) -> TaskResult:
    """It depends on its arguments alone, so it may be done anywhere that the files can be read."""
    pieces, least_score = task
    best = BestLines(criteria.top, least_score)
    lines, too_long, text = dict.fromkeys((piece.number for piece in pieces), 0), 0, 0
    scorer = _scorer(target)
    for piece in pieces:
        stored = 0
        for block in read_blocks(piece):
            best.offer(_scored(block, piece, scorer, criteria, best.least_score))
            lines[piece.number] += block.lines
            too_long, text = too_long + block.left_out, text + len(block.text)
            report(block.stored - stored, len(block.text))
            stored = block.stored
    return TaskResult(best.ranked(), best.least_score, lines, too_long, text, sum(piece.size for piece in pieces))


Scorer = tuple[TargetNgrams, Contrast | None]


def _scored(block: TextBlock, piece: Piece, scorer: Scorer, criteria: LineCriteria, least_score: float) -> RankedLines:
    """The lines of a block that may be taken."""
    text, line_numbers = _sentences(block) if criteria.sentences else (block.text, np.arange(block.lines))
    ngrams, contrast = scorer
    read = ngrams.words.read(text)
    candidates = ngrams.candidate_lines(read, least_score, criteria.measure)
    lines = ngrams.words.number(read, candidates)
    scores = ngrams.scores(lines, criteria.measure) if contrast is None else contrast.scores(lines)
    fits = (lines.lengths >= max(1, criteria.shortest)) & (lines.lengths <= criteria.longest)
    taken = np.flatnonzero(fits & (scores >= least_score))
    places = candidates[taken]
    numbers = block.first_line + line_numbers[places]
    facts = np.stack((np.full(len(taken), piece.number), numbers, lines.lengths[taken]), 1)
    return RankedLines(scores[taken], facts, read.lines(places))


def _sentences(block: TextBlock) -> tuple[bytes, Numbers]:
    """The text with a sentence a line, and for each the number of its line."""
    sentences: list[str] = []
    numbers: list[int] = []
    for number, line in enumerate(block.text.decode("utf-8").split("\n")):
        found = [" ".join(line[start:end].split()) for start, end in find_sentences(line)]
        sentences += found
        numbers += [number] * len(found)
    return "\n".join((*sentences, "")).encode(), np.array(numbers, np.int64)


_made = threading.local()  # the last target's fingerprint and scorer


def _scorer(target: Target) -> Scorer:
    """The target's n-grams, made once for each process or thread, since they remember words."""
    if getattr(_made, "fingerprint", None) != target.fingerprint:
        _made.scorer = TargetNgrams(target), Contrast(target) if len(target.pool) else None
        _made.fingerprint = target.fingerprint
    scorer: Scorer = _made.scorer
    return scorer


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
    like: Target | Text | Sequence[Text],
    files: Iterable[str | Path],
    top: int,
    out: str | Path,
    *,
    executor: Executor | None = None,
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

    like: raw text or a corpus, or several (`format` as in `read_corpus`), or what `read_target` made of them.
    files: raw text, plain, .gz or .xz, a sentence or paragraph per line. out: compressed if it ends in .gz or .xz.
    executor: does the work instead of `jobs` processes here, such as a Dask cluster's; `jobs` is then its workers.
    measure: see the top of this file. lower_case: `The` and `the` are one word.
    tokenize: "words", or "blanks" for text that is already split into words.
    shortest, longest: lines with fewer or more words are left out. sentences: take single sentences of a line.
    scores: a file with the score, file and line of each line of `out`.
    """
    started = time.monotonic()
    places = [str(file) for file in files]
    criteria = LineCriteria(top, measure, shortest, math.inf if longest is None else longest, sentences)
    _check_places(like, places, out, scores)
    pieces = cut_into_pieces(places)
    target = like if isinstance(like, Target) else read_target(like, format, lower_case=lower_case, tokenize=tokenize)
    if measure == "contrast":
        target = with_sample(target, pieces)
    best, lines_of_pieces = BestLines(top), dict[int, int]()
    too_long = stored = text = 0
    size = sum(piece.size for piece in pieces)

    def report(more_stored: int, more_text: int) -> None:
        nonlocal stored, text
        stored, text = stored + more_stored, text + more_text
        watch(stored, size, text)

    together = list(_together(pieces))
    tasks = ((some, best.least_score) for some in together)  # later ones are asked for better lines
    if executor is None:
        jobs = min(jobs or 1, len(together))
    for result in _results(partial(best_of_pieces, target, criteria), tasks, executor, jobs, report):
        best.offer(result.best)
        best.least_score = max(best.least_score, result.least_score)
        lines_of_pieces |= result.lines
        too_long += result.too_long
    lines, lines_read = best.ranked(), sum(lines_of_pieces.values())
    if not lines.texts:
        raise InputError(f"none of {lines_read:,} lines can be taken. Give other text, or other limits of length.")
    _write(lines, out, scores, _places(lines, pieces, lines_of_pieces))
    return Selection(
        lines_read=lines_read,
        lines_kept=len(lines.texts),
        lines_too_long=too_long,
        lowest=float(lines.scores[-1]),
        highest=float(lines.scores[0]),
        words_per_line=float(lines.facts[:, 2].mean()),
        target_words_per_line=target.words_per_line,
        megabytes=text / 1e6,
        seconds=round(time.monotonic() - started, 3),
    )


def _together(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """Pieces in their order; small ones together, so that many small files are not many small tasks."""
    together: list[Piece] = []
    for piece in pieces:
        if together and sum(one.size for one in together) + piece.size > _SMALL_FILES:
            yield together
            together = []
        together.append(piece)
    yield together


def _results(
    call: Callable[..., TaskResult],
    tasks: Iterable[Task],
    executor: Executor | None,
    jobs: int | None,
    report: Callable[[int, int], None],
) -> Iterator[TaskResult]:
    """What each task found, in any order: by the executor that was given, by new processes, or here."""
    if executor is None and jobs == 1:
        try:
            yield from (call(task, report) for task in tasks)
        finally:
            _made.__dict__.clear()  # gives the memory back
        return
    at_once = jobs or os.cpu_count() or 1
    advice = "perhaps there was too little memory: name fewer jobs, or take fewer lines"

    def workers() -> AbstractContextManager[Executor]:
        return processes(at_once, "read", advice) if executor is None else nullcontext(executor)

    with closing(done_side_by_side(call, tasks, workers, 2 * at_once, in_order=False)) as done:
        for _, future in done:
            result = future.result()
            report(result.stored, result.text)
            yield result


def _check_places(like: Target | Text | Sequence[Text], files: Sequence[str], *written: str | Path | None) -> None:
    """Refuse to write over a file that is read."""
    texts = [like] if isinstance(like, Target | Text) else like
    read = {os.path.realpath(file) for file in [*files, *(text for text in texts if isinstance(text, str | Path))]}
    places = [os.path.realpath(place) for place in written if place is not None]
    for place in places:
        if place in read:
            raise InputError("this file is read; it cannot be written over. Name another one.", file=place)
    if len(set(places)) < len(places):
        raise InputError("the lines and their scores cannot go to the same file.", file=places[0])


def _write(best: RankedLines, out: str | Path, scores: str | Path | None, places: Iterable[str]) -> None:
    """Both files, or none of them."""
    with ExitStack() as files:
        file = files.enter_context(atomic_file(out))
        for start in range(0, len(best.texts), 1000):
            file.write(b"\n".join((*best.texts[start : start + 1000], b"")))
        if scores is not None:
            file = files.enter_context(atomic_file(scores))
            file.write(b"score\tfile\tline\n")
            rows = zip(best.scores.tolist(), places, strict=True)
            file.writelines(f"{score!r}\t{place}\n".encode() for score, place in rows)


def _places(best: RankedLines, pieces: Sequence[Piece], lines: Mapping[int, int]) -> Iterator[str]:
    """File and line of the best lines. `lines`: how many each piece has."""
    before: dict[int, int] = {}  # in the same file
    for piece in pieces:
        before[piece.number] = before[piece.number - 1] + lines[piece.number - 1] if piece.start else 0
    for number, line, _ in best.facts.tolist():
        yield f"{pieces[number].file}\t{before[number] + line + 1}"

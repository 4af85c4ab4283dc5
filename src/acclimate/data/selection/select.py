"""Select the lines of huge raw text that are most similar to a target text.

"overlap", the default, is the share of a line's n-grams that the target has, averaged over n = 1 to 4. "jaccard" is the
rule of the adversarial masking paper, which prefers long lines. "contrast" is the cross-entropy difference of target
and pool. Any number of processes read pieces of the files; the result does not depend on their number.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from acclimate.data.problems import InputError
from acclimate.data.processes import processes
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
from acclimate.data.selection.word_numbers import Numbers, WordNumbers
from acclimate.data.words import find_sentences
from acclimate.data.writers.shared import atomic_file


class RankedLines(NamedTuple):
    """Lines and where they stand: a piece of the input and a line of that piece, both counted from 0."""

    scores: Scores
    pieces: Numbers
    numbers: Numbers
    texts: list[bytes]

    def only(self, places: list[int]) -> RankedLines:
        texts = [self.texts[place] for place in places]
        return RankedLines(self.scores[places], self.pieces[places], self.numbers[places], texts)


class BestLines:
    """The `top` best lines of those offered. Of equal lines the first one counts, of equal scores the earlier place.

    Lines are collected until there are a quarter too many, and the worse ones are dropped together. A dropped line
    cannot come back with a duplicate, whose place is later.
    """

    def __init__(self, top: int, least_score: float = 0.0, *, in_order: bool) -> None:
        self.top = top
        self.least_score = least_score  # a lower score is not wanted
        self.lowest = 0.0  # of the wanted number of lines, if there are so many
        self._in_order = in_order  # lines are offered in the order of their places: later ones must be better
        self._parts: list[RankedLines] = []
        self._waiting = 0

    def offer(self, lines: RankedLines) -> None:
        self._parts.append(lines)
        self._waiting += len(lines.texts)
        if self._waiting > self.top + max(self.top // 4, 1000):
            self.ranked()

    def collected(self) -> RankedLines:
        """All lines that may be among the best, in no order."""
        return self.ranked() if self._waiting > self.top else _together(self._parts)

    def ranked(self) -> RankedLines:
        """The best lines, the best first."""
        lines = _together(self._parts)
        lines = lines.only(np.lexsort((lines.numbers, lines.pieces, -lines.scores)).tolist())
        first: dict[bytes, int] = dict(zip(reversed(lines.texts), range(len(lines.texts) - 1, -1, -1), strict=True))
        best = sorted(first.values())[: self.top]
        lines = lines.only(best)
        self._parts, self._waiting = [lines], len(best)
        if len(best) == self.top:
            self.lowest = float(lines.scores[-1])
            least = float(np.nextafter(self.lowest, 2)) if self._in_order else self.lowest
            self.least_score = max(self.least_score, least)
        return lines


def _together(parts: Sequence[RankedLines]) -> RankedLines:
    scores, pieces, numbers, texts = zip(_NO_LINES, *parts, strict=True)
    joined = list(chain.from_iterable(texts))
    return RankedLines(np.concatenate(scores), np.concatenate(pieces), np.concatenate(numbers), joined)


_NO_LINES = RankedLines(np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64), [])


@dataclass(frozen=True)
class LineCriteria:
    """Which lines are wanted."""

    top: int
    measure: Measure
    shortest: int
    longest: float
    sentences: bool = False  # which a line may have several of

    def __post_init__(self) -> None:
        if self.measure not in (known := (*MEASURES, "contrast")):
            raise InputError(f"measure={self.measure!r}: choose one of {', '.join(map(repr, known))}.")
        if self.top < 1:
            raise InputError(f"top={self.top}: at least one line must be wanted.")
        if self.longest < self.shortest:
            raise InputError(f"no line has at least {self.shortest} and at most {self.longest} words.")


@dataclass(frozen=True)
class TaskResult:
    """What a task found."""

    best: RankedLines  # in no order
    lowest: float  # of the wanted number of lines: no lower score is wanted any more
    lines: dict[int, int]  # in each piece
    too_long: int
    text: int  # bytes
    stored: int


def best_of_pieces(
    pieces: Sequence[Piece],
    target: Target,
    criteria: LineCriteria,
    least_score: float,
    report: Callable[[int, int], None] = lambda stored, text: None,
) -> TaskResult:
    """A task. It depends on its arguments alone, so it may be done anywhere that the files can be read."""
    best = BestLines(criteria.top, least_score, in_order=True)
    lines, too_long, text = dict.fromkeys((piece.number for piece in pieces), 0), 0, 0
    with _scorer(target) as scorer:
        for piece in pieces:
            stored = 0
            for block in read_blocks(piece):
                _offer_lines(block, piece, scorer, criteria, best)
                lines[piece.number] += block.lines
                too_long, text = too_long + block.left_out, text + len(block.text)
                report(block.stored - stored, len(block.text))
                stored = block.stored
    return TaskResult(best.collected(), best.lowest, lines, too_long, text, sum(piece.size for piece in pieces))


Scorer = tuple[TargetNgrams, Contrast | None]
_IN_LINE = 20  # bits of a sentence's number that count sentences of its line: none has more bytes


def _offer_lines(block: TextBlock, piece: Piece, scorer: Scorer, criteria: LineCriteria, best: BestLines) -> None:
    text, numbers = _sentences(block) if criteria.sentences else (block.text, None)
    ngrams, contrast = scorer
    read = ngrams.words.read(text)
    candidates = ngrams.candidate_lines(read, best.least_score, criteria.measure)
    lines = ngrams.words.number(read, candidates)
    if criteria.measure == "contrast":
        assert contrast is not None
        scores = contrast.scores(lines)
    else:
        scores = ngrams.count(lines).scores(criteria.measure)
    fits = (lines.lengths >= max(1, criteria.shortest)) & (lines.lengths <= criteria.longest)
    taken = np.flatnonzero(fits & (scores >= best.least_score))
    places, pieces = candidates[taken], np.full(len(taken), piece.number)
    numbered = block.first_line + places << _IN_LINE if numbers is None else numbers[places]
    best.offer(RankedLines(scores[taken], pieces, numbered, read.lines(places)))


def _sentences(block: TextBlock) -> tuple[bytes, Numbers]:
    """The text with a sentence a line, and for each its line's number, and its own in the line."""
    sentences: list[str] = []
    numbers: list[int] = []
    for line, text in enumerate(block.text.decode("utf-8").split("\n")):
        found = [text[start:end] for start, end in find_sentences(text)]
        sentences += (" ".join(sentence.split()) for sentence in found)
        numbers += (block.first_line + line << _IN_LINE | place for place in range(len(found)))
    return "\n".join((*sentences, "")).encode(), np.array(numbers, np.int64)


_idle_scorers: dict[str, list[Scorer]] = {}  # by fingerprint of the target


@contextmanager
def _scorer(target: Target) -> Iterator[Scorer]:
    """The target's n-grams, made once for each process or thread, since they remember words."""
    idle = _idle_scorers.get(target.fingerprint)
    if idle is None:
        _idle_scorers.clear()
        idle = _idle_scorers[target.fingerprint] = []
    try:
        scorer = idle.pop()  # another thread may take the last one meanwhile
    except IndexError:
        scorer = TargetNgrams(target), Contrast(target) if len(target.pool) else None
    yield scorer
    idle.append(scorer)


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
    tasks = _tasks(pieces)
    tally = _Tally(top, sum(piece.size for piece in pieces), watch)
    with _workers(executor, jobs, len(tasks)) as workers:
        _do_all(tasks, target, criteria, tally, workers, at_once=2 * (jobs or os.cpu_count() or 1))
    best, lines_read = tally.best.ranked(), sum(tally.lines.values())
    if not best.texts:
        raise InputError(f"none of {lines_read:,} lines can be taken. Give other text, or other limits of length.")
    _write(best, out, scores, _places(best, pieces, tally.lines))
    return Selection(
        lines_read=lines_read,
        lines_kept=len(best.texts),
        lines_too_long=tally.too_long,
        lowest=float(best.scores[-1]),
        highest=float(best.scores[0]),
        words_per_line=_word_count(best.texts, target) / len(best.texts),
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


@contextmanager
def _workers(executor: Executor | None, jobs: int | None, tasks: int) -> Iterator[Executor | None]:
    """The executor that was given, new processes, or None."""
    jobs = min(jobs or 1, tasks)
    advice = "perhaps there was too little memory: name fewer jobs, or take fewer lines"
    try:
        with nullcontext(executor) if executor is not None or jobs < 2 else processes(jobs, "read", advice) as workers:
            yield workers
    finally:
        _idle_scorers.clear()  # gives the memory back


class _Tally:
    """What all tasks have brought so far."""

    def __init__(self, top: int, stored_of: int, watch: Watch) -> None:
        self.best = BestLines(top, in_order=False)
        self.lines: dict[int, int] = {}  # in each piece
        self.too_long = self.text = 0
        self._stored, self._stored_of, self._watch = 0, stored_of, watch

    def add(self, result: TaskResult) -> None:
        self.best.offer(result.best)
        self.best.least_score = max(self.best.least_score, result.lowest)
        self.lines.update(result.lines)
        self.too_long += result.too_long

    def read(self, stored: int, text: int) -> None:
        self._stored += stored
        self.text += text
        self._watch(self._stored, self._stored_of, self.text)


def _do_all(
    tasks: Iterable[Sequence[Piece]],
    target: Target,
    criteria: LineCriteria,
    tally: _Tally,
    executor: Executor | None,
    at_once: int,
) -> None:
    """Do tasks, at most `at_once`. Later ones get the score that a line must have by now, and bring back less."""
    waiting: set[Future[TaskResult]] = set()

    def collect(least: int) -> None:
        nonlocal waiting
        while len(waiting) > least:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for result in [future.result() for future in done]:
                tally.add(result)
                tally.read(result.stored, result.text)

    try:
        for pieces in tasks:
            if executor is None:
                tally.add(best_of_pieces(pieces, target, criteria, tally.best.least_score, tally.read))
            else:
                collect(at_once - 1)
                waiting.add(executor.submit(best_of_pieces, pieces, target, criteria, tally.best.least_score))
        collect(0)
    finally:
        for future in waiting:
            future.cancel()


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


def _word_count(lines: Sequence[bytes], target: Target) -> int:
    words = WordNumbers(lower_case=target.lower_case, tokenize=target.tokenize, most=1 << 20)
    reads = (words.read(b"\n".join((*lines[start : start + 10_000], b""))) for start in range(0, len(lines), 10_000))
    return sum(int(words.number(read, np.arange(len(read))).lengths.sum()) for read in reads)


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
    for number, line in zip(best.pieces.tolist(), best.numbers.tolist(), strict=True):
        yield f"{pieces[number].file}\t{before[number] + (line >> _IN_LINE) + 1}"

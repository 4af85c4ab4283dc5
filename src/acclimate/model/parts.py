"""Sentences to batches and back: long ones in overlapping parts, those of similar length together. Without torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from acclimate.data.batches import plan
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.pieces import Pieces, Window, overlapping, overlapping_rows

Row = TypeVar("Row", bound=Any)  # an array or a tensor, (word, ...)
Progress = Callable[[int], None]
WORDS_PER_BATCH = 8192
PIECES_AT_ONCE = 1024  # on a CPU, which gains nothing from larger batches
LONGEST_PART, SHARED_PART = 1024, 256  # the longest sentence that is read in one part, and how far parts overlap


def count_pieces(pieces: Pieces | None, sentences: Iterable[Sentence]) -> list[int] | None:
    """The length of each sentence in pieces."""
    return None if pieces is None else pieces.count([sentence.words for sentence in sentences])


def read_in_parts(
    pieces: Pieces | None,
    corpus: Corpus,
    ask: Callable[[list[Sentence]], Iterable[Row]],
    join: Callable[[list[Row]], Row],
    most: int,
    progress: Progress | None = None,
) -> Iterator[tuple[int, Row]]:
    """The answers of `ask`, which takes a batch and gives (sentence, word, ...): sentence numbers and (word, ...), in
    the order of batches. `most` is the size of a batch in words or pieces, padding included."""
    parts = _parts(pieces, corpus)
    missing = [0] * len(corpus)  # how many parts of each sentence are not yet read
    for number, _, _ in parts:
        missing[number] += 1
    waiting: dict[int, list[tuple[int, Row]]] = {}
    for batch in planned(pieces, [text for _, text, _ in parts], most):
        done = []
        for part, row in zip(batch, ask([parts[part][1] for part in batch]), strict=True):
            number, _, window = parts[part]
            own = row[window.keep_from - window.start : window.keep_to - window.start]
            waiting.setdefault(number, []).append((window.start, join([own])))  # a copy: the batch is let go
            missing[number] -= 1
            if not missing[number]:
                done.append(number)
        for number in done:
            rows = sorted(waiting.pop(number), key=lambda one: one[0])
            yield number, rows[0][1] if len(rows) == 1 else join([row for _, row in rows])
        if progress is not None:
            progress(len(done))


def planned(pieces: Pieces | None, sentences: Sequence[Sentence], most: int) -> list[list[int]]:
    """Batches of sentences of similar length in pieces, or else in words."""
    return plan(count_pieces(pieces, sentences) or [len(sentence) for sentence in sentences], most)


def _parts(pieces: Pieces | None, corpus: Corpus) -> list[tuple[int, Sentence, Window]]:
    """Sentence numbers with the whole sentence, or with parts of a long one."""
    sizes = count_pieces(pieces, corpus) or [len(sentence) for sentence in corpus]
    parts = []
    for number, (sentence, size) in enumerate(zip(corpus, sizes, strict=True)):
        if size <= LONGEST_PART:
            parts.append((number, sentence, Window(0, len(sentence), 0, len(sentence))))
        else:
            if pieces is None:
                windows = overlapping([1] * len(sentence), LONGEST_PART, SHARED_PART)
            else:
                counts = [len(row) for row in pieces.of_words(sentence.words)]
                windows = overlapping_rows(counts, pieces.room, LONGEST_PART, SHARED_PART)
            parts += [(number, Sentence(sentence.words[each.start : each.end]), each) for each in windows]
    return parts

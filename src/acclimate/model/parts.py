"""Sentences to batches and back: long ones in overlapping parts, those of like length together. It knows no torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from acclimate.data.batches import plan
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.pieces import Window

Row = TypeVar("Row", bound=Any)  # an array or a tensor, (word, ...)
Progress = Callable[[int], None]
WORDS_PER_BATCH = 8192
PIECES_AT_ONCE, LONGEST_PART, SHARED_PART = 1024, 1024, 256  # `Encoder` explains them


class Reader(Protocol):
    """How long texts are read by whoever reads them."""

    @property
    def longest_part(self) -> int: ...

    def count_pieces(self, sentences: Iterable[Sentence]) -> list[int] | None: ...

    def parts(self, sentence: Sentence) -> list[Window]: ...


def read_in_parts(
    reader: Reader,
    corpus: Corpus,
    ask: Callable[[list[Sentence]], Iterable[Row]],
    join: Callable[[list[Row]], Row],
    most: int,
    progress: Progress | None = None,
) -> Iterator[tuple[int, Row]]:
    """What `ask` finds at each word of a batch, (sentence, word, ...): the number of a sentence and (word, ...), in the
    order of batches. Parts of a long sentence are joined again. `most` is what is read at once, padding counted."""
    parts = _parts(reader, corpus)
    missing = [0] * len(corpus)  # how many parts of each sentence are not yet read
    for number, _, _ in parts:
        missing[number] += 1
    waiting: dict[int, list[tuple[int, Row]]] = {}
    for batch in planned(reader, [text for _, text, _ in parts], most):
        done = []
        for place, row in zip(batch, ask([parts[place][1] for place in batch]), strict=True):
            number, _, window = parts[place]
            kept = row[window.keep_from - window.start : window.keep_to - window.start]
            waiting.setdefault(number, []).append((window.start, join([kept])))  # a copy: the batch need not stay
            missing[number] -= 1
            if not missing[number]:
                done.append(number)
        for number in done:
            rows = sorted(waiting.pop(number), key=lambda one: one[0])
            yield number, rows[0][1] if len(rows) == 1 else join([row for _, row in rows])
        if progress is not None:
            progress(len(done))


def planned(reader: Reader, sentences: Sequence[Sentence], most: int) -> list[list[int]]:
    """Sentences of like length together. A pre-trained encoder pays for padding in pieces, so its own count decides:
    sentences of as many words may differ by half in that."""
    return plan(reader.count_pieces(sentences) or [len(sentence) for sentence in sentences], most)


def _parts(reader: Reader, corpus: Corpus) -> list[tuple[int, Sentence, Window]]:
    """What is read of which sentence: all of it at once, unless it is very long."""
    sizes = reader.count_pieces(corpus) or [len(sentence) for sentence in corpus]
    parts = []
    for number, (sentence, size) in enumerate(zip(corpus, sizes, strict=True)):
        if size <= reader.longest_part:
            parts.append((number, sentence, Window(0, len(sentence), 0, len(sentence))))
        else:
            for window in reader.parts(sentence):
                parts.append((number, Sentence(sentence.words[window.start : window.end]), window))
    return parts

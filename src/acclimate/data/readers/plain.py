"""Plain text: a sentence per line, or with `paragraphs=True` a paragraph per line that is split into sentences.

Words are found by `words.py`; `tokenize="blanks"` is for text that was split into words already. A folder of .txt files
is read too, each file a document.
"""

from __future__ import annotations

from collections.abc import Iterator

from acclimate.data.character_spans import find_words_as_asked, grouped
from acclimate.data.problems import InputError
from acclimate.data.readers.source import RawSentence, ReadingLog, Source, inner_name
from acclimate.data.words import find_sentences


def read_text(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    if source.is_stdin or not source.path.is_dir():
        yield from _lines(source, None, log)
        return
    files = sorted(path for path in source.path.iterdir() if inner_name(path.name).endswith(".txt"))
    if not files:
        raise InputError("the folder has no .txt files.", file=source.name)
    for path in files:
        yield from _lines(Source(path), inner_name(path.name).removesuffix(".txt"), log)


def _lines(source: Source, document: str | None, log: ReadingLog) -> Iterator[RawSentence]:
    same: dict[str, str] = {}  # one string object per word: a corpus of millions of words has few different ones
    for number, line in enumerate(source.checked_lines(log), start=source.first_line):
        if number in source.faults:
            log.refuse(source.faults[number])
            continue
        words = find_words_as_asked(line, log.options)
        borders = find_sentences(line) if log.options.paragraphs else []
        for first, last in grouped(words, borders):
            yield RawSentence(
                words=[same.setdefault(word, word) for word in [line[start:end] for start, end in words[first:last]]],
                lines=(number,),
                text=line,
                offsets=words[first:last],
                document=document,
                file=source.name,
            )

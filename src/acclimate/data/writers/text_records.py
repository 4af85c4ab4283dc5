"""Sentences → texts with marked stretches: what the writers for doccano, Label Studio, Prodigy and brat share.

Neighbouring sentences of one text become one record, so that a document comes back as it was. Where sentences of the
document are missing (a subset was taken), the text is cut there: what is not in the corpus is not written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from acclimate.data.borders import CharacterSpan
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.writers.spelling import points_at_words


@dataclass(frozen=True, slots=True)
class TextRecord:
    """A text, where its words stand, and its spans (None: not annotated)."""

    text: str
    words: tuple[tuple[int, int], ...]
    spans: tuple[CharacterSpan, ...] | None
    document: str | None


def text_records(corpus: Corpus) -> Iterator[TextRecord]:
    """The texts of a corpus, in its order."""
    group: list[Sentence] = []
    for sentence in map(_with_text, corpus):
        if group and not _continues(group[-1], sentence):
            yield _record(group)
            group = []
        group.append(sentence)
    if group:
        yield _record(group)


def _with_text(sentence: Sentence) -> Sentence:
    """The sentence with a text: its own, or its words with blanks between them."""
    if points_at_words(sentence):
        return sentence
    for word in sentence.words:
        if not word.strip(" \t\r\n") or "\n" in word or "\r" in word:
            problem = f"the word {word!r} is white space or holds a line end; it would be lost in running text."
            raise InputError(f"{problem} Write jsonl.", file=sentence.place.file, line=sentence.place.line)
    offsets: list[tuple[int, int]] = []
    start = 0
    for word in sentence.words:
        offsets.append((start, start + len(word)))
        start += len(word) + 1
    text = " ".join(sentence.words)
    return Sentence(sentence.words, sentence.tags, text, tuple(offsets), sentence.place, sentence.document)


def _offsets(sentence: Sentence) -> Sequence[tuple[int, int]]:
    return sentence.offsets or ()


def _continues(before: Sentence, after: Sentence) -> bool:
    """Whether `after` stands directly behind `before` in the same text."""
    if before.text is None or before.text != after.text or before.document != after.document:
        return False
    if (before.tags is None) != (after.tags is None):
        return False
    end, start = _offsets(before)[-1][1], _offsets(after)[0][0]
    return end <= start and not before.text[end:start].strip()


def _record(group: list[Sentence]) -> TextRecord:
    text = group[0].text or ""
    start, end = _offsets(group[0])[0][0], _offsets(group[-1])[-1][1]
    start = 0 if not text[:start].strip() else start
    end = len(text) if not text[end:].strip() else end
    words = tuple((a - start, b - start) for sentence in group for a, b in _offsets(sentence))
    spans = None if group[0].tags is None else tuple(_spans(group, start))
    return TextRecord(text[start:end], words, spans, group[0].document)


def _spans(group: list[Sentence], shift: int) -> Iterator[CharacterSpan]:
    for sentence in group:
        offsets = _offsets(sentence)
        for span in sentence.spans:
            yield CharacterSpan(offsets[span.start][0] - shift, offsets[span.end - 1][1] - shift, span.label)

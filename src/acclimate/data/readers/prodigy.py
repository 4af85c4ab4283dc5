"""Prodigy's JSONL: text, the tool's own tokens, and spans over both.

Answers other than `accept` are passed over and counted. A record without tokens is split into words like any text.
"""

from __future__ import annotations

from collections.abc import Iterator

from acclimate.data.character_spans import CharacterSpan, sentences_of_text
from acclimate.data.problems import InputError, Place
from acclimate.data.readers.doccano import label_name
from acclimate.data.readers.records import Fields, Record, as_json, expect, identifier, require, sentences_of_records
from acclimate.data.readers.source import RawSentence, ReadingLog, Source
from acclimate.data.words import Offsets


def read_prodigy(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    return sentences_of_records(source, log, _sentences)


def _sentences(record: Record, place: Place, log: ReadingLog) -> list[RawSentence]:
    task = record.fields
    answer = task.get("answer", "accept")
    if answer not in ("accept", "reject", "ignore"):
        raise InputError(f"the answer is {as_json(answer)}; expected accept, reject or ignore.")
    if answer != "accept":
        log.count("records were rejected or ignored by the annotator and left out")
        return []
    text = require(task, "text", str)
    words = _words(expect(task["tokens"], list, "'tokens'"), text) if task.get("tokens") is not None else None
    spans = None
    if task.get("spans") is not None:
        items = [expect(item, dict, "a span") for item in expect(task["spans"], list, "'spans'")]
        spans = [_span(item, task, place) for item in items]
    elif "answer" in task:
        spans = []  # looked at by an annotator, and nothing was found
    document = identifier(task["meta"], "document") if isinstance(task.get("meta"), dict) else None
    return sentences_of_text(text, spans, log, place, document, words)


def _words(tokens: list[object], text: str) -> Offsets:
    """The tool's own tokens, less those that are white space: spaCy makes a token of every line end."""
    words: Offsets = []
    reached = 0
    for number, item in enumerate(tokens):
        start, end = _token_offsets(item, number)
        if not reached <= start < end <= len(text):
            problem = f"token {number} ({start}:{end}) does not fit: it should begin at {reached} or later"
            raise InputError(f"{problem}, hold a character, and end at {len(text)} or earlier.")
        spelled = item.get("text", text[start:end]) if isinstance(item, dict) else None
        if spelled != text[start:end]:
            raise InputError(f"token {number} is {as_json(spelled)}, but its offsets point at {text[start:end]!r}.")
        _check_gap(text, reached, start)
        reached = end
        if not text[start:end].isspace():
            words.append((start, end))
    _check_gap(text, reached, len(text))
    return words


def _token_offsets(item: object, number: int) -> tuple[int, int]:
    token = expect(item, dict, f"token {number}")
    return require(token, "start", int, f"token {number}"), require(token, "end", int, f"token {number}")


def _check_gap(text: str, start: int, end: int) -> None:
    if text[start:end].strip():
        raise InputError(f"{text[start:end].strip()!r} ({start}:{end}) belongs to no token; it would be lost.")


def _span(item: Fields, task: Fields, place: Place) -> CharacterSpan:
    label = label_name(require(item, "label", str, "the span"))
    by_tokens = _by_tokens(item, task, label) if "token_start" in item or "token_end" in item else None
    if by_tokens is not None and "start" not in item and "end" not in item:
        return CharacterSpan(*by_tokens, label, place)
    start, end = require(item, "start", int, "the span"), require(item, "end", int, "the span")
    if by_tokens is not None and by_tokens != (start, end):
        raise InputError(f"span {label} is at {start}:{end}, but its tokens are at {by_tokens[0]}:{by_tokens[1]}.")
    return CharacterSpan(start, end, label, place)


def _by_tokens(item: Fields, task: Fields, label: str) -> tuple[int, int]:
    tokens = require(task, "tokens", list)
    first = require(item, "token_start", int, "the span")
    last = require(item, "token_end", int, "the span")  # Prodigy counts the last token in
    if not 0 <= first <= last < len(tokens):
        raise InputError(f"span {label} covers tokens {first} to {last}, but there are {len(tokens)}.")
    return _token_offsets(tokens[first], first)[0], _token_offsets(tokens[last], last)[1]

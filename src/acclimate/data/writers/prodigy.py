"""Prodigy's JSONL: text, tokens, and spans over both."""

from __future__ import annotations

from typing import Any

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.schemes import Scheme
from acclimate.data.writers.jsonl import as_line
from acclimate.data.writers.saving import encoded
from acclimate.data.writers.spelling import check_spans_kind
from acclimate.data.writers.text_records import TextRecord, text_records


def write_prodigy(corpus: Corpus, scheme: Scheme) -> bytes:
    check_spans_kind(corpus, "prodigy")
    return encoded("".join(as_line(_task(record)) for record in text_records(corpus)))


def _task(record: TextRecord) -> dict[str, Any]:
    text = record.text
    for start, end in record.words:
        if text[start:end].isspace():
            raise InputError(f"the word {text[start:end]!r} is white space, which is no word to Prodigy. Write jsonl.")
    tokens = [
        {"text": text[start:end], "start": start, "end": end, "id": number, "ws": text[end : end + 1] == " "}
        for number, (start, end) in enumerate(record.words)
    ]
    task: dict[str, Any] = {"text": text, "tokens": tokens}
    if record.document is not None:
        task["meta"] = {"document": record.document}
    if record.spans is None:
        return task
    first = {start: number for number, (start, _) in enumerate(record.words)}
    last = {end: number for number, (_, end) in enumerate(record.words)}
    task["spans"] = [
        {
            "start": span.start,
            "end": span.end,
            "label": span.label,
            "token_start": first[span.start],
            "token_end": last[span.end],  # Prodigy counts the last token in
        }
        for span in record.spans
    ]
    return task | {"answer": "accept"}

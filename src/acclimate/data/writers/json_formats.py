"""The JSON formats: our own JSONL, doccano, Label Studio, and Prodigy.

Our own JSONL has words and tags, and, where known, the text, offsets into it, spans over it, and the document. The
other three have texts with marked spans. In Label Studio `label` and `text` are the names of its template for entities.
"""

from __future__ import annotations

import json
from typing import Any

from acclimate.data.character_spans import CharacterSpan
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.schemes import Scheme
from acclimate.data.soft_labels import ScoredSpan, spans_of_rows
from acclimate.data.writers.shared import (
    TextRecord,
    check_all_or_none,
    check_spans_kind,
    check_words,
    encoded,
    points_at_words,
    spelled_tags,
    text_records,
)

_DIGITS = 8  # of a score


def write_jsonl(corpus: Corpus, scheme: Scheme) -> bytes:
    return encoded("".join(as_line(_record(sentence, corpus, scheme)) for sentence in corpus))


def as_line(record: dict[str, Any]) -> str:
    """One line of JSONL, with letters as they are."""
    return f"{json.dumps(record, ensure_ascii=False)}\n"


def _record(sentence: Sentence, corpus: Corpus, scheme: Scheme) -> dict[str, Any]:
    check_words(sentence, "", "jsonl", instead="nothing")
    record: dict[str, Any] = {"words": list(sentence.words)}
    if corpus.is_labelled and sentence.probabilities is None:
        record["tags"] = spelled_tags(sentence, corpus, scheme)
    if sentence.document is not None:
        record["document"] = sentence.document
    in_text = points_at_words(sentence)
    if in_text:
        record |= {"text": sentence.text, "offsets": [list(pair) for pair in sentence.offsets or ()]}
    if sentence.probabilities is not None:
        record["spans"] = [_guess(sentence, guess, in_text) for guess in spans_of_rows(_rows(sentence))]
    elif in_text and sentence.tags is not None and corpus.kind == "spans":
        record["spans"] = [_span(sentence, span.start, span.end, span.label) for span in sentence.spans]
    return record


def _span(sentence: Sentence, first: int, last: int, label: str) -> dict[str, Any]:
    offsets = sentence.offsets or ()
    start, end = offsets[first][0], offsets[last - 1][1]
    return {"start": start, "end": end, "label": label, "text": (sentence.text or "")[start:end]}


def _rows(sentence: Sentence) -> list[dict[str, float]]:
    return [dict(distribution) for distribution in sentence.probabilities or ()]


def _guess(sentence: Sentence, guess: ScoredSpan, in_text: bool) -> dict[str, Any]:
    """A span with its score: over characters where there is a text, and else over words."""
    place = {"start": guess.start, "end": guess.end, "label": guess.label}
    return (_span(sentence, guess.start, guess.end, guess.label) if in_text else place) | {
        "score": round(guess.score, _DIGITS)
    }


def write_doccano(corpus: Corpus, scheme: Scheme) -> bytes:
    check_spans_kind(corpus, "doccano")
    check_all_or_none(corpus, "doccano")
    return encoded("".join(as_line(_doccano_record(record)) for record in text_records(corpus)))


def _doccano_record(record: TextRecord) -> dict[str, Any]:
    fields: dict[str, Any] = {"text": record.text}
    if record.spans is not None:
        fields["label"] = [[span.start, span.end, span.label] for span in record.spans]
    if record.document is not None:
        fields["document"] = record.document
    return fields


def write_label_studio(corpus: Corpus, scheme: Scheme) -> bytes:
    check_spans_kind(corpus, "label_studio")
    tasks = [as_line(_task(number, record)) for number, record in enumerate(text_records(corpus), start=1)]
    return encoded(f"[\n{','.join(tasks)}]\n")


def _task(number: int, record: TextRecord) -> dict[str, Any]:
    data = {"text": record.text} | ({} if record.document is None else {"document": record.document})
    results = [_result(place, span, record.text) for place, span in enumerate(record.spans or (), start=1)]
    annotations = [] if record.spans is None else [{"was_cancelled": False, "result": results}]
    return {"id": number, "data": data, "annotations": annotations}


def _result(number: int, span: CharacterSpan, text: str) -> dict[str, Any]:
    marked = text[span.start : span.end]
    value = {"start": span.start, "end": span.end, "text": marked, "labels": [span.label]}
    return {"id": f"span{number}", "from_name": "label", "to_name": "text", "type": "labels", "value": value}


def write_prodigy(corpus: Corpus, scheme: Scheme) -> bytes:
    check_spans_kind(corpus, "prodigy")
    return encoded("".join(as_line(_prodigy_task(record)) for record in text_records(corpus)))


def _prodigy_task(record: TextRecord) -> dict[str, Any]:
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

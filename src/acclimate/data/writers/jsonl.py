"""Our own JSONL: words and tags, and if they are known text, offsets into it, spans over it, and the document."""

from __future__ import annotations

import json
from typing import Any

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.schemes import Scheme
from acclimate.data.writers.saving import encoded
from acclimate.data.writers.spelling import check_words, points_at_words, spelled_tags


def write_jsonl(corpus: Corpus, scheme: Scheme) -> bytes:
    return encoded("".join(as_line(_record(sentence, corpus, scheme)) for sentence in corpus))


def as_line(record: dict[str, Any]) -> str:
    """One line of JSONL, with letters as they are."""
    return f"{json.dumps(record, ensure_ascii=False)}\n"


def _record(sentence: Sentence, corpus: Corpus, scheme: Scheme) -> dict[str, Any]:
    check_words(sentence, "", "jsonl", instead="nothing")
    record: dict[str, Any] = {"words": list(sentence.words)}
    if corpus.is_labelled:
        record["tags"] = spelled_tags(sentence, corpus, scheme)
    if sentence.document is not None:
        record["document"] = sentence.document
    if points_at_words(sentence):
        record |= {"text": sentence.text, "offsets": [list(pair) for pair in sentence.offsets or ()]}
        if sentence.tags is not None and corpus.kind == "spans":
            record["spans"] = [_span(sentence, span.start, span.end, span.label) for span in sentence.spans]
    return record


def _span(sentence: Sentence, first: int, last: int, label: str) -> dict[str, Any]:
    offsets = sentence.offsets or ()
    start, end = offsets[first][0], offsets[last - 1][1]
    return {"start": start, "end": end, "label": label, "text": (sentence.text or "")[start:end]}

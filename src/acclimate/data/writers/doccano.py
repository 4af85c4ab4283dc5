"""doccano's JSONL, as it imports it: `{"text", "label": [[start, end, name], …]}`."""

from __future__ import annotations

from typing import Any

from acclimate.data.corpus import Corpus
from acclimate.data.schemes import Scheme
from acclimate.data.writers.jsonl import as_line
from acclimate.data.writers.saving import encoded
from acclimate.data.writers.spelling import check_all_or_none, check_spans_kind
from acclimate.data.writers.text_records import TextRecord, text_records


def write_doccano(corpus: Corpus, scheme: Scheme) -> bytes:
    check_spans_kind(corpus, "doccano")
    check_all_or_none(corpus, "doccano")
    return encoded("".join(as_line(_record(record)) for record in text_records(corpus)))


def _record(record: TextRecord) -> dict[str, Any]:
    fields: dict[str, Any] = {"text": record.text}
    if record.spans is not None:
        fields["label"] = [[span.start, span.end, span.label] for span in record.spans]
    if record.document is not None:
        fields["document"] = record.document
    return fields

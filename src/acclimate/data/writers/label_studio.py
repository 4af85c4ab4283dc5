"""Label Studio's JSON: an array of tasks, annotated ones with an annotation, the others to be annotated.

The names `label` and `text` are those of its template for named entities.
"""

from __future__ import annotations

from typing import Any

from acclimate.data.borders import CharacterSpan
from acclimate.data.corpus import Corpus
from acclimate.data.schemes import Scheme
from acclimate.data.writers.jsonl import as_line
from acclimate.data.writers.saving import encoded
from acclimate.data.writers.spelling import check_spans_kind
from acclimate.data.writers.text_records import TextRecord, text_records


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

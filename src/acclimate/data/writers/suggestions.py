"""A tagger's suggestions for those who label elsewhere: as predictions where a tool knows them apart from answers.

Label Studio shows `predictions` and stores its own annotations beside them. Prodigy shows spans of a task without an
answer. doccano takes labels for its own, to be corrected. Our JSONL keeps them as guesses with scores. Any other format
holds the tags alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.schemes import Span
from acclimate.data.soft_labels import ScoredSpan, rows_of_spans, softened
from acclimate.data.writers.formats import label_studio_task, prodigy_task
from acclimate.data.writers.shared import covered_text, encoded, save, text_records
from acclimate.data.writing import format_to_write, write_corpus

_DIGITS = 4  # of a score


def write_suggestions(
    sentences: Corpus, spans: Sequence[Sequence[ScoredSpan]], path: str | Path, format: str | None, model: str
) -> str:
    """Write sentences, each as a text of its own, with these suggestions. Returns the format. `model` made them."""
    tagged = tuple(_tagged(one, own) for one, own in zip(sentences, spans, strict=True))
    corpus = replace(sentences, sentences=tagged, kind="spans", annotates=None)
    format = format_to_write(path, format, has_tags=True)
    if format == "label_studio":
        tasks = [
            _predicted(number, one, own, model) for number, (one, own) in enumerate(zip(tagged, spans, strict=True), 1)
        ]
        save(encoded(f"{json.dumps(tasks, ensure_ascii=False, indent=1)}\n"), path)
    elif format == "prodigy":
        lines = (json.dumps(_unanswered(one, own), ensure_ascii=False) for one, own in zip(tagged, spans, strict=True))
        save(encoded("".join(f"{line}\n" for line in lines)), path)
    elif format == "jsonl":
        soft = (softened(one, rows_of_spans(own, len(one))) for one, own in zip(tagged, spans, strict=True))
        write_corpus(replace(corpus, sentences=tuple(soft)), path, format)
    else:
        write_corpus(corpus, path, format)
    return format


def _tagged(sentence: Sentence, spans: Sequence[ScoredSpan]) -> Sentence:
    """The sentence under these spans, with a text that holds nothing else."""
    bare = sentence.with_tags(None).with_spans(Span(span.start, span.end, span.label) for span in spans)
    text = covered_text(sentence)
    if text is None or sentence.offsets is None:
        return bare
    first = sentence.offsets[0][0]
    return replace(bare, text=text, offsets=tuple((start - first, end - first) for start, end in sentence.offsets))


def _predicted(number: int, sentence: Sentence, spans: Sequence[ScoredSpan], model: str) -> dict[str, Any]:
    task = label_studio_task(number, next(text_records(Corpus((sentence,)))))
    (annotation,) = task.pop("annotations")
    scored = [{**result, "score": _rounded(span)} for result, span in zip(annotation["result"], spans, strict=True)]
    sure = min((span.score for span in spans), default=1.0)
    return {**task, "predictions": [{"model_version": model, "score": round(sure, _DIGITS), "result": scored}]}


def _unanswered(sentence: Sentence, spans: Sequence[ScoredSpan]) -> dict[str, Any]:
    task = prodigy_task(next(text_records(Corpus((sentence,)))))
    del task["answer"]
    task["spans"] = [{**own, "score": _rounded(span)} for own, span in zip(task["spans"], spans, strict=True)]
    return task


def _rounded(span: ScoredSpan) -> float:
    return round(span.score, _DIGITS)

"""spaCy's DocBin (extra `spacy`). The tag is the entity; `column="tag"` or `"pos"` reads parts of speech.

Tokens that are white space are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from acclimate.data.problems import InputError
from acclimate.data.readers.source import RawSentence, ReadingLog, Source
from acclimate.data.schemes import Span
from acclimate.spelling import argument

_COLUMNS = {"ner": "ENT_IOB", "tag": "TAG", "pos": "POS"}


def read_docbin(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    wanted = log.options.column
    if wanted is not None and wanted not in _COLUMNS:
        known = ", ".join(map(repr, _COLUMNS))
        raise InputError(f"{argument('column', wanted)}: a DocBin has {known}.", file=source.name)
    docs = _docs(source)
    column = str(wanted) if wanted is not None else _annotated(docs)
    log.kind = "plain" if column in ("tag", "pos") else None
    for number, doc in enumerate(docs, start=1):
        sentences = list(doc.sents) if doc.has_annotation("SENT_START") else [doc[:]]
        for sentence in sentences:
            yield from _sentence(sentence, doc, column, number, log)


def _docs(source: Source) -> list[Any]:
    try:
        import spacy
        from spacy.tokens import DocBin
    except ImportError as error:
        raise InputError("a DocBin needs spaCy: pip install 'acclimate[spacy]'.", file=source.name) from error
    try:
        return list(DocBin().from_bytes(source.data).get_docs(spacy.blank("xx").vocab))
    except Exception as error:  # whatever its parsers say of damaged bytes
        problem = f"this is no whole DocBin ({type(error).__name__}: {error}). Write or copy it again."
        raise InputError(problem, file=source.name) from error


def _annotated(docs: list[Any]) -> str | None:
    return next((name for name, mark in _COLUMNS.items() if any(doc.has_annotation(mark) for doc in docs)), None)


def _sentence(sentence: Any, doc: Any, column: str | None, number: int, log: ReadingLog) -> Iterator[RawSentence]:
    tokens = [token for token in sentence if not token.is_space]
    if not tokens:
        log.count("documents or sentences hold no word and were left out")
        return
    raw = RawSentence(
        words=[token.text for token in tokens],
        lines=[number] * len(tokens),  # of a binary file, the number of the document
        text=doc.text,
        offsets=[(token.idx, token.idx + len(token)) for token in tokens],
        document=str(number),
    )
    if column == "ner" and doc.has_annotation("ENT_IOB"):
        raw.spans = _spans(sentence, tokens, log)
    elif column in ("tag", "pos") and doc.has_annotation(_COLUMNS[column]):
        raw.tags = [(token.tag_ if column == "tag" else token.pos_) or "_" for token in tokens]
    yield raw


def _spans(sentence: Any, tokens: list[Any], log: ReadingLog) -> list[Span]:
    position = {token.i: index for index, token in enumerate(tokens)}
    spans = []
    for entity in sentence.ents:
        covered = [position[token.i] for token in entity if token.i in position]
        if covered:
            spans.append(Span(covered[0], covered[-1] + 1, entity.label_ or "ENTITY"))
        else:
            log.count("entities cover no word and were left out")
    return spans

"""CSV and TSV (one word per row) and Parquet (one sentence per row; extra `parquet`)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.schemes import Scheme
from acclimate.data.writers.shared import (
    check_all_or_none,
    check_labels,
    check_words,
    encoded,
    points_at_words,
    spelled_tags,
)


def write_csv(corpus: Corpus, scheme: Scheme) -> bytes:
    buffer = io.StringIO(newline="")
    for sentence in corpus:
        check_words(sentence, "\r\n", "csv")
    csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(_rows(corpus, scheme, "csv"))
    return encoded(buffer.getvalue())


def write_tsv(corpus: Corpus, scheme: Scheme) -> bytes:
    check_labels(corpus.labels.names, "\t\r\n", "tsv")
    for sentence in corpus:
        check_words(sentence, "\t\r\n", "tsv", instead="csv")
    return encoded("".join("\t".join(row) + "\n" for row in _rows(corpus, scheme, "tsv")))


def _rows(corpus: Corpus, scheme: Scheme, format: str) -> Iterator[list[str]]:
    labelled = check_all_or_none(corpus, format)
    with_documents = any(sentence.document is not None for sentence in corpus)
    yield ["sentence_id", "word", *(["tag"] if labelled else []), *(["document"] if with_documents else [])]
    for number, sentence in enumerate(corpus, start=1):
        tags = spelled_tags(sentence, corpus, scheme)
        document = [sentence.document or ""] if with_documents else []
        for position, word in enumerate(sentence.words):
            yield [str(number), word, *([tags[position]] if tags is not None else []), *document]


def write_parquet(corpus: Corpus, scheme: Scheme) -> bytes:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise InputError("Parquet needs pyarrow: pip install 'acclimate[parquet]'.") from error
    strings = pyarrow.list_(pyarrow.string())
    columns = {"words": pyarrow.array([list(sentence.words) for sentence in corpus], strings)}
    if corpus.is_labelled:
        columns["tags"] = pyarrow.array([spelled_tags(sentence, corpus, scheme) for sentence in corpus], strings)
    known = [points_at_words(sentence) for sentence in corpus]
    if any(known):
        pairs = pyarrow.list_(pyarrow.list_(pyarrow.int64()))
        texts = [one.text if good else None for one, good in zip(corpus, known, strict=True)]
        offsets = [
            [list(pair) for pair in one.offsets or ()] if good else None
            for one, good in zip(corpus, known, strict=True)
        ]
        columns["text"], columns["offsets"] = pyarrow.array(texts, pyarrow.string()), pyarrow.array(offsets, pairs)
    if any(sentence.document is not None for sentence in corpus):
        columns["document"] = pyarrow.array([sentence.document for sentence in corpus], pyarrow.string())
    buffer = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table(columns), buffer)
    return bytes(buffer.getvalue().to_pybytes())

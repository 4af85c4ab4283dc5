"""Every format that a corpus is written in: a corpus that fits (`limits`) in, what its file holds out.

brat alone writes several files.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError, optional_library
from acclimate.data.readers.source import inner_name
from acclimate.data.schemes import Scheme, Span
from acclimate.data.soft_labels import ScoredSpan, spans_of_rows
from acclimate.data.writers.shared import (
    TextRecord,
    check_labels,
    check_words,
    covered_text,
    encoded,
    points_at_words,
    save,
    spelled_tags,
    text_records,
)

Content = Iterable[str] | bytes
"""What a file holds: pieces of text, or the bytes of a binary format."""


def _columns(corpus: Corpus, scheme: Scheme) -> Iterator[str]:
    """`WORD<TAB>TAG`, or the word alone; a blank line after each sentence."""
    for sentence in corpus:
        if not corpus.is_labelled:
            check_words(sentence, " ", "conll")  # without a tab in the file, blanks separate columns
        for word in sentence.words:
            if word == "-DOCSTART-" or word.strip(" ") != word:
                fault = "marks a document's start" if word == "-DOCSTART-" else "begins or ends with a blank"
                problem = f"the word {word!r} {fault} and would be lost in conll. Mend it, or write jsonl."
                raise InputError(problem, place=sentence.place)
        tags = spelled_tags(sentence, corpus, scheme)
        for position, word in enumerate(sentence.words):
            yield f"{word}\n" if tags is None else f"{word}\t{tags[position]}\n"
        yield "\n"


def _conllu(corpus: Corpus, scheme: Scheme) -> Iterator[str]:
    """Plain tags in UPOS, span tags in MISC as `NER=...`."""
    if corpus.kind == "spans":
        check_labels(corpus, "|", "conllu")
    elif "_" in corpus.labels:
        raise InputError("the label '_' means 'unknown' in conllu. Rename it, or write conll.")
    for number, sentence in enumerate(corpus, start=1):
        if not all(word.strip(" ") for word in sentence.words):
            raise InputError("a word is only blanks; conllu cannot hold it.", place=sentence.place)
        yield f"# sent_id = {number}\n"
        text = _text_on_one_line(sentence)
        if text is not None:
            yield f"# text = {text}\n"
        tags = spelled_tags(sentence, corpus, scheme)
        for position, word in enumerate(sentence.words, start=1):
            tag = "_" if tags is None else tags[position - 1]
            upos, misc = (tag, "_") if corpus.kind == "plain" or tags is None else ("_", f"NER={tag}")
            yield f"{position}\t{word}\t_\t{upos}\t_\t_\t_\t_\t_\t{misc}\n"
        yield "\n"


def _text(corpus: Corpus, scheme: Scheme) -> Iterator[str]:
    """One sentence per line, without tags."""
    for sentence in corpus:
        text = _text_on_one_line(sentence)
        if text is None:
            check_words(sentence, "\r\n", "text")
        yield f"{' '.join(sentence.words) if text is None else text}\n"


def _text_on_one_line(sentence: Sentence) -> str | None:
    """The text that the sentence covers, if it is known and has no line end."""
    text = covered_text(sentence)
    return None if text is None or "\n" in text or "\r" in text else text


_DIGITS = 8  # of a score


def _jsonl(corpus: Corpus, scheme: Scheme) -> Iterator[str]:
    """Words and tags, and, where known, the text, offsets into it, spans over it, and the document."""
    for sentence in corpus:
        record: dict[str, Any] = {"words": list(sentence.words)}
        if corpus.is_labelled and sentence.probabilities is None:
            record["tags"] = spelled_tags(sentence, corpus, scheme)
        if sentence.document is not None:
            record["document"] = sentence.document
        in_text = points_at_words(sentence)
        if in_text:
            record |= {"text": sentence.text, "offsets": [list(pair) for pair in sentence.offsets or ()]}
        if sentence.probabilities is not None:
            guesses = spans_of_rows([dict(distribution) for distribution in sentence.probabilities])
            record["spans"] = [
                {**_json_span(sentence, guess, in_text), "score": round(guess.score, _DIGITS)} for guess in guesses
            ]
        elif in_text and sentence.tags is not None and corpus.kind == "spans":
            record["spans"] = [_json_span(sentence, span, in_text) for span in sentence.spans]
        yield _json_line(record)


def _json_span(sentence: Sentence, span: Span | ScoredSpan, in_text: bool) -> dict[str, Any]:
    """A span over the characters of the text, or over words where there is no text."""
    if not in_text or sentence.offsets is None:
        return {"start": span.start, "end": span.end, "label": span.label}
    start, end = sentence.offsets[span.start][0], sentence.offsets[span.end - 1][1]
    return {"start": start, "end": end, "label": span.label, "text": (sentence.text or "")[start:end]}


def _json_line(record: dict[str, Any]) -> str:
    return f"{json.dumps(record, ensure_ascii=False)}\n"


def _doccano(corpus: Corpus, scheme: Scheme) -> Iterator[str]:
    for record in text_records(corpus):
        fields: dict[str, Any] = {"text": record.text}
        if record.spans is not None:
            fields["label"] = [[span.start, span.end, span.label] for span in record.spans]
        yield _json_line(fields if record.document is None else fields | {"document": record.document})


def _label_studio(corpus: Corpus, scheme: Scheme) -> Iterator[str]:
    """Tasks for Label Studio's template for entities, in which `label` and `text` are names."""
    tasks = (label_studio_task(number, record) for number, record in enumerate(text_records(corpus), start=1))
    yield f"[\n{','.join(map(_json_line, tasks))}]\n"


def label_studio_task(number: int, record: TextRecord) -> dict[str, Any]:
    data = {"text": record.text} | ({} if record.document is None else {"document": record.document})
    names = {"from_name": "label", "to_name": "text", "type": "labels"}
    results: list[dict[str, Any]] = []
    for span in record.spans or ():
        marked = record.text[span.start : span.end]
        value = {"start": span.start, "end": span.end, "text": marked, "labels": [span.label]}
        results.append({"id": f"span{len(results) + 1}", **names, "value": value})
    annotations = [] if record.spans is None else [{"was_cancelled": False, "result": results}]
    return {"id": number, "data": data, "annotations": annotations}


def _prodigy(corpus: Corpus, scheme: Scheme) -> Iterator[str]:
    return (_json_line(prodigy_task(record)) for record in text_records(corpus))


def prodigy_task(record: TextRecord) -> dict[str, Any]:
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
    last = {end: number for number, (_, end) in enumerate(record.words)}  # Prodigy includes the last token
    task["spans"] = [
        {"start": span.start, "end": span.end, "label": span.label}
        | {"token_start": first[span.start], "token_end": last[span.end]}
        for span in record.spans
    ]
    return task | {"answer": "accept"}


def _csv(corpus: Corpus, scheme: Scheme) -> Iterator[str]:
    """One word per row, as in TSV."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(_rows(corpus, scheme))
    yield buffer.getvalue()


def _tsv(corpus: Corpus, scheme: Scheme) -> Iterator[str]:
    return ("\t".join(row) + "\n" for row in _rows(corpus, scheme))


def _rows(corpus: Corpus, scheme: Scheme) -> Iterator[list[str]]:
    with_documents = any(sentence.document is not None for sentence in corpus)
    yield ["sentence_id", "word", *(["tag"] * corpus.is_labelled), *(["document"] * with_documents)]
    for number, sentence in enumerate(corpus, start=1):
        tags = spelled_tags(sentence, corpus, scheme)
        document = [sentence.document or ""] if with_documents else []
        for position, word in enumerate(sentence.words):
            yield [str(number), word, *([tags[position]] if tags is not None else []), *document]


def _parquet(corpus: Corpus, scheme: Scheme) -> bytes:
    buffer = io.BytesIO()
    parts = ParquetParts(buffer, scheme)
    parts.add(corpus)
    parts.close()
    return buffer.getvalue()


def _table(corpus: Corpus, scheme: Scheme) -> Any:
    """Every column that a sentence may have, one sentence per row."""
    import pyarrow

    strings, string = pyarrow.list_(pyarrow.string()), pyarrow.string()
    in_text = [sentence if points_at_words(sentence) else None for sentence in corpus]
    offsets = [one and [list(pair) for pair in one.offsets or ()] for one in in_text]
    columns = {
        "words": pyarrow.array([list(sentence.words) for sentence in corpus], strings),
        "tags": pyarrow.array([spelled_tags(sentence, corpus, scheme) for sentence in corpus], strings),
        "text": pyarrow.array([one and one.text for one in in_text], string),
        "offsets": pyarrow.array(offsets, pyarrow.list_(pyarrow.list_(pyarrow.int64()))),
        "document": pyarrow.array([sentence.document for sentence in corpus], string),
    }
    return pyarrow.table(columns)


class ParquetParts:
    """A Parquet file that grows part by part. It has every column that a sentence may have."""

    _ROWS = 1 << 15  # that are held until they are written together: readers are slow where groups of rows are small

    def __init__(self, file: IO[bytes], scheme: Scheme = "IOB2") -> None:
        parquet = optional_library("pyarrow.parquet", "Parquet needs pyarrow: pip install 'acclimate[parquet]'.")
        self._scheme, self._rows = scheme, 0
        self._waiting: list[Any] = []
        self._writer = parquet.ParquetWriter(file, _table(Corpus(()), scheme).schema)

    def add(self, part: Corpus) -> None:
        self._waiting.append(_table(part, self._scheme))
        self._rows += len(part)
        if self._rows >= self._ROWS:
            self._write()

    def close(self) -> None:
        self._write()
        self._writer.close()

    def _write(self) -> None:
        import pyarrow

        if self._waiting:
            self._writer.write_table(pyarrow.concat_tables(self._waiting).combine_chunks())
        self._waiting, self._rows = [], 0


_DOCBIN_ATTRIBUTES = ["ORTH", "SPACY", "ENT_IOB", "ENT_TYPE", "SENT_START"]


def _docbin(corpus: Corpus, scheme: Scheme) -> bytes:
    """spaCy's DocBin: entities, and sentence borders."""
    tokens = optional_library("spacy.tokens", "a DocBin needs spaCy: pip install 'acclimate[spacy]'.")
    import spacy

    vocab = spacy.blank("xx").vocab
    store = tokens.DocBin(attrs=_DOCBIN_ATTRIBUTES)
    for sentence in corpus:
        store.add(_doc(sentence, vocab))
    return bytes(store.to_bytes())


def _doc(sentence: Sentence, vocab: Any) -> Any:
    """One document per sentence: spaCy's own reader then gives the words back exactly."""
    from spacy.tokens import Doc, Span

    for word in sentence.words:
        if word.isspace():
            problem = f"the word {word!r} is white space, which a DocBin does not count as a word. Write jsonl."
            raise InputError(problem, place=sentence.place)
    spaces = [True] * (len(sentence) - 1) + [False]  # whether white space follows each word
    if sentence.offsets is not None and points_at_words(sentence):
        ends, starts = [end for _, end in sentence.offsets], [start for start, _ in sentence.offsets]
        spaces = [end < start for end, start in zip(ends, starts[1:], strict=False)] + [False]
    starts_sentence: list[bool | int | None] = [place == 0 for place in range(len(sentence))]
    doc = Doc(vocab, words=list(sentence.words), spaces=spaces, sent_starts=starts_sentence)
    if sentence.tags is not None:
        spans = [Span(doc, span.start, span.end, label=span.label) for span in sentence.spans]
        doc.set_ents(spans, default="outside")
    return doc


_SAFE_NAME = re.compile(r"\w[\w.-]{0,100}")


def is_brat_pair(path: str | Path) -> bool:
    """Whether a path names one pair of files for all texts, and not a folder for many."""
    return not os.path.isdir(path) and inner_name(Path(path).name).endswith((".ann", ".txt"))


def files_of_brat_pair(path: str | Path) -> list[Path]:
    """The text and the annotation that belong to NAME.ann or NAME.txt, which may be compressed."""
    path = Path(path)
    name = inner_name(path.name)
    return [path.with_name(f"{name[:-4]}{suffix}{path.name[len(name) :]}") for suffix in (".txt", ".ann")]


def write_brat(corpus: Corpus, path: str | Path) -> list[Path]:
    """Write a folder with a pair of files per text, or one pair (NAME.ann). Returns the files that were written."""
    if str(path) == "-":
        raise InputError("brat keeps text and annotation in two files; they cannot go to standard output.")
    records = list(text_records(corpus))
    if is_brat_pair(path):
        return _write_pair(files_of_brat_pair(path), records)
    written: list[Path] = []
    taken: set[str] = set()
    for number, record in enumerate(records, start=1):
        wanted = record.document or ""
        stem = wanted if _SAFE_NAME.fullmatch(wanted) and wanted not in taken else f"{number:06d}"
        taken.add(stem)
        written += _write_pair(files_of_brat_pair(Path(path) / f"{stem}.txt"), [record])
    return written


def _write_pair(pair: list[Path], records: list[TextRecord]) -> list[Path]:
    text = ""
    lines: list[str] = []
    for record in records:
        for span in record.spans or ():
            marked = " ".join(record.text[span.start : span.end].split("\n"))
            start, end = span.start + len(text), span.end + len(text)
            lines.append(f"T{len(lines) + 1}\t{span.label} {start} {end}\t{marked}\n")
        text += record.text if record.text.endswith("\n") else f"{record.text}\n"
    save(encoded(text), pair[0])
    if not records or records[0].spans is None:
        return pair[:1]
    save(encoded("".join(lines)), pair[1])
    return pair


WRITERS: dict[str, Callable[[Corpus, Scheme], Content]] = {
    "conll": _columns,
    "conllu": _conllu,
    "jsonl": _jsonl,
    "doccano": _doccano,
    "label_studio": _label_studio,
    "prodigy": _prodigy,
    "docbin": _docbin,
    "csv": _csv,
    "tsv": _tsv,
    "parquet": _parquet,
    "text": _text,
}

"""Every format that a corpus is written in: a corpus in, the bytes of a file out. brat alone writes several files."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError, optional_library
from acclimate.data.readers.source import inner_name
from acclimate.data.schemes import Scheme
from acclimate.data.soft_labels import spans_of_rows
from acclimate.data.writers.shared import (
    TextRecord,
    check_all_or_none,
    check_labels,
    check_no_open_words,
    check_spans_kind,
    check_words,
    covered_text,
    encoded,
    points_at_words,
    save,
    spelled_tags,
    text_records,
)


def _write_columns(corpus: Corpus, scheme: Scheme) -> bytes:
    """`WORD<TAB>TAG`, or the word alone; a blank line after each sentence."""
    labelled = check_all_or_none(corpus, "conll")
    check_labels(corpus.labels.names, "\t\r\n", "conll")
    return encoded("".join(line for sentence in corpus for line in _column_lines(sentence, corpus, scheme, labelled)))


def _column_lines(sentence: Sentence, corpus: Corpus, scheme: Scheme, labelled: bool) -> Iterator[str]:
    # without a tab in the file, blanks separate columns
    check_words(sentence, "\t\r\n" if labelled else "\t\r\n ", "conll")
    for word in sentence.words:
        if word == "-DOCSTART-" or word.strip(" ") != word:
            fault = "marks a document's start" if word == "-DOCSTART-" else "begins or ends with a blank"
            problem = f"the word {word!r} {fault} and would be lost in conll. Mend it, or write jsonl."
            raise InputError(problem, place=sentence.place)
    tags = spelled_tags(sentence, corpus, scheme)
    for position, word in enumerate(sentence.words):
        yield f"{word}\n" if tags is None else f"{word}\t{tags[position]}\n"
    yield "\n"


def _write_conllu(corpus: Corpus, scheme: Scheme) -> bytes:
    """Plain tags in UPOS, span tags in MISC as `NER=...`."""
    check_all_or_none(corpus, "conllu")
    check_no_open_words(corpus, "conllu")
    check_labels(corpus.labels.names, "\t\r\n" if corpus.kind == "plain" else "|\t\r\n", "conllu")
    if "_" in corpus.labels and corpus.kind == "plain":
        raise InputError("the label '_' means 'unknown' in conllu. Rename it, or write conll.")
    numbered = enumerate(corpus, start=1)
    return encoded("".join(line for number, one in numbered for line in _conllu_lines(number, one, corpus, scheme)))


def _conllu_lines(number: int, sentence: Sentence, corpus: Corpus, scheme: Scheme) -> Iterator[str]:
    check_words(sentence, "\t\r\n", "conllu")
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


def _text_on_one_line(sentence: Sentence) -> str | None:
    """The text that the sentence covers, if it is known and has no line end."""
    text = covered_text(sentence)
    return None if text is None or "\n" in text or "\r" in text else text


def _write_text(corpus: Corpus, scheme: Scheme) -> bytes:
    """One sentence per line, without tags."""
    lines = []
    for sentence in corpus:
        text = _text_on_one_line(sentence)
        if text is None:
            check_words(sentence, "\r\n", "text")
        lines.append(f"{' '.join(sentence.words) if text is None else text}\n")
    return encoded("".join(lines))


_DIGITS = 8  # of a score


def _write_jsonl(corpus: Corpus, scheme: Scheme) -> bytes:
    """Words and tags, and, where known, the text, offsets into it, spans over it, and the document."""
    return encoded("".join(_json_line(_jsonl_record(sentence, corpus, scheme)) for sentence in corpus))


def _json_line(record: dict[str, Any]) -> str:
    return f"{json.dumps(record, ensure_ascii=False)}\n"


def _jsonl_record(sentence: Sentence, corpus: Corpus, scheme: Scheme) -> dict[str, Any]:
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
        guesses = spans_of_rows([dict(distribution) for distribution in sentence.probabilities])
        record["spans"] = [
            (
                _text_span(sentence, guess.start, guess.end, guess.label)
                if in_text
                else {"start": guess.start, "end": guess.end, "label": guess.label}
            )
            | {"score": round(guess.score, _DIGITS)}
            for guess in guesses
        ]
    elif in_text and sentence.tags is not None and corpus.kind == "spans":
        record["spans"] = [_text_span(sentence, span.start, span.end, span.label) for span in sentence.spans]
    return record


def _text_span(sentence: Sentence, first: int, last: int, label: str) -> dict[str, Any]:
    offsets = sentence.offsets or ()
    start, end = offsets[first][0], offsets[last - 1][1]
    return {"start": start, "end": end, "label": label, "text": (sentence.text or "")[start:end]}


def _write_doccano(corpus: Corpus, scheme: Scheme) -> bytes:
    check_spans_kind(corpus, "doccano")
    check_all_or_none(corpus, "doccano")
    lines = []
    for record in text_records(corpus):
        fields: dict[str, Any] = {"text": record.text}
        if record.spans is not None:
            fields["label"] = [[span.start, span.end, span.label] for span in record.spans]
        lines.append(_json_line(fields if record.document is None else fields | {"document": record.document}))
    return encoded("".join(lines))


def _write_label_studio(corpus: Corpus, scheme: Scheme) -> bytes:
    """Tasks for Label Studio's template for entities, in which `label` and `text` are names."""
    check_spans_kind(corpus, "label_studio")
    tasks = [
        _json_line(label_studio_task(number, record)) for number, record in enumerate(text_records(corpus), start=1)
    ]
    return encoded(f"[\n{','.join(tasks)}]\n")


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


def _write_prodigy(corpus: Corpus, scheme: Scheme) -> bytes:
    check_spans_kind(corpus, "prodigy")
    return encoded("".join(_json_line(prodigy_task(record)) for record in text_records(corpus)))


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


def _write_csv(corpus: Corpus, scheme: Scheme) -> bytes:
    """One word per row, as in TSV."""
    buffer = io.StringIO(newline="")
    for sentence in corpus:
        check_words(sentence, "\r\n", "csv")
    csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(_rows(corpus, scheme, "csv"))
    return encoded(buffer.getvalue())


def _write_tsv(corpus: Corpus, scheme: Scheme) -> bytes:
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


def _write_parquet(corpus: Corpus, scheme: Scheme) -> bytes:
    """One sentence per row."""
    parquet = optional_library("pyarrow.parquet", "Parquet needs pyarrow: pip install 'acclimate[parquet]'.")
    import pyarrow

    strings = pyarrow.list_(pyarrow.string())
    columns = {"words": pyarrow.array([list(sentence.words) for sentence in corpus], strings)}
    if corpus.is_labelled:
        columns["tags"] = pyarrow.array([spelled_tags(sentence, corpus, scheme) for sentence in corpus], strings)
    in_text = [sentence if points_at_words(sentence) else None for sentence in corpus]
    if any(one is not None for one in in_text):
        offsets = [one and [list(pair) for pair in one.offsets or ()] for one in in_text]
        columns["text"] = pyarrow.array([one and one.text for one in in_text], pyarrow.string())
        columns["offsets"] = pyarrow.array(offsets, pyarrow.list_(pyarrow.list_(pyarrow.int64())))
    if any(sentence.document is not None for sentence in corpus):
        columns["document"] = pyarrow.array([sentence.document for sentence in corpus], pyarrow.string())
    buffer = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(columns), buffer)
    return bytes(buffer.getvalue().to_pybytes())


_DOCBIN_ATTRIBUTES = ["ORTH", "SPACY", "TAG", "ENT_IOB", "ENT_TYPE", "SENT_START"]


def _write_docbin(corpus: Corpus, scheme: Scheme) -> bytes:
    """spaCy's DocBin: entities for spans, fine-grained tags for plain ones, sentence borders set."""
    check_all_or_none(corpus, "docbin")
    check_no_open_words(corpus, "docbin")
    tokens = optional_library("spacy.tokens", "a DocBin needs spaCy: pip install 'acclimate[spacy]'.")
    import spacy

    vocab = spacy.blank("xx").vocab
    store = tokens.DocBin(attrs=_DOCBIN_ATTRIBUTES)
    for sentence in corpus:
        store.add(_doc(sentence, corpus, vocab))
    return bytes(store.to_bytes())


def _doc(sentence: Sentence, corpus: Corpus, vocab: Any) -> Any:
    """One document per sentence: spaCy's own reader then gives the words back exactly."""
    from spacy.tokens import Doc, Span

    for word in sentence.words:
        if not word or word.isspace():
            problem = f"the word {word!r} is white space, which a DocBin does not count as a word. Write jsonl."
            raise InputError(problem, place=sentence.place)
    spaces = [True] * (len(sentence) - 1) + [False]  # whether white space follows each word
    if sentence.offsets is not None and points_at_words(sentence):
        ends, starts = [end for _, end in sentence.offsets], [start for start, _ in sentence.offsets]
        spaces = [end < start for end, start in zip(ends, starts[1:], strict=False)] + [False]
    starts_sentence = [True] + [False] * (len(sentence) - 1)
    tags = list(sentence.tags) if corpus.kind == "plain" and sentence.tags is not None else None
    doc = Doc(vocab, words=list(sentence.words), spaces=spaces, sent_starts=starts_sentence, tags=tags)
    if corpus.kind == "spans" and sentence.tags is not None:
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
    check_spans_kind(corpus, "brat")
    check_all_or_none(corpus, "brat")
    for label in corpus.labels:
        if label.split() != [label]:
            raise InputError(f"the label {label!r} holds a blank, which brat uses itself. Rename it, or write jsonl.")
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


WRITERS: dict[str, Callable[[Corpus, Scheme], bytes]] = {
    "conll": _write_columns,
    "conllu": _write_conllu,
    "jsonl": _write_jsonl,
    "doccano": _write_doccano,
    "label_studio": _write_label_studio,
    "prodigy": _write_prodigy,
    "docbin": _write_docbin,
    "csv": _write_csv,
    "tsv": _write_tsv,
    "parquet": _write_parquet,
    "text": _write_text,
}

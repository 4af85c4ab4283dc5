"""The way out: `write_corpus` puts a corpus into a file of any format, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.readers.marked_text import check_characters
from acclimate.data.readers.opening import inner_name
from acclimate.data.reading import known_scheme, unknown_format
from acclimate.data.schemes import Scheme
from acclimate.data.writers.brat import write_brat
from acclimate.data.writers.columns import write_columns
from acclimate.data.writers.conllu import write_conllu
from acclimate.data.writers.docbin import write_docbin
from acclimate.data.writers.doccano import write_doccano
from acclimate.data.writers.jsonl import write_jsonl
from acclimate.data.writers.label_studio import write_label_studio
from acclimate.data.writers.plain import write_text
from acclimate.data.writers.prodigy import write_prodigy
from acclimate.data.writers.saving import save
from acclimate.data.writers.tables import write_csv, write_parquet, write_tsv

Writer = Callable[[Corpus, Scheme], bytes]

WRITERS: dict[str, Writer] = {
    "conll": write_columns,
    "conllu": write_conllu,
    "jsonl": write_jsonl,
    "doccano": write_doccano,
    "label_studio": write_label_studio,
    "prodigy": write_prodigy,
    "docbin": write_docbin,
    "csv": write_csv,
    "tsv": write_tsv,
    "parquet": write_parquet,
    "text": write_text,
}
_BRAT = "brat"  # not among them: it writes more than one file
_BY_SUFFIX = {
    ".conllu": "conllu",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "label_studio",
    ".spacy": "docbin",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".ann": _BRAT,
    ".txt": "text",
}


def write_corpus(corpus: Corpus, path: str | Path, format: str | None = None, scheme: str = "IOB2") -> None:
    """Write a corpus to a file (.gz and .xz are compressed), to a folder (brat), or to standard output (`-`).

    format: one of WRITERS, or "brat"; by the name's ending when it is not given, and `conll` when that says nothing.
    scheme: how span tags are spelled where the format has tags.
    """
    format = format or _format_by_name(path, corpus)
    _check_characters(corpus)
    if format == _BRAT:
        write_brat(corpus, path)
        return
    if format not in WRITERS:
        raise unknown_format(format, (*WRITERS, _BRAT))
    save(WRITERS[format](corpus, known_scheme(scheme) or "IOB2"), path)


def _check_characters(corpus: Corpus) -> None:
    """No file can hold NUL or half an emoji; a reader would refuse it, so it is not written in the first place."""
    previous: str | None = None
    for sentence in corpus:
        text = None if sentence.text is previous else sentence.text  # a document's sentences share it
        previous = sentence.text
        try:
            check_characters("\n".join((*sentence.words, *(sentence.tags or ()), text or "")))
        except InputError as error:
            place = sentence.place
            raise InputError(error.problem, file=place.file, line=place.line, text=" ".join(sentence.words)) from error


def _format_by_name(path: str | Path, corpus: Corpus) -> str:
    name = inner_name(Path(path).name).lower()
    if str(path) != "-" and (str(path).endswith("/") or Path(path).is_dir()):
        return _BRAT
    format = _BY_SUFFIX.get(name[name.rindex(".") :], "conll") if "." in name else "conll"
    if format == "text" and corpus.is_labelled:
        problem = "plain text holds no tags, and the corpus has some."
        raise InputError(f'{problem} Pass format="text" to leave them out, or format="conll" to keep them.', file=path)
    return format

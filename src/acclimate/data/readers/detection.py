"""The format of a file, by its name, or else by its first lines."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from acclimate.data.problems import InputError
from acclimate.data.readers.columns import CONLLU_COLUMNS
from acclimate.data.readers.jsonl import is_guess
from acclimate.data.readers.rows import ALL_TAGS, DOCUMENT, ONE_WORD, RAW_TEXT, plain_name
from acclimate.data.readers.source import Source, inner_name
from acclimate.data.readers.tables import PREFIX
from acclimate.data.schemes import is_outside, looks_like_span_tag, names_a_span
from acclimate.layout import LABELLING
from acclimate.spelling import argument

BY_SUFFIX = {
    **dict.fromkeys((".conll", ".bio", ".iob", ".iob2", ".bioes", ".col", ".ner", ".pos"), "conll"),
    **{".conllu": "conllu", ".csv": "csv", ".parquet": "parquet", ".ann": "brat"},
    **dict.fromkeys((".spacy", ".docbin"), "docbin"),
}
_JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
_LOOKED_AT = 1000  # lines
_ENOUGH = 10  # lines with the same number of columns: raw text does not do that


def detect_format(source: Source) -> str:
    """The name of the format. Raises InputError where nothing fits."""
    if source.name.startswith(PREFIX):
        return "hub"
    if not source.is_stdin and source.path.is_dir():
        return _of_folder(source)
    suffix = "" if source.is_stdin else _suffix(source)
    if suffix in BY_SUFFIX:
        return BY_SUFFIX[suffix]
    if source.data.startswith(b"PAR1"):
        return "parquet"
    if suffix in _JSON_SUFFIXES or source.text.lstrip().startswith("{"):
        return _json_flavour(source)
    if suffix == ".txt":
        stem = inner_name(source.path.name)[: -len(".txt")]
        if any(source.path.with_name(f"{stem}.ann{packed}").exists() for packed in ("", ".gz", ".xz")):
            return "brat"
    return _by_lines(source, suffix)


def is_guessed(source: Source, format: str) -> bool:
    """Whether the format is a guess by the first lines of a file that may be raw text by its name."""
    if format in ("text", "brat", "hub") or (not source.is_stdin and source.path.is_dir()):
        return False
    return source.is_stdin or _suffix(source) not in (*BY_SUFFIX, *_JSON_SUFFIXES, ".tsv")


def looks_like_corpus(name: str, first_lines: list[str]) -> bool:
    """Whether a file that is to be raw text is a corpus with tags, by its name and its first lines."""
    suffix = Path(inner_name(name).lower()).suffix
    lines = [line for line in first_lines if line.strip()]
    return suffix in (*BY_SUFFIX, *_JSON_SUFFIXES) or _looks_like_columns(lines)


def _suffix(source: Source) -> str:
    name = inner_name(source.path.name).lower()
    return name[name.rindex(".") :] if "." in name else ""


def _of_folder(source: Source) -> str:
    names = [inner_name(path.name) for path in source.path.iterdir()]
    if LABELLING in names:
        return "labelling"
    if any(name.endswith(".ann") for name in names):
        return "brat"
    if {"dataset_info.json", "dataset_dict.json", "state.json"} & set(names):
        return "hub"
    if any(name.endswith(".txt") for name in names):
        return "text"
    expected = "brat's .ann and .txt files, a folder saved by `datasets`, one of `acclimate label`, or .txt files"
    raise InputError(f"nothing in this folder can be read; expected {expected}.", file=source.name)


def _by_lines(source: Source, suffix: str) -> str:
    lines = [line for line in source.lines[:_LOOKED_AT] if line.strip()]
    if re.match(r"\s*\[\s*[{\]]", source.text):
        return _json_flavour(source)
    if any(_is_conllu_line(line) for line in lines[:20]):
        return "conllu"
    if suffix == ".tsv" or not suffix:
        header = {plain_name(cell) for cell in (lines[0] if lines else "").split("\t")}
        has_words = header & {*ONE_WORD, "words", "tokens"} and header & {*ALL_TAGS}
        if len(header) > 1 and (has_words or (header & {*RAW_TEXT} and header & {*DOCUMENT})):
            return "tsv"
    if suffix == ".tsv" or _looks_like_columns(lines):
        return "conll"
    return "text"


def _is_conllu_line(line: str) -> bool:
    cells = line.split("\t")
    return len(cells) == len(CONLLU_COLUMNS) and cells[0].replace("-", "").replace(".", "").isdigit()


def _looks_like_columns(lines: list[str]) -> bool:
    """Whether nearly all lines have the same number of cells, two or more, and the last is a tag.

    Words such as `S` (a car), `B` (a vitamin) or `I-95` (a road) look like tags, too, and may well end a line of text.
    """
    if any(line.startswith("-DOCSTART-") for line in lines):
        return True
    by_tab = sum("\t" in line for line in lines) * 2 > len(lines)
    rows = [
        [cell for cell in line.split("\t" if by_tab else " ") if cell] for line in lines if not line.startswith("# ")
    ]
    widths = [len(row) for row in rows]
    if not widths:
        return False
    usual = max(set(widths), key=widths.count)
    if usual < 2 or widths.count(usual) < 0.9 * len(widths) - 1:
        return False
    last = [row[-1] for row in rows if len(row) == usual]
    enough = len(rows) >= _ENOUGH
    repeat = len(set(last)) * 3 <= len(last)  # as tags do, and last words of sentences do not
    if by_tab:
        return any(map(_are_span_tags, (last, [row[0] for row in rows]))) or (enough and repeat)
    few_but_sure = any(map(is_outside, last)) and any(map(names_a_span, last)) and all(map(looks_like_span_tag, last))
    return few_but_sure or (enough and _are_span_tags(last))


def _are_span_tags(cells: list[str]) -> bool:
    """Whether most are spelled as span tags, and not by bare letters alone, as in a list of vitamins."""
    sure = any(map(names_a_span, cells)) or sum(map(is_outside, cells)) * 2 >= len(cells)
    return sure and sum(map(looks_like_span_tag, cells)) >= 0.9 * len(cells) - 1


def _json_flavour(source: Source) -> str:
    """The tool that wrote the JSON, by the fields of the first good records."""
    if source.text.strip() in ("", "[]"):
        return "jsonl"  # the reader will say that it is empty
    for fields in _first_records(source):
        words = [fields[name] for name in ("words", "tokens") if isinstance(fields.get(name), list)]
        if any(all(isinstance(word, str) for word in one) for one in words):
            return "jsonl"
        if isinstance(fields.get("data"), dict) or "annotation_id" in fields:
            return "label_studio"
        if "text" in fields and "answer" not in fields and "tokens" not in fields and is_guess(fields):
            return "jsonl"
        if "spans" in fields or "tokens" in fields or "answer" in fields:
            return "prodigy"
        if "text" in fields:
            return "doccano"
    known = "words and tags (ours), doccano, label_studio, prodigy"
    problem = f"this JSON is of no known kind ({known}), or the first records are no JSON objects."
    first = next((number for number, line in enumerate(source.lines, start=1) if line.strip()), 1)
    raise InputError(
        f"{problem} Name its format ({argument('format', ...)}).",
        file=source.name,
        line=first,
        text=(source.lines or [""])[first - 1],
    )


def _first_records(source: Source) -> list[dict[str, Any]]:
    text = source.text.lstrip()
    # of an array, the first element is enough
    texts = [text[1:].lstrip()] if text.startswith("[") else [line.lstrip() for line in source.lines[:50]]
    records = []
    for one in texts:
        with suppress(ValueError, RecursionError):
            records.append(json.JSONDecoder().raw_decode(one)[0])
    return [record for record in records if isinstance(record, dict)]

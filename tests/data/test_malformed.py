"""Hundreds of damaged files: each is refused with file and line, none crashes, none passes in silence.

Valid files of every format are damaged systematically: cells dropped, doubled and emptied, JSON cut and retyped,
offsets moved, bytes spoiled, archives truncated. Random damage is in `tests/attacks`.
"""

from __future__ import annotations

import copy
import gzip
import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from acclimate.data.problems import InputError
from acclimate.data.reading import read_corpus

CONLL = {
    "two": "EU\tB-ORG\nrejects\tO\nit\tO\n\nPeter\tB-PER\nBlack\tI-PER\nran\tO\n",
    "three": "EU NNP B-ORG\nrejects VB O\nit PRP O\n\nPeter NNP B-PER\nran VB O\n",
    "four": "EU NNP B-NP B-ORG\nrejects VB B-VP O\n\nPeter NNP B-NP B-PER\nran VB B-VP O\n",
}
CONLLU = "".join(
    f"# text = Anna sleeps\n1\tAnna\t_\tPROPN\tN\t_\t2\tnsubj\t_\t_\n2\tsleeps\t_\tVERB\tV\t_\t0\troot\t_\t_\n{end}"
    for end in ("\n", "")
)
CSV = "sentence_id,word,tag\n1,Anna,B-PER\n1,ran,O\n2,ok,O\n"
TSV = CSV.replace(",", "\t")
TEXT = "Anna met Bob"
TOKENS = [
    {"text": "Anna", "start": 0, "end": 4},
    {"text": "met", "start": 5, "end": 8},
    {"text": "Bob", "start": 9, "end": 12},
]
RECORDS: dict[str, dict[str, Any]] = {
    "jsonl": {
        "words": ["Anna", "met", "Bob"],
        "tags": ["B-PER", "O", "B-PER"],
        "text": TEXT,
        "offsets": [[0, 4], [5, 8], [9, 12]],
        "spans": [{"start": 0, "end": 4, "label": "PER"}, {"start": 9, "end": 12, "label": "PER"}],
    },
    "doccano": {"text": TEXT, "label": [[0, 4, "PER"], [9, 12, "PER"]]},
    "doccano-new": {
        "text": TEXT,
        "entities": [
            {"start_offset": 0, "end_offset": 4, "label": "PER"},
            {"start_offset": 9, "end_offset": 12, "label": "PER"},
        ],
    },
    "label_studio": {
        "data": {"text": TEXT},
        "annotations": [
            {
                "result": [
                    {"type": "labels", "value": {"start": 0, "end": 4, "text": "Anna", "labels": ["PER"]}},
                    {"type": "labels", "value": {"start": 9, "end": 12, "text": "Bob", "labels": ["PER"]}},
                ]
            }
        ],
    },
    "prodigy": {
        "text": TEXT,
        "tokens": TOKENS,
        "spans": [
            {"start": 0, "end": 4, "label": "PER"},
            {"start": 9, "end": 12, "label": "PER"},
        ],
    },
}
ANNOTATION = "T1\tPER 0 4\tAnna\nT2\tPER 9 12\tBob\n"
OPTIONAL = {"text", "type"}  # without these a record is still whole


@dataclass(frozen=True)
class Case:
    """A damaged file, and the line that has to be named (None: a binary file has none)."""

    name: str
    format: str
    content: bytes
    line: int | None
    options: dict[str, Any] = field(default_factory=dict)
    suffix: str = ""


def damaged_lines(format: str, name: str, content: str, lines: list[int]) -> Iterator[Case]:
    """What can happen to a line of any text file."""
    for number in lines:
        spoiled = content.split("\n")
        good = spoiled[number - 1].encode()
        for what, bad in {
            "latin1": good[:2] + b"\xe9" + good[2:],
            "cut-utf8": good + b"\xf0\x9f\x98",
            "surrogate": good + b"\xed\xa0\x80",
            "nul": good[:1] + b"\0" + good[1:],
        }.items():
            rows = [row.encode() for row in spoiled]
            rows[number - 1] = bad
            yield Case(f"{name}-{what}-{number}", format, b"\n".join(rows), number)


def replaced(content: str, number: int, line: str) -> bytes:
    rows = content.split("\n")
    rows[number - 1] = line
    return "\n".join(rows).encode()


def column_cases() -> Iterator[Case]:
    for name, content in CONLL.items():
        separator = "\t" if name == "two" else " "
        numbers = [number for number, line in enumerate(content.split("\n"), start=1) if line]
        yield from damaged_lines("conll", f"conll-{name}", content, numbers[::2])
        for number in numbers:
            cells = content.split("\n")[number - 1].split(separator)
            for what, bad in {
                "dropped": cells[:-1],
                "added": [*cells, "O"],
                "odd-tag": [*cells[:-1], "PER"],
                "empty-label": [*cells[:-1], "B-"],
                "lower-case": [*cells[:-1], "b-per"],
            }.items():
                yield Case(
                    f"conll-{name}-{what}-{number}", "conll", replaced(content, number, separator.join(bad)), number
                )
            if name == "two":
                yield Case(f"conll-empty-word-{number}", "conll", replaced(content, number, "\tO"), number)
                yield Case(f"conll-blank-word-{number}", "conll", replaced(content, number, "  \tO"), number)
                yield Case(f"conll-empty-tag-{number}", "conll", replaced(content, number, "x\t"), number)
                yield Case(f"conll-comment-{number}", "conll", replaced(content, number, "# a comment"), number)


def conllu_cases() -> Iterator[Case]:
    numbers = [2, 3, 6, 7]
    yield from damaged_lines("conllu", "conllu", CONLLU, numbers)
    for number in numbers:
        cells = CONLLU.split("\n")[number - 1].split("\t")
        for what, bad in {
            "dropped": cells[:-1],
            "added": [*cells, "_"],
            "bad-id": ["one", *cells[1:]],
            "empty-id": ["", *cells[1:]],
            "no-word": [cells[0], "", *cells[2:]],
            "no-tag": [*cells[:3], "_", *cells[4:]],
        }.items():
            yield Case(f"conllu-{what}-{number}", "conllu", replaced(CONLLU, number, "\t".join(bad)), number)


def table_cases() -> Iterator[Case]:
    for format, content, separator in (("csv", CSV, ","), ("tsv", TSV, "\t")):
        yield from damaged_lines(format, format, content, [1, 2, 4])
        for number in (2, 3, 4):
            cells = content.split("\n")[number - 1].split(separator)
            for what, bad in {
                "dropped": cells[:-1],
                "added": [*cells, "O"],
                "no-word": [cells[0], "", cells[2]],
                "no-tag": [*cells[:2], ""],
            }.items():
                yield Case(f"{format}-{what}-{number}", format, replaced(content, number, separator.join(bad)), number)
        yield Case(f"{format}-header", format, replaced(content, 1, separator.join("abc")), 1)
        again = content + separator.join(["1", "y", "O"])
        yield Case(f"{format}-comes-back", format, again.encode(), 5)
    for number in (2, 3, 4):
        yield Case(f"csv-open-quote-{number}", "csv", replaced(CSV, number, '1,"Anna,O'), number)
        yield Case(f"csv-quote-inside-{number}", "csv", replaced(CSV, number, '1,"An"na,O'), number)


def paths(value: Any, so_far: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value."""
    if so_far:
        yield so_far
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*so_far, key))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def changed(record: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    record = copy.deepcopy(record)
    at(record, path[:-1])[path[-1]] = value
    return record


def without(record: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    record = copy.deepcopy(record)
    del at(record, path[:-1])[path[-1]]
    return record


def wrong_values(value: Any) -> list[Any]:
    if isinstance(value, bool | str):
        return [7, ["x"], {}]
    if isinstance(value, int):
        return ["0", None, True, 1.5, -1, 99, 10**30]
    return ["x", 7, {} if isinstance(value, list) else []]


def json_cases() -> Iterator[Case]:
    for name, record in RECORDS.items():
        format = name.removesuffix("-new")
        good = json.dumps(record)
        content = f"{good}\n{good}\n{good}\n"
        yield from damaged_lines(format, name, content, [1, 2, 3])
        for length in range(1, len(good), max(1, len(good) // 12)):
            yield Case(f"{name}-cut-{length}", format, replaced(content, 2, good[:length]), 2)
        for what, bad in {
            "number": "3",
            "list": "[]",
            "null": "null",
            "twice": good + good,
            "nan": "NaN",
            "deep": "[" * 99999,
        }.items():
            yield Case(f"{name}-{what}", format, replaced(content, 2, bad), 2)
        for path in paths(record):
            if path[-1] == "type":
                continue
            where = ".".join(map(str, path))
            for number, value in enumerate(wrong_values(at(record, path))):
                bad = json.dumps(changed(record, path, value))
                yield Case(f"{name}-{where}-wrong-{number}", format, replaced(content, 2, bad), 2)
            if (
                isinstance(path[-1], str)
                and not (path[-1] in OPTIONAL and len(path) > 1)
                and where not in EMPTY_IS_FINE[name]
            ):
                bad = json.dumps(without(record, path))
                yield Case(f"{name}-{where}-missing", format, replaced(content, 2, bad), 2)


# leaving these out means something: an unannotated task, words to be found, no text to point into
EMPTY_IS_FINE: dict[str, set[str]] = {
    "jsonl": {"spans"},
    "doccano": set(),
    "doccano-new": set(),
    "label_studio": {"annotations"},
    "prodigy": {"spans", "tokens"},
}


def offset_cases() -> Iterator[Case]:
    """Spans that cannot be: reversed, empty, out of the text, overlapping, cutting a word, over blanks."""
    for start, end in ((4, 0), (0, 0), (-4, 4), (0, 13), (12, 16), (0, 10), (0, 3), (1, 4), (4, 5), (10**9, 10**9 + 4)):
        entity = {"start_offset": start, "end_offset": end, "label": "X"}
        value = {"start": start, "end": end, "labels": ["X"]}
        span = {"start": start, "end": end, "label": "X"}
        bad = {
            "doccano": changed(RECORDS["doccano"], ("label", 0), [start, end, "X"]),
            "doccano-new": changed(RECORDS["doccano-new"], ("entities", 0), entity),
            "label_studio": changed(RECORDS["label_studio"], ("annotations", 0, "result", 0, "value"), value),
            "prodigy": changed(RECORDS["prodigy"], ("spans", 0), span),
        }
        for name, record in bad.items():
            content = json.dumps(RECORDS[name]) + "\n" + json.dumps(record) + "\n"
            yield Case(
                f"{name}-offsets-{start}-{end}",
                name.removesuffix("-new"),
                content.encode(),
                2,
                {"borders": "error"},
            )
        content = f"T1\tPER 9 12\tBob\nT2\tX {start} {end}\n"
        yield Case(f"brat-offsets-{start}-{end}", "brat", content.encode(), 2, {"borders": "error"})


def array_cases() -> Iterator[Case]:
    good = json.dumps(RECORDS["label_studio"])
    whole = f"[\n{good},\n{good},\n{good}\n]"
    for number in (2, 3):
        before = "[\n" + f"{good},\n" * (number - 2)
        for length in range(3, len(good), 60):
            yield Case(f"array-cut-{number}-{length}", "label_studio", f"{before}{good[:length]}".encode(), number)
    for what, bad in {"no-comma": f"[\n{good}\n{good}\n]", "open": f"[\n{good}"}.items():
        yield Case(f"array-{what}", "label_studio", bad.encode(), 2)
    yield Case("array-number", "label_studio", f"[\n{good},\n7\n]".encode(), 3)
    yield from damaged_lines("label_studio", "array", whole, [2, 4])


def brat_cases() -> Iterator[Case]:
    yield from damaged_lines("brat", "brat", ANNOTATION, [1, 2])
    for number in (1, 2):
        for what, bad in {
            "no-tabs": "T1 PER 0 4 Anna",
            "no-label": "T1\t0 4\tAnna",
            "no-end": "T1\tPER 0\tAnna",
            "words": "T1\tPER zero four\tAnna",
            "negative": "T1\tPER -4 4\tAnna",
            "float": "T1\tPER 0.0 4.0\tAnna",
            "other-text": "T1\tPER 0 4\tHanna",
            "shifted": "T1\tPER 1 5\tAnna",
            "gaps": "T1\tPER 0 2;5 8\tAn met",
            "open-gaps": "T1\tPER 0 2;\tAn",
            "unknown": "X1\tPER 0 4\tAnna",
            "garbage": "....",
        }.items():
            yield Case(f"brat-{what}-{number}", "brat", replaced(ANNOTATION, number, bad), number)


def text_cases() -> Iterator[Case]:
    yield from damaged_lines("text", "text", "Anna ran.\nBob slept.\n\nOslo is far.\n", [1, 2, 4])


def archive_cases() -> Iterator[Case]:
    for suffix, pack in ((".gz", partial(gzip.compress, mtime=0)), (".xz", lzma.compress)):
        packed = pack((CONLL["two"] * 20).encode())
        for length in range(1, len(packed), max(1, len(packed) // 10)):
            yield Case(f"archive{suffix}-{length}", "conll", packed[:length], None, suffix=suffix)
        for place in range(12, len(packed) - 4, max(1, len(packed) // 6)):
            flipped = bytearray(packed)
            flipped[place] ^= 0xFF
            yield Case(f"archive{suffix}-flipped-{place}", "conll", bytes(flipped), None, suffix=suffix)


KINDS = (
    *(column_cases, conllu_cases, table_cases, json_cases, offset_cases, array_cases, brat_cases, text_cases),
    archive_cases,
)


def on_disk(case: Case, folder: Path) -> Path:
    (folder / "a.txt").write_text(TEXT)
    path = folder / f"a.{'ann' if case.format == 'brat' else case.format}{case.suffix}"
    path.write_bytes(case.content)
    return path


def test_there_are_hundreds_of_cases_and_none_twice():
    names = [case.name for cases in KINDS for case in cases()]
    assert len({*names}) == len(names) > 300


@pytest.mark.parametrize("cases", KINDS)
def test_damage_is_refused_with_file_and_line(tmp_path, cases):
    for case in cases():
        path = on_disk(case, tmp_path)
        with pytest.raises(InputError) as caught:
            read_corpus(path, case.format, **case.options)
        assert (caught.value.place.file, caught.value.place.line) == (str(path), case.line), case


@pytest.mark.parametrize("cases", KINDS)
def test_damage_can_be_skipped_and_is_then_listed(tmp_path, cases):
    for case in cases():
        path = on_disk(case, tmp_path)
        try:
            skipped = read_corpus(path, case.format, skip_bad=True, **case.options).notes.skipped
        except InputError as error:  # nothing is left, or the file as a whole cannot be read
            places = [error.place]
        else:
            places = [one.place for one in skipped]
        assert [(place.file, place.line) for place in places] == [(str(path), case.line)], case

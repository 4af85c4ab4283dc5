"""Ten thousand damaged files of every format: each is read, or refused by its name, and nothing is lost in silence.

Small files are damaged at random, with a fixed seed: bytes changed, put in, left out, doubled and moved, files cut and
spliced. Whatever comes of it, `read_corpus` gives a corpus or an InputError that names the file. It raises nothing
else, comes to an end, and takes no more memory than a small file may. What is not there is listed.
"""

from __future__ import annotations

import gzip
import io
import json
import lzma
import re
import resource
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from random import Random

import pytest

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.readers.source import Source
from acclimate.data.reading import read_corpus

FILES = 10_000  # of each format
LONGEST = 20  # seconds for one file of a few hundred bytes
MOST_MEMORY = 1 << 30  # bytes of address space, of which libraries reserve a lot, more than are taken already
PAGES = Path("/proc/self/statm")

TEXT = "Anna met Bob.\nDr. Lee left Acme Corp. in New York 😀.\n"
DOCCANO = {"id": 1, "text": TEXT, "label": [[0, 4, "PER"], [9, 12, "PER"], [27, 36, "ORG"], [41, 49, "LOC"]]}
REGIONS = [{"type": "labels", "value": {"start": a, "end": b, "labels": [c]}} for a, b, c in DOCCANO["label"]]
TASK = {"id": 7, "data": {"text": TEXT}, "annotations": [{"result": REGIONS}]}
SPANS = [{"start": a, "end": b, "label": c} for a, b, c in DOCCANO["label"]]
TOKENS = [{"start": match.start(), "end": match.end()} for match in re.finditer(r"\S+", "Anna met Bob")]
OURS = {"words": ["Anna", "met", "Bob"], "tags": ["B-PER", "O", "B-PER"]}
PLACED = OURS | {"text": "Anna met Bob", "offsets": [[0, 4], [5, 8], [9, 12]], "document": "a", "spans": SPANS[:2]}
CONLLU_ROWS = "1\tAnna\tAnna\tPROPN\tNNP\t_\t2\tnsubj\t_\tNER=B-PER\n2\tran\trun\tVERB\tVB\t_\t0\troot\t_\tNER=O\n"


def lines(*records: object) -> bytes:
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records).encode()


def parquet(columns: dict[str, list[object]]) -> bytes:
    arrow = pytest.importorskip("pyarrow")
    table = pytest.importorskip("pyarrow.parquet")
    buffer = io.BytesIO()
    table.write_table(arrow.table(columns), buffer)
    return buffer.getvalue()


def docbin() -> bytes:
    spacy = pytest.importorskip("spacy")
    doc = spacy.blank("xx")("Anna met Bob")
    doc.ents = [doc.char_span(0, 4, label="PER")]
    return bytes(spacy.tokens.DocBin(docs=[doc, doc]).to_bytes())


def seeds(format: str) -> list[bytes]:
    """Good files of a format."""
    if format == "parquet":
        return [
            parquet({"words": [["Anna", "met"], ["ok"]], "tags": [["B-PER", "O"], ["O"]]}),
            parquet({"id": [1, 2], "text": ["Anna met Bob.", "ok"]}),
        ]
    if format == "docbin":
        return [docbin()]
    return {
        "conll": [
            b"EU\tB-ORG\nrejects\tO\n\nPeter\tB-PER\nBlack\tI-PER\nran\tO\n",
            b"-DOCSTART- -X- O O\n\nEU NNP B-NP S-ORG\nrejects VB B-VP O\n\n# DT B-NP O\n",
            "Anna PROPN\nläuft VERB\n\n😀 SYM\n".encode(),
        ],
        "conllu": [
            f"# newdoc id = a\n# text = Anna ran\n{CONLLU_ROWS}\n1-2\tim\t{'_	' * 7}_\n{CONLLU_ROWS}".encode()
        ],
        "jsonl": [lines(OURS, OURS), lines(PLACED), lines({"tokens": ["a", "é"], "ner_tags": ["O", "O"]})],
        "doccano": [lines(DOCCANO), lines({"text": "Anna", "entities": [], "label": [[0, 4, "PER"]]})],
        "label_studio": [lines(TASK), json.dumps([TASK, TASK], indent=1).encode(), b"[]"],
        "prodigy": [
            lines({"text": "Anna met Bob", "tokens": TOKENS, "spans": SPANS[:2], "answer": "accept"}),
            lines({"text": TEXT, "spans": SPANS}, {"text": "no", "answer": "reject"}),
        ],
        "brat": [
            b"T1\tPER 0 4\tAnna\nT2\tPER 9 12\tBob\nT3\tORG 27 36\tAcme Corp\nR1\tknows Arg1:T1 Arg2:T2\n#1\tx T1\ty\n"
        ],
        "csv": [
            b'sentence_id,word,tag\n1,Anna,B-PER\n1,",",O\n2,"""",O\n3,ok,O\n',
            b"tokens;ner_tags\n['Anna', 'ran'];['B-PER', 'O']\n[\"a\"];['O']\n",
            b'id,text,label\n7,"Anna, again",good\n8,"two\nlines",bad\n',
        ],
        "tsv": [b'sentence_id\tword\ttag\n1\tAnna\tB-PER\n1\t"\tO\n2\tok\tO\n', b"id\ttext\n1\tAnna ran.\n2\tok\n"],
        "text": [TEXT.encode(), b"Anna bought a Tesla Model S\n\n{curly} [square]\n"],
    }[format]


TOKENS_OF_TROUBLE = [
    *b'" "" \' \\ \\u \\ud83d \\u0000 , ; [ ] { } : null true NaN 1e999 -1 0'.split(b" "),
    *(b"\0", b"\n", b"\n\n", b"\r", b"\r\n", b"\t", b" ", b"9" * 25, b"9" * 5000, b"[" * 2000),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", "\u2028".encode(), "\u00a0".encode(), "😀".encode()),
    *(b"B- I-PER O -DOCSTART- PAR1 _ 1-2 1.1".split(b" ")),
    *(b"# text = x", b"T1\t", b"\x1f\x8b", b"\xfd7zXZ\x00"),
]


def damaged(good: list[bytes], dice: Random) -> bytes:
    """One of the files with one to four things done to it."""
    content = bytearray(dice.choice(good))
    for _ in range(dice.choice((1, 1, 1, 2, 3, 4))):
        size = len(content)
        begin, end = sorted((dice.randrange(size + 1), min(size, dice.randrange(size + 1))))
        end = min(end, begin + dice.choice((1, 4, 30, size)))
        match dice.randrange(8):
            case 0 if size:
                content[dice.randrange(size)] = dice.randrange(256)
            case 1:
                content[begin:begin] = dice.choice(TOKENS_OF_TROUBLE)
            case 2:
                content[begin:end] = dice.choice(TOKENS_OF_TROUBLE)
            case 3:
                del content[begin:end]
            case 4:
                content[begin:begin] = content[begin:end] * dice.choice((1, 1, 20))
            case 5:
                moved = content[begin:end]
                del content[begin:end]
                place = dice.randrange(len(content) + 1)
                content[place:place] = moved
            case 6:
                del content[begin:]
            case _:
                other = dice.choice(good)
                content[begin:] = other[dice.randrange(len(other) + 1) :]
    return bytes(content)


@contextmanager
def bounded() -> Iterator[None]:
    """Time and memory within bounds: a file that takes more fails the test, and stops nothing else."""

    def too_long(*_: object) -> None:
        raise AssertionError(f"reading took more than {LONGEST} seconds")

    limits = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGALRM, too_long)
    if PAGES.exists():  # Linux
        taken = int(PAGES.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + MOST_MEMORY, limits[1]))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, limits)


class Shelf:
    """One file after the other under one name, without a disk."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path, self.content = path, b""
        stored = Source._stored

        def shelved(source: Source) -> AbstractContextManager[io.BufferedReader]:
            return io.BufferedReader(io.BytesIO(self.content)) if source.path == path else stored(source)

        monkeypatch.setattr(Source, "_stored", shelved)

    def read(self, content: bytes, format: str | None, skip_bad: bool) -> Corpus | None:
        """What comes of a file: a corpus, or None where it is refused by its name."""
        self.content = content
        signal.setitimer(signal.ITIMER_REAL, LONGEST)
        try:
            return read_corpus(self.path, format, skip_bad=skip_bad)
        except InputError as error:
            if str(self.path) not in str(error):
                raise AssertionError("the error does not name the file") from error
            return None
        except BaseException as error:
            error.add_note(f"format={format!r}, skip_bad={skip_bad}, the file: {content!r}")
            raise


def lines_of(content: bytes) -> list[str]:
    text = content.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    return [line.removesuffix("\r") for line in text.split("\n")] if "\n" in text else text.split("\r")


def blocks_of(content: bytes, border: str = "$") -> Iterator[list[int]]:
    """The numbers of the lines between two blank ones, or between others that are a border."""
    block: list[int] = []
    for number, line in enumerate([*lines_of(content), ""], start=1):
        if not re.match(border, line.strip(" \t\r")):
            block.append(number)
        elif block:
            yield block
            block = []


def skipped_lines(corpus: Corpus) -> set[int]:
    return {skipped.place.line for skipped in corpus.notes.skipped if skipped.place.line is not None}


def every_block_is_there(content: bytes, corpus: Corpus) -> bool:
    """Columns: the words of a block of lines are a sentence, or one of its lines was skipped."""
    read = {sentence.place.line: len(sentence) for sentence in corpus}
    skipped = skipped_lines(corpus)
    return all(
        read.get(block[0]) == len(block) or skipped & {*block} for block in blocks_of(content, r"$|-DOCSTART-([ \t]|$)")
    )


def every_tree_is_there(content: bytes, corpus: Corpus) -> bool:
    """CoNLL-U: the same, less comments, ranges and empty nodes."""
    rows = lines_of(content)
    told = {sentence.place.line for sentence in corpus} | skipped_lines(corpus)
    for block in blocks_of(content):
        words = [number for number in block if not re.match(r"#|[0-9]+[-.][0-9]+\t", rows[number - 1])]
        if words and not told & {*block}:
            return False
    return True


def every_record_is_there(content: bytes, corpus: Corpus) -> bool:
    """JSON by lines: each line was read, skipped, or left out for a reason that is told."""
    if content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        return True
    told = {sentence.place.line for sentence in corpus} | skipped_lines(corpus)
    silent = [number for number, line in enumerate(lines_of(content), start=1) if line.strip() and number not in told]
    return not silent or any("left out" in remark for remark in corpus.notes.remarks)


def every_label_is_there(content: bytes, corpus: Corpus) -> bool:
    """doccano: the labels of a record that was read are all there."""
    if not every_record_is_there(content, corpus):
        return False
    for number, line in enumerate(lines_of(content), start=1):
        spans = sum(len(sentence.spans) for sentence in corpus if sentence.place.line == number)
        if number not in skipped_lines(corpus) and line.strip() and not line.startswith("["):
            record = json.loads(line)
            marked = record.get("label") or record.get("labels") or record.get("entities") or ()
            if len({str(mark) for mark in marked}) != spans:
                return False
    return True


def every_mark_is_there(content: bytes, corpus: Corpus) -> bool:
    """brat: so are those of its lines that begin with T."""
    marks = {tuple(line.split("\t")[1:2]) for line in lines_of(content) if line.startswith("T")}
    return len(marks) == sum(len(sentence.spans) for sentence in corpus)


def every_row_is_there(content: bytes, corpus: Corpus) -> bool:
    """A word per row: a sentence is left out whole, and with it no other one."""
    header, *rows = lines_of(content)
    comma = next((sign for sign in ",\t" if header == sign.join(("sentence_id", "word", "tag"))), None)
    if comma is None:
        return True
    name, names = "", {}
    for number, row in enumerate(rows, start=2):
        if row.strip(f'{comma}" \t'):
            name = row.split(comma)[0].strip().strip('" ') or name
            names[number] = name
    bad = {names.get(number) for number in skipped_lines(corpus)}
    return corpus.word_count >= sum(name not in bad for name in names.values())


def every_letter_is_there(content: bytes, corpus: Corpus) -> bool:
    """Raw text: all but white space is in one word."""
    skipped = skipped_lines(corpus)
    good = (line for number, line in enumerate(lines_of(content), start=1) if number not in skipped)
    return "".join("".join(good).split()) == "".join(word for sentence in corpus for word in sentence.words)


ACCOUNTS: dict[str, Callable[[bytes, Corpus], bool]] = {
    "conll": every_block_is_there,
    "conllu": every_tree_is_there,
    "jsonl": every_record_is_there,
    "doccano": every_label_is_there,
    "label_studio": every_record_is_there,
    "prodigy": every_record_is_there,
    "brat": every_mark_is_there,
    "csv": every_row_is_there,
    "tsv": every_row_is_there,
    "text": every_letter_is_there,
}


NAMES = {
    "label_studio": "json",
    "doccano": "jsonl",
    "prodigy": "jsonl",
    "brat": "ann",
    "text": "txt",
    "docbin": "spacy",
}
FORMATS = [*ACCOUNTS, "parquet", "docbin"]


@pytest.fixture
def shelf(format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    path = tmp_path / f"a.{NAMES.get(format, format)}"
    if format == "brat":
        path.touch()
        path.with_suffix(".txt").write_text(TEXT, encoding="utf-8")
    return Shelf(path, monkeypatch)


@pytest.mark.parametrize("format", FORMATS)
def test_whatever_happens_to_a_file_it_is_read_or_refused(format: str, shelf: Shelf) -> None:
    good, dice = seeds(format), Random(format)
    assert all(shelf.read(content, format, skip_bad=False) for content in good if content != b"[]")
    outcomes = {True: 0, False: 0}
    with bounded():
        for _ in range(FILES):
            content = damaged(good, dice)
            skip_bad = dice.random() < 0.5
            corpus = shelf.read(content, dice.choice((format, None)), skip_bad)
            outcomes[corpus is not None] += 1
            if corpus is not None and skip_bad:
                account = ACCOUNTS.get(corpus.notes.format)
                assert account is None or account(content, corpus), (corpus.notes, corpus.sentences, content)
    rare = 1000 if format == "docbin" else 100  # it is compressed with a checksum, which sees nearly all damage
    assert min(outcomes.values()) > FILES / rare  # or the damage is too small, or too great


@pytest.mark.parametrize("format", ["gz", "xz"])
def test_a_damaged_archive_is_read_as_it_was_or_refused(
    format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two parts, one after the other, as `cat a.gz b.gz` makes them."""
    pack = gzip.compress if format == "gz" else lzma.compress
    shelf = Shelf(tmp_path / f"a.conll.{format}", monkeypatch)
    part = seeds("conll")[0]
    whole = pack(part) + pack(b"\n" + part)
    expected = shelf.read(whole, None, skip_bad=False)
    assert expected is not None
    dice = Random(format)
    refused = 0
    with bounded():
        for _ in range(FILES):
            content = bytearray(whole)
            for place in dice.choices(range(len(whole)), k=dice.choice((1, 1, 2))):
                content[place] = dice.randrange(256)
            corpus = shelf.read(bytes(content), None, skip_bad=dice.random() < 0.5)
            assert corpus in (None, expected), bytes(content)
            refused += corpus is None
    assert refused > FILES / 2

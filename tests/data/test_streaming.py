"""A corpus part by part: the same sentences as in one go, the same errors, and never all of it in memory."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.reading import read_corpus, stream_corpus
from acclimate.data.writing import WRITERS, write_corpus, writing_parts

LINES = [f"Line {number}: Anna didn't fly to Oslo with {number * 37} others." for number in range(4000)]  # four parts
TEXT = "\n".join(LINES) + "\n"


def sentences(path: Path | str, **options: Any) -> list[Sentence]:
    return [sentence for part in stream_corpus(path, **options) for sentence in part]


def in_one_go(path: Path | str, **options: Any) -> list[Sentence]:
    return list(read_corpus(path, **options).unlabelled())


ENDS = {
    "plain": TEXT.encode(),
    "without a last line end": TEXT.rstrip("\n").encode(),
    "CRLF": TEXT.replace("\n", "\r\n").encode(),
    "CR alone": TEXT.replace("\n", "\r").encode(),
    "a stray CR in the last line": TEXT.encode() + b"Anna\rleft",
    "a mark": b"\xef\xbb\xbf" + TEXT.encode(),
    "a mark at the beginning of a later line": TEXT.encode() + b"\xef\xbb\xbfAnna left\n" + TEXT.encode(),
    "blank lines": TEXT.replace("\n", "\n\n \n").encode(),
    "one very long line": (" ".join(LINES) + "\nAnna left\n").encode(),
}


@pytest.mark.parametrize("kind", ENDS)
def test_the_same_sentences_at_the_same_places(kind: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(ENDS[kind])
    assert sentences(tmp_path / "a.txt") == in_one_go(tmp_path / "a.txt")


@pytest.mark.parametrize("options", [{"paragraphs": True}, {"tokenize": "blanks"}, {"format": "text"}])
def test_options_are_those_of_reading(options: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT.replace(" with", ". With"), encoding="utf-8")
    assert sentences(tmp_path / "a.txt", **options) == in_one_go(tmp_path / "a.txt", **options)


@pytest.mark.parametrize(("ending", "packed"), [("gz", gzip.compress), ("xz", lzma.compress)])
def test_compressed_files_are_read_in_parts_too(ending: str, packed: Any, tmp_path: Path) -> None:
    (tmp_path / f"a.txt.{ending}").write_bytes(packed(TEXT[:100_000].encode()) + packed(TEXT[100_000:].encode()))
    assert not stream_corpus(tmp_path / f"a.txt.{ending}").is_whole
    assert sentences(tmp_path / f"a.txt.{ending}") == in_one_go(tmp_path / f"a.txt.{ending}")


def test_a_folder_of_text_is_read_file_by_file(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt"):
        (tmp_path / name).write_text(TEXT, encoding="utf-8")
    assert not stream_corpus(tmp_path).is_whole
    assert sentences(tmp_path) == in_one_go(tmp_path)


RECORDS = {
    "jsonl": [{"words": line.split(), "tags": ["O"] * len(line.split()), "id": line[:9]} for line in LINES],
    "doccano": [{"text": line, "label": [[0, 4, "X"]]} for line in LINES],
    "prodigy": [{"text": line, "spans": []} for line in LINES],
}


@pytest.mark.parametrize("format", RECORDS)
def test_json_is_read_by_lines_and_an_array_whole(format: str, tmp_path: Path) -> None:
    spelled = [json.dumps(record) for record in RECORDS[format]]
    (tmp_path / "lines.jsonl").write_text("\n".join(spelled), encoding="utf-8")
    (tmp_path / "array.json").write_text(f"[{','.join(spelled)}]", encoding="utf-8")
    lines, array = stream_corpus(tmp_path / "lines.jsonl"), stream_corpus(tmp_path / "array.json")
    assert (lines.is_whole, array.is_whole) == (False, True)
    assert lines.format == array.format == format
    assert [one for part in lines for one in part] == in_one_go(tmp_path / "lines.jsonl")
    assert [one for part in array for one in part] == in_one_go(tmp_path / "array.json")


@pytest.mark.parametrize("format", sorted({*WRITERS} - {"docbin", "parquet", "text", "label_studio"}))
def test_other_formats_say_that_they_are_read_whole(format: str, tmp_path: Path, news: Corpus) -> None:
    write_corpus(news, tmp_path / "a", format)
    stream = stream_corpus(tmp_path / "a", format)
    assert stream.is_whole == (format not in ("jsonl", "doccano", "prodigy"))
    assert [one.words for part in stream for one in part] == [sentence.words for sentence in news]


def test_no_part_is_much_larger_than_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    sizes = [part.word_count for part in stream_corpus(tmp_path / "a.txt", words=500)]
    assert len(sizes) > 50
    assert max(sizes) <= 520


class Counted(io.BytesIO):
    """Standard input that knows how much was taken from it."""

    taken = 0

    def readinto(self, buffer: Any) -> int:
        count = super().readinto(buffer)
        self.taken += count
        return count


def test_standard_input_is_read_no_further_than_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    given = Counted(TEXT.encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(given))
    stream = iter(stream_corpus("-", words=500))
    assert next(stream)[0].text == LINES[0]
    assert given.taken < len(TEXT) / 2
    found = [sentence.text for part in stream for sentence in part]
    assert found[-1] == LINES[-1]
    assert not given.closed


def peak(lines: int, path: Path) -> int:
    """Bytes in use at the worst moment of reading so many lines."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for _ in range(lines // len(LINES)) for line in LINES)
    tracemalloc.start()
    for part in stream_corpus(path):
        assert part.word_count
    _, found = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return found


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    peak(4000, tmp_path / "a.txt")  # what is made once
    assert peak(12_000, tmp_path / "a.txt") < 1.2 * peak(4000, tmp_path / "a.txt")


BAD = {
    "not UTF-8": TEXT.encode() + "Z\xfcrich\n".encode("latin-1") + TEXT.encode(),
    "NUL": TEXT.encode() + b"a\0b\n" + TEXT.encode(),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_lines_are_told_as_in_one_go(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(BAD[kind])
    with pytest.raises(InputError) as expected:
        read_corpus(path)
    with pytest.raises(InputError) as told:
        sentences(path)
    assert str(told.value) == str(expected.value)
    assert f"line {len(LINES) + 1}" in str(told.value)
    stream = stream_corpus(path, skip_bad=True)
    assert [one for part in stream for one in part] == in_one_go(path, skip_bad=True)
    assert stream.notes.skipped == read_corpus(path, skip_bad=True).notes.skipped


@pytest.mark.parametrize("given", ["", "\n \n", "\n" * 200_000])
def test_nothing_to_read_is_told_as_in_one_go(given: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(given, encoding="utf-8")
    with pytest.raises(InputError) as expected:
        read_corpus(tmp_path / "a.txt")
    with pytest.raises(InputError) as told:
        sentences(tmp_path / "a.txt")
    assert str(told.value) == str(expected.value)


def test_a_damaged_archive_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(TEXT.encode())[:-2000])
    with pytest.raises(InputError, match="cut short or damaged"):
        sentences(tmp_path / "a.txt.gz")


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acclimate.data.readers.source._LONGEST_LINE", 100_000)
    (tmp_path / "a.txt").write_text("Anna left\n" + "a " * 100_000, encoding="utf-8")
    with pytest.raises(InputError, match="line 2: a line of more than"):
        sentences(tmp_path / "a.txt")


@pytest.mark.parametrize("name", ["a.conll", "a.jsonl", "a.conll.gz", "a.csv", "a.conllu", "a.json"])
def test_parts_that_are_written_are_the_whole(name: str, tmp_path: Path, news: Corpus) -> None:
    write_corpus(news, tmp_path / f"whole-{name}")
    with writing_parts(tmp_path / name) as parts:
        for start in range(0, len(news), 5):
            parts.add(news[start : start + 5])
            assert not (tmp_path / name).exists()
    assert (tmp_path / name).read_bytes() == (tmp_path / f"whole-{name}").read_bytes()
    assert parts.files == [tmp_path / name]
    assert parts.is_whole == (not name.startswith(("a.conll.", "a.jsonl")) and name != "a.conll")


def test_a_word_that_looks_like_a_mark_is_doubled_only_at_the_beginning(tmp_path: Path) -> None:
    corpus = Corpus.of([Sentence(("\ufeffa",), ("O",)), Sentence(("\ufeffb",), ("O",))])
    with writing_parts(tmp_path / "a.conll") as parts:
        parts.add(corpus[:1])
        parts.add(corpus[1:])
    assert [sentence.words for sentence in read_corpus(tmp_path / "a.conll")] == [("\ufeffa",), ("\ufeffb",)]


@pytest.mark.parametrize("name", ["a.conll", "a.csv"])
def test_nothing_is_left_of_what_was_not_finished(name: str, tmp_path: Path, news: Corpus) -> None:
    def write() -> None:
        with writing_parts(tmp_path / name) as parts:
            parts.add(news[:3])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert list(tmp_path.iterdir()) == []


def parquet_of(columns: dict[str, list[Any]], path: Path, rows: int = 700) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table(columns), path, row_group_size=rows)
    return path


TABLES: dict[str, dict[str, list[Any]]] = {
    "raw text": {"id": [str(number) for number in range(len(LINES))], "text": list(LINES)},
    "a sentence a row": {
        "words": [line.split() for line in LINES],
        "tags": [["O"] * len(line.split()) for line in LINES],
    },
    "a word a row": {
        "sentence_id": [number for number, line in enumerate(LINES[:900]) for _ in line.split()],
        "word": [word for line in LINES[:900] for word in line.split()],
    },
    "text that is missing here and there": {
        "text": [None if number % 7 == 0 else line for number, line in enumerate(LINES)]
    },
}


@pytest.mark.parametrize("kind", TABLES)
def test_parquet_is_read_by_rows(kind: str, tmp_path: Path) -> None:
    path = parquet_of(TABLES[kind], tmp_path / "a.parquet")
    stream = stream_corpus(path, words=500)
    assert not stream.is_whole
    assert stream.total == len(next(iter(TABLES[kind].values())))
    assert [one for part in stream for one in part] == in_one_go(path)


def test_a_parquet_file_that_is_cut_short_is_told_and_a_compressed_one_read_whole(tmp_path: Path) -> None:
    path = parquet_of(TABLES["raw text"], tmp_path / "a.parquet")
    (tmp_path / "a.parquet.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert stream_corpus(tmp_path / "a.parquet.gz").is_whole
    assert sentences(tmp_path / "a.parquet.gz") == [
        replace(one, place=replace(one.place, file=f"{path}.gz")) for one in sentences(path)
    ]
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match="no whole Parquet file"):
        stream_corpus(path)


def test_a_damaged_group_of_rows_far_behind_is_told(tmp_path: Path) -> None:
    path = parquet_of(TABLES["raw text"], tmp_path / "a.parquet")
    stored = bytearray(path.read_bytes())
    middle = len(stored) // 2
    stored[middle : middle + 4000] = bytes(4000)
    path.write_bytes(bytes(stored))
    with pytest.raises(InputError, match="Copy or download it again"):
        sentences(path)


def test_parquet_that_is_written_by_parts_holds_the_same_sentences(tmp_path: Path, news: Corpus) -> None:
    pytest.importorskip("pyarrow")
    bare = news.unlabelled()
    for name, corpus in {"tagged": news, "bare": bare, "mixed": Corpus.of([*news[:7], *bare[7:]])}.items():
        with writing_parts(tmp_path / f"{name}.parquet") as parts:
            assert not parts.is_whole
            for start in range(0, len(corpus), 5):
                parts.add(corpus[start : start + 5])
                assert not (tmp_path / f"{name}.parquet").exists()
        found = read_corpus(tmp_path / f"{name}.parquet")
        assert [(one.words, one.tags) for one in found] == [(one.words, one.tags) for one in corpus]


def test_a_parquet_file_without_a_sentence_is_whole(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    with writing_parts(tmp_path / "a.parquet"):
        pass
    assert parquet.read_table(tmp_path / "a.parquet").num_rows == 0


def arrow_peak(lines: int, path: Path) -> int:
    parquet_of({"text": [line for _ in range(lines // len(LINES)) for line in LINES]}, path, 1 << 20)
    tracemalloc.start()
    with writing_parts(path.with_name("b.parquet")) as parts:
        for part in stream_corpus(path, words=2000):
            parts.add(part)
    _, found = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return found


def test_memory_does_not_grow_with_a_table(tmp_path: Path) -> None:
    arrow_peak(4000, tmp_path / "a.parquet")  # what is made once
    assert arrow_peak(12_000, tmp_path / "a.parquet") < 1.2 * arrow_peak(4000, tmp_path / "a.parquet")

"""Files as they come: compressed, damaged, with marks, with odd line ends, from standard input."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import types
from contextlib import suppress

import pytest

from acclimate.data.problems import InputError
from acclimate.data.readers import source as opening
from acclimate.data.reading import read_corpus

TWO = b"EU\tB-ORG\nrejects\tO\n\nPeter\tB-PER\n"


def words(corpus):
    return [sentence.words for sentence in corpus]


@pytest.mark.parametrize(("name", "packed"), [("a.conll.gz", gzip.compress), ("a.conll.xz", lzma.compress)])
def test_compressed_files_are_read_by_name_and_by_content(tmp_path, name, packed):
    (tmp_path / name).write_bytes(packed(TWO))
    (tmp_path / "a.conll").write_bytes(packed(TWO))
    assert (
        words(read_corpus(tmp_path / name))
        == words(read_corpus(tmp_path / "a.conll"))
        == [("EU", "rejects"), ("Peter",)]
    )


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
@pytest.mark.parametrize("length", [4, 12, 0.5, -1])
def test_a_truncated_archive_is_a_clear_error(tmp_path, pack, length):
    packed = pack(TWO * 50)
    path = tmp_path / "a.conll.gz"
    path.write_bytes(packed[: length if isinstance(length, int) else int(length * len(packed))])
    with pytest.raises(InputError, match=r"a\.conll\.gz: the compressed file is cut short or damaged"):
        read_corpus(path)


def test_a_file_that_is_only_called_compressed_is_a_clear_error(tmp_path):
    (tmp_path / "a.conll.gz").write_bytes(TWO)
    with pytest.raises(InputError, match="damaged"):
        read_corpus(tmp_path / "a.conll.gz")


def test_a_missing_file_is_named_with_its_like(tmp_path):
    (tmp_path / "train.conll").write_bytes(TWO)
    with pytest.raises(InputError, match=r"no such file\. Did you mean 'train\.conll'\?"):
        read_corpus(tmp_path / "trian.conll")


def test_a_missing_folder_is_said_too(tmp_path):
    with pytest.raises(InputError, match="There is no folder"):
        read_corpus(tmp_path / "nowhere" / "a.conll")


@pytest.mark.parametrize("content", [b"", b"\n\n", b"-DOCSTART- O\n\n", b"\xef\xbb\xbf"])
def test_a_file_without_a_sentence_is_an_error(tmp_path, content):
    (tmp_path / "a.conll").write_bytes(content)
    with pytest.raises(InputError, match=r"empty|blank lines only|no sentence"):
        read_corpus(tmp_path / "a.conll")


@pytest.mark.parametrize("name", ["a.conllu", "a.jsonl", "a.json", "a.csv", "a.tsv", "a.txt", "a", "a.ann"])
def test_an_empty_file_of_any_name_is_an_error(tmp_path, name):
    (tmp_path / "a.txt").write_bytes(b"")
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(InputError, match=r"empty|blank lines only|no sentence"):
        read_corpus(tmp_path / name)


def test_bytes_that_are_not_utf8_are_named_by_line_and_byte(tmp_path):
    (tmp_path / "a.conll").write_bytes(b"EU\tO\n\nM\xfcller\tB-PER\n")
    with pytest.raises(InputError, match=r"a\.conll, line 3: byte 0xfc is not UTF-8"):
        read_corpus(tmp_path / "a.conll")


def test_a_sentence_with_bad_bytes_can_be_skipped(tmp_path):
    (tmp_path / "a.conll").write_bytes(b"EU\tO\n\nM\xfcller\tB-PER\nran\tO\n\nok\tO\n")
    corpus = read_corpus(tmp_path / "a.conll", skip_bad=True)
    assert words(corpus) == [("EU",), ("ok",)]
    assert [skipped.place.line for skipped in corpus.notes.skipped] == [3]


def test_a_nul_character_is_refused(tmp_path):
    (tmp_path / "a.conll").write_bytes(b"EU\tO\nru\0n\tO\n")
    with pytest.raises(InputError, match="line 2: a NUL character"):
        read_corpus(tmp_path / "a.conll")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_other_encodings_are_named(tmp_path, encoding):
    (tmp_path / "a.conll").write_bytes(TWO.decode().encode(encoding))
    with pytest.raises(InputError, match=f"the file is {encoding.upper()}; save it as UTF-8"):
        read_corpus(tmp_path / "a.conll")


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_byte_order_marks_do_not_matter(tmp_path, end, mark):
    (tmp_path / "a.conll").write_bytes(mark + TWO.replace(b"\n", end))
    assert words(read_corpus(tmp_path / "a.conll")) == [("EU", "rejects"), ("Peter",)]


@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x85", "\u00a0", "\u3000", "\u200b"])
def test_odd_white_space_is_part_of_a_word(tmp_path, odd):
    (tmp_path / "a.conll").write_text(f"a{odd}b O\n{odd} B-X\n", encoding="utf-8")
    assert words(read_corpus(tmp_path / "a.conll")) == [(f"a{odd}b", odd)]


def test_standard_input_is_read_and_its_format_detected(monkeypatch):
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(TWO)))
    corpus = read_corpus("-")
    assert (corpus.name, corpus.notes.format, len(corpus)) == ("stdin", "conll", 2)


def test_errors_from_standard_input_name_it(monkeypatch):
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(b"a\tO\nb\n")))
    with pytest.raises(InputError, match="<stdin>, line 2"):
        read_corpus("-", "conll")


def test_an_unknown_format_is_answered_with_the_known_ones():
    with pytest.raises(
        InputError, match=r"unknown format 'doccanno'. Did you mean 'doccano'\? The formats are conll, "
    ):
        read_corpus("a.txt", "doccanno")


@pytest.mark.parametrize("option", [{"borders": "grow"}, {"tokenize": "chars"}, {"labels": "ner"}])
def test_unknown_options_are_answered_with_the_known_ones(option):
    with pytest.raises(InputError, match=r"choose one of '\w+"):
        read_corpus("a.txt", **option)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_archives_of_several_parts_are_read_whole_or_refused(tmp_path, pack):
    path = tmp_path / "a.conll.gz"
    first, second = pack(TWO), pack(b"\nBob\tB-PER\n")
    path.write_bytes(first + second)
    assert words(read_corpus(path))[-1] == ("Bob",)
    for place in range(len(first), len(first) + 6):  # where Python's own reader of .xz leaves out the rest in silence
        damaged = bytearray(first + second)
        damaged[place] ^= 0x10
        path.write_bytes(damaged)
        with suppress(InputError):
            assert words(read_corpus(path))[-1] == ("Bob",)


def test_parts_of_an_archive_may_have_zeros_between_them(tmp_path):
    (tmp_path / "a.xz").write_bytes(lzma.compress(b"one\n") + b"\0" * 8 + lzma.compress(b"two\n") + b"\0" * 4)
    assert words(read_corpus(tmp_path / "a.xz")) == [("one",), ("two",)]
    (tmp_path / "a.xz").write_bytes(lzma.compress(b"one\n") + b"\0" * 5)
    with pytest.raises(InputError, match="odd bytes"):
        read_corpus(tmp_path / "a.xz")


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_small_archive_may_not_fill_the_memory(tmp_path, pack, monkeypatch):
    monkeypatch.setattr(opening, "_SMALL", 1 << 16)
    (tmp_path / "a.txt.gz").write_bytes(pack(b"\n" * (1 << 20)))
    with pytest.raises(InputError, match=r"a\.txt\.gz: the file of [\d,]+ bytes unpacks to more than [\d,]+"):
        read_corpus(tmp_path / "a.txt.gz")


def test_a_compression_that_is_not_read_is_named(tmp_path):
    (tmp_path / "a.conll.bz2").write_bytes(bz2.compress(TWO))
    with pytest.raises(InputError, match="compressed with bzip2; unpack it"):
        read_corpus(tmp_path / "a.conll.bz2")

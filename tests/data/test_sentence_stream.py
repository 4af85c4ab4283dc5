"""Raw text as a stream of sentences: the words of a corpus, without the corpus."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest

from acclimate.data.problems import InputError
from acclimate.data.reading import read_corpus
from acclimate.data.selection.text_files import LONGEST_LINE, RawText

TEXT = "\ufeffIt rained. He left.\n\n  \nDon't go \u2028 now !\r\nlast"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize("tokenize", ["words", "blanks"])
@pytest.mark.parametrize("paragraphs", [False, True])
def test_the_sentences_are_those_of_the_reader(file: Path, tokenize: str, paragraphs: bool) -> None:
    corpus = read_corpus(file, "text", tokenize=tokenize, paragraphs=paragraphs)  # type: ignore[arg-type]
    stream = RawText([file], tokenize, paragraphs)  # type: ignore[arg-type]
    assert list(map(tuple, stream.words())) == [sentence.words for sentence in corpus]


def test_files_follow_one_another_packed_or_not(tmp_path: Path) -> None:
    for name, pack in (("a.gz", gzip.compress), ("b.xz", lzma.compress), ("c.txt", bytes)):
        (tmp_path / name).write_bytes(pack(f"from {name[0]}\n".encode()))
    files = sorted(tmp_path.iterdir())
    assert list(RawText(files).words()) == [["from", "a"], ["from", "b"], ["from", "c"]]


def test_it_can_be_read_twice(file: Path) -> None:
    stream = RawText([file])
    assert list(stream.words()) == list(stream.words())


def test_it_tells_how_far_it_is(file: Path) -> None:
    heard: list[tuple[int, int, int]] = []
    list(RawText([file, file], watch=lambda *told: heard.append(told)).words())
    size = file.stat().st_size
    assert [told[:2] for told in heard] == [(size, 2 * size), (2 * size, 2 * size)]


def test_a_line_of_more_than_a_megabyte_is_counted_and_left_out(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text(f"short\n{'x' * (LONGEST_LINE + 1)}\n", encoding="utf-8")
    stream = RawText([tmp_path / "long.txt"])
    assert list(stream.words()) == [["short"]]
    assert stream.lines_too_long == 1


def test_a_file_that_is_not_there_is_told_of_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        RawText([tmp_path / "nowhere.txt"])


def test_bytes_that_are_no_text_are_pointed_at(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"good\nb\xff\n")
    with pytest.raises(InputError, match=r"bad\.txt, line 2: byte 0xff is not UTF-8"):
        list(RawText([tmp_path / "bad.txt"]).words())

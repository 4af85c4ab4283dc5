"""Raw text files in blocks of whole lines, and in pieces."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest

from acclimate.data.problems import InputError
from acclimate.data.selection import text_files as text_blocks
from acclimate.data.selection.text_files import TextBlock, cut_into_pieces, read_beginning, read_blocks

LINES = [f"line {number} " + "é" * (number % 7) for number in range(300)]
TEXT = "\n".join(LINES).encode()
PACK = {".txt": bytes, ".gz": gzip.compress, ".xz": lzma.compress}


@pytest.fixture(params=[1, 10, 100, 5000])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Pieces and blocks of so many bytes: what happens in gigabytes happens in a few lines."""
    monkeypatch.setattr(text_blocks, "PIECE", request.param)
    monkeypatch.setattr(text_blocks, "BLOCK", 64)
    return int(request.param)


def read_all(file: Path) -> list[TextBlock]:
    return [block for piece in cut_into_pieces([file]) for block in read_blocks(piece)]


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("ending", [b"", b"\n", b"\n\n"])
def test_every_line_is_read_once_and_in_order(tmp_path: Path, small: int, suffix: str, ending: bytes) -> None:
    file = tmp_path / f"text{suffix}"
    file.write_bytes(PACK[suffix](TEXT + ending))
    blocks = read_all(file)
    assert (len(cut_into_pieces([file])) > 1) == (suffix == ".txt" and small < len(TEXT))
    assert b"".join(block.text for block in blocks) == TEXT + ending
    assert all(block.lines == len(block.text.splitlines()) for block in blocks)


def test_a_compressed_file_is_known_by_its_bytes_and_not_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(gzip.compress(TEXT))
    assert b"".join(block.text for block in read_all(tmp_path / "text.txt")) == TEXT
    assert read_beginning(tmp_path / "text.txt") == TEXT


def test_the_mark_at_the_beginning_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(b"\xef\xbb\xbfone\n\xef\xbb\xbftwo\n")
    assert read_all(tmp_path / "text.txt")[0].text == b"one\n\xef\xbb\xbftwo\n"


def test_an_empty_file_has_no_piece(tmp_path: Path) -> None:
    (tmp_path / "text.txt").touch()
    assert cut_into_pieces([tmp_path / "text.txt"]) == []


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("size", [99, 100, 101, 400])
def test_lines_that_are_too_long_are_counted_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, size: int
) -> None:
    monkeypatch.setattr(text_blocks, "BLOCK", 100)
    monkeypatch.setattr(text_blocks, "LONGEST_LINE", 100)
    file = tmp_path / f"text{suffix}"
    file.write_bytes(PACK[suffix](b"a\n" + b"x" * size + b"\nb\n" + b"y" * size))
    blocks = read_all(file)
    kept = b"".join(block.text for block in blocks).split()
    left_out = sum(block.left_out for block in blocks)
    assert sum(block.lines for block in blocks) == 4 == len(kept) + left_out
    assert kept == ([b"a", b"x" * 99, b"b", b"y" * 99] if size == 99 else [b"a", b"b", b"y" * 100][: 2 + (size == 100)])
    assert [block.first_line for block in blocks] == [sum(b.lines for b in blocks[:n]) for n in range(len(blocks))]


@pytest.mark.parametrize("line", [1, 2, 150, 300])
def test_a_byte_that_is_no_text_is_named_with_its_line(tmp_path: Path, small: int, line: int) -> None:
    file = tmp_path / "text.txt"
    lines = TEXT.split(b"\n")
    lines[line - 1] += b" caf\xe9"
    file.write_bytes(b"\n".join(lines))
    problem = rf"text\.txt, line {line}: byte 0xe9 is not UTF-8.*text there: 'line {line - 1} "
    with pytest.raises(InputError, match=problem):
        read_all(file)


def test_a_nul_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes("two\nlines".encode("utf-16-le"))
    with pytest.raises(InputError, match="line 1: a NUL character"):
        read_all(tmp_path / "text.txt")


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_a_compressed_file_cut_short_is_told_with_the_line_it_ends_in(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"text{suffix}"
    whole = PACK[suffix](TEXT)
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"line \d+: the compressed file is cut short or damaged"):
        read_all(file)


def test_a_missing_file_and_a_folder_are_told_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(TEXT)
    with pytest.raises(InputError, match="no such text file"):
        cut_into_pieces([tmp_path / "text.txt", tmp_path / "nothing.txt"])
    with pytest.raises(InputError, match="this is a folder"):
        cut_into_pieces([tmp_path])

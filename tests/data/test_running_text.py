"""Raw text → pieces → rows."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from acclimate.data.batches import TARGET
from acclimate.data.problems import InputError
from acclimate.data.running_text import (
    Rows,
    TextChoice,
    held_out_text,
    paragraphs,
    read_pieces,
    train_word_pieces,
    training_text,
    write_pieces,
)

LINES = [f"Paragraph number {number} of the Wider World ." for number in range(400)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "text.txt"
    place.write_text("\n\n".join(LINES) + "\n", encoding="utf-8")
    return place


def rows(size: int = 50, **options: Any) -> Rows:
    return Rows(
        np.arange(100, 100 + size), **{"before": [2], "after": [3], "length": 8, "rows_per_batch": 3, **options}
    )


def test_blank_lines_are_no_paragraphs(file: Path) -> None:
    assert list(paragraphs(file)) == LINES


def test_compressed_files_are_read_as_they_are(tmp_path: Path, file: Path) -> None:
    for suffix, pack in ((".gz", gzip.compress), (".xz", lzma.compress)):
        packed = tmp_path / f"text.txt{suffix}"
        packed.write_bytes(pack(file.read_bytes()))
        assert list(paragraphs(packed)) == LINES


def test_a_byte_that_is_no_text_is_named_with_its_line(tmp_path: Path) -> None:
    place = tmp_path / "latin.txt"
    place.write_bytes(b"fine\nM\xfcnchen\n")
    with pytest.raises(InputError, match=r"latin\.txt.*2.*0xfc is not UTF-8"):
        list(paragraphs(place))


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_a_compressed_file_cut_short_is_told(tmp_path: Path, file: Path, suffix: str) -> None:
    packed = tmp_path / f"cut{suffix}"
    whole = gzip.compress(file.read_bytes()) if suffix == ".gz" else lzma.compress(file.read_bytes())
    packed.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="cut short or damaged"):
        list(paragraphs(packed))


def test_a_missing_file_and_a_folder_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such text file"):
        list(paragraphs(tmp_path / "nothing.txt"))
    with pytest.raises(InputError, match="folder"):
        list(paragraphs(tmp_path))


def test_every_paragraph_is_either_trained_on_or_held_out(file: Path) -> None:
    choice = TextChoice(held_out=0.2, seed=3)
    trained, held_out = list(training_text([file], choice)), list(held_out_text([file], choice))
    assert sorted(trained + held_out) == sorted(LINES)
    assert 50 < len(held_out) < 110


def test_equal_paragraphs_stand_on_the_same_side(tmp_path: Path) -> None:
    place = tmp_path / "twice.txt"
    place.write_text("\n".join(LINES * 2), encoding="utf-8")
    choice = TextChoice(held_out=0.3, seed=1)
    assert not set(training_text([place], choice)) & set(held_out_text([place], choice))


def test_another_seed_holds_other_paragraphs_out(file: Path) -> None:
    one, other = (set(held_out_text([file], TextChoice(0.2, seed=seed))) for seed in (1, 2))
    assert one != other


def test_case_noise_respells_its_share_and_nothing_held_out(file: Path) -> None:
    choice = TextChoice(held_out=0.2, case_noise=0.5, seed=1)
    trained = list(training_text([file], choice))
    capitals, small = sum(map(str.isupper, trained)), sum(map(str.islower, trained))
    assert capitals + small == pytest.approx(0.5 * len(trained), rel=0.25)
    assert abs(capitals - small) < 50
    assert set(held_out_text([file], choice)) <= set(LINES)


def test_pieces_are_those_of_the_tokenizer_with_a_separator_after_each_paragraph(tmp_path: Path, file: Path) -> None:
    tokenizer = train_word_pieces(lambda: LINES, 120, 16)
    count = write_pieces(paragraphs(file), tokenizer, tmp_path / "pieces")
    found = read_pieces(tmp_path / "pieces", len(tokenizer))
    expected = [
        piece
        for line in LINES
        for piece in (*tokenizer(line, add_special_tokens=False)["input_ids"], tokenizer.sep_token_id)
    ]
    assert found.tolist() == expected
    assert count == len(expected)


def test_no_text_gives_no_pieces(tmp_path: Path) -> None:
    tokenizer = train_word_pieces(lambda: LINES, 120, 16)
    assert write_pieces([], tokenizer, tmp_path / "none") == 0
    assert len(read_pieces(tmp_path / "none", len(tokenizer))) == 0


def test_a_large_vocabulary_is_stored_in_wider_numbers(tmp_path: Path) -> None:
    np.asarray([70_000, 5], np.uint32).tofile(tmp_path / "wide")
    assert read_pieces(tmp_path / "wide", 100_000).tolist() == [70_000, 5]


def test_a_row_is_a_stretch_of_the_text_between_its_special_pieces() -> None:
    batch = rows().batch(0)[TARGET]
    assert batch.shape == (3, 8)
    assert (batch[:, 0] == 2).all()
    assert (batch[:, -1] == 3).all()
    inside = batch[:, 1:-1] - 100
    assert ((inside - inside[:, :1]) % 50 == torch.arange(6)).all()


def test_one_pass_reads_every_row_once_and_the_next_cuts_elsewhere() -> None:
    stream = rows(size=6 * 9)
    passes = [
        torch.cat([stream.batch(number)[TARGET] for number in range(first, first + 3)])[:, 1:-1] for first in (0, 3)
    ]
    for read in passes:
        assert sorted(read.flatten().tolist()) == list(range(100, 154))
    assert set(passes[0][:, 0].tolist()) != set(passes[1][:, 0].tolist())


def test_a_batch_depends_on_its_number_alone() -> None:
    late, early = rows(), rows()
    for number in range(7):
        early.batch(number)
    assert torch.equal(late.batch(7)[TARGET], early.batch(7)[TARGET])
    stream = rows().starting_at(5, step=2)
    assert [torch.equal(next(stream)[TARGET], early.batch(number)[TARGET]) for number in (5, 7, 9)] == [True] * 3


def test_another_seed_gives_another_order() -> None:
    assert not torch.equal(rows(seed=1).batch(0)[TARGET], rows(seed=2).batch(0)[TARGET])


def test_less_text_than_a_batch_is_read_in_smaller_ones() -> None:
    stream = rows(size=13)
    assert (stream.epoch_length, stream.batch(4)[TARGET].shape) == (1, (2, 8))


def test_less_text_than_a_row_is_refused() -> None:
    with pytest.raises(InputError, match="only 5 pieces; a single row takes 6"):
        rows(size=5)


def test_in_order_every_row_comes_once() -> None:
    read = torch.cat(list(rows().in_order()))[:, 1:-1]
    assert read.flatten().tolist() == list(range(100, 148))

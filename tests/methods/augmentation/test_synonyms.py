"""Synonyms from a table, from several sources, and from neighbours of word vectors."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import torch

from acclimate.data.problems import InputError
from acclimate.methods.augmentation.synonyms import FirstKnown, NearestWords, SynonymTable, open_synonyms

VECTORS = {
    "big": [1.0, 0.0],
    "large": [0.9, 0.1],
    "huge": [4.0, 1.5],  # long, and still near: only the direction counts
    "odd": [0.0, 1.0],
    "the": [1.0, 0.01],
    "Bigtown": [1.0, 0.02],
    "3.5": [1.0, 0.03],
    "blank": [0.0, 0.0],
}


def nearest(**options: float) -> NearestWords:
    return NearestWords({word: torch.tensor(vector) for word, vector in VECTORS.items()}, **options)  # type: ignore[arg-type]


def written(tmp_path: Path, text: str | bytes, name: str = "table.tsv") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_table_gives_synonyms_in_the_case_of_the_word(tmp_path: Path) -> None:
    table = SynonymTable.read(written(tmp_path, "big\tlarge, huge\n\nUS\tAmerica\nnew\tnovel\r\n"))
    assert table.of("big") == ["large", "huge"]
    assert table.of("Big") == ["Large", "Huge"]
    assert table.of("BIG") == ["LARGE", "HUGE"]
    assert table.of("US") == ["America"]
    assert not table.of("us")
    assert not table.of("small")


def test_a_table_may_be_compressed(tmp_path: Path) -> None:
    assert SynonymTable.read(written(tmp_path, gzip.compress(b"big\tlarge\n"), "table.tsv.gz")).of("big") == ["large"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("big large\n", "line 1: expected a word, one tab"),
        ("big\tlarge\thuge\n", "line 1: expected a word, one tab"),
        ("ok\tfine\n\tlarge\n", "line 2: expected a word, one tab"),
        ("big\t\n", "line 1: expected a word, one tab"),
        ("big\tlarge,,huge\n", "nothing between two commas"),
        ("car\tmotor car\n", "'motor car' is more than one word"),
        ("ice cream\tsorbet\n", "'ice cream' is more than one word"),
        ("big\tbig\n", "'big' is its own synonym"),
        ("big\tlarge\nbig\thuge\n", "line 2: 'big' was already given in line 1"),
        ("\n", "no synonyms in this file"),
        (b"big\tgro\xdf\n", "not UTF-8"),
    ],
)
def test_a_bad_table_is_refused_with_its_line(tmp_path: Path, text: str | bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        SynonymTable.read(written(tmp_path, text))


def test_a_missing_table_is_refused(tmp_path: Path) -> None:
    written(tmp_path, "big\tlarge\n")
    with pytest.raises(InputError, match=r"Did you mean 'table.tsv'\?"):
        SynonymTable.read(tmp_path / "tables.tsv")


def test_neighbours_are_those_of_the_largest_cosine() -> None:
    assert nearest().of("big") == ["large", "huge"]
    assert nearest(most=1).of("big") == ["large"]
    assert nearest(least=0.99).of("big") == ["large"]
    assert nearest(least=-1.0).of("odd")[0] == "huge"


def test_stop_words_names_and_numbers_are_no_neighbours() -> None:
    assert nearest().words == ["big", "large", "huge", "odd", "blank"]
    assert not nearest().of("the")
    assert not nearest().of("3.5")
    assert nearest().of("Big") == ["Large", "Huge"]


def test_a_word_without_direction_has_no_neighbours() -> None:
    assert not nearest().of("blank")
    assert not NearestWords({}).of("big")


@pytest.mark.parametrize("at_once", [1, 40, 10_000])
@pytest.mark.parametrize("least", [-1.0, 0.3, 0.9])
def test_neighbours_are_those_found_word_by_word_however_many_are_looked_up_at_once(
    at_once: int, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acclimate.methods.augmentation.synonyms._COSINES_AT_ONCE", at_once)
    words = [f"word{chr(97 + number)}" for number in range(20)]
    vectors = torch.randn(20, 3, generator=torch.Generator().manual_seed(0))
    found = NearestWords(dict(zip(words, vectors, strict=True)), most=4, least=least)
    for word, vector in zip(words, vectors, strict=True):
        cosines = dict(zip(words, torch.cosine_similarity(vector.unsqueeze(0), vectors).tolist(), strict=True))
        ranked = sorted((name for name in words if name != word), key=lambda name: -cosines[name])
        assert found.of(word) == [name for name in ranked[:4] if cosines[name] >= least]


def test_of_equally_near_words_the_first_come_first() -> None:
    found = NearestWords({word: torch.tensor([1.0, 0.0]) for word in ("red", "two", "six", "ten")}, most=2)
    assert [found.of(word) for word in ("red", "ten")] == [["two", "six"], ["red", "two"]]


def test_only_the_words_of_the_text_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, "big 1 0\nlarge 0.9 0.1\nhuge 4 1.5\n", "vectors.txt")
    assert NearestWords.read(path, {"Big", "huge"}).of("big") == ["huge"]
    assert NearestWords.read(path).of("big") == ["large", "huge"]
    with pytest.raises(InputError, match="no word of the text has a vector"):
        NearestWords.read(path, {"grand"})


def test_the_first_source_that_knows_a_word_answers() -> None:
    both = FirstKnown([SynonymTable({"big": ["vast"]}), SynonymTable({"big": ["large"], "odd": ["strange"]})])
    assert both.of("big") == ["vast"]
    assert both.of("odd") == ["strange"]
    assert not both.of("new")


def test_sources_are_opened_by_name_in_their_order(tmp_path: Path) -> None:
    table = written(tmp_path, "big\tvast\n")
    vectors = written(tmp_path, "big 1 0\nlarge 0.9 0.1\nhuge 4 1.5\n", "vectors.txt")
    assert isinstance(open_synonyms(table), SynonymTable)
    both = open_synonyms(table, vectors=vectors, words={"big", "huge", "large"})
    assert both.of("big") == ["vast"]
    assert both.of("large") == ["big", "huge"]
    with pytest.raises(InputError, match="no source of synonyms"):
        open_synonyms()

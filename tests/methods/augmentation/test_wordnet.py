"""A WordNet of a few invented meanings, laid out like the real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from acclimate.data.problems import InputError
from acclimate.methods.augmentation.synonyms import WordNet

LICENCE = "  1 This stands on top of every file,  \n  2 two blanks before each line.  \n"
Meanings = list[tuple[str, ...]]
NOUNS: Meanings = [
    ("pup", "whelp", "young_dog"),
    ("pup", "brat"),
    ("whelp", "brat"),
    ("rover", "Rover", "wanderer"),
    ("a", "are"),
    tuple(f"word{number}" for number in range(18)),  # 12 in hexadecimal
]
ADJECTIVES: Meanings = [("alive(p)", "living", "live(a)")]


def write_part(folder: Path, part: str, letter: str, meanings: Meanings) -> None:
    data = LICENCE
    places: dict[str, list[int]] = {}
    for words in meanings:
        place = len(data)
        listed = " ".join(f"{word} 0" for word in words)
        data += f"{place:08} 05 {letter} {len(words):02x} {listed} 001 @ 00001740 n 0000 | what it means; 'so'  \n"
        for word in words:
            places.setdefault(word.partition("(")[0].lower(), []).append(place)
    index = LICENCE
    for word, found in sorted(places.items()):
        found = list(dict.fromkeys(found))
        listed = " ".join(f"{place:08}" for place in found)
        index += f"{word} {letter} {len(found)} 2 @ ~ {len(found)} 0 {listed}  \n"
    (folder / f"data.{part}").write_text(data)
    (folder / f"index.{part}").write_text(index)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_part(tmp_path, "noun", "n", NOUNS)
    write_part(tmp_path, "adj", "a", ADJECTIVES)
    return tmp_path


def test_words_of_the_commonest_meaning_are_synonyms(folder: Path) -> None:
    assert WordNet(folder).of("pup") == ["whelp"]
    assert WordNet(folder).of("whelp") == ["pup"]
    assert WordNet(folder).of("Pup") == ["Whelp"]


def test_more_meanings_give_more_synonyms(folder: Path) -> None:
    assert WordNet(folder, senses=2).of("pup") == ["whelp", "brat"]
    assert WordNet(folder, senses=9).of("brat") == ["pup", "whelp"]


def test_several_words_and_names_are_left_out(folder: Path) -> None:
    assert WordNet(folder).of("rover") == ["wanderer"]
    assert "young_dog" not in WordNet(folder, senses=9).of("pup")


def test_what_stands_behind_an_adjective_is_cut_off(folder: Path) -> None:
    assert WordNet(folder).of("alive") == ["living", "live"]
    assert WordNet(folder).of("live") == ["alive", "living"]


def test_many_words_of_one_meaning_are_counted_in_hexadecimal(folder: Path) -> None:
    assert WordNet(folder).of("word0") == [f"word{number}" for number in range(1, 18)]


def test_function_words_and_unknown_words_have_none(folder: Path) -> None:
    wordnet = WordNet(folder)
    assert not wordnet.of("a")
    assert WordNet(folder, skip=()).of("a") == ["are"]
    assert not wordnet.of("pups")
    assert not wordnet.of("")


@pytest.mark.parametrize("line", ["pup", "pup n x 0 1 0 00000000", "pup n 2 0 2 0 00000082", "pup n 1 0 1 0 0000x082"])
def test_a_bad_index_is_refused_with_its_line(folder: Path, line: str) -> None:
    with (folder / "index.noun").open("a") as file:
        file.write(f"{line}\n")
    number = len((folder / "index.noun").read_text().splitlines())
    with pytest.raises(InputError, match=f"index.noun, line {number}: this is no line of a WordNet index"):
        WordNet(folder).of("pup")


@pytest.mark.parametrize("place", ["00000083", "09999999", "00000001"])
def test_an_index_of_another_version_is_refused(folder: Path, place: str) -> None:
    (folder / "index.noun").write_text(f"pup n 1 0 1 0 {place}\n")
    with pytest.raises(InputError, match=r"no meaning begins at byte .* Are both of one version"):
        WordNet(folder).of("pup")


def test_a_meaning_that_is_cut_off_is_refused(folder: Path) -> None:
    (folder / "data.noun").write_text("00000000 05 n 03 pup 0 whelp")
    (folder / "index.noun").write_text("pup n 1 0 1 0 00000000\n")
    with pytest.raises(InputError, match="no meaning begins"):
        WordNet(folder).of("pup")


def test_missing_files_are_named(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        WordNet(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no files of WordNet in this folder"):
        WordNet(tmp_path / "empty")
    (folder / "data.adj").unlink()
    with pytest.raises(InputError, match=r"index\.adj but no data\.adj"):
        WordNet(folder)


def test_no_sense_at_all_is_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="At least one sense"):
        WordNet(folder, senses=0)

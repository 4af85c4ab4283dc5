"""Names of concepts in sentences: capitals, word borders, conflicts, groups; and against a slow search."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.concepts.dictionary import ConceptDictionary, NameConflict, atoms, is_abbreviation
from acclimate.data.concepts.files import Concept
from acclimate.data.concepts.labelling import BUNDLED_GROUPS, Groups
from acclimate.data.problems import InputError
from acclimate.data.words import split_words

ANY = Groups.load("none", single="X")


def dictionary(*names: str, groups: Groups = ANY, **options: Any) -> ConceptDictionary:
    return ConceptDictionary([[Concept(name) for name in names]], groups, **options)


def found(names: list[str], text: str, **options: Any) -> list[str]:
    words = split_words(text)
    return [" ".join(words[one.start : one.end]) for one in dictionary(*names, **options).find(words)]


PIECES = st.sampled_from(["als", "ALS", "Als", "heart", "heart-", "-", "'s", "attack", "b12", "B12", "of"])
NAMES = st.lists(st.lists(PIECES, min_size=1, max_size=3).map(" ".join), min_size=1, max_size=8)


def matches_slowly(names: list[str], words: list[str], case: str) -> set[tuple[int, int]]:
    """Every stretch of words whose atoms are those of a name, as the policy compares them."""
    spans = set()
    for start in range(len(words)):
        for end in range(start + 1, len(words) + 1):
            here = atoms(" ".join(words[start:end]))
            for name in names:
                strict = case == "exact" or (case == "smart" and is_abbreviation(name))
                there = atoms(name)
                if here == there or (not strict and [a.lower() for a in here] == [a.lower() for a in there]):
                    spans.add((start, end))
    return spans


@pytest.mark.parametrize("case", ["smart", "lower", "exact"])
@given(names=NAMES, words=st.lists(PIECES, max_size=14))
def test_the_names_found_are_those_of_a_slow_search(case: Any, names: list[str], words: list[str]) -> None:
    names = [*names, "a name with letters"]
    finder = dictionary(*names, case=case, shortest=1)
    taken = [name for name in names if re.search("[^\\W\\d_]", name)]
    findings = finder.find(words)
    assert len(findings) == len({(one.start, one.end) for one in findings})
    assert {(one.start, one.end) for one in findings} == matches_slowly(taken, words, case)


@pytest.mark.parametrize(
    ("case", "text", "expected"),
    [
        ("smart", "ALS , als and Asthma in ASTHMA", ["ALS", "Asthma", "ASTHMA"]),
        ("lower", "ALS , als and Asthma in ASTHMA", ["ALS", "als", "Asthma", "ASTHMA"]),
        ("exact", "ALS , als and Asthma in asthma", ["ALS", "asthma"]),
    ],
)
def test_capitals_count_as_the_policy_says(case: Any, text: str, expected: list[str]) -> None:
    assert found(["ALS", "asthma"], text, case=case) == expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("insulin", "insulin-dependent insulins", []),
        ("Parkinson's disease", "Parkinson’s disease", ["Parkinson ’s disease"]),
        ("Parkinson's disease", "Parkinson ' s disease", ["Parkinson ' s disease"]),
        ("beta-blocker", "a beta - blocker", ["beta - blocker"]),
        ("beta-blocker", "a Beta-blocker", ["Beta-blocker"]),
        ("beta-blocker", "betablocker, beta blocker", []),
        ("heart attack", "heart. Attack", []),
        ("5-FU", "5-FU and 5-fu", ["5-FU"]),
    ],
)
def test_a_name_begins_and_ends_with_a_word(name: str, text: str, expected: list[str]) -> None:
    assert found([name], text) == expected


def test_overlapping_names_are_all_found() -> None:
    names = ["kidney disease", "chronic kidney disease", "kidney", "disease stage"]
    assert sorted(found(names, "Chronic kidney disease stage 3")) == [
        "Chronic kidney disease",
        "disease stage",
        "kidney",
        "kidney disease",
    ]


def test_what_cannot_be_a_name_is_left_out_and_counted() -> None:
    finder = dictionary("12", "K", "asthma", "Goals", shortest=2, exclude=["goals"])
    notes = finder.notes
    assert (notes.names, len(finder)) == (4, 1)
    assert notes.left_out == {"without a letter": 1, "too short": 1, "left out as asked": 1}
    with pytest.raises(InputError, match="no name is left: all are too short"):
        dictionary("K")


def labels_of(finder: ConceptDictionary, word: str) -> list[str]:
    return [one.label for one in finder.find([word])]


def test_a_name_with_two_labels_goes_to_the_concept_whose_main_name_it_is() -> None:
    groups = Groups.load("table-12")
    concepts = [
        Concept("common cold", ("cold", "chill"), ("T047",)),
        Concept("cold", (), ("Sign or Symptom",)),
        Concept("shivering", ("chill",), ("T184",)),
    ]
    finder = ConceptDictionary([concepts], groups)
    assert finder.notes.conflicts == [
        NameConflict("cold", "SYMPTOM", "DISEASE"),
        NameConflict("chill", "DISEASE", "SYMPTOM"),
    ]
    assert labels_of(finder, "cold") == ["SYMPTOM"]
    assert labels_of(finder, "chill") == ["DISEASE"]


def test_a_concept_of_two_types_gets_the_first_label_and_is_told() -> None:
    groups = Groups.load("table-12")
    concept = Concept("delirium", (), ("Finding", "T048", "T047"))
    finder = ConceptDictionary([[concept]], groups)
    assert finder.notes.conflicts == [NameConflict("delirium", "SYMPTOM", "DISEASE")]
    assert labels_of(finder, "delirium") == ["SYMPTOM"]


def test_names_that_differ_in_capitals_are_kept_apart() -> None:
    groups = Groups.load("none")
    concepts = [
        Concept("AIDS", (), ("disease",)),
        Concept("aids", (), ("tool",)),
        Concept("many other names", (), ("x",)),
    ]
    finder = ConceptDictionary([concepts], groups)
    assert labels_of(finder, "AIDS") == ["disease"]
    assert labels_of(finder, "aids") == labels_of(finder, "Aids") == ["tool"]
    assert not finder.notes.conflicts


def test_types_outside_of_the_map_are_dropped_or_kept() -> None:
    concepts = [Concept("rat", ("mouse",), ("Mammal",)), Concept("asthma", (), ("disease or syndrome",))]
    finder = ConceptDictionary([concepts], Groups.load())
    assert finder.notes.other_types == {"Mammal": 2}
    assert finder.find(["rat"]) == []
    kept = Groups.load(others="keep")
    finder = ConceptDictionary([concepts], kept)
    assert labels_of(finder, "mouse") == ["Mammal"]
    with pytest.raises(InputError, match=r"none of the types .*Mammal \(2\)"):
        ConceptDictionary([concepts[:1]], Groups.load())
    with pytest.raises(InputError, match="have no types"):
        ConceptDictionary([[Concept("rat")]], Groups.load())


def test_table_12_is_as_printed() -> None:
    groups = Groups.load("table-12")
    types = {
        "DISEASE": "Acquired Abnormality, Anatomical Abnormality, Bacterium, Archaeon, Congenital Abnormality, "
        "Cell or Molecular Dysfunction, Disease or Syndrome, Virus, Neoplastic process",
        "SYMPTOM": "Social Behavior, Sign or Symptom, Mental or Behavioral Dysfunction",
        "TREATMENT": "Pharmacologic Substance, Clinical Drug, Antibiotic",
    }
    for label, names in types.items():
        assert {groups.label(type) for type in names.split(", ")} == {label}
    assert groups.label("Finding") is None
    assert groups.label("disease") == "DISEASE"  # a type that is a label already


@pytest.mark.parametrize("name", BUNDLED_GROUPS)
def test_every_bundled_map_gives_the_labels_of_the_bundled_corpus(name: str) -> None:
    assert set(Groups.load(name).labels.values()) - {None} == {"DISEASE", "SYMPTOM", "TREATMENT"}


def test_a_map_of_one_s_own_and_one_label_for_all(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("labels:\n  Disease or Syndrome: ill\n  Virus: O\n", encoding="utf-8")
    groups = Groups.load(file)
    assert [groups.label(type) for type in ("DISEASE OR SYNDROME", "virus", "T047", "")] == ["ill", None, None, None]
    assert Groups.load(file, single="Sick").label("disease or syndrome") == "Sick"
    assert Groups.load(file, single="Sick").label("virus") is None
    assert Groups.load(file, single="Sick").label("") == "Sick"
    assert Groups.load("none").label("Disease or Syndrome") == "Disease_or_Syndrome"
    with pytest.raises(InputError, match="no such map of types"):
        Groups.load("tabel-12")

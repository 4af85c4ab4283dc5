"""Which names of labels mean the same, and which only begin alike."""

from __future__ import annotations

import pytest

from acclimate.data.mapping import similar_names_of


@pytest.mark.parametrize(
    ("name", "known"),
    [
        *[("person", "PER"), ("Person", "PERSON"), ("per_son", "PERSON"), ("people", "PER"), ("PER", "persons")],
        *[("geo-loc", "LOC"), ("organization", "ORG"), ("Organisations", "ORG"), ("LOC", "location")],
        *[("chem", "Chemical"), ("gene_symbol", "GENE"), ("ORGs", "ORG"), ("B2", "b-2")],
    ],
)
def test_names_that_only_look_different_are_found(name: str, known: str) -> None:
    assert similar_names_of([name], [known, "MISC"]) == {name: known}


@pytest.mark.parametrize(
    ("name", "known"),
    [
        *[("GENE", "LOC"), ("P", "PER"), ("product", "PER"), ("CITY", "LOC")],
        *[("Organism", "ORG"), ("organ", "ORG"), ("percent", "PER"), ("locus", "LOC"), ("protein", "PRO")],
        *[("p-value", "P"), ("***", "+++"), ("+", "LOC")],
    ],
)
def test_names_that_are_different_are_left_alone(name: str, known: str) -> None:
    assert similar_names_of([name], [known]) == {}


def test_a_name_that_fits_two_is_not_guessed() -> None:
    assert similar_names_of(["chem"], ["chemical", "chemist"]) == {}
    assert similar_names_of(["org"], ["organization", "organism"]) == {"org": "organization"}

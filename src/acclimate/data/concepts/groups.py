"""Semantic types → labels, by a map that can be edited; MSLM's Table 12 ships."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from typing import Literal

from acclimate.data.mapping import LabelMap
from acclimate.data.problems import InputError

BUNDLED_GROUPS = {
    "table-12": "15 UMLS types as DISEASE, SYMPTOM, TREATMENT, as in MSLM's Table 12",
    "clinical": "the same, and also procedures, devices, injuries, pathologic functions and findings",
}
NO_GROUPS = "none"
AUTO_GROUPS = "auto"
NO_TYPE = "(none)"  # what reports call it
Others = Literal["drop", "keep"]


@dataclass(frozen=True)
class Groups:
    """Which label a semantic type gets; None where its names are left out.

    Types are compared without regard to capitals. A type that is itself one of the labels needs no line in the map.
    """

    labels: Mapping[str, str | None] = field(default_factory=dict)  # by types in lower case
    others: Others = "drop"  # what becomes of types that the map does not name
    single: str | None = None  # one label for all that is not left out
    name: str = NO_GROUPS

    @classmethod
    def load(cls, source: str | Path = "table-12", others: Others = "drop", single: str | None = None) -> Groups:
        """From a YAML file as `--map` takes it, a bundled map by its name, or `none`: every type is its own label."""
        if source == NO_GROUPS:
            return cls({}, "keep", single)
        if source in BUNDLED_GROUPS and not Path(source).exists():
            return cls.of(_bundled(str(source)), others, single)
        if not Path(source).exists():
            problem = (
                f"there is no such map of types. Give a YAML file, or one of {', '.join(BUNDLED_GROUPS)}, {NO_GROUPS}."
            )
            raise InputError(problem, file=source)
        return cls.of(LabelMap.load(source), others, single)

    @classmethod
    def suited_to(cls, types: Iterable[str], others: Others = "drop", single: str | None = None) -> Groups:
        """`table-12` where it names one of these types; else they are no UMLS types, but labels already."""
        label_map = _bundled("table-12")
        named = {type.lower() for type, _ in label_map.items()}
        if any(type.lower() in named for type in types):
            return cls.of(label_map, others, single)
        return cls.load(NO_GROUPS, single=single)

    @classmethod
    def of(cls, label_map: LabelMap, others: Others = "drop", single: str | None = None) -> Groups:
        labels: dict[str, str | None] = {label.lower(): label for label in label_map.results}
        return cls(labels | {type.lower(): label for type, label in label_map.items()}, others, single, label_map.name)

    def label(self, type: str) -> str | None:
        """A type without a name (a list of names alone) is left out, unless there is one label for all."""
        if not type:
            return self.single
        label = self.labels.get(type.lower(), type if self.others == "keep" else None)
        return None if label is None else self.single or "_".join(label.split())

    def choose(self, types: Iterable[str]) -> tuple[str, str | None]:
        """Of the types of one concept the first that has a label, and the label."""
        first = ""
        for type in types or ("",):
            first = first or type
            label = self.label(type)
            if label is not None:
                return type, label
        return first, None


def _bundled(name: str) -> LabelMap:
    with as_file(files("acclimate.data.concepts") / "groups" / f"{name}.yaml") as file:
        return LabelMap.load(file)

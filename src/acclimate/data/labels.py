"""Label sets: the names a corpus uses, and the tags that spell them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from acclimate.data.schemes import OUTSIDE, Scheme

Kind = Literal["spans", "plain"]


def kind_of_tags(kind: str) -> str:
    """As it is said in a sentence."""
    return "span tags" if kind == "spans" else "plain tags"


@dataclass(frozen=True, slots=True)
class LabelSet:
    """The labels of a corpus in a fixed order. `spans`: entities or chunks; `plain`: one tag per word, such as POS."""

    names: tuple[str, ...]
    kind: Kind = "spans"

    @classmethod
    def of(cls, labels: LabelSet | Iterable[str], kind: Kind = "spans") -> LabelSet:
        """A label set from one, or from names in any order."""
        return labels if isinstance(labels, LabelSet) else cls(tuple(sorted(set(labels))), kind)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __or__(self, other: LabelSet) -> LabelSet:
        if self.kind != other.kind:
            raise ValueError(f"Labels of spans and plain tags cannot be joined: {self} and {other}.")
        return LabelSet.of((*self.names, *other.names), self.kind)

    def tags(self, scheme: Scheme = "IOB2") -> tuple[str, ...]:
        """Every tag that can occur, `O` first for spans."""
        if self.kind == "plain":
            return self.names
        letters = {"IO": "I", "BIOES": "BIES"}.get(scheme, "BI")
        return (OUTSIDE, *(f"{letter}-{name}" for name in self.names for letter in letters))

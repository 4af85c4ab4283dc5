"""A concept: a thing that has names, and the semantic types that say what kind of thing it is."""

from __future__ import annotations

from dataclasses import dataclass

from acclimate.data.problems import Place

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

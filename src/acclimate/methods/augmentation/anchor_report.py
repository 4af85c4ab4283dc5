"""What became of an augmentation: how much was asked for, how much was made, and why there is less."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.schemes import Span

Side = Literal["target", "source"]


@dataclass(frozen=True, slots=True)
class Variant:
    """A new sentence, the one it was made from, and where the two differ."""

    side: Side  # whose sentence it was; the donors are the other domain's
    sentence: Sentence
    original: Sentence
    changed: tuple[tuple[Span, Span], ...]  # where the entity stood, and where its donor stands now

    def __str__(self) -> str:
        """The sentence with what was changed in brackets: `in [LOC San Francisco → Oslo] .`"""
        words: list[str] = []
        reached = 0
        for old, new in self.changed:
            before = " ".join(self.original.words[old.start : old.end])
            after = " ".join(self.sentence.words[new.start : new.end])
            words += [*self.sentence.words[reached : new.start], f"[{new.label} {before} → {after}]"]
            reached = new.end
        return " ".join([*words, *self.sentence.words[reached:]])


@dataclass(frozen=True, slots=True)
class SideReport:
    """The sentences of one domain: `given` are those used and those left out, each for one reason."""

    name: str  # of the corpus
    given: int
    untagged: int  # no tags
    without_entities: int
    without_donors: int  # entities, but none that the other domain has another one for
    not_sampled: int  # would have done, but fewer were asked for
    used: int
    variants_each: int
    made: int
    short: int  # sentences with fewer variants than asked for: there are no more that differ
    replaced: Mapping[str, int]  # how many entities of each type were replaced
    lonely: Mapping[str, int]  # types that the other domain does not have, and how many entities are of them

    @property
    def wanted(self) -> int:
        return self.used * self.variants_each

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "sentences": self.given,
            "used": self.used,
            "left_out": {
                "untagged": self.untagged,
                "without_entities": self.without_entities,
                "without_donors": self.without_donors,
                "not_sampled": self.not_sampled,
            },
            "variants_each": self.variants_each,
            "wanted": self.wanted,
            "made": self.made,
            "short": self.short,
            "replaced": dict(self.replaced),
            "lonely": dict(self.lonely),
        }


@dataclass(frozen=True, slots=True)
class Augmentation:
    """The new sentences, those of the target first, and the account of both sides. The originals are not among them."""

    variants: tuple[Variant, ...]
    target: SideReport
    source: SideReport
    source_wanted: int | None  # how many source sentences were asked for; None for all
    seed: int

    @property
    def corpus(self) -> Corpus:
        name = f"{self.target.name}×{self.source.name}[anchors, seed {self.seed}]"
        return Corpus.of((variant.sentence for variant in self.variants), name)

    def remarks(self) -> list[str]:
        """What could not be had, in sentences; none if all that was asked for is there."""
        return [
            *_left_out("target", self.target),
            *_left_out("source", self.source, self.source_wanted),
            *_lonely("target", "source", self.target),
            *_lonely("source", "target", self.source),
        ]

    def as_dict(self) -> dict[str, Any]:
        return {
            "sentences": len(self.variants),
            "seed": self.seed,
            "target": self.target.as_dict(),
            "source": self.source.as_dict(),
            "remarks": self.remarks(),
        }


def _left_out(side: Side, report: SideReport, sentences_wanted: int | None = None) -> list[str]:
    if not report.variants_each:
        return []
    told = []
    reasons = {
        "without tags": report.untagged,
        "without entities": report.without_entities,
        "whose entities have no other one of their type in the other domain": report.without_donors,
    }
    left = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items() if count)
    wanted = report.given if sentences_wanted is None else sentences_wanted
    if left and wanted > report.used:
        told.append(f"{side}: {report.used:,} of {report.given:,} sentences could be used; left out: {left}.")
    if sentences_wanted is not None and report.used < sentences_wanted:
        told.append(f"{side}: {sentences_wanted:,} sentences were asked for, and only {report.used:,} can be used.")
    if report.short:
        told.append(
            f"{side}: {report.made:,} of {report.wanted:,} variants; {report.short:,} of {report.used:,} sentences "
            f"have fewer than {report.variants_each:,}: the other domain has too few entities of their types."
        )
    return told


def _lonely(side: Side, other: Side, report: SideReport) -> list[str]:
    if not report.lonely or not report.variants_each:
        return []
    types = ", ".join(f"{label} ({count:,})" for label, count in report.lonely.items())
    return [f"{side}: no entity of the {other} is of type {types}; those entities stay as they are."]

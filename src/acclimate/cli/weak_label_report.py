"""What `weak-label` did, for people and for machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from acclimate.data.concepts.dictionary import ConceptDictionary
from acclimate.data.concepts.labelling import Coverage
from acclimate.data.concepts.mentions import NO_GROUPS, Groups
from acclimate.evaluation.agreement import Agreement
from acclimate.evaluation.table import count
from acclimate.evaluation.tally import ratio


@dataclass(frozen=True)
class WeakLabelReport:
    dictionary: ConceptDictionary | None  # None for another annotator
    groups: Groups
    coverage: Coverage
    agreement: Agreement
    written: Mapping[str, int]
    seconds: float

    def warnings(self) -> Iterator[str]:
        """What a user must hear even with --quiet."""
        for source in self.dictionary.notes.in_capitals if self.dictionary else ():
            yield f"{source}: written in capitals throughout: they tell no abbreviations, and do not count there."
        if not self.coverage.spans:
            yield "Nothing was found: every word is O."
        gold_only, found_only = self.agreement.strangers
        if gold_only and found_only:
            labels = f"the true labels {', '.join(gold_only)} were never given, and {', '.join(found_only)} never true"
            yield f"{labels}: are they the same under other names? --label, --groups or --map can rename them."

    def render(self, most: int) -> str:
        lines = [f"{file}: {count(sentences, 'sentence')}" for file, sentences in self.written.items()]
        if self.dictionary is not None:
            lines += _about_names(self.dictionary, self.groups, most)
        lines += _about_text(self.coverage, self.dictionary, self.groups, self.seconds, most)
        if self.agreement.sentences:
            lines += ["", f"against the true labels of {count(self.agreement.sentences, 'sentence')}:"]
            lines.append(self.agreement.render())
        return "\n".join(lines)

    def as_dict(self, most: int) -> dict[str, Any]:
        found: dict[str, Any] = {"written": dict(self.written), "groups": self.groups.name}
        if self.dictionary is not None:
            notes = self.dictionary.notes
            found["dictionary"] = {
                "concepts": notes.concepts,
                "names": notes.names,
                "names_in_use": len(self.dictionary),
                "twice": notes.twice,
                "too_short": notes.too_short,
                "without_letter": notes.without_letter,
                "left_out": notes.excluded,
                "of_other_types": dict(notes.other_types.most_common()),
                "conflicts": len(notes.conflicts),
                "first_conflicts": [[each.name, each.kept, each.lost] for each in notes.conflicts[:most]],
                "in_capitals": notes.in_capitals,
            }
        found["coverage"] = self.coverage.as_dict(most)
        found["agreement"] = self.agreement.as_dict() if self.agreement.sentences else None
        return {**found, "seconds": round(self.seconds, 2)}


def _about_names(dictionary: ConceptDictionary, groups: Groups, most: int) -> Iterator[str]:
    notes = dictionary.notes
    labels = "labels: the types as they are" if groups.name == NO_GROUPS else f"types to labels: {groups.name}"
    yield f"{count(notes.concepts, 'concept')}, {count(notes.names, 'name')}; {len(dictionary):,} in use; {labels}"
    gone = {
        "twice there": notes.twice,
        "too short": notes.too_short,
        "without a letter": notes.without_letter,
        "left out as asked": notes.excluded,
    }
    told = [f"{number:,} {why}" for why, number in gone.items() if number]
    if told:
        yield f"  not taken: {', '.join(told)}"
    if notes.other_types:
        types = _counted(notes.other_types, most)
        yield f"  dropped, as the map {groups.name} does not label their types: {notes.other_types.total():,} ({types})"
    if notes.conflicts:
        shown = [f"{each.name} ({each.kept}, not {each.lost})" for each in notes.conflicts[:most]]
        rule = "a main name before a synonym, then the first"
        yield f"  {count(len(notes.conflicts), 'name')} with two labels ({rule}): {', '.join(shown) or '…'}"


def _about_text(
    coverage: Coverage, dictionary: ConceptDictionary | None, groups: Groups, seconds: float, most: int
) -> Iterator[str]:
    speed = f"{coverage.words / max(seconds, 1e-9):,.0f} words/s"
    size = f"{count(coverage.sentences, 'sentence')}, {count(coverage.words, 'word')}"
    yield f"{size} in {seconds:,.1f} s ({speed})"
    covered = f"{100 * ratio(coverage.covered_words, coverage.words):.1f} % of the words"
    labelled = f"{100 * ratio(coverage.labelled_sentences, coverage.sentences):.1f} % of the sentences"
    yield f"{count(coverage.spans.total(), 'span')} ({_counted(coverage.spans, None)}): {covered}, in {labelled}"
    of = f" of {len(dictionary):,}" if dictionary is not None else ""
    yield f"  {len(coverage.names):,}{of} names met; by type: {_counted(coverage.types, most)}"
    frequent = [f"{name} {number:,}" for (name, _), number in coverage.names.most_common(most)]
    if frequent:
        yield f"  most frequent: {', '.join(frequent)}"
    if coverage.explained:
        spans = count(coverage.by_abbreviation, "span")
        yield f"  {count(coverage.explained, 'abbreviation')} explained in the text gave {spans}"
    if coverage.overlaps:
        pairs = coverage.overlaps.most_common(most)
        shown = [f"{kept} ({label}), not {lost} ({other}) {times:,}" for (kept, label, lost, other), times in pairs]
        rule = "the longest is kept, then the leftmost"
        yield f"  {coverage.overlaps.total():,} overlaps of two labels ({rule}): {'; '.join(shown) or '…'}"
    if coverage.other_types:
        types = f"{coverage.other_types.total():,} ({_counted(coverage.other_types, most)})"
        yield f"  dropped, as the map {groups.name} does not label their types: {types}"


def _counted(counts: Counter[str], most: int | None) -> str:
    shown = [f"{name} {number:,}" for name, number in counts.most_common(most)]
    left = len(counts) - len(shown)
    return ", ".join([*shown, *([f"{left:,} more"] if left else [])]) or "none"

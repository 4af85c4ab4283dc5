"""What `weak-label` reads, writes and reports: text that is labelled, and judged where true labels are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, tee
from pathlib import Path
from typing import Any

from acclimate.cli.outputs import ReadingBar, warn
from acclimate.cli.reading import ReadingSettings, is_raw_text, read
from acclimate.data.concepts.dictionary import ConceptDictionary
from acclimate.data.concepts.labelling import NO_GROUPS, Coverage, Groups, Labeller
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.selection.text_files import RawText
from acclimate.data.writing import writing_parts
from acclimate.evaluation.agreement import Agreement
from acclimate.evaluation.counts import ratio
from acclimate.spelling import count

_AT_ONCE = 5_000  # sentences


def open_text(name: str, reading: ReadingSettings, bar: ReadingBar) -> RawText | Corpus:
    """Raw text is read as it is labelled. A corpus is read whole, and its tags are only used to judge the labels."""
    if is_raw_text(name, reading):
        return RawText(name, "blanks" if reading.pre_split else "words", reading.paragraphs, bar.show)
    return read(name, reading, tell=warn)


def write_labelled(
    texts: Sequence[RawText | Corpus], labeller: Labeller, agreement: Agreement, out: str
) -> tuple[int, list[Path]]:
    """Label all texts and write them as they come. How many sentences were written, and the files."""
    sentences = (sentence for text in texts for sentence in _labelled(text, labeller, agreement))
    written = 0
    with writing_parts(out) as parts:
        while batch := tuple(islice(sentences, _AT_ONCE)):
            parts.add(Corpus(batch, "weak labels"))
            written += len(batch)
        if not written:
            raise InputError("the text has no sentences. Is it the right file?")
    return written, parts.files


def _labelled(text: RawText | Corpus, labeller: Labeller, agreement: Agreement) -> Iterator[Sentence]:
    """The labelled sentences of a text, judged where true labels are there."""
    true_ones, unlabelled = tee(text.sentences() if isinstance(text, RawText) else text)
    for true, sentence in zip(true_ones, labeller.label(unlabelled), strict=True):
        if isinstance(text, Corpus) and text.kind == "spans" and true.tags is not None:
            labels = {span.label for span in sentence.spans}
            agreement.add(replace(text, sentences=(true,)).open_to(labels)[0], sentence)
        yield sentence


@dataclass(frozen=True)
class WeakLabelReport:
    dictionary: ConceptDictionary
    groups: Groups
    coverage: Coverage
    agreement: Agreement
    out: str
    written: int  # sentences
    seconds: float

    def warnings(self) -> Iterator[str]:
        """What a user must hear even with --quiet."""
        if not self.coverage.spans:
            yield "Nothing was found: every word is O."
        gold_only, found_only = self.agreement.strangers
        if gold_only and found_only:
            yield (
                f"the true labels {', '.join(gold_only)} were never given, and {', '.join(found_only)} never true: "
                "are they the same under other names? --groups, --set label and --set reading.map rename labels."
            )

    def render(self, most: int) -> str:
        lines = [f"{self.out}: {count(self.written, 'sentence')}", *_about_names(self.dictionary, self.groups, most)]
        lines += _about_text(self.coverage, self.dictionary, self.seconds, most)
        if self.agreement.sentences:
            lines += ["", f"against the true labels of {count(self.agreement.sentences, 'sentence')}:"]
            lines.append(self.agreement.render())
        return "\n".join(lines)

    def as_dict(self, most: int) -> dict[str, Any]:
        notes = self.dictionary.notes
        dictionary = {
            "concepts": notes.concepts,
            "names": notes.names,
            "names_in_use": len(self.dictionary),
            "left_out": dict(notes.left_out.most_common()),
            "of_other_types": dict(notes.other_types.most_common()),
            "conflicts": len(notes.conflicts),
            "first_conflicts": [[each.name, each.kept, each.lost] for each in notes.conflicts[:most]],
        }
        return {
            "written": {self.out: self.written},
            "groups": self.groups.name,
            "dictionary": dictionary,
            "coverage": self.coverage.as_dict(most),
            "agreement": self.agreement.as_dict() if self.agreement.sentences else None,
            "seconds": round(self.seconds, 2),
        }


def _about_names(dictionary: ConceptDictionary, groups: Groups, most: int) -> Iterator[str]:
    notes = dictionary.notes
    labels = "labels: the types as they are" if groups.name == NO_GROUPS else f"types to labels: {groups.name}"
    yield f"{count(notes.concepts, 'concept')}, {count(notes.names, 'name')}; {len(dictionary):,} in use; {labels}"
    if notes.left_out:
        yield f"  not taken: {', '.join(f'{number:,} {why}' for why, number in notes.left_out.items())}"
    if notes.other_types:
        types = _counted(notes.other_types, most)
        yield f"  dropped, as the map {groups.name} does not label their types: {notes.other_types.total():,} ({types})"
    if notes.conflicts:
        shown = [f"{each.name} ({each.kept}, not {each.lost})" for each in notes.conflicts[:most]]
        rule = "a main name before a synonym, then the first"
        yield f"  {count(len(notes.conflicts), 'name')} with two labels ({rule}): {', '.join(shown) or '…'}"


def _about_text(coverage: Coverage, dictionary: ConceptDictionary, seconds: float, most: int) -> Iterator[str]:
    speed = f"{coverage.words / max(seconds, 1e-9):,.0f} words/s"
    size = f"{count(coverage.sentences, 'sentence')}, {count(coverage.words, 'word')}"
    yield f"{size} in {seconds:,.1f} s ({speed})"
    covered = f"{100 * ratio(coverage.covered_words, coverage.words):.1f} % of the words"
    labelled = f"{100 * ratio(coverage.labelled_sentences, coverage.sentences):.1f} % of the sentences"
    yield f"{count(coverage.spans.total(), 'span')} ({_counted(coverage.spans, None)}): {covered}, in {labelled}"
    yield f"  {len(coverage.names):,} of {len(dictionary):,} names met"
    frequent = [f"{name} {number:,}" for (name, _), number in coverage.names.most_common(most)]
    if frequent:
        yield f"  most frequent: {', '.join(frequent)}"
    if coverage.explained:
        spans = count(coverage.by_abbreviation, "span")
        yield f"  {count(coverage.explained, 'abbreviation')} explained in the text gave {spans}"


def _counted(counts: Counter[str], most: int | None) -> str:
    shown = [f"{name} {number:,}" for name, number in counts.most_common(most)]
    left = len(counts) - len(shown)
    return ", ".join([*shown, *([f"{left:,} more"] if left else [])]) or "none"

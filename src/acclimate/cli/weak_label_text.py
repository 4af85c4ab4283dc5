"""What `weak-label` reads, reports and writes: text, judged where true labels are there, and files of its parts."""

from __future__ import annotations

import codecs
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from acclimate.cli.outputs import LabellingBar, check_place_to_write, remark_on_folder
from acclimate.cli.reading import ReadingSettings, is_bundled, read
from acclimate.data.concepts.dictionary import ConceptDictionary
from acclimate.data.concepts.labelling import NO_GROUPS, Coverage, Groups, Labeller
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.readers.source import Tokenize, inner_name
from acclimate.data.selection.likeness import detected_format
from acclimate.data.selection.text_files import RawText
from acclimate.data.writers.formats import WRITERS
from acclimate.data.writers.shared import atomic_file
from acclimate.data.writing import write_corpus
from acclimate.evaluation.agreement import Agreement
from acclimate.evaluation.counts import ratio
from acclimate.spelling import count

_AT_ONCE = 5_000  # sentences
_NO_SENTENCES = "the text has no sentences. Is it the right file?"
_STREAMED = {".conll": "conll", ".jsonl": "jsonl"}  # formats without a beginning and an end


class Stream:
    """Raw text is read as it is labelled. A corpus is read whole, and its tags are only used to judge the labels."""

    def __init__(
        self, names: Sequence[str], reading: ReadingSettings, bar: LabellingBar, tell: Callable[[str], Any]
    ) -> None:
        self.agreement = Agreement()
        self.bar = bar
        self.texts = [_opened(name, reading, tell) for name in names]
        self._read: deque[tuple[Sentence, Corpus | None]] = deque()  # sentences, and the corpus with their true tags

    def judged(self, labeller: Labeller) -> Iterator[Sentence]:
        """The labelled sentences of all texts."""
        for text in self.texts:
            for sentence in labeller.label(self._sentences(text)):
                true, corpus = self._read.popleft()
                if true.tags is not None and corpus is not None:
                    labels = {span.label for span in sentence.spans}
                    self.agreement.add(replace(corpus, sentences=(true,)).open_to(labels)[0], sentence)
                yield sentence

    def _sentences(self, text: RawText | Corpus) -> Iterator[Sentence]:
        before, size = self.bar.done, text.size if isinstance(text, RawText) else len(text)
        self.bar.begin(text.path.name if isinstance(text, RawText) else text.name, size)

        def watch(stored: int, of: int = 0, bytes_of_text: int = 0) -> None:
            self.bar.done = before + stored

        if isinstance(text, RawText):
            text.watch = watch
        sentences = text.sentences() if isinstance(text, RawText) else iter(text)
        gold = text if isinstance(text, Corpus) and text.kind == "spans" else None
        for number, sentence in enumerate(sentences, start=1):
            self._read.append((sentence, gold))
            yield sentence
            if isinstance(text, Corpus):
                watch(number)
            self.bar.advance(len(sentence))

    def warnings(self) -> Iterator[str]:
        for text in self.texts:
            if isinstance(text, RawText) and text.lines_too_long:
                lines = count(text.lines_too_long, "line")
                yield f"{text.path}: {lines} of more than a megabyte: left out, as no sentence is so long."


def _opened(name: str, reading: ReadingSettings, tell: Callable[[str], Any]) -> RawText | Corpus:
    if not is_bundled(name) and name != "-" and Path(name).exists():
        # who speaks of paragraphs means text, though each line may have as many words as the next, like a table
        running = reading.paragraphs and inner_name(name).endswith(".txt")
        if (reading.format or ("text" if running else detected_format(name))) == "text":
            tokenize: Tokenize = "blanks" if reading.pre_split else "words"
            return RawText(name, tokenize, reading.paragraphs)
    return read(name, reading, tell=tell)


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
            yield (
                f"the true labels {', '.join(gold_only)} were never given, and {', '.join(found_only)} never true: "
                "are they the same under other names? --label, --groups and --set reading.map rename labels."
            )

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
                **{key: number for key, (_, number) in _not_taken(notes).items()},
                "of_other_types": dict(notes.other_types.most_common()),
                "conflicts": len(notes.conflicts),
                "first_conflicts": [[each.name, each.kept, each.lost] for each in notes.conflicts[:most]],
                "in_capitals": notes.in_capitals,
            }
        found["coverage"] = self.coverage.as_dict(most)
        found["agreement"] = self.agreement.as_dict() if self.agreement.sentences else None
        return {**found, "seconds": round(self.seconds, 2)}


def _not_taken(notes: Any) -> dict[str, tuple[str, int]]:
    """Why names of a dictionary were left out, and how many."""
    return {
        "twice": ("twice there", notes.twice),
        "too_short": ("too short", notes.too_short),
        "without_letter": ("without a letter", notes.without_letter),
        "left_out": ("left out as asked", notes.excluded),
    }


def _about_names(dictionary: ConceptDictionary, groups: Groups, most: int) -> Iterator[str]:
    notes = dictionary.notes
    labels = "labels: the types as they are" if groups.name == NO_GROUPS else f"types to labels: {groups.name}"
    yield f"{count(notes.concepts, 'concept')}, {count(notes.names, 'name')}; {len(dictionary):,} in use; {labels}"
    reasons = [f"{number:,} {why}" for why, number in _not_taken(notes).values() if number]
    if reasons:
        yield f"  not taken: {', '.join(reasons)}"
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


class LabelledFile:
    """The file that the user names. CoNLL and JSONL are written as the sentences come, other formats at the end."""

    def __init__(self, out: str, overwrite: bool, inputs: Sequence[str | None] = ()) -> None:
        self.out = out
        self.written: dict[str, int] = {}  # sentences by file
        self.remark = ""  # on other files in a folder
        check_place_to_write("--out", out, overwrite, inputs, has_tags=True)

    def write(self, sentences: Iterator[Sentence]) -> None:
        format = _STREAMED.get(Path(inner_name(self.out)).suffix.lower())
        if format is not None:
            self._stream(sentences, format)
            return
        corpus = Corpus.of(sentences, "weak labels")
        if not len(corpus):
            raise InputError(_NO_SENTENCES)
        self.remark = remark_on_folder(self.out, write_corpus(corpus, self.out))
        self.written[self.out] = len(corpus)

    def _stream(self, sentences: Iterator[Sentence], format: str) -> None:
        written = 0
        with atomic_file(self.out) as file:
            while batch := tuple(islice(sentences, _AT_ONCE)):
                data = WRITERS[format](Corpus(batch, "weak labels"), "IOB2")
                # a byte-order mark is doubled at the beginning of a file, where readers take one away; only there
                file.write(data.removeprefix(codecs.BOM_UTF8) if written else data)
                written += len(batch)
            if not written:
                raise InputError(_NO_SENTENCES)
        self.written[self.out] = written

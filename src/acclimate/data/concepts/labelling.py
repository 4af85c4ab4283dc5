"""Weak labels: mentions that an annotator finds become spans of a corpus, or of a stream of raw text.

Of overlapping mentions the one with more words wins, then the one that begins first, then the one found first.
What lost to a mention of another label is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from acclimate.data.concepts.mentions import NO_TYPE, Abbreviations, Annotator, Groups, Mention
from acclimate.data.corpus import Sentence
from acclimate.data.problems import InputError, Place
from acclimate.data.readers.source import Tokenize, inner_name
from acclimate.data.schemes import Span
from acclimate.data.selection.text_files import cut_into_pieces, read_blocks
from acclimate.data.words import find_blank_separated, find_sentences, find_words, grouped


class RawText:
    """The sentences of a text file (plain, .gz or .xz) or of a folder of .txt files: a line each, or, with
    `paragraphs`, what the lines are split into; a line is then a document. Each file of a folder is one, too.

    `lines_left_out` counts lines of more than a megabyte, which are no sentences.
    """

    def __init__(self, path: str | Path, *, paragraphs: bool = False, tokenize: Tokenize = "words") -> None:
        self.path = Path(path)
        self.paragraphs = paragraphs
        self.lines_left_out = 0
        self._find_words = find_blank_separated if tokenize == "blanks" else find_words
        self.files = self._text_files() if self.path.is_dir() else [self.path]
        self.size = sum(piece.size for piece in cut_into_pieces(self.files))

    def sentences(self, watch: Callable[[int], None] = lambda stored: None) -> Iterator[Sentence]:
        """`watch` hears how many bytes of the files have been read, as they are on disk."""
        before = 0
        for file in self.files:
            number = 0
            for piece in cut_into_pieces([file]):
                for block in read_blocks(piece):
                    self.lines_left_out += block.left_out
                    lines = block.text.decode("utf-8").split("\n")
                    # a block that left out a long line has it at its end
                    for line in lines[:-1] if not lines[-1] else lines:
                        number += 1
                        yield from self._of_line(line.removesuffix("\r"), file, number)
                    number += block.left_out
                    watch(before + block.stored)
                before += piece.size

    def _of_line(self, line: str, file: Path, number: int) -> Iterator[Sentence]:
        words = self._find_words(line)
        document = inner_name(file.name).removesuffix(".txt") if self.path.is_dir() else None
        if self.paragraphs and document is None:
            document = f"line {number}"
        for first, last in grouped(words, find_sentences(line) if self.paragraphs else []):
            offsets = tuple(words[first:last])
            words_of_sentence = tuple(line[start:end] for start, end in offsets)
            yield Sentence(words_of_sentence, None, line, offsets, Place(str(file), number), document)

    def _text_files(self) -> list[Path]:
        files = sorted(path for path in self.path.iterdir() if inner_name(path.name).endswith(".txt"))
        if not files:
            raise InputError("the folder has no .txt files.", file=self.path)
        return files


_AT_ONCE = 512  # sentences handed to the annotator together


@dataclass
class Coverage:
    """What was met in the text."""

    sentences: int = 0
    labelled_sentences: int = 0
    words: int = 0
    covered_words: int = 0
    spans: Counter[str] = field(default_factory=Counter)  # by label
    types: Counter[str] = field(default_factory=Counter)  # spans by semantic type
    names: Counter[tuple[str, str]] = field(default_factory=Counter)  # spans by name and label
    overlaps: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)  # name and label, then the lost one's
    other_types: Counter[str] = field(default_factory=Counter)  # findings left out, by the type that has no label
    explained: int = 0  # abbreviations that the text explains
    by_abbreviation: int = 0  # spans that were found by them

    def as_dict(self, most: int = 20) -> dict[str, Any]:
        """Plain JSON types; of the lists, the most frequent."""
        return {
            "sentences": self.sentences,
            "labelled_sentences": self.labelled_sentences,
            "words": self.words,
            "covered_words": self.covered_words,
            "spans": dict(self.spans.most_common()),
            "spans_by_type": dict(self.types.most_common()),
            "names_found": len(self.names),
            "most_frequent": [[name, label, count] for (name, label), count in self.names.most_common(most)],
            "overlaps": self.overlaps.total(),
            "most_overlapping": [[*pair, count] for pair, count in self.overlaps.most_common(most)],
            "findings_of_other_types": dict(self.other_types.most_common()),
            "abbreviations_explained": self.explained,
            "spans_by_abbreviation": self.by_abbreviation,
        }


class Labeller:
    """Labels sentences one after another; `coverage` tells how it went so far. Sentences must come in their order."""

    def __init__(self, annotator: Annotator, groups: Groups, *, abbreviations: bool = True) -> None:
        self.annotator = annotator
        self.groups = groups
        self.coverage = Coverage()
        self._abbreviations = Abbreviations() if abbreviations else None

    def label(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """The sentences with IOB2 tags. Tags that they have are taken away before anybody looks at them."""
        waiting = (sentence.with_tags(None) for sentence in sentences)
        while batch := list(islice(waiting, _AT_ONCE)):
            for sentence, mentions in zip(batch, self.annotator.annotate(batch), strict=True):
                yield self._labelled(sentence, mentions)

    def _labelled(self, sentence: Sentence, mentions: Iterable[Mention]) -> Sentence:
        own = [mention for mention in mentions if self._has_label(mention)]
        chosen = choose(own)
        if self._abbreviations is not None:
            chosen = self._with_abbreviations(self._abbreviations, sentence, own, chosen)
        self._count_overlaps(own, chosen)
        spans = [Span(mention.start, mention.end, self._label(mention)) for mention in chosen]
        self._count(sentence, chosen, spans)
        return sentence.with_spans(spans)

    def _with_abbreviations(
        self, known: Abbreviations, sentence: Sentence, own: Sequence[Mention], chosen: list[Mention]
    ) -> list[Mention]:
        known.begin(sentence)
        if known.learn(sentence.words, chosen):
            self.coverage.explained = known.count
        more = list(known.find(sentence.words))
        if not more:
            return chosen
        places = {(mention.start, mention.end) for mention in own}
        chosen = choose([*own, *more])
        self.coverage.by_abbreviation += sum((mention.start, mention.end) not in places for mention in chosen)
        return chosen

    def _has_label(self, mention: Mention) -> bool:
        type, label = self.groups.choose(mention.types)
        if label is None:
            self.coverage.other_types[type or NO_TYPE] += 1
        return label is not None

    def _label(self, mention: Mention) -> str:
        return self.groups.choose(mention.types)[1] or ""

    def _count_overlaps(self, mentions: Sequence[Mention], chosen: Sequence[Mention]) -> None:
        for lost in (mention for mention in mentions if mention not in chosen):
            other = next((other for other in chosen if other.start < lost.end and lost.start < other.end), None)
            if other is not None and self._label(other) != self._label(lost):
                self.coverage.overlaps[other.name, self._label(other), lost.name, self._label(lost)] += 1

    def _count(self, sentence: Sentence, chosen: Sequence[Mention], spans: Sequence[Span]) -> None:
        coverage = self.coverage
        coverage.sentences += 1
        coverage.labelled_sentences += bool(spans)
        coverage.words += len(sentence)
        coverage.covered_words += sum(map(len, chosen))
        coverage.spans.update(span.label for span in spans)
        coverage.types.update(self.groups.choose(mention.types)[0] or NO_TYPE for mention in chosen)
        coverage.names.update((mention.name, span.label) for mention, span in zip(chosen, spans, strict=True))


def choose(mentions: Sequence[Mention]) -> list[Mention]:
    """Findings that do not overlap, in the order of the text: the longest first, then the leftmost."""
    if len(mentions) < 2:
        return list(mentions)
    taken: set[int] = set()
    chosen: list[Mention] = []
    for mention in sorted(mentions, key=lambda mention: (-len(mention), mention.start)):
        places = range(mention.start, mention.end)
        if taken.isdisjoint(places):
            taken.update(places)
            chosen.append(mention)
    return sorted(chosen, key=lambda mention: mention.start)

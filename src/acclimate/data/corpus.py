"""The corpus: sentences of words with or without one tag per word, their labels, and where they came from."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, overload

from acclimate.data.problems import InputError, Place, Skipped
from acclimate.data.schemes import (
    ANY_LABEL,
    OUTSIDE,
    Scheme,
    Span,
    has_open_tags,
    hidden_labels,
    keep_open,
    open_tag,
    spans_from_tags,
    split_tag,
    tags_from_spans,
)
from acclimate.data.words import find_words

Kind = Literal["spans", "plain"]
Distribution = tuple[tuple[str, float], ...]
"""Tags of one word and their probabilities, which add up to 1."""


def kind_of_tags(kind: str) -> str:
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


_NOWHERE = Place()


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words with or without tags: IOB2 tags, or plain ones such as POS.

    An open tag (`O|LOC`) stands where nobody annotated some labels (`schemes`). `text` is the string in which the
    sentence was found, and `offsets` are the words' places in it. Sentences of one document share the text.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...] | None = None
    text: str | None = None
    offsets: tuple[tuple[int, int], ...] | None = None
    place: Place = _NOWHERE
    document: str | None = None  # an identifier; sentences of one document carry the same
    source: str | None = None  # the corpus it came from, where several were joined
    probabilities: tuple[Distribution, ...] | None = None  # soft labels (`soft_labels`); `tags` are then the likeliest

    def __post_init__(self) -> None:
        if not self.words:
            raise ValueError(f"{self.place}: a sentence needs at least one word.")
        for name, values in (("tags", self.tags), ("offsets", self.offsets), ("probabilities", self.probabilities)):
            if values is not None and len(values) != len(self.words):
                raise ValueError(f"{self.place}: {len(self.words)} words but {len(values)} {name}.")
        if self.probabilities is not None and self.tags is None:
            raise ValueError(f"{self.place}: probabilities without tags. See acclimate.data.soft_labels.softened.")

    def __len__(self) -> int:
        return len(self.words)

    @property
    def spans(self) -> list[Span]:
        """The labelled spans, in order (only for span tags, and none without tags)."""
        return [] if self.tags is None else spans_from_tags(self.tags)

    def with_tags(self, tags: Sequence[str] | None) -> Sentence:
        """Other tags, which are certain."""
        return replace(self, tags=None if tags is None else tuple(tags), probabilities=None)

    def with_words(self, words: Sequence[str], tags: Sequence[str] | None) -> Sentence:
        """Other words in the same place, without text and offsets. Soft labels stay where the tags are the same."""
        words, tags = tuple(words), None if tags is None else tuple(tags)
        kept = self.probabilities if tags == self.tags else None
        return replace(self, words=words, tags=tags, text=None, offsets=None, probabilities=kept)

    def with_spans(self, spans: Iterable[Span]) -> Sentence:
        """Other spans; words outside of them that were open stay so."""
        tags = tags_from_spans(spans, len(self.words))
        return self.with_tags(tags if self.tags is None else keep_open(tags, self.tags))

    def open_to(self, labels: tuple[str, ...]) -> Sentence:
        """The sentence with open tags: every word that is O may hide one of these labels."""
        if self.probabilities is not None:
            raise InputError(
                f"guesses with scores cannot be open to labels, and nobody looked for {', '.join(labels)} here. If "
                "somebody did, say so (annotates), or take the likeliest tags: acclimate data convert GUESSES.jsonl "
                "TAGS.conll.",
                place=self.place,
            )
        tag = open_tag(labels)
        return self.with_tags(self.tags and [tag if each == OUTSIDE else each for each in self.tags])

    @property
    def is_open(self) -> bool:
        """Whether any word may hide a label that was not annotated."""
        return has_open_tags(self.tags)


@dataclass(frozen=True, slots=True)
class BorderMiss:
    """A character span that begins or ends inside a word, and what became of it."""

    place: Place
    start: int
    end: int
    label: str
    text: str
    outcome: str  # "the word was split", "expanded", "dropped"

    def __str__(self) -> str:
        span = f"{self.label} {self.text!r} ({self.start}:{self.end})"
        return f"{self.place}: {span} misses word borders; {self.outcome}."


@dataclass(frozen=True, slots=True)
class AnnotatorNote:
    """Whose guesses were pooled, and what they weigh (`pooling`)."""

    name: str
    sentences: int
    reliability: float
    weight: float

    def __str__(self) -> str:
        return f"{self.name} {self.reliability:.2f} (weight {self.weight:.2f})"


@dataclass(frozen=True, slots=True)
class ReadingNotes:
    """How a corpus was read: its format and scheme, and everything that was changed or left out."""

    format: str = "memory"
    scheme: str | None = None  # as the file spells it; inside it is IOB2
    repaired: int = 0  # tags that broke the scheme and were read as the start of a span
    skipped: tuple[Skipped, ...] = ()
    border_misses: tuple[BorderMiss, ...] = ()
    remarks: tuple[str, ...] = ()
    annotators: tuple[AnnotatorNote, ...] = ()  # where guesses of several were pooled

    def __add__(self, other: ReadingNotes) -> ReadingNotes:
        sums = {
            name: getattr(self, name) + getattr(other, name)
            for name in ("repaired", "skipped", "border_misses", "remarks", "annotators")
        }
        format = self.format if self.format == other.format else "several"
        return ReadingNotes(format, self.scheme if self.scheme == other.scheme else "several", **sums)


@dataclass(frozen=True)
class Corpus(Sequence[Sentence]):
    """Sentences of one domain and one task. Immutable: every method returns a new corpus.

    `annotates` are the labels that were annotated, if that is known. A word without a span may hide any other.
    """

    sentences: tuple[Sentence, ...]
    name: str = "corpus"
    kind: Kind = "spans"
    notes: ReadingNotes = field(default=ReadingNotes(), compare=False, repr=False)
    annotates: tuple[str, ...] | None = None

    @classmethod
    def of(cls, sentences: Iterable[Sentence], name: str = "corpus", kind: Kind = "spans") -> Corpus:
        return cls(tuple(sentences), name, kind)

    @classmethod
    def of_texts(cls, texts: Iterable[str | Sequence[str]], name: str = "text") -> Corpus:
        """A sentence for each text: a string, whose words are found, or a sequence of words."""
        return cls(tuple(_sentence_of(text, number) for number, text in enumerate(texts)), name)

    def __len__(self) -> int:
        return len(self.sentences)

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    @overload
    def __getitem__(self, index: int) -> Sentence: ...
    @overload
    def __getitem__(self, index: slice) -> Corpus: ...
    def __getitem__(self, index: int | slice) -> Sentence | Corpus:
        return self.sentences[index] if isinstance(index, int) else self._with(self.sentences[index])

    def __add__(self, other: Corpus) -> Corpus:
        """Both, one after the other. A labelled and an unlabelled corpus may be joined; two kinds of tags may not."""
        if self.is_labelled and other.is_labelled and self.kind != other.kind:
            kinds = f"{self.name} has {kind_of_tags(self.kind)} and {other.name} {kind_of_tags(other.kind)}"
            raise ValueError(f"{kinds}; keep them apart.")
        kind = self.kind if self.is_labelled or not other.is_labelled else other.kind
        one, two, annotates = self, other, self.annotates
        if self.annotates != other.annotates:  # each word then says for itself what it may hide
            labels = self.labels.names + other.labels.names + (self.annotates or ()) + (other.annotates or ())
            one, two, annotates = self.open_to(labels), other.open_to(labels), None
        name, notes = f"{self.name}+{other.name}", self.notes + other.notes
        return Corpus(one.sentences + two.sentences, name, kind, notes, annotates)

    def __repr__(self) -> str:
        labels = ", ".join(f"{name} {count}" for name, count in sorted(self.label_counts.items()))
        return f"Corpus({self.name!r}, {len(self):,} sentences, {self.word_count:,} words, {labels or 'no labels'})"

    @property
    def is_labelled(self) -> bool:
        """Whether any sentence carries tags."""
        return any(sentence.tags is not None for sentence in self.sentences)

    @cached_property
    def word_count(self) -> int:
        return sum(map(len, self.sentences))

    @cached_property
    def label_counts(self) -> Counter[str]:
        """How many spans (or words, for plain tags) carry each label."""
        if self.kind == "plain":
            return Counter(tag for sentence in self.sentences for tag in sentence.tags or ())
        return Counter(span.label for sentence in self.sentences for span in sentence.spans)

    @cached_property
    def labels(self) -> LabelSet:
        """The labels that occur, be it only as a less likely guess."""
        guessed = {tag for sentence in self.sentences for row in sentence.probabilities or () for tag, _ in row}
        return LabelSet.of((*self.label_counts, *(label for tag in guessed if (label := split_tag(tag)[1]))), self.kind)

    @cached_property
    def guess_count(self) -> int:
        """How many sentences have soft labels."""
        return sum(sentence.probabilities is not None for sentence in self.sentences)

    @cached_property
    def soft_word_count(self) -> int:
        """How many words may have more than one tag, by their soft labels."""
        return sum(len(row) > 1 for sentence in self.sentences for row in sentence.probabilities or ())

    @cached_property
    def hidden_labels(self) -> LabelSet:
        """The labels that open tags name."""
        return LabelSet.of(self.open_words.keys() - {ANY_LABEL})

    @cached_property
    def open_words(self) -> Counter[str]:
        """How many words may hide each label; `*` stands for any label at all."""
        tags = Counter(tag for sentence in self.sentences if sentence.is_open for tag in sentence.tags or ())
        counts: Counter[str] = Counter()
        for tag, times in tags.items():
            counts.update(dict.fromkeys(hidden_labels(tag), times))
        return counts

    @cached_property
    def vocabulary(self) -> Counter[str]:
        """How often each word occurs, as it is written."""
        return Counter(word for sentence in self.sentences for word in sentence.words)

    @cached_property
    def fingerprint(self) -> str:
        """A checksum of all words and tags: a resumed run must have the same data."""
        digest = hashlib.sha256(b"" if self.annotates is None else repr(self.annotates).encode())
        for sentence in self.sentences:
            soft = () if sentence.probabilities is None else (sentence.probabilities,)
            digest.update(repr((sentence.words, sentence.tags, *soft)).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def open_to(self, labels: Iterable[str]) -> Corpus:
        """The corpus as part of a task with these labels: those it does not annotate may hide where a word is O."""
        missing = () if self.annotates is None else tuple(sorted(set(labels) - set(self.annotates)))
        if not missing or self.kind == "plain":
            return replace(self, annotates=None)
        return replace(self.map(lambda sentence: sentence.open_to(missing)), annotates=None)

    def unlabelled(self) -> Corpus:
        """The same text without its tags."""
        return self.map(lambda sentence: sentence.with_tags(None))

    def likeliest(self) -> Corpus:
        """The same with one tag per word: soft labels become their likeliest tags."""
        return self.map(lambda one: one if one.probabilities is None else one.with_tags(one.tags))

    def labelled(self) -> Corpus:
        """Only the sentences that carry tags."""
        return self.filter(lambda sentence: sentence.tags is not None)

    def map(self, change: Callable[[Sentence], Sentence]) -> Corpus:
        return self._with(tuple(change(sentence) for sentence in self.sentences))

    def filter(self, keep: Callable[[Sentence], bool]) -> Corpus:
        return self._with(tuple(sentence for sentence in self.sentences if keep(sentence)))

    def select(self, numbers: Iterable[int]) -> Corpus:
        """The sentences of these numbers, in that order."""
        return self._with(tuple(self.sentences[number] for number in numbers))

    def with_tags(self, tags: Iterable[Sequence[str]]) -> Corpus:
        """The same words under other tags, one list per sentence."""
        return self._with(tuple(sentence.with_tags(row) for sentence, row in zip(self.sentences, tags, strict=True)))

    def renamed(self, name: str) -> Corpus:
        return replace(self, name=name)

    def _with(self, sentences: tuple[Sentence, ...]) -> Corpus:
        return Corpus(sentences, self.name, self.kind, self.notes, self.annotates)


def _sentence_of(text: str | Sequence[str], number: int) -> Sentence:
    if isinstance(text, str):
        offsets = tuple(find_words(text))
        if offsets:
            return Sentence(tuple(text[start:end] for start, end in offsets), None, text, offsets)
    elif len(text):
        return Sentence(tuple(text))
    raise InputError(f"text number {number} (counted from 0) holds no word. Leave such texts out.")

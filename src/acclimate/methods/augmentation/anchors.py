"""New sentences between two domains: an entity gives way to one of the same type from the other (PDALN, section 4.1.1).
Tags are right as far as both domains mean the same by a type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from math import prod
from random import Random
from typing import Any, Literal

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.mapping import shared_labels
from acclimate.data.problems import InputError
from acclimate.data.schemes import OUTSIDE, Scheme, Span, detect_scheme, keep_open, tags_from_spans
from acclimate.data.sources import all_labels
from acclimate.data.subsets import take_sentences
from acclimate.methods.contrastive import shuffled
from acclimate.methods.word_edits import Edited, WordEdit, noted_row, spread
from acclimate.spelling import argument, either

Mention = tuple[str, ...]  # the words of an entity, as they are written


def mentions(corpus: Corpus) -> dict[str, tuple[Mention, ...]]:
    """The different entities of each type, in the order in which they first occur."""
    by_label: dict[str, dict[Mention, None]] = {}
    for sentence in corpus:
        for span in sentence.spans:
            by_label.setdefault(span.label, {})[sentence.words[span.start : span.end]] = None
    return {label: tuple(by_label[label]) for label in sorted(by_label)}


Choice = Mapping[Span, Mention]
"""Entities of a sentence, and what takes their place."""


def replace_entities(sentence: Sentence, choice: Choice, scheme: Scheme = "IOB2") -> Sentence:
    """The sentence with other entities of the same type in place of some, and tags for the new length."""
    words: list[str] = []
    spans: list[Span] = []
    outside: list[str] = []  # the tags of words outside of spans, which may be open
    reached, tags = 0, sentence.tags or (OUTSIDE,) * len(sentence)
    for span in sentence.spans:
        words += sentence.words[reached : span.start]
        filling = choice.get(span, sentence.words[span.start : span.end])
        spans.append(Span(len(words), len(words) + len(filling), span.label))
        words += filling
        outside += (*tags[reached : span.start], *(OUTSIDE for _ in filling))
        reached = span.end
    words += sentence.words[reached:]
    outside += tags[reached:]
    return sentence.with_words(words, keep_open(tags_from_spans(spans, len(words), scheme), outside))


class Donors:
    """The entities of the other domain by type, and for each entity those that may take its place. Rows are not copied:
    there may be a hundred thousand of a type."""

    def __init__(self, mentions: Mapping[str, Sequence[Mention]]) -> None:
        self.mentions = mentions
        self._places = {label: {one: place for place, one in enumerate(row)} for label, row in mentions.items()}

    def for_sentence(self, sentence: Sentence) -> dict[Span, Sequence[Mention]]:
        """For each entity that has any, the other entities of its type."""
        pairs = [(span, self.for_mention(span.label, sentence.words[span.start : span.end])) for span in sentence.spans]
        return {span: fitting for span, fitting in pairs if len(fitting)}

    def for_mention(self, label: str, own: Mention) -> Sequence[Mention]:
        row = self.mentions.get(label, ())
        place = self._places.get(label, {}).get(own)
        return row if place is None else _AllBut(row, place)


class _AllBut(Sequence[Mention]):
    """A sequence less one of its items."""

    def __init__(self, items: Sequence[Mention], left_out: int) -> None:
        self._items, self._left_out = items, left_out

    def __len__(self) -> int:
        return len(self._items) - 1

    def __getitem__(self, place: int) -> Mention:  # type: ignore[override]
        number = range(len(self))[place]
        return self._items[number + (number >= self._left_out)]


def draw_one(donors: Mapping[Span, Sequence[Mention]], dice: Random) -> Iterator[Choice]:
    """Choices that replace one entity each, in turns over the entities."""
    spans = list(donors)
    order = [spans[number] for number in shuffled(len(spans), dice)]
    numbers = {span: shuffled(len(donors[span]), dice) for span in order}
    for _ in range(max(map(len, donors.values()), default=0)):
        for span in order:
            number = next(numbers[span], None)
            if number is not None:
                yield {span: donors[span][number]}


def draw_all(donors: Mapping[Span, Sequence[Mention]], dice: Random) -> Iterator[Choice]:
    """Choices that replace all entities at once."""
    for number in shuffled(prod(map(len, donors.values())), dice):
        choice = {}
        for span, fitting in donors.items():
            number, place = divmod(number, len(fitting))
            choice[span] = fitting[place]
        yield choice


Side = Literal["target", "source"]


@dataclass(frozen=True, slots=True)
class Variant:
    """A new sentence, the one it was made from, and what was replaced there."""

    side: Side  # whose sentence it was; the donors are the other domain's
    sentence: Sentence
    original: Sentence
    choice: Choice

    def __str__(self) -> str:
        """The sentence with what was changed in brackets: `in [LOC San Francisco → Oslo] .`"""
        words: list[str] = []
        reached = 0
        for span, donor in sorted(self.choice.items()):
            before = " ".join(self.original.words[span.start : span.end])
            words += [*self.original.words[reached : span.start], f"[{span.label} {before} → {' '.join(donor)}]"]
            reached = span.end
        return " ".join([*words, *self.original.words[reached:]])


def noted_variant(variant: Variant) -> dict[str, Any]:
    """The original with the entities that were replaced, each with its donor."""
    edits = [WordEdit(span.start, span.end, donor, span.label) for span, donor in sorted(variant.choice.items())]
    return noted_row(variant.original.words, edits, variant.side)


@dataclass(frozen=True, slots=True)
class SideReport:
    """Counts for the sentences of one domain."""

    name: str  # of the corpus
    sentences: int
    usable: int  # with an entity that the other domain has another one for
    used: int
    variants_each: int
    made: int
    short: int  # sentences with fewer variants than asked for: there are no more that differ
    replaced: Mapping[str, int]  # how many entities of each type were replaced
    lonely: Mapping[str, int]  # types that the other domain does not have, and how many entities are of them

    def remarks(self, side: Side, wanted: int | None = None) -> list[str]:
        """Warnings about what was asked for and could not be made. `wanted` are sentences; None: all."""
        if not self.variants_each:
            return []
        remarks = []
        if self.usable < (self.sentences if wanted is None else wanted):
            remarks.append(
                f"{self.usable:,} of {self.sentences:,} sentences can be used: they have an entity that the other "
                f"domain has another one for{f'; {wanted:,} were asked for' if wanted is not None else ''}."
            )
        if self.short:
            remarks.append(
                f"{self.made:,} of {self.used * self.variants_each:,} variants; {self.short:,} of {self.used:,} "
                f"sentences have fewer than {self.variants_each:,}: the other domain has too few entities of their "
                "types."
            )
        if self.lonely:
            types = ", ".join(f"{label} ({count:,})" for label, count in self.lonely.items())
            other = "source" if side == "target" else "target"
            remarks.append(f"no entity of the {other} is of type {types}; those entities stay as they are.")
        return [f"{side}: {remark}" for remark in remarks]


@dataclass(frozen=True, slots=True)
class Augmentation:
    """The new sentences, those of the target first, and the counts of both sides."""

    variants: tuple[Variant, ...]
    target: SideReport
    source: SideReport
    source_wanted: int | None  # how many source sentences were asked for; None for all
    seed: int

    @property
    def corpus(self) -> Corpus:
        name = f"{self.target.name}×{self.source.name}[anchors, seed {self.seed}]"
        return Corpus.of((variant.sentence for variant in self.variants), name)

    def edited(self) -> Edited:
        """What notes a few of the new sentences."""
        return Edited("anchors", [noted_variant(variant) for variant in spread(self.variants)])

    def remarks(self) -> list[str]:
        return [*self.target.remarks("target"), *self.source.remarks("source", self.source_wanted)]

    def as_dict(self) -> dict[str, Any]:
        return {
            "sentences": len(self.variants),
            "seed": self.seed,
            "target": asdict(self.target),
            "source": asdict(self.source),
            "remarks": self.remarks(),
        }


def augment_with_anchors(
    source: Corpus,
    target: Corpus,
    *,
    target_variants: int = 4,
    source_variants: int = 2,
    source_sentences: int | None = 500,
    ratio: float | None = None,
    all_entities: bool = False,
    seed: int = 1,
) -> Augmentation:
    """Variants of each labelled target sentence, and of a random sample of the source sentences (None: all; `ratio`: so
    many for each target sentence). Donors are all entities of the other corpus; `all_entities` exchanges every entity
    of a sentence. No variant has the words of another sentence."""
    if not max(target_variants, source_variants):
        raise InputError("no variants are asked for, neither of target sentences nor of source sentences.")
    _require_entities(source, target)
    labels = all_labels([source, target])
    source, target = source.open_to(labels), target.open_to(labels)
    if ratio is not None:
        source_sentences = round(ratio * len(target.labelled()))
    taken = {sentence.words for corpus in (source, target) for sentence in corpus}
    draw = _Draw(all_entities, seed, taken)
    from_target, target_report = draw.side("target", target, Donors(mentions(source)), target_variants, None)
    from_source, source_report = draw.side(
        "source", source, Donors(mentions(target)), source_variants, source_sentences
    )
    return Augmentation((*from_target, *from_source), target_report, source_report, source_sentences, seed)


@dataclass(slots=True)
class _Draw:
    all_entities: bool
    seed: int
    taken: set[tuple[str, ...]]  # texts that exist already

    def side(
        self, side: Side, corpus: Corpus, donors: Donors, each: int, count: int | None
    ) -> tuple[list[Variant], SideReport]:
        """The variants of one domain's sentences."""
        usable = corpus.filter(lambda sentence: bool(donors.for_sentence(sentence)))
        count = len(usable) if count is None else min(count, len(usable))
        used = take_sentences(usable, count, self.seed) if each and count else usable[:0]
        scheme = detect_scheme(sentence.tags for sentence in corpus if sentence.tags is not None)
        made = [self._variants(side, sentence, donors.for_sentence(sentence), each, scheme) for sentence in used]
        return [variant for row in made for variant in row], _report(corpus, donors.mentions, each, len(usable), made)

    def _variants(
        self, side: Side, sentence: Sentence, donors: Mapping[Span, Sequence[Mention]], each: int, scheme: Scheme
    ) -> list[Variant]:
        dice = Random(f"{side} {self.seed} {sentence.words!r}")
        choices = (draw_all if self.all_entities else draw_one)(donors, dice)
        new = (variant for choice in choices if (variant := self._new(side, sentence, choice, scheme)))
        return list(islice(new, each))

    def _new(self, side: Side, sentence: Sentence, choice: Choice, scheme: Scheme) -> Variant | None:
        """A variant, unless its words are there already."""
        changed = replace_entities(sentence, choice, scheme)
        if changed.words in self.taken:
            return None
        self.taken.add(changed.words)
        return Variant(side, changed, sentence, choice)


def _report(
    corpus: Corpus, partners: Mapping[str, Sequence[Mention]], each: int, usable: int, made: Sequence[Sequence[Variant]]
) -> SideReport:
    replaced = Counter(span.label for row in made for variant in row for span in variant.choice)
    return SideReport(
        name=corpus.name,
        sentences=len(corpus),
        usable=usable,
        used=len(made),
        variants_each=each,
        made=sum(map(len, made)),
        short=sum(len(row) < each for row in made),
        replaced=dict(sorted(replaced.items())),
        lonely={label: count for label, count in sorted(corpus.label_counts.items()) if label not in partners},
    )


def _require_entities(source: Corpus, target: Corpus) -> None:
    for corpus in (source, target):
        if corpus.is_labelled and corpus.kind == "plain":
            raise InputError(f"{corpus.name} has one plain tag per word; anchors are entities, which need span tags.")
        if not corpus.label_counts:
            raise InputError(f"{corpus.name} has no entities, so there is nothing to exchange. Is it the right file?")
    shared = shared_labels(source, target)
    if not shared.both:
        raise InputError(
            f"{source.name} and {target.name} have no type of entity in common ({shared}). Rename the labels of one of "
            f"them with {either('map_labels', argument('map', ...))}."
        )

"""Inspect two corpora: figures, recipes that can run on what is given, and what is worth trying. Nothing is trained."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from acclimate.analysis.inspection.facts import (
    FEATURE_WORDS,
    LOSS_WORDS,
    Facts,
    Given,
    Progress,
    figures_of_sources,
    label_support,
    look_through,
)
from acclimate.analysis.inspection.measures import Surface, compare_words
from acclimate.analysis.inspection.rules import (
    LENGTH_APART,
    SHARE_APART,
    SUPPORT,
    UNKNOWN_PIECES,
    Standing,
    Suggestion,
    standings,
    suggestions,
)
from acclimate.analysis.text_comparison import sampled
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.evaluation.table import Row, align
from acclimate.model.tagger import DEFAULT_ENCODER
from acclimate.spelling import count

SENTENCES = 2_000


@dataclass(frozen=True, slots=True)
class Inspection:
    """The facts, the recipes that can run, and the suggestions."""

    facts: Facts
    standings: tuple[Standing, ...]
    suggestions: tuple[Suggestion, ...]
    sampled: tuple[int, int]  # sentences of source and target that the figures of text are of
    notes: tuple[str, ...]  # what is to be known of how it was done

    def as_dict(self) -> dict[str, Any]:
        facts = self.facts
        return {
            "given": {"source": facts.given.source, **asdict(facts.given)},
            "sampled": {
                "source_sentences": self.sampled[0],
                "target_sentences": self.sampled[1],
                "words_for_features": FEATURE_WORDS,
                "words_for_loss": LOSS_WORDS,
            },
            "sources": [asdict(each) for each in facts.sources],
            "surface": {"source": asdict(facts.source), "target": asdict(facts.target)},
            "words": asdict(facts.words),
            "encoder": facts.encoder.as_dict(),
            "labels": asdict(facts.labels),
            "recipes": [asdict(standing) for standing in self.standings],
            "suggestions": [asdict(suggestion) for suggestion in self.suggestions],
            "notes": list(self.notes),
        }


def inspect_corpora(
    source: Corpus,
    target: Corpus,
    *,
    target_labelled: Corpus | None = None,
    given: Given | None = None,
    encoder: str = DEFAULT_ENCODER,
    sentences: int = SENTENCES,
    is_cut: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Inspection:
    """Compare a labelled source with a target, and say what that suggests.

    `target_labelled` are sentences to learn from. Where there are none, tags in `target` tell of labels and of nothing
    else. `given` is how the corpora are called in the commands; `is_cut`: only the beginning of the target was read.
    """
    _require_fit(source, target, target_labelled)
    few = None if target_labelled is None else target_labelled.name
    named = Given((source.name,), target.name, few) if given is None else given
    source = source.open_to(source.labels)
    samples = sampled(source, sentences, seed), sampled(target, sentences, seed)
    words = compare_words(source, samples)
    labelled = target_labelled if target_labelled is not None else target.labelled() if target.is_labelled else None
    facts = Facts(
        given=named,
        source=Surface.of(source, samples[0]),
        target=Surface.of(target, samples[1]),
        words=words,
        encoder=look_through(encoder, source, samples, progress, seed),
        labels=label_support(source, labelled),
        sources=figures_of_sources(source),
    )
    notes = _notes(target, target_labelled, is_cut)
    return Inspection(facts, standings(facts), suggestions(facts), (len(samples[0]), len(samples[1])), notes)


def _require_fit(source: Corpus, target: Corpus, few: Corpus | None) -> None:
    for corpus in (source, target):
        if not len(corpus):
            raise InputError(f"{corpus.name} has no sentences to look at.")
    if not source.is_labelled or not source.label_counts:
        raise InputError(f"the source {source.name} has no tags to learn from. Is it the right file, or column?")
    if few is not None and not few.is_labelled:
        raise InputError(f"{few.name} is to be labelled target sentences, but has no tags.")


def _notes(target: Corpus, few: Corpus | None, is_cut: bool) -> tuple[str, ...]:
    notes = ["Only the beginning of the target text was read; its size is that of the part."] if is_cut else []
    if target.is_labelled:
        use = "not looked at" if few is not None else "looked at for the labels below, and for nothing else"
        notes.append(f"Tags in {target.name} were {use}; no recipe learns from them.")
    return tuple(notes)


Section = tuple[str, list[str]]


def render(inspection: Inspection) -> str:
    """Plain text."""
    given = inspection.facts.given
    parts = ["\n".join([title, *(f"  {text}" for text in lines)]) for title, lines in sections(inspection)]
    parts[0] = f"{given.source} → {given.target}\n{parts[0]}"
    return "\n\n".join([*parts, "\n".join(["what to try, and to compare", *_numbered(inspection.suggestions)])])


def sections(inspection: Inspection) -> Iterator[Section]:
    facts = inspection.facts
    yield "at a glance", [*surface_table(facts.source, facts.target), *_sampled(inspection)]
    if facts.sources:
        yield "sources", list(_sources(facts))
    yield "words", _words(inspection)
    yield f"as {facts.encoder.encoder} reads them", _encoder(inspection)
    yield "labels", _labels(inspection)
    yield "recipes", _recipes(inspection)


def surface_table(source: Surface, target: Surface) -> list[str]:
    """Sizes, and what differs enough to be seen."""
    rows: list[Row] = [("", "source", "target")]
    rows.append(("sentences", f"{source.sentences:,}", f"{target.sentences:,}"))
    rows.append(("words", f"{source.words:,}", f"{target.words:,}"))
    low, high = sorted((source.mean_length, target.mean_length))
    if high >= LENGTH_APART * low and high != low:
        rows.append(("words per sentence", f"{source.mean_length:.1f}", f"{target.mean_length:.1f}"))
    for of in ("sentences", "words"):
        one, other = (getattr(surface, f"of_{of}") for surface in (source, target))
        for name, share in one.items():
            if abs(share - other[name]) >= SHARE_APART:
                rows.append((f"% of {of}: {name}", f"{100 * share:.1f}", f"{100 * other[name]:.1f}"))
    return align(rows)


def _sampled(inspection: Inspection) -> list[str]:
    facts = inspection.facts
    one, other = inspection.sampled
    if (one, other) == (facts.source.sentences, facts.target.sentences):
        return list(inspection.notes)
    return [
        f"figures of text are of {one:,} and {other:,} random sentences; sizes and labels of all",
        *inspection.notes,
    ]


def _sources(facts: Facts) -> Iterator[str]:
    """What each brings, and what nobody looked for in it."""
    for each in facts.sources:
        labels = ", ".join(f"{name} {number:,}" for name, number in each.counts.items()) or "no labels"
        yield f"{each.name}: {count(each.sentences, 'sentence')}, {count(each.words, 'word')}; {labels}"
        if each.hidden:
            hidden = ", ".join(f"{name} at {number:,}" for name, number in each.hidden.items())
            yield f"  not looked for everywhere, so words may hide it: {hidden}"


def _words(inspection: Inspection) -> list[str]:
    words = inspection.facts.words
    unseen, types = 100 * words.unseen_words, 100 * words.unseen_types
    lines = [f"{unseen:.1f} % of the target's words are not in the source ({types:.1f} % of the distinct ones)"]
    lines.append(
        f"{words.overlap:.1f} % of the frequent words are common to both; density ratio {words.distance:.2f} (0: the "
        "same mix of words, 1: none shared)"
    )
    typical = ", ".join(item.word for item in words.typical)
    return [*lines, f"typical of the target: {typical}"] if typical else lines


def _encoder(inspection: Inspection) -> list[str]:
    encoder = inspection.facts.encoder
    pieces = encoder.pieces
    lines = [f"pieces per word: {pieces.source:.2f} in the source, {pieces.target:.2f} in the target"]
    if pieces.target_unknown >= UNKNOWN_PIECES:
        lines.append(f"{100 * pieces.target_unknown:.1f} % of the target's words it cannot spell at all")
    if encoder.losses is not None:
        one, other = encoder.losses
        lines.append(
            f"loss on hidden words: {one.loss:.2f} and {other.loss:.2f} ({encoder.loss_gap:+.2f}; "
            f"{one.sentences:,} and {other.sentences:,} sentences)"
        )
    if encoder.separability is not None:
        apart = encoder.separability
        lines.append(
            f"told apart by a linear classifier: {100 * apart.accuracy:.0f} % right (50: chance), proxy A-distance "
            f"{apart.a_distance:.2f} of 2 ({apart.points // 2:,} sentences each)"
        )
        lines.append(f"squared MMD: {encoder.mmd:.3f}; between halves of the source {encoder.mmd_within:.3f}")
    return [*lines, *encoder.remarks]


def _labels(inspection: Inspection) -> list[str]:
    labels = inspection.facts.labels
    target = labels.target
    own = {} if target is None else target.own_names
    rows: list[Row] = [("", "source", "target")] if target is not None else [("", "source")]
    for name in dict.fromkeys([*labels.source, *own]):
        counts = [labels.source.get(name, 0)]
        called = own.get(name, [])
        if target is not None:
            counts.append(sum(target.counts[label] for label in called))
        other = ", ".join(label for label in called if label != name)
        shown = f"{name} (target: {other})" if other else name
        rows.append((shown, *(_support(number) for number in counts)))
    lines = align(rows)
    if target is None:
        return [*lines, "no labelled target sentences: whether these labels occur there is not known"]
    lines.append(f"target: {target.sentences:,} labelled sentences of {target.corpus}")
    if target.mentions_seen is not None and target.mentions_same is not None:
        common = f" ({', '.join(target.common)})" if target.common else ""
        lines.append(
            f"{100 * target.mentions_seen:.0f} % of the target's entities are entities of the source{common}, "
            f"{100 * target.mentions_same:.0f} % under the same label"
        )
    if labels.entity_length is not None and target.entity_length is not None:
        lines.append(f"words per entity: {labels.entity_length:.2f} and {target.entity_length:.2f}")
    return lines


def _support(number: int) -> str:
    return f"{number:,}" if number >= SUPPORT else f"few: {number}" if number else "none"


def _recipes(inspection: Inspection) -> list[str]:
    can = [standing.recipe for standing in inspection.standings if standing.lacks is None]
    lines = [f"with what is given: {', '.join(can) or 'none is of use'}"]
    reasons: dict[str, list[str]] = {}
    for standing in inspection.standings:
        if standing.lacks is not None:
            reasons.setdefault(standing.lacks, []).append(standing.recipe)
    for why, names in reasons.items():
        lines.append(f"not {', '.join(names)}: {re.sub('^it ', 'each ', why) if len(names) > 1 else why}")
    return lines


def _numbered(suggestions: tuple[Suggestion, ...]) -> Iterator[str]:
    for number, suggestion in enumerate(suggestions, start=1):
        yield f"  {number}. {suggestion.text}"
        yield f"     Why: {suggestion.why}"
        for command in suggestion.commands:
            yield from (f"       {row}" for row in command.split("\n"))

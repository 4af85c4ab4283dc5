"""Inspect two corpora: figures, recipes that can run on what is given, and what is worth trying. Nothing is trained."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from acclimate.analysis.inspection.facts import (
    Facts,
    Given,
    LabelSupport,
    Progress,
    figures_of_sources,
    look_through,
    surface_shares,
)
from acclimate.analysis.inspection.rules import Standing, Suggestion, standings, suggestions
from acclimate.analysis.text_comparison import compare_text, sampled
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.evaluation.table import Row, align
from acclimate.model.tagger import DEFAULT_ENCODER
from acclimate.spelling import count

SAMPLE = 2_000  # random sentences of each corpus, of which the encoder reads the first
SHARE_APART = 0.05  # shares of sentences or words that differ by less are not worth a line
LENGTH_APART = 1.25  # times: nor are lengths
UNKNOWN_PIECES = 0.01  # of words: what the encoder cannot spell at all, such as emoji
SUPPORT = 20  # mentions of a label: with fewer, its score hangs on a handful of names


@dataclass(frozen=True, slots=True)
class Inspection:
    """The facts, the recipes that can run, and the suggestions."""

    facts: Facts
    standings: tuple[Standing, ...]
    suggestions: tuple[Suggestion, ...]
    notes: tuple[str, ...]  # what is to be known of how it was done

    def as_dict(self) -> dict[str, Any]:
        return {
            **self.facts.as_dict(),
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
    samples = sampled(source, SAMPLE, seed), sampled(target, SAMPLE, seed)
    labelled = target_labelled if target_labelled is not None else target.labelled() if target.is_labelled else None
    facts = Facts(
        given=named,
        text=compare_text({"source": source, "target": target}),
        surface=(surface_shares(source), surface_shares(target)),
        encoder=look_through(encoder, samples, progress, seed),
        labels=LabelSupport.of(source, labelled),
        sources=figures_of_sources(source),
    )
    return Inspection(facts, standings(facts), suggestions(facts), _notes(target, target_labelled, is_cut))


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


def render(inspection: Inspection) -> str:
    """Plain text."""
    facts = inspection.facts
    sections = {
        "at a glance": [*surface_table(facts), *inspection.notes],
        "sources": list(_sources(facts)),
        "words": _words(facts),
        f"as {facts.encoder.encoder} reads them": _encoder(facts),
        "labels": _labels(facts.labels),
        "recipes": _recipes(inspection.standings),
        "what to try, and to compare": list(_numbered(inspection.suggestions)),
    }
    parts = ["\n  ".join([title, *lines]) for title, lines in sections.items() if lines]
    return f"{facts.given.source} → {facts.given.target}\n" + "\n\n".join(parts)


def surface_table(facts: Facts) -> list[str]:
    """Sizes, and what differs enough to be seen."""
    source, target = facts.text.statistics
    rows: list[Row] = [("", "source", "target")]
    rows.append(("sentences", f"{source.sentences:,}", f"{target.sentences:,}"))
    rows.append(("words", f"{source.words:,}", f"{target.words:,}"))
    low, high = sorted((source.mean_length, target.mean_length))
    if high >= LENGTH_APART * low and high != low:
        rows.append(("words per sentence", f"{source.mean_length:.1f}", f"{target.mean_length:.1f}"))
    of_source, of_target = facts.surface
    for name, share in of_source.items():
        if abs(share - of_target[name]) >= SHARE_APART:
            rows.append((f"% of {name}", f"{100 * share:.1f}", f"{100 * of_target[name]:.1f}"))
    return align(rows)


def _sources(facts: Facts) -> Iterator[str]:
    """What each brings, and what nobody looked for in it."""
    for each in facts.sources:
        labels = ", ".join(f"{name} {number:,}" for name, number in each.counts.items()) or "no labels"
        yield f"{each.name}: {count(each.sentences, 'sentence')}, {count(each.words, 'word')}; {labels}"
        if each.hidden:
            hidden = ", ".join(f"{name} at {number:,}" for name, number in each.hidden.items())
            yield f"  not looked for everywhere, so words may hide it: {hidden}"


def _words(facts: Facts) -> list[str]:
    text, target = facts.text, facts.text.statistics[-1]
    unseen, types = 100 * (target.unseen_words or 0), 100 * (target.unseen_types or 0)
    return [
        f"{unseen:.1f} % of the target's words are not in the source ({types:.1f} % of the distinct ones)",
        f"{text.overlap.percents[0][1]:.1f} % of the frequent words are common to both",
        *text.render_top_words(),
    ]


def _encoder(facts: Facts) -> list[str]:
    encoder = facts.encoder
    of_source, of_target = encoder.pieces
    lines = [f"pieces per word: {of_source:.2f} in the source, {of_target:.2f} in the target"]
    if encoder.target_unknown >= UNKNOWN_PIECES:
        lines.append(f"{100 * encoder.target_unknown:.1f} % of the target's words it cannot spell at all")
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
    return [*lines, *encoder.remarks]


def _labels(labels: LabelSupport) -> list[str]:
    target = labels.target
    if target is None:
        rows: list[Row] = [("", "source"), *((name, _support(number)) for name, number in labels.source.items())]
        return [*align(rows), "no labelled target sentences: whether these labels occur there is not known"]
    rows = [("", "source", "target")]
    for name in dict.fromkeys([*labels.source, *target.own_names]):
        own = target.own_names.get(name, [])
        other = ", ".join(label for label in own if label != name)
        shown = f"{name} (target: {other})" if other else name
        rows.append((shown, _support(labels.source.get(name, 0)), _support(sum(target.counts[label] for label in own))))
    lines = [*align(rows), f"target: {target.sentences:,} labelled sentences of {target.corpus}"]
    if target.mentions_seen is not None:
        lines.append(f"{100 * target.mentions_seen:.0f} % of the target's entities are entities of the source")
    return lines


def _support(number: int) -> str:
    return f"{number:,}" if number >= SUPPORT else f"few: {number}" if number else "none"


def _recipes(recipes: tuple[Standing, ...]) -> list[str]:
    can = [standing.recipe for standing in recipes if standing.lacks is None]
    reasons: dict[str, list[str]] = {}
    for standing in recipes:
        if standing.lacks is not None:
            reasons.setdefault(standing.lacks, []).append(standing.recipe)
    lines = [f"with what is given: {', '.join(can) or 'none is of use'}"]
    for why, names in reasons.items():
        lines.append(f"not {', '.join(names)}: {re.sub('^it ', 'each ', why) if len(names) > 1 else why}")
    return lines


def _numbered(suggestions: tuple[Suggestion, ...]) -> Iterator[str]:
    for number, suggestion in enumerate(suggestions, start=1):
        yield f"{number}. {suggestion.text}"
        yield f"   Why: {suggestion.why}"
        for command in suggestion.commands:
            yield from (f"     {row}" for row in command.split("\n"))

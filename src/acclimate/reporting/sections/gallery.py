"""Sentences with their entities marked, side by side: what is there, what was found before, what is found now."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from acclimate.data.schemes import Span
from acclimate.evaluation.counts import Pair, pair_up
from acclimate.reporting.page import Block, Fold, Marked, MarkedSentence, Section, Text, missing
from acclimate.reporting.run_data import DOMAIN_NAMES, RunData
from acclimate.runs.evidence import Answers
from acclimate.spelling import count

_TITLE = "Error gallery"
_COLOURS = 6  # of labels, in the style sheet; the label itself stands beside every span
MENDED, BROKEN, WRONG = "mended", "broken", "still wrong"
_ABOUT = {
    MENDED: "wrong before, all right after",
    BROKEN: "all right before, wrong after",
    WRONG: "wrong before and after",
}


@dataclass(frozen=True)
class Example:
    """One sentence. `before` is None where nothing was adapted."""

    number: int
    words: tuple[str, ...]
    gold: tuple[Span, ...]
    before: tuple[Span, ...] | None
    after: tuple[Span, ...]

    @property
    def group(self) -> str | None:
        """None for what was and is right."""
        right = self.gold == self.after
        was_right = right if self.before is None else self.gold == self.before
        if right:
            return None if was_right else MENDED
        return BROKEN if was_right and self.before is not None else WRONG

    @property
    def faults(self) -> int:
        predicted = {*self.after, *(self.before or ())}
        return len(predicted ^ set(self.gold))


def gallery_section(run: RunData, most: int) -> Section:
    """`most` sentences of each group, 0 for all."""
    domain = next((name for name in DOMAIN_NAMES if name in run.answers), None)
    if domain is None:
        why = (
            "This run has kept no predictions of test sentences: there were none with gold tags, or it was made before "
            "runs kept them."
        )
        return missing("gallery", _TITLE, why)
    examples = list(examples_of(run.answers[domain]))
    groups = {group: [example for example in examples if example.group == group] for group in _ABOUT}
    right = sum(example.group is None for example in examples)
    about = (
        f"Test sentences of the {domain} ({run.answers[domain].gold.name}), the worst first. ✓ is an entity found as "
        "it is; ✗ one that is not there, or has other borders or another label."
    )
    sizes = ", ".join(f"{len(group):,} {name}" for name, group in groups.items() if group or name != BROKEN)
    summary = f"Of {count(len(examples), 'sentence')}, {right:,} are right before and after; {sizes}."
    if run.answers[domain].before is None:
        summary = f"Of {count(len(examples), 'sentence')}, {right:,} are all right and {len(groups[WRONG]):,} are not."
    colours = _colours(examples)
    folds = [_group(name, group, most, colours, run) for name, group in groups.items() if group]
    return Section("gallery", _TITLE, about, [Text(summary), *folds])


def examples_of(answers: Answers) -> Iterator[Example]:
    after = pair_up(answers.gold, answers.after)
    before: Sequence[Pair | None] = (
        [None] * len(after) if answers.before is None else pair_up(answers.gold, answers.before)
    )
    for number, (new, old) in enumerate(zip(after, before, strict=True), start=1):
        example = Example(number, new.words, new.gold, None if old is None else old.predicted, new.predicted)
        yield _where_they_differ(example) if answers.gold.kind == "plain" else example


def _where_they_differ(example: Example) -> Example:
    """Of plain tags, which every word has, only those on which not all agree."""
    views = [view for view in (example.gold, example.before, example.after) if view is not None]
    agreed = set.intersection(*map(set, views))

    def rest(spans: tuple[Span, ...]) -> tuple[Span, ...]:
        return tuple(span for span in spans if span not in agreed)

    before = None if example.before is None else rest(example.before)
    return Example(example.number, example.words, rest(example.gold), before, rest(example.after))


def _group(name: str, group: Sequence[Example], most: int, colours: Mapping[str, int], run: RunData) -> Fold:
    ranked = sorted(group, key=lambda example: (-example.faults, len(example.words), example.number))
    shown = ranked[:most] if most else ranked
    is_alone = shown[0].before is None
    blocks: list[Block] = [MarkedSentence(example.number, _views(example, colours)) for example in shown]
    if len(shown) < len(ranked):
        command = f"acclimate report {shlex.quote(str(run.folder))} --set sentences=0"
        blocks.append(Text(f"Shown are {len(shown)} of {len(ranked):,}. All of them:", "note", command))
    title = f"Wrong ({len(ranked):,})" if is_alone else f"{name.capitalize()} ({len(ranked):,}): {_ABOUT[name]}"
    return Fold(title, blocks, is_open=True)


def _views(example: Example, colours: Mapping[str, int]) -> list[tuple[str, list[str | Marked]]]:
    spans = {"gold": example.gold, "before": example.before, "after": example.after}
    if example.before is None:
        spans = {"gold": example.gold, "predicted": example.after}
    return [(name, list(_pieces(example, own or (), name, colours))) for name, own in spans.items()]


def _pieces(example: Example, spans: Sequence[Span], view: str, colours: Mapping[str, int]) -> Iterator[str | Marked]:
    starts = {span.start: span for span in spans}
    place = 0
    while place < len(example.words):
        span = starts.get(place)
        if span is None:
            yield example.words[place]
            place += 1
        else:
            words = " ".join(example.words[span.start : span.end])
            yield Marked(words, span.label, colours[span.label], None if view == "gold" else span in example.gold)
            place = max(span.end, place + 1)


def _colours(examples: Sequence[Example]) -> dict[str, int]:
    labels = {span.label for row in examples for span in (*row.gold, *row.after, *(row.before or ()))}
    return {label: number % _COLOURS + 1 for number, label in enumerate(sorted(labels))}

"""Sentences on the page: the error gallery, and the text that training hid or changed."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, get_args

from acclimate.analysis.masks import mask_statistics
from acclimate.analysis.run_records import ChangedRow, How, MaskedRow, how, read_changes, read_masks
from acclimate.data.problems import InputError
from acclimate.data.schemes import Span
from acclimate.evaluation.counts import pair_up
from acclimate.reporting.page import (
    Block,
    Edited,
    EditedSentences,
    Fold,
    Marked,
    MarkedSentence,
    Section,
    Text,
    missing,
)
from acclimate.reporting.run_data import DOMAIN_NAMES, RunData
from acclimate.runs.run import Answers
from acclimate.spelling import count

_GALLERY, _MASKS = "Error gallery", "What was masked or changed"
_COLOURS = 6  # of labels, in the style sheet; the label itself stands beside every span
MENDED, BROKEN, WRONG = "mended", "broken", "still wrong"
_GROUPS = {
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
        """None for a sentence that was and is right."""
        if self.gold == self.after:
            return None if self.before is None or self.before == self.gold else MENDED
        return BROKEN if self.before == self.gold else WRONG

    @property
    def errors(self) -> int:
        predicted = {*self.after, *(self.before or ())}
        return len(predicted ^ set(self.gold))

    @property
    def views(self) -> dict[str, tuple[Span, ...]]:
        if self.before is None:
            return {"gold": self.gold, "predicted": self.after}
        return {"gold": self.gold, "before": self.before, "after": self.after}


def gallery_section(run: RunData, most: int) -> Section:
    """Test sentences with their entities, gold, before and after: `most` of each group, 0 for all."""
    domain = next((name for name in DOMAIN_NAMES if name in run.answers), None)
    if domain is None:
        why = (
            "This run has kept no predictions of test sentences: there were none with gold tags, or it was made before "
            "runs kept them."
        )
        return missing("gallery", _GALLERY, why)
    answers = run.answers[domain]
    examples = list(examples_of(answers))
    groups = {group: [example for example in examples if example.group == group] for group in _GROUPS}
    right = sum(example.group is None for example in examples)
    about = (
        f"Test sentences of the {domain} ({answers.gold.name}), the worst first. ✓ is an entity found as it is; ✗ one "
        "that is not there, or has other borders or another label."
    )
    sizes = ", ".join(f"{len(group):,} {name}" for name, group in groups.items() if group or name != BROKEN)
    summary = f"Of {count(len(examples), 'sentence')}, {right:,} are right before and after; {sizes}."
    if answers.before is None:
        summary = f"Of {count(len(examples), 'sentence')}, {right:,} are all right and {len(groups[WRONG]):,} are not."
    labels = sorted({span.label for example in examples for spans in example.views.values() for span in spans})
    colours = {label: number % _COLOURS + 1 for number, label in enumerate(labels)}
    folds = [_group(name, group, most, colours, run) for name, group in groups.items() if group]
    return Section("gallery", _GALLERY, about, [Text(summary), *folds])


def examples_of(answers: Answers) -> Iterator[Example]:
    after = pair_up(answers.gold, answers.after)
    before = [None] * len(after) if answers.before is None else pair_up(answers.gold, answers.before)
    for number, (new, old) in enumerate(zip(after, before, strict=True), start=1):
        example = Example(number, new.words, new.gold, None if old is None else old.predicted, new.predicted)
        yield _without_agreement(example) if answers.gold.kind == "plain" else example


def _without_agreement(example: Example) -> Example:
    """Of plain tags, which every word has, only those on which gold and predictions differ."""
    agreed = set.intersection(*map(set, example.views.values()))

    def rest(spans: tuple[Span, ...]) -> tuple[Span, ...]:
        return tuple(span for span in spans if span not in agreed)

    before = None if example.before is None else rest(example.before)
    return replace(example, gold=rest(example.gold), before=before, after=rest(example.after))


def _group(name: str, group: Sequence[Example], most: int, colours: Mapping[str, int], run: RunData) -> Fold:
    ranked = sorted(group, key=lambda example: (-example.errors, len(example.words), example.number))
    shown = ranked[:most] if most else ranked
    blocks: list[Block] = []
    for example in shown:
        views = [(view, list(_marked(example, view, spans, colours))) for view, spans in example.views.items()]
        blocks.append(MarkedSentence(example.number, views))
    if len(shown) < len(ranked):
        command = f"acclimate report {shlex.quote(str(run.folder))} --set sentences=0"
        blocks.append(Text(f"Shown are {len(shown)} of {len(ranked):,}. All of them:", "note", command))
    is_adapted = shown[0].before is not None
    title = f"{name.capitalize()} ({len(ranked):,}): {_GROUPS[name]}" if is_adapted else f"Wrong ({len(ranked):,})"
    return Fold(title, blocks, is_open=True)


def _marked(example: Example, view: str, spans: Sequence[Span], colours: Mapping[str, int]) -> Iterator[str | Marked]:
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


_EXAMPLES = 6  # of masked or changed sentences
_ABOUT_MASKS = "Training hid these words and had to guess them from the rest."
_ABOUT_CHANGES = (
    "Training changed these sentences before it learnt from them. A hidden word has a dashed frame; one that was "
    "swapped or left out is struck through, and what was put in its place is underlined behind an arrow."
)
Row = TypeVar("Row")

_TITLES = {
    "masked noise": "Words hidden or swapped in the noisy pass.",
    "anchors": "Entities exchanged for ones of the other domain.",
    "twins": "Edited twins, which the contrast must tell from other sentences.",
}
_SIDES = {"target": "target sentence, source entity", "source": "source sentence, target entity"}


def masks_section(run: RunData) -> Section:
    """What training hid or changed in the text that it learnt from."""
    masks, changes = _logged(read_masks, run), _logged(read_changes, run)
    if not masks and not changes:
        return missing("masks", _MASKS, f"The recipe {run.recipe} hides and changes no words, or logs none.")
    blocks = _masks(masks) if masks else []
    blocks += [Text(_ABOUT_CHANGES, "about")] if masks and changes else []
    return Section("masks", _MASKS, _ABOUT_MASKS if masks else _ABOUT_CHANGES, [*blocks, *edited_blocks(changes)])


def _logged(read: Callable[[Path], Iterable[Row]], run: RunData) -> list[Row]:
    """The rows of a log; none where there are none, or none that can be read."""
    try:
        return list(read(run.folder))
    except InputError:
        return []


def _masks(rows: Sequence[MaskedRow]) -> list[Block]:
    (statistics,) = mask_statistics({"run": rows})
    everything = statistics.everything
    share = everything.hidden / everything.words if everything.words else 0.0
    overview = (
        f"Policy {statistics.policy}. In the logged sample of {everything.rows:,} rows, {everything.hidden:,} of "
        f"{everything.words:,} words were hidden ({100 * share:.1f} %)."
    )
    last = rows[-1].update
    shown = [row for row in rows if row.update == last and row.hidden][:_EXAMPLES]
    sentences = []
    for row in shown:
        pieces = [Edited(word, is_hidden=True) if at in row.hidden else word for at, word in enumerate(row.words)]
        sentences.append((pieces, ""))
    about = Text(f"From update {last:,}, the first {len(shown)} rows (hidden words are framed):")
    return [Text(overview), about, EditedSentences(sentences)]


def edited_blocks(rows: Sequence[ChangedRow]) -> list[Block]:
    """A part for each thing that changes sentences, in the order of the log."""
    blocks: list[Block] = []
    for by in dict.fromkeys(row.by for row in rows):
        own = _without_repeats([row for row in rows if row.by == by])
        sentences = [(list(_edited(row)), _origin(row)) for row in own[-_EXAMPLES:]]
        blocks += [Text(_summary(own), strong=_TITLES.get(by, by)), EditedSentences(sentences, "masked changed")]
    return blocks


def _without_repeats(rows: Sequence[ChangedRow]) -> list[ChangedRow]:
    """Each at its last place: what is made before a stage and stays is logged again and again."""
    last: dict[tuple[Any, ...], ChangedRow] = {}
    for row in rows:
        key = (row.stage, row.words, row.edits)
        last.pop(key, None)
        last[key] = row
    return list(last.values())


def _summary(rows: Sequence[ChangedRow]) -> str:
    counts = Counter(how(edit) for row in rows for edit in row.edits)
    times = {way: "once" if counts[way] == 1 else f"{counts[way]:,} times" for way in get_args(How) if counts[way]}
    ways = ", ".join(f"{way} {often}" for way, often in times.items())
    sentences = "sentence" if len(rows) == 1 else "sentences"
    return f"In the logged sample of {len(rows):,} changed {sentences}, words were {ways}. The latest:"


def _edited(row: ChangedRow) -> Iterator[str | Edited]:
    reached = 0
    for edit in row.edits:
        yield from row.words[reached : edit.start]
        by = None if edit.by is None else " ".join(edit.by)
        yield Edited(" ".join(row.words[edit.start : edit.end]), by, edit.label, is_hidden=by is None)
        reached = edit.end
    yield from row.words[reached:]


def _origin(row: ChangedRow) -> str:
    side = _SIDES.get(row.side or "")
    return "; ".join(filter(None, [side, f"{row.stage}, update {row.update:,}"]))

"""Sentences that training changed: what was hidden, swapped or left out, marked in the words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, get_args

from acclimate.analysis.run_records import ChangedRow, How, how
from acclimate.methods.word_edits import WordEdit, spread
from acclimate.reporting.markup import Markup, join, paragraph, tag

_EXAMPLES = 4  # of each way to change a sentence
_TITLES = {
    "masked noise": "Words hidden or swapped in the noisy pass.",
    "anchors": "Entities exchanged for ones of the other domain.",
    "synonyms": "Synonyms in the place of words, to be learnt besides.",
    "deletion": "Words left out, to be learnt besides.",
    "twins": "Edited twins, which the contrast must tell from other sentences.",
}
_SIDES = {"target": "target sentence, source entity", "source": "source sentence, target entity"}
ABOUT = (
    "Training changed these sentences before it learnt from them. A hidden word has a dashed frame; one that was "
    "swapped or left out is struck through, and what was put in its place is underlined behind an arrow."
)


def changed_sentences(rows: Sequence[ChangedRow]) -> Markup:
    """A part for each thing that changes sentences, in the order of the log."""
    return join(_part(by, [row for row in rows if row.by == by]) for by in dict.fromkeys(row.by for row in rows))


def _part(by: str, rows: Sequence[ChangedRow]) -> Markup:
    rows = _once(rows)
    shown = [row for way in get_args(How) for row in _latest([row for row in rows if row.hows == {way}])]
    shown = shown or _latest(rows)
    listed = tag("ul", [tag("li", join(_words(row)), _from(row)) for row in shown], class_="masked changed")
    return join([paragraph(tag("strong", _TITLES.get(by, by)), " ", _counted(rows)), listed])


def _once(rows: Sequence[ChangedRow]) -> list[ChangedRow]:
    """Each at its last place: what is made before a stage and stays is logged again and again."""
    found: dict[tuple[Any, ...], ChangedRow] = {}
    for row in rows:
        key = (row.stage, row.words, row.edits)
        found.pop(key, None)
        found[key] = row
    return list(found.values())


def _counted(rows: Sequence[ChangedRow]) -> str:
    found = Counter(how(edit) for row in rows for edit in row.edits)
    ways = ", ".join(f"{way} {_times(found[way])}" for way in get_args(How) if found[way])
    sentences = "sentence" if len(rows) == 1 else "sentences"
    return f"In the logged sample of {len(rows):,} changed {sentences}, words were {ways}. The latest of each:"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _latest(rows: Sequence[ChangedRow]) -> list[ChangedRow]:
    """The last ones; of one update some from its beginning and some from its end, which may be of another domain."""
    entries = [list(entry) for _, entry in groupby(rows, lambda row: (row.stage, row.update))]
    found: list[ChangedRow] = []
    for entry in reversed(entries):
        found += spread(entry, _EXAMPLES - len(found))
    return found


def _words(row: ChangedRow) -> Iterator[Any]:
    reached = 0
    for edit in row.edits:
        yield from (f"{word} " for word in row.words[reached : edit.start])
        yield _edited(row.words[edit.start : edit.end], edit)
        yield " "
        reached = edit.end
    yield " ".join(row.words[reached:])


def _edited(old: Sequence[str], edit: WordEdit) -> Markup:
    before = " ".join(old)
    if edit.by is None:
        return tag("mark", before, class_="hidden")
    gone = [tag("del", before)] if old else []
    if not edit.by:
        return join(gone)
    label = tag("small", f" {edit.label}") if edit.label else None
    return join([*gone, tag("ins", " ".join(edit.by), label)], " → ")


def _from(row: ChangedRow) -> Markup:
    told = [_SIDES.get(row.side or ""), f"{row.stage}, update {row.update:,}"]
    return tag("small", "; ".join(filter(None, told)))

"""What training hid or changed in the text that it learnt from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar, get_args

from acclimate.analysis.mask_log import MaskedRow, read_masks
from acclimate.analysis.mask_statistics import MaskStatistics, mask_statistics
from acclimate.analysis.run_records import ChangedRow, How, how, read_changes
from acclimate.data.problems import InputError
from acclimate.methods.word_edits import WordEdit, spread
from acclimate.reporting.charts.bars import BarRow, bars
from acclimate.reporting.charts.frame import Figure
from acclimate.reporting.page import Block, Charts, Edited, EditedSentences, Section, Text, missing
from acclimate.reporting.run_data import RunData

_TITLE = "What was masked or changed"
_EXAMPLES = 6  # of masked sentences
_CHANGED_EXAMPLES = 4  # of each way to change a sentence
_WORDS = 12
_LOGGING = {"mat", "pdaln"}  # recipes that log sentences, if they change any
_NONE_LOGGED = "The log of this run has none of these sentences."
_ABOUT_MASKS = (
    "Training hid these words and had to guess them from the rest. A word with a long bar was hidden more often than "
    "others: 2 is twice the average rate."
)
Row = TypeVar("Row")

_EDITS = {"both": "synonyms, or words left out", "synonyms": "synonyms", "deletion": "words left out"}
_TOLD: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "self-training": lambda options: (
        f"No word was changed. In each of {options.get('rounds', 'several')} rounds the tagger labelled the target "
        f"text itself and learnt from the surest {100 * options.get('keep', 0.5):.0f} % of its sentences."
    ),
    "mat": lambda options: (
        f"In about {100 * options.get('rate', 0.06):.0f} % of the sentences of a batch one word was changed: "
        f"{100 * options.get('hide', 0.9):.0f} % of these were hidden, the others swapped for "
        f"{options.get('substitute', 'similar')} words. Noise was added to the embeddings."
    ),
    "datnet": lambda options: (
        "No word was changed. Noise in the worst direction was added to the embeddings."
        if options.get("adversarial", True)
        else "No word was changed."
    ),
    "pdaln": lambda options: (
        f"Sentences got edited twins ({_EDITS.get(str(options.get('edits')), _EDITS['both'])}, about "
        f"{100 * options.get('edit_share', 0.2):.0f} % of their words). Where some target sentences are labelled, "
        "rounds follow in which entities of the other domain are put into sentences."
    ),
}
_TITLES = {
    "masked noise": "Words hidden or swapped in the noisy pass.",
    "anchors": "Entities exchanged for ones of the other domain.",
    "synonyms": "Synonyms in the place of words, to be learnt besides.",
    "deletion": "Words left out, to be learnt besides.",
    "twins": "Edited twins, which the contrast must tell from other sentences.",
}
_SIDES = {"target": "target sentence, source entity", "source": "source sentence, target entity"}
_ABOUT_CHANGES = (
    "Training changed these sentences before it learnt from them. A hidden word has a dashed frame; one that was "
    "swapped or left out is struck through, and what was put in its place is underlined behind an arrow."
)


def masks_section(run: RunData) -> Section:
    of_recipe = _TOLD.get(run.recipe)
    options = (run.settings or {}).get("options") or {}
    summary = "" if of_recipe is None else of_recipe(options)
    masks, changes = _logged(read_masks, run), _logged(read_changes, run)
    if masks or changes:
        blocks = [Text(summary)] if summary else []
        blocks += _masks(masks)
        blocks += [Text(_ABOUT_CHANGES, "about")] if masks and changes else []
        return Section("masks", _TITLE, _ABOUT_MASKS if masks else _ABOUT_CHANGES, [*blocks, *edited_blocks(changes)])
    if summary:
        return Section("masks", _TITLE, f"{summary} {_NONE_LOGGED}" if run.recipe in _LOGGING else summary)
    return missing("masks", _TITLE, f"The recipe {run.recipe} hides and changes no words, or logs none.")


def _logged(read: Callable[[Path], Iterable[Row]], run: RunData) -> list[Row]:
    """The rows of a log; none where there are none, or none that can be read."""
    try:
        return list(read(run.folder))
    except InputError:
        return []


def _masks(rows: Sequence[MaskedRow]) -> list[Any]:
    if not rows:
        return []
    (statistics,) = mask_statistics({"run": rows}, most=_WORDS)
    everything = statistics.everything
    share = everything.hidden / everything.words if everything.words else 0.0
    overview = (
        f"Policy {statistics.policy}. In the logged sample of {everything.rows:,} rows, {everything.hidden:,} of "
        f"{everything.words:,} words were hidden ({100 * share:.1f} %)."
    )
    last = rows[-1].update
    shown = [row for row in rows if row.update == last and row.hidden][:_EXAMPLES]
    return [
        Text(overview),
        *_over_hidden(statistics),
        Text(f"From update {last:,}, the first {len(shown)} rows (hidden words are framed):"),
        EditedSentences([(_masked_pieces(row), "") for row in shown]),
    ]


def _over_hidden(statistics: MaskStatistics) -> list[Charts]:
    words = statistics.everything.over_hidden
    if not words:
        return []
    rows = [BarRow(item.word, [item.lift], f"{item.hidden:,} of {item.occurrences:,}") for item in words]
    spoken = "; ".join(f"{item.word}: {item.lift:.1f}" for item in words)
    most = max(item.lift for item in words)
    drawn = bars("Words hidden more often than others", spoken, rows, {"lift": "after"}, most)
    return [Charts([Figure("times the average rate; under a word: hidden, of all", drawn)])]


def _masked_pieces(row: MaskedRow) -> list[str | Edited]:
    hidden = set(row.hidden)
    return [Edited(word, is_hidden=True) if number in hidden else word for number, word in enumerate(row.words)]


def edited_blocks(rows: Sequence[ChangedRow]) -> list[Block]:
    """A part for each thing that changes sentences, in the order of the log."""
    return [
        block
        for by in dict.fromkeys(row.by for row in rows)
        for block in _edited_by(by, [row for row in rows if row.by == by])
    ]


def _edited_by(by: str, rows: Sequence[ChangedRow]) -> list[Block]:
    rows = _once(rows)
    shown = [row for way in get_args(How) for row in _latest([row for row in rows if row.hows == {way}])]
    shown = shown or _latest(rows)
    sentences = [(list(_pieces(row)), _origin(row)) for row in shown]
    return [Text(_summary(rows), strong=_TITLES.get(by, by)), EditedSentences(sentences, "masked changed")]


def _once(rows: Sequence[ChangedRow]) -> list[ChangedRow]:
    """Each at its last place: what is made before a stage and stays is logged again and again."""
    last: dict[tuple[Any, ...], ChangedRow] = {}
    for row in rows:
        key = (row.stage, row.words, row.edits)
        last.pop(key, None)
        last[key] = row
    return list(last.values())


def _summary(rows: Sequence[ChangedRow]) -> str:
    counts = Counter(how(edit) for row in rows for edit in row.edits)
    ways = ", ".join(f"{way} {_times(counts[way])}" for way in get_args(How) if counts[way])
    sentences = "sentence" if len(rows) == 1 else "sentences"
    return f"In the logged sample of {len(rows):,} changed {sentences}, words were {ways}. The latest of each:"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _latest(rows: Sequence[ChangedRow]) -> list[ChangedRow]:
    """The last ones; of one update some from its beginning and some from its end, which may be of another domain."""
    entries = [list(entry) for _, entry in groupby(rows, lambda row: (row.stage, row.update))]
    latest: list[ChangedRow] = []
    for entry in reversed(entries):
        latest += spread(entry, _CHANGED_EXAMPLES - len(latest))
    return latest


def _pieces(row: ChangedRow) -> Iterator[str | Edited]:
    reached = 0
    for edit in row.edits:
        yield from row.words[reached : edit.start]
        yield _edited(row.words[edit.start : edit.end], edit)
        reached = edit.end
    yield from row.words[reached:]


def _edited(old: Sequence[str], edit: WordEdit) -> Edited:
    before = " ".join(old)
    if edit.by is None:
        return Edited(before, is_hidden=True)
    return Edited(before, " ".join(edit.by), edit.label)


def _origin(row: ChangedRow) -> str:
    side = _SIDES.get(row.side or "")
    return "; ".join(filter(None, [side, f"{row.stage}, update {row.update:,}"]))

"""What training hid or changed in the text that it learnt from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from acclimate.analysis.mask_log import MaskedRow, read_masks
from acclimate.analysis.mask_statistics import MaskStatistics, mask_statistics
from acclimate.analysis.run_records import read_changes
from acclimate.data.problems import InputError
from acclimate.reporting.charts.bars import BarRow, bars
from acclimate.reporting.charts.frame import figure
from acclimate.reporting.markup import Markup, join, paragraph, tag
from acclimate.reporting.run_data import RunData
from acclimate.reporting.section import Section, no_such
from acclimate.reporting.sections.changed_sentences import ABOUT, changed_sentences

_TITLE = "What was masked or changed"
_EXAMPLES = 6
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


def changed_words_section(run: RunData) -> Section:
    told = _TOLD.get(run.recipe)
    options = (run.settings or {}).get("options") or {}
    said = None if told is None else told(options)
    masks, changes = _logged(read_masks, run), _logged(read_changes, run)
    if masks or changes:
        between = paragraph(ABOUT, class_="about") if masks and changes else None
        body = [paragraph(said) if said else None, _masks(masks), between, changed_sentences(changes)]
        return Section("changed", _TITLE, _ABOUT_MASKS if masks else ABOUT, join(body))
    if said is not None:
        return Section("changed", _TITLE, f"{said} {_NONE_LOGGED}" if run.recipe in _LOGGING else said)
    return no_such("changed", _TITLE, f"The recipe {run.recipe} hides and changes no words, or logs none.")


def _logged(read: Callable[[Path], Iterable[Row]], run: RunData) -> list[Row]:
    """The rows of a log; none where there are none, or none that can be read."""
    try:
        return list(read(run.folder))
    except InputError:
        return []


def _masks(rows: Sequence[MaskedRow]) -> Markup | None:
    if not rows:
        return None
    (found,) = mask_statistics({"run": rows}, most=_WORDS)
    return join([_overview(found), _often(found), _examples(rows)])


def _overview(found: MaskStatistics) -> Markup:
    everything = found.everything
    share = everything.hidden / everything.words if everything.words else 0.0
    return paragraph(
        f"Policy {found.policy}. In the logged sample of {everything.rows:,} rows, {everything.hidden:,} of "
        f"{everything.words:,} words were hidden ({100 * share:.1f} %)."
    )


def _often(found: MaskStatistics) -> Markup | None:
    words = found.everything.over_hidden
    if not words:
        return None
    rows = [BarRow(item.word, [item.lift], f"{item.hidden:,} of {item.occurrences:,}") for item in words]
    told = "; ".join(f"{item.word}: {item.lift:.1f}" for item in words)
    drawn = bars("Words hidden more often than others", told, rows, {"lift": "after"}, max(item.lift for item in words))
    return tag("div", figure("times the average rate; under a word: hidden, of all", drawn), class_="charts")


def _examples(rows: Sequence[MaskedRow]) -> Markup:
    last = rows[-1].update
    shown = [row for row in rows if row.update == last and row.hidden][:_EXAMPLES]
    listed = tag("ul", [tag("li", join(_words(row))) for row in shown], class_="masked")
    return join([paragraph(f"From update {last:,}, the first {len(shown)} rows (hidden words are framed):"), listed])


def _words(row: MaskedRow) -> Iterator[Any]:
    hidden = set(row.hidden)
    for number, word in enumerate(row.words):
        yield tag("mark", word, class_="hidden") if number in hidden else word
        yield " "

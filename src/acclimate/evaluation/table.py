"""Scores as text that people read: one table, one set of columns, and the name of the scorer on top."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from rich.cells import cell_len

from acclimate.evaluation.counts import Average, Tally, percent
from acclimate.evaluation.scores import Confusion, Scores
from acclimate.evaluation.seen import Unseen
from acclimate.spelling import count

HEADER = ("", "precision", "recall", "F1", "gold", "predicted", "correct")
MOST_CONFUSED = 3  # more than that belongs in a report, not on a screen

Row = Sequence[str]


def render(scores: Scores) -> str:
    """A compact table. Figures are percentages; groups without a sentence or a span are left out."""
    rows: list[Row] = [HEADER]
    for title, section in sections(scores):
        if section:
            rows += [*([(), (title,)] if title else []), *section]
    lines = [
        scores.scorer,
        f"{count(scores.sentences, 'sentence')}, {count(scores.words, 'word')}; precision, recall and F1 in percent",
        "",
        *align(rows),
        "",
    ]
    lines.append(
        f"token accuracy {percent(scores.token.accuracy)}, exact match {percent(scores.exact_match)}, "
        f"sentences wholly right {percent(scores.sentence_accuracy)}"
    )
    confused = most_confused(scores.confusion)
    if confused:
        lines.append(f"most confused (gold > predicted): {', '.join(confused)}")
    return "\n".join(lines)


def sections(scores: Scores) -> Iterator[tuple[str, list[Row]]]:
    """The parts of the table, each with its title."""
    overall = [row("all spans (micro)" if scores.typeless else "all words (micro)", scores.span)]
    overall.append(row("mean over labels (macro)", scores.macro))
    if scores.typeless is not None:  # plain tags have no borders, and their tokens are the first row already
        overall += [row("borders only (typeless)", scores.typeless), row("words not O (token)", scores.token)]
    yield "", overall
    yield "by label", [row(f"  {label}", tally) for label, tally in scores.by_label.items()]
    if scores.unseen is not None:
        yield f"by what training had{' (lower-cased)' if scores.unseen.lower_cased else ''}", unseen_rows(scores.unseen)
    groups = {
        f"short (up to {scores.by_length.mean_length:.1f} words)": scores.by_length.short,
        f"long (over {scores.by_length.mean_length:.1f} words)": scores.by_length.long,
    }
    yield "by sentence length", [row(f"  {name}", group.span) for name, group in groups.items() if group.sentences]


def unseen_rows(unseen: Unseen) -> list[Row]:
    rows = [row(f"  {group} words", tally) for group, tally in unseen.words.items()]
    return rows + [row(f"  {group} mentions", tally) for group, tally in (unseen.mentions or {}).items()]


def row(name: str, figures: Tally | Average) -> Row:
    cells = [name, percent(figures.precision), percent(figures.recall), percent(figures.f1)]
    if isinstance(figures, Tally) and figures.is_empty:
        cells = [name, "-", "-", "-"]
    if isinstance(figures, Tally):
        cells += [f"{number:,}" for number in (figures.gold, figures.predicted, figures.correct)]
    return cells


def most_confused(confusion: Confusion) -> list[str]:
    """The pairs of unlike labels that were taken for each other most often."""
    counts = [
        (-times, right, guess)
        for right, guesses in confusion.pairs.items()
        for guess, times in guesses.items()
        if right != guess
    ]
    return [f"{right} > {guess} {-times:,}" for times, right, guess in sorted(counts)[:MOST_CONFUSED]]


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def align(rows: Sequence[Row], words: int = 1) -> list[str]:
    """Columns of words to the left, figures to the right; short rows are filled up. A title stands alone in its row and
    does not widen a column."""
    figures = [cells for cells in rows if len(cells) > 1]
    widths = [max(map(cell_len, column)) for column in zip_longest(*figures, fillvalue="")]
    lines = []
    for cells in rows:
        padded = [
            cell + " " * (width - cell_len(cell)) if number < words else " " * (width - cell_len(cell)) + cell
            for number, (cell, width) in enumerate(zip(cells, widths, strict=False))
        ]
        lines.append("  ".join(padded).rstrip())
    return lines


def align_records(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Records of the same keys as a table: names as its head, words left of the figures. Nothing of no record."""
    if not records:
        return []
    columns = list(records[0])
    words = sum(isinstance(records[0][name], str) for name in columns)
    head = [name.replace("_", " ") for name in columns]
    return align([head, *([_cell(record[name]) for name in columns] for record in records)], words)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)

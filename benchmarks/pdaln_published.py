"""What PDALN's paper prints (Zhang and others, EMNLP 2021), for the targets that are measured here; in percent.

Its encoder is BERT-base, how it split the targets is not said, and a PDALN without a deviation is the best of five
runs; rows of other methods are single numbers. Figure 3 has curves only. F1 is followed by precision / recall.
"""

from __future__ import annotations

from published import line, number, with_two_digits

from acclimate.reproduction.catalogue import find_table

_TARGETS = {"scitech": "SciTech", "wnut2016": "WNUT2016", "wikigold": "Wikigold"}
_NO_LABELS = ", no labels"
Table = dict[str, dict[str, str]]


def _scores(row: str) -> dict[str, str]:
    """F1 (precision / recall)."""
    found = {}
    for ours, theirs in _TARGETS.items():
        f1, precision, recall = (
            with_two_digits(number("S3.14", row, theirs, figure)) for figure in ("span f1", "precision", "recall")
        )
        found[ours] = f"{f1} ({precision} / {recall})" if precision != f1 else f1
    return found


def _table_1(with_labels: bool) -> Table:
    rows = [row for row in find_table("S3.14").published if row.endswith(_NO_LABELS) != with_labels]
    return {row.removesuffix(_NO_LABELS): _scores(row) for row in rows}


def _words(cells: dict[str, object]) -> dict[str, str]:
    return {name: with_two_digits(value) for name, value in cells.items()}


# by whether there are labelled target sentences
TABLE_1 = {with_labels: _table_1(with_labels) for with_labels in (False, True)}
# differences to PDALN's best run
TABLE_2: Table = {
    row: {ours: str(cells[theirs]) for ours, theirs in _TARGETS.items()}
    for row, cells in find_table("S3.15").published_gains.items()
}
_TYPES = ("PER", "LOC", "ORG", "MISC")
# PDALN by type
TABLE_3: Table = {
    ours: {name: str(number("S3.16", "PDALN", theirs, name)) for name in _TYPES} for ours, theirs in _TARGETS.items()
}
TABLE_4: Table = {row: _words(line("S3.17", row, _TARGETS)) for row in find_table("S3.17").rows}

"""What DATNet's paper prints, as far as it can be read in the copy at hand; F1 in percent.

In Table 6 the names of the rows are lost and were put back by their order, and of WNUT-2016 only three rows are left.
Tables 7 and 8 set best results beside means: DATNet-P and -F in Table 7 are the best of ten runs.
"""

from __future__ import annotations

from typing import Any

from published import line, number

Table = dict[str, dict[str, Any]]

_TARGETS = {"wnut2016": "WNUT-2016", "conll2002_es": "CoNLL-2002 Spanish"}
_SIZES = ("10", "50", "100", "200", "500", "1000")
_SIX = ("base", "AT", "P-transfer", "F-transfer", "DATNet-P", "DATNet-F")
_SHARES = ("0.1", "0.2", "0.4", "0.6")
_RADII = {radius: f"eps {radius}" for radius in ("1", "3", "5", "7", "9")}
_ALPHAS = {alpha: f"alpha {alpha}" for alpha in ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8")}  # every 2nd
_ALL = {"P-transfer": "P (GRAD)", "F-transfer": "F (GRAD)"}  # their names in Table 7


def _few(name: str) -> Table:
    return {row: line("S4.17", row, {size: f"{name} {size}" for size in _SIZES}) for row in _SIX}


def _with_all(table: Table, target: str) -> Table:
    """All labelled sentences: means, of Table 3 where it has them."""
    for row, own in table.items():
        mean = number("S4.13", row, target) or number("S4.18", _ALL.get(row, row), target)
        own["all"] = float(str(mean).partition(" ")[0])
    return table


def _grid(target: str) -> Table:
    rows: Table = {"no transfer": {"all": "base", "all + AT": "AT"}}
    for form in "PF":
        rows |= {
            f"{form} ({kind})": {"all": f"{form} ({kind})", "all + AT": f"AT + {form} ({kind})"}
            for kind in ("no AD", "AD")
        }
        rows[f"{form} (GRAD)"] = {"all": f"{form} (GRAD)", "all + AT": f"DATNet-{form}"}
    return {
        row: {column: number("S4.18", theirs, target) for column, theirs in own.items()} for row, own in rows.items()
    }


PAPER: dict[tuple[str, str], Table] = {
    ("few", "conll2002_es"): _few("Spanish"),
    ("languages", "conll2002_es"): _few("Spanish"),
    ("few", "wnut2016"): _with_all(_few("WNUT-2016"), "WNUT-2016"),
    ("radius", "conll2002_es"): {share: line("S4.20", share, _RADII) for share in _SHARES},
    ("alpha", "conll2002_es"): {share: line("S4.21", share, _ALPHAS) for share in _SHARES},
}
for _ours, _theirs in _TARGETS.items():
    PAPER["table3", _ours] = {row: line("S4.13", row, {_ours: _theirs}) for row in ("base", "DATNet-P", "DATNet-F")}
    PAPER["grid", _ours] = _grid(_theirs)
    PAPER["dropout", _ours] = {
        row: line("S4.19", row, {"all": _theirs}) for row in ("base", "base + dropout", "base + AT")
    }

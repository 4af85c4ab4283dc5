"""The recipes side by side: mean and deviation over seeds, the change against the baseline, and how sure it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acclimate.reporting.charts.dots import Dot, DotRow, dots
from acclimate.reporting.charts.frame import figure
from acclimate.reporting.comparison_data import ComparisonData
from acclimate.reporting.figures import UNKNOWN, p_value, percent, signed, signed_between
from acclimate.reporting.markup import Markup, join, paragraph, table, tag
from acclimate.reporting.section import Section, no_such
from acclimate.reporting.verdict import NOTHING, RESERVED, Verdict, judge


def recipes_section(found: ComparisonData) -> Section:
    if found.best is None:
        why = " ".join(found.remarks) or "The target's test sentences have no gold tags, so there are no scores."
        return no_such("recipes", "Recipes", why)
    about = (
        f"{found.measure} on the target test in percent, mean ± standard deviation over seeds. The change is against "
        f"{found.against}, with its 95 % interval. Both p-values (paired bootstrap and permutation test over "
        "sentences) are corrected for the number of recipes (Holm); a recipe helps or hurts when both are 0.05 or less."
    )
    body: list[Any] = [_table(found), _chart(found)]
    failures = found.found.get("failures") or {}
    body += [paragraph(f"Missing: {name}. {why}", class_="note") for name, why in failures.items()]
    return Section("recipes", "Recipes", about, join(body))


def verdict_of(row: Mapping[str, Any], found: ComparisonData) -> Verdict:
    against = row["against"]
    if against is None:
        return NOTHING
    if found.reservation is not None:
        return RESERVED
    return judge(against["difference"], max(against["bootstrap_p_holm"], against["permutation_p_holm"]))


def spread(found: Mapping[str, float] | None, factor: float = 100.0, digits: int = 1) -> Any:
    """Mean ± deviation; of one seed the figure alone."""
    if found is None:
        return UNKNOWN
    mean = tag("b", f"{factor * found['mean']:.{digits}f}")
    return join([mean, tag("span", f" ± {factor * found['std']:.{digits}f}", class_="range")]) if found["std"] else mean


def _table(found: ComparisonData) -> Markup:
    head = [
        "recipe",
        "verdict",
        found.measure,
        "change",
        "bootstrap p",
        "permutation p",
        "precision",
        "recall",
    ]
    rows = []
    for row in found.recipes:
        against = row["against"]
        name = f"{row['recipe']} ★" if row["recipe"] in found.leaders else row["recipe"]
        moved = UNKNOWN
        tests = [UNKNOWN, UNKNOWN]
        if against is not None:
            ends = tag("span", f"({signed_between(against['low'], against['high'])})", class_="range")
            moved = join([tag("b", signed(against["difference"])), " ", ends])
            tests = [p_value(against[f"{test}_p_holm"]) for test in ("bootstrap", "permutation")]
        shown = "compared with" if row["recipe"] == found.against else verdict_of(row, found).badge
        # as many digits as the star looks at
        scores = [spread(row.get("target_f1"), digits=2)]
        scores += [spread(row.get(key)) for key in ("target_precision", "target_recall")]
        rows.append([name, shown, scores[0], moved, *tests, *scores[1:]])
    star = "★ the best mean" if len(found.leaders) == 1 else "★ the best means, equal as far as they are printed"
    return join([table(head, rows, words=2, class_="tight"), paragraph(star, class_="note")])


def _chart(found: ComparisonData) -> Markup | None:
    rows, told = [], []
    for row in found.recipes:
        against = row["against"]
        if against is None:
            continue
        dot = Dot(100 * against["difference"], "after", 100 * against["low"], 100 * against["high"], row["recipe"])
        rows.append(DotRow(row["recipe"], [[dot]], [signed(against["difference"])]))
        told.append(f"{row['recipe']} {signed(against['difference'])}")
    if not rows:
        return None
    drawn = dots(f"Change against {found.against}", "; ".join(told), rows, "points", zero=found.against)
    caption = f"Change against {found.against}, with 95 % intervals"
    return tag("div", figure(caption, drawn), class_="charts")


def percents(row: Mapping[str, Any], key: str) -> str:
    return percent(row[key]["mean"]) if row.get(key) else UNKNOWN

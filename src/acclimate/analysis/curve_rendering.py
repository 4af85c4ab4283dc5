"""The curves of a run as text that people read: where each began, where it ended, and its ends in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acclimate.analysis.curves import CHANCE, GUESSING, OUTRUN, SEEING_THROUGH, Series, StageCurves
from acclimate.data.problems import shorten
from acclimate.evaluation.table import Row, align, count

UNKNOWN = "-"
_HEADER = ("", "first", "last", "lowest", "at update", "highest", "at update")
_LONGEST = 60  # letters of a name


def render_curves(stages: Sequence[StageCurves]) -> str:
    """A table by stage, and in words what a game's accuracy means."""
    return "\n\n".join("\n".join(_stage(curves)) for curves in stages)


def game_verdict(curves: StageCurves) -> str | None:
    """What the discriminator's accuracy says of the game, over the last quarter of what was written down."""
    known = [value for value, _ in curves.game["accuracy"].known] if curves.game else []
    if not known:
        return None
    late = known[-max(1, len(known) // 4) :]
    mean = sum(late) / len(late)
    told = f"discriminator, last quarter: accuracy {mean:.2f} (chance {CHANCE})"
    if mean >= SEEING_THROUGH[0]:
        return f"{told}. It sees through the encoder: the domains are not brought together."
    if mean <= OUTRUN[1]:
        return f"{told}. It is mostly wrong: the encoder outruns it, and the domains may differ as before."
    if GUESSING[0] <= mean <= GUESSING[1]:
        return f"{told}. It guesses: the domains look alike to it, or it has not learnt. `acclimate feature-map` tells."
    return f"{told}."


def _stage(curves: StageCurves) -> Iterator[str]:
    table: list[Row] = [_HEADER]
    for kind, name, series in curves.series:
        table.append((f"  {shorten(_told(kind, name), _LONGEST)}", *_figures(series)))
    yield f"{curves.name} ({count(curves.updates, 'update')})"
    yield from align(table)
    verdict = game_verdict(curves)
    if verdict is not None:
        yield verdict


def _told(kind: str, name: str) -> str:
    return f"{kind}: {name.replace('_', ' ') if kind == 'game' else name}"


def _figures(series: Series) -> Row:
    known = series.known
    if not known:
        return (UNKNOWN,) * (len(_HEADER) - 1)
    low, high = min(known), max(known)
    ends = (f"{known[0][0]:.4g}", f"{known[-1][0]:.4g}")
    return (*ends, f"{low[0]:.4g}", f"{low[1]:,}", f"{high[0]:.4g}", f"{high[1]:,}")

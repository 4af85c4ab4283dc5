"""Figures of analyses that compare several runs or taggers: scores along training, hidden words, confidences."""

from __future__ import annotations

from collections.abc import Sequence

from acclimate.analysis.curves import EpochsToMatch, Evaluation
from acclimate.analysis.mask_tables import ALL_WORDS, Curve, density_curves, mean_part_of_speech_shares
from acclimate.analysis.masks import MaskStatistics
from acclimate.analysis.terms import TermConfidences
from acclimate.data.problems import InputError, shorten
from acclimate.reporting.charts import BarRow, bars, bars_legend, heat_map, lines, lines_legend, series_classes
from acclimate.reporting.svg import Figure

_LONGEST_TERM = 30


def compared_figure(compared: EpochsToMatch) -> Figure:
    """Scores of several runs (MSLM, Figure 3). The level is the best score of the first; a ring marks where another
    reaches it."""
    in_epochs = all(one.epoch is not None for curve in compared.curves for one in curve.evaluations)

    def point(one: Evaluation) -> tuple[float, float]:
        return (one.epoch if in_epochs and one.epoch is not None else float(one.update)), one.score

    series = {curve.name: list(map(point, curve.evaluations)) for curve in compared.curves}
    goal = compared.curves[0].best.score
    reached = [curve.reaches(goal) for curve in compared.curves[1:]]
    spoken = "; ".join(f"{curve.name}: best {curve.best.score:.4f} at {curve.best.when}" for curve in compared.curves)
    drawn = lines(
        f"Scores along training: {compared.selector}",
        spoken,
        series,
        across="epochs" if in_epochs else "updates",
        levels={goal: f"best of {compared.curves[0].name}"},
        rings=[point(one) for one in reached if one is not None],
    )
    return Figure(compared.selector, drawn, lines_legend(list(series)))


def density_figure(curves: Sequence[Curve], caption: str = "density ratio of the hidden words") -> Figure:
    """The density ratio over training, a line per policy (mlm4uda, Figure 3). An upright line reaches from the lowest
    to the highest run; a period in which nothing was hidden is a gap."""
    if not any(point.mean is not None for curve in curves for point in curve.points):
        raise InputError("there is no density ratio to draw: it needs a source and a target corpus.")
    names = {
        curve.name: curve.name if curve.runs == 1 or curve.name == ALL_WORDS else f"{curve.name} ({curve.runs} runs)"
        for curve in curves
    }
    series = {names[curve.name]: [(float(point.last), point.mean) for point in curve.points] for curve in curves}
    ranges = {
        names[curve.name]: [
            (float(point.last), point.lowest, point.highest)
            for point in curve.points
            if point.lowest is not None and point.highest is not None and curve.runs > 1 and curve.name != ALL_WORDS
        ]
        for curve in curves
    }
    known = {name: [value for _, value in points if value is not None] for name, points in series.items()}
    spoken = "; ".join(f"{name}: mean {sum(own) / len(own):.3f}" for name, own in known.items() if own)
    note = "upright lines: from the lowest to the highest run" if any(ranges.values()) else ""
    drawn = lines("Density ratio of the hidden words", spoken, series, ranges=ranges)
    return Figure(f"{caption} (mean, 0 to 1)", drawn, lines_legend(list(series)), note)


def parts_of_speech_figure(
    shares: dict[str, dict[str, float]], caption: str = "parts of speech of the hidden words"
) -> Figure:
    """A group of bars per part of speech, a bar per policy (mlm4uda, Table 4)."""
    if not shares:
        raise InputError("there are no parts of speech to draw: the hidden words were not tagged.")
    parts = list(next(iter(shares.values())))
    rows = [BarRow(part, [100 * shares[name][part] for name in shares]) for part in parts]
    series = series_classes(list(shares))
    most = max(value for row in rows for value in row.values if value is not None)
    spoken = "; ".join(f"{name}: {100 * own[parts[0]]:.1f} % {parts[0]}" for name, own in shares.items())
    drawn = bars("Parts of speech of the hidden words", spoken, rows, series, most, "share of words (%)")
    return Figure(caption, drawn, bars_legend(series))


def mask_figures(statistics: Sequence[MaskStatistics]) -> dict[str, Figure]:
    """All pictures that the masks of some runs allow. Where there are mixtures, a second one shows their parts."""
    figures = {}
    for split in (False, True) if any(run.by for run in statistics) else (False,):
        suffix, how = ("-in-parts", ", mixtures in parts") if split else ("", "")
        if any(run.everything.density_ratio is not None for run in statistics):
            curves = density_curves(statistics, split=split)
            figures[f"density-ratio{suffix}"] = density_figure(curves, f"density ratio of the hidden words{how}")
        shares = mean_part_of_speech_shares(statistics, split=split)
        if shares:
            caption = f"parts of speech of the hidden words{how}"
            figures[f"parts-of-speech{suffix}"] = parts_of_speech_figure(shares, caption)
    if not figures:
        raise InputError("there is nothing to draw: give a source and a target, or a part-of-speech tagger.")
    return figures


def confidence_figure(confidences: TermConfidences) -> Figure:
    """A row per term, a column per tagger (MSLM, Figure 2)."""
    names = [tagger.name for tagger in confidences.taggers]
    spoken = "; ".join(f"{tagger.name}: {tagger.confidence:.2f}" for tagger in confidences.taggers)
    drawn = heat_map(
        "Confidence in the predicted class",
        f"mean over all mentions: {spoken}",
        [f"{shorten(term.term, _LONGEST_TERM)} ({term.label})" for term in confidences.terms],
        names,
        [[seen.confidence for seen in term.taggers] for term in confidences.terms],
        scale=(0.0, 1.0),
        digits=2,
        longest=_LONGEST_TERM,
    )
    return Figure("mean probability of the predicted class, by term", drawn)

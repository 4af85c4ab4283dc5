"""Pictures of several runs or taggers: the right lines, bars and cells, and a word where there is nothing to draw."""

from __future__ import annotations

import pytest
from mask_rows import TagsByRule, corpus, row

from acclimate.analysis.curves import EpochsToMatch, Evaluation, ScoreCurve
from acclimate.analysis.mask_tables import ALL_WORDS, Curve, CurvePoint
from acclimate.analysis.masks import Yardsticks, mask_statistics
from acclimate.analysis.terms import Seen, TaggerConfidence, TermConfidences, TermRow
from acclimate.data.problems import InputError
from acclimate.reporting.pictures import (
    compared_figure,
    confidence_figure,
    density_figure,
    mask_figures,
    parts_of_speech_figure,
)


def curve(name: str, runs: int = 3) -> Curve:
    values = [0.2, 0.3, None, 0.25, 0.4]
    points = [
        CurvePoint(at * 100 + 1, at * 100 + 100, value, value and value - 0.1, value and value + 0.1)
        for at, value in enumerate(values)
    ]
    return Curve(name, runs, tuple(points))


def compared(epochs: bool) -> EpochsToMatch:
    curves = [
        ScoreCurve(name, tuple(Evaluation(10 * at, at if epochs else None, at / (9 - place)) for at in range(5)))
        for place, name in enumerate(("plain", "other"))
    ]
    return EpochsToMatch("span F1 on dev", tuple(curves))


@pytest.mark.parametrize(("epochs", "across"), [(True, "epochs"), (False, "updates")])
def test_the_best_of_the_first_is_a_level_and_a_ring_marks_who_reaches_it(epochs: bool, across: str) -> None:
    drawn = str(compared_figure(compared(epochs)).drawing)
    assert drawn.count('class="ring"') == 1
    assert "best of plain" in drawn
    assert f">{across}<" in drawn


def test_the_density_ratio_has_gaps_and_the_spread_over_runs_is_explained() -> None:
    several = density_figure([curve("random"), curve(ALL_WORDS)])
    alone = density_figure([curve("random", runs=1)])
    assert str(several.drawing).count("<polyline") == 4
    assert several.note == "upright lines: from the lowest to the highest run"
    assert [name for _, name in several.legend] == ["random (3 runs)", ALL_WORDS]
    assert alone.note == ""


def test_every_part_of_speech_has_a_bar_for_each_policy() -> None:
    shares = {name: {"NOUN": 0.25, "VERB": 0.5, "others": 0.25} for name in (ALL_WORDS, "random")}
    figure = parts_of_speech_figure(shares)
    assert str(figure.drawing).count("<rect") == 6
    assert ">50.0<" in str(figure.drawing)


def test_mixtures_get_pictures_of_their_parts() -> None:
    rows = [row("[new] old", policy="mix", by="entropy"), row("[old]", policy="mix", by="random")]
    yardsticks = Yardsticks(corpus("old"), corpus("new"), tagger=TagsByRule({}))
    figures = mask_figures(mask_statistics({"a": rows}, yardsticks))
    assert list(figures) == ["density-ratio", "parts-of-speech", "density-ratio-in-parts", "parts-of-speech-in-parts"]
    assert "mix, by entropy" in [name for _, name in figures["density-ratio-in-parts"].legend]


def test_every_term_and_tagger_has_a_cell() -> None:
    seen = (Seen(0.25, 1.0), Seen(0.5, 1.0))
    taggers = tuple(TaggerConfidence(name, 0.5, 0.6, None, 1.0) for name in ("plain", "other"))
    rows = tuple(TermRow(f"<term> {number}", "GENE", 2, seen) for number in range(3))
    drawn = str(confidence_figure(TermConfidences(9, 3, taggers, rows)).drawing)
    assert drawn.count("<rect") == 6
    assert drawn.count(">0.25<") == drawn.count(">0.50<") == 3
    assert "<term>" not in drawn


def test_nothing_to_draw_is_said() -> None:
    with pytest.raises(InputError, match="there is no density ratio"):
        density_figure([])
    with pytest.raises(InputError, match="there are no parts of speech"):
        parts_of_speech_figure({})
    with pytest.raises(InputError, match="nothing to draw"):
        mask_figures(mask_statistics({"a": [row("[a]")]}))

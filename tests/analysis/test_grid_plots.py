"""Heat maps and compared curves: the right texts, nothing cut off, the same bytes for the same numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acclimate.analysis.curves import EpochsToMatch, Look, ScoreCurve
from acclimate.analysis.grid import grid_of
from acclimate.analysis.plots import (
    draw_cells,
    draw_compared_curves,
    draw_grid,
    draw_short_and_long,
    draw_term_confidences,
    save_figure,
)
from acclimate.analysis.short_and_long import Part, ShortAndLong
from acclimate.analysis.terms import Seen, TaggerConfidence, TermConfidences, TermRow
from acclimate.data.problems import InputError

pytest.importorskip("matplotlib")

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONG = "_a $long$ name/that-goes_on/and-on_and/on of a thing"
RESULTS = [{"elm": elm, "blm": blm, "em": elm * blm} for elm in (0.25, 0.5, 1.0) for blm in (0, 0.075, 0.15)][1:]


def confidences(terms: int, names: tuple[str, ...]) -> TermConfidences:
    seen = tuple(Seen(0.1 * number, 1.0) for number, _ in enumerate(names, start=1))
    rows = tuple(TermRow(f"{LONG} {number}", "GENE", 2, seen) for number in range(terms))
    return TermConfidences(9, terms, tuple(TaggerConfidence(name, 0.5, 0.6, None, 1.0) for name in names), rows)


def compared(*names: str, epochs: bool = True) -> EpochsToMatch:
    curves = [
        ScoreCurve(
            name,
            tuple(Look(10 * at, at if epochs else None, at / (9 - place)) for at in range(5)),
        )
        for place, name in enumerate(names)
    ]
    return EpochsToMatch(LONG, tuple(curves))


def drawn() -> dict[str, Figure]:
    part = Part(5, 9, 0.5, 0.6)
    return {
        "grid": draw_grid(grid_of(RESULTS, "elm", "blm", "em")),
        "one cell": draw_cells([[1234.5]], [LONG], [LONG], "one", row_axis="rows", column_axis="columns"),
        "lengths": draw_short_and_long([ShortAndLong(name, 1, 20.25, part, part) for name in ("plain", LONG)], "f1"),
        "few terms": draw_term_confidences(confidences(3, ("plain", LONG))),
        "many terms": draw_term_confidences(confidences(30, ("plain",))),
        "curves": draw_compared_curves([compared("plain", "other", LONG), compared("a", "b", epochs=False)]),
        "many curves": draw_compared_curves([compared(*map(str, range(8)))]),
    }


def texts(figure: Figure) -> set[str]:
    from matplotlib.text import Text

    return {text.get_text().strip() for text in figure.findobj(Text)}


def test_no_label_is_cut_off() -> None:
    for name, figure in drawn().items():
        figure.draw_without_rendering()
        box, sheet = figure.get_tightbbox(), figure.get_size_inches()
        assert min(box.x0, box.y0) >= 0, name
        assert box.x1 <= sheet[0], name
        assert box.y1 <= sheet[1], name


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_same_numbers_give_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    first, again = tmp_path / f"1{suffix}", tmp_path / f"2{suffix}"
    for name in drawn():
        save_figure(drawn()[name], first)
        save_figure(drawn()[name], again)
        assert first.read_bytes() == again.read_bytes(), name


def test_every_cell_has_its_number_and_a_gap_has_none() -> None:
    found = texts(drawn()["grid"])
    assert {"1.9", "3.8", "15.0", "elm", "blm", "em (%)", "em by elm and blm"} <= found
    (axes, _) = drawn()["grid"].axes
    assert len(axes.texts) == 8  # of nine


def test_high_cells_are_written_in_white() -> None:
    (axes, _) = draw_cells([[0.0, 10.0]], ["a"], ["b", "c"], "two").axes
    assert [text.get_color() for text in axes.texts] == ["#222222", "white"]


def test_the_best_of_the_first_is_a_line_and_a_ring_marks_who_reaches_it() -> None:
    (axes,) = draw_compared_curves([compared("plain", "other")]).axes
    assert list(axes.lines[0].get_ydata()) == pytest.approx([4 / 9, 4 / 9])
    rings = [line for line in axes.lines if line.get_marker() == "o"]
    assert [list(ring.get_xdata()) for ring in rings] == [[4]]
    assert axes.get_xlabel() == "epochs"


def test_updates_are_drawn_where_epochs_are_not_known() -> None:
    assert draw_compared_curves([compared("a", "b", epochs=False)]).axes[0].get_xlabel() == "updates"


def test_nothing_to_draw_is_said() -> None:
    with pytest.raises(InputError, match="no number to draw"):
        draw_cells([[None]], ["a"], ["b"], "none")
    with pytest.raises(ValueError, match="2 rows and 1 columns do not fit"):
        draw_cells([[1.0]], ["a", "c"], ["b"], "some")
    with pytest.raises(InputError, match="no tagger to draw"):
        draw_short_and_long([])
    with pytest.raises(InputError, match="no curve to draw"):
        draw_compared_curves([])

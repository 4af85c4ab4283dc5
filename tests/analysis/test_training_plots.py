"""Pictures of training and of features: the right texts, nothing cut off, one stage or many."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from training_rows import confidence, game, look, losses, write, write_run

from acclimate.analysis.curves import GUESSING, OUTRUN, SEEING_THROUGH, read_curves
from acclimate.analysis.features import Separability
from acclimate.analysis.plots import draw_curves, draw_feature_map, draw_focal_weights, save_figure
from acclimate.analysis.plots.curves import smoothed
from acclimate.analysis.plots.focal_weights import source_weight, target_weight
from acclimate.data.problems import InputError

pytest.importorskip("matplotlib")

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONG = "_a $long$ name/that-goes_on/and-on_and/on of a thing"


def texts(figure: Figure) -> set[str]:
    from matplotlib.text import Text

    return {text.get_text().strip() for text in figure.findobj(Text)}


def long_run(folder: Path) -> Path:
    """Names and numbers of every awkward kind."""
    rows = [losses(LONG, update, tag=update % 7, **{LONG: -1e5}) for update in range(10, 600, 10)]
    rows += [look(LONG, 599, 0.5, LONG), look(LONG, 600, None, LONG)]
    rows += [game(LONG, update, 0.5) for update in range(100)]
    rows += [confidence(LONG, 100, **{f"{LONG} {number}": 0.1 * number for number in range(10)})]
    return write(folder / "training" / LONG.replace("/", "-") / "records.jsonl", rows)


def feature_map(*names: str, size: int = 20) -> Figure:
    places = np.random.default_rng(0).normal(size=(size * len(names), 2)).astype(np.float32)
    domains = [name for name in names for _ in range(size)]
    return draw_feature_map(places, domains, Separability(0.875, (0.85, 0.9), 40, 30))


def drawn(tmp_path: Path) -> dict[str, Figure]:
    return {
        "run": draw_curves(read_curves(write_run(tmp_path / "a"))),
        "long": draw_curves(read_curves(long_run(tmp_path / "b"))),
        "one": draw_curves(read_curves(write(tmp_path / "records.jsonl", [losses("a", 1, tag=1.0)]))),
        "map": feature_map("source (news)", LONG),
        "maps": feature_map(*map(str, range(9))),
        "weights": draw_focal_weights(),
    }


@pytest.fixture
def pictures(tmp_path: Path) -> dict[str, Figure]:
    return drawn(tmp_path)


def test_no_label_is_cut_off(pictures: dict[str, Figure]) -> None:
    for name, figure in pictures.items():
        figure.draw_without_rendering()
        drawn, sheet = figure.get_tightbbox(), figure.get_size_inches()
        assert drawn.x0 >= 0, name
        assert drawn.y0 >= 0, name
        assert drawn.x1 <= sheet[0], name
        assert drawn.y1 <= sheet[1], name


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_pictures_are_written_and_the_same_ones_give_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    one, other = ({name: tmp_path / f"{number}-{name}{suffix}" for name in drawn(tmp_path)} for number in "12")
    for paths in (one, other):
        for name, figure in drawn(tmp_path).items():
            save_figure(figure, paths[name])
    for name in one:
        assert one[name].read_bytes() == other[name].read_bytes()
        assert one[name].read_bytes().startswith(b"\x89PNG" if suffix == ".png" else b"<?xml")


def test_every_stage_and_every_measure_has_its_place(pictures: dict[str, Figure]) -> None:
    found = texts(pictures["run"])
    assert {"source-only, source", "align, warm-up", "align", "loss: tag", "loss: domain"} <= found
    assert {"accuracy of the discriminator", "both domains", "source", "target", "guesses", "mostly\nwrong"} <= found
    assert {"probability of the gold tags", "Anna left", "omg", "updates"} <= found
    assert len(pictures["run"].axes) == 2 + 1 + 5


def test_the_game_is_drawn_with_chance_and_its_zones(tmp_path: Path) -> None:
    figure = draw_curves(read_curves(write(tmp_path / "records.jsonl", [game("a", 5, 0.75), game("a", 9, 0.6)])))
    (axes,) = figure.axes
    assert [0.5, 0.5] in [list(line.get_ydata()) for line in axes.lines]
    zones = sorted((patch.get_y(), patch.get_y() + patch.get_height()) for patch in axes.patches)
    assert np.array(zones) == pytest.approx(np.array([OUTRUN, GUESSING, SEEING_THROUGH]))
    assert [0.75, 0.6] in [list(line.get_ydata()) for line in axes.lines]


def test_the_kept_state_is_ringed_and_scores_share_their_scale(tmp_path: Path) -> None:
    rows = [look("a", 5, 0.5), look("a", 9, 0.5), look("b", 5, 0.9)]
    first, second = draw_curves(read_curves(write(tmp_path / "records.jsonl", rows))).axes
    assert list(first.lines[-1].get_xdata()) == [9]
    assert first.get_ylim() == second.get_ylim()


def test_long_curves_are_smoothed_and_that_is_said(pictures: dict[str, Figure]) -> None:
    assert "updates (long curves: pale as logged, dark the mean of neighbours)" in texts(pictures["long"])
    assert [len(axes.lines) for axes in pictures["long"].axes][:2] == [2, 2]


def test_smoothing_takes_the_mean_of_neighbours_and_keeps_gaps() -> None:
    nothing = float("nan")
    assert smoothed([1.0, 2.0, 6.0], 1) == [1.5, 3.0, 4.0]
    assert [value == value for value in smoothed([1.0, nothing, 3.0], 1)] == [True, False, True]
    assert smoothed([1.0, nothing, 3.0], 2)[0] == 2.0


def test_nothing_to_draw_is_said() -> None:
    with pytest.raises(InputError, match="there is no curve to draw"):
        draw_curves([])
    with pytest.raises(InputError, match="2 places for 1 points"):
        draw_feature_map(np.zeros((2, 2), np.float32), ["a"])
    with pytest.raises(InputError, match="0 places for 0 points"):
        draw_feature_map(np.zeros((0, 2), np.float32), [])


def test_the_map_names_its_corpora_and_the_number() -> None:
    found = texts(feature_map("source (news)", "target (social)"))
    assert {"source (news)\n(20 points)", "target (social)\n(20 points)"} <= found
    assert any("accuracy 0.875 (chance: 0.5)" in text and "A-distance 1.50" in text for text in found)


def test_every_point_is_on_the_map_in_the_colour_of_its_corpus() -> None:
    (axes,) = feature_map("a", "b", "c", size=21).axes
    counts: Counter[str] = Counter()
    for dots in axes.collections:
        counts[str(dots.get_facecolor()[0][:3])] += len(dots.get_offsets())
    assert list(counts.values()) == [21, 21, 21]


def test_the_weights_are_those_of_the_loss() -> None:
    """Oracle 3_grad: r = 0.9 for a source and 0.2 for a target sentence, alpha 0.3, gamma 2; the loss is 0.006564."""
    source, target = source_weight(0.9, 0.3, 2), target_weight(0.2, 0.3, 2)
    assert -source * np.log(0.9) - target * np.log(1 - 0.2) == pytest.approx(0.006564, abs=5e-7)


def test_with_gamma_0_every_sentence_counts_the_same() -> None:
    assert {source_weight(chance, 0.3, 0) for chance in (0.0, 0.5, 1.0)} == {0.3}
    assert {target_weight(chance, 0.3, 0) for chance in (0.0, 0.5, 1.0)} == {0.7}


def test_both_domains_are_drawn_on_one_scale_with_a_line_for_each_gamma() -> None:
    left, right = draw_focal_weights(0.1, (0, 2)).axes
    assert left.get_ylim() == right.get_ylim()
    assert [len(left.lines), len(right.lines)] == [2, 2]
    assert right.lines[1].get_ydata()[-1] == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("alpha", "gammas", "words"), [(1.5, (1,), "not at 1.5"), (0.5, (), "not"), (0.5, (-1,), "-1")]
)
def test_weights_that_make_no_sense_are_refused(alpha: float, gammas: tuple[float, ...], words: str) -> None:
    with pytest.raises(InputError, match=words):
        draw_focal_weights(alpha, gammas)

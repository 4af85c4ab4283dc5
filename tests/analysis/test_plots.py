"""Pictures: the right texts, nothing cut off, one series or eight, and a clear word where matplotlib is missing."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mask_rows import TagsByRule, corpus, row

from acclimate.analysis.mask_log import Yardsticks
from acclimate.analysis.mask_statistics import (
    ALL_WORDS,
    Curve,
    CurvePoint,
    density_curves,
    mask_statistics,
    mean_part_of_speech_shares,
)
from acclimate.analysis.plots import (
    check_picture,
    draw_density_ratio,
    draw_overlap,
    draw_parts_of_speech,
    draw_seen_accuracy,
    mask_pictures,
    save_figure,
)
from acclimate.analysis.plots.canvas import COLOURS, wrapped
from acclimate.analysis.seen_accuracy import Accuracy, SeenAccuracy
from acclimate.analysis.text_comparison import Overlap
from acclimate.data.problems import InputError

pytest.importorskip("matplotlib")

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = [
    *("random", "mix-adversarial", "_begins with a line", "$no$ formula", "a_name/that-goes_on/and-on_and/on"),
    *("é", "x" * 70, "eighth"),
]


def texts(figure: Figure) -> set[str]:
    from matplotlib.text import Text

    return {text.get_text() for text in figure.findobj(Text)}


def overlap(names: list[str]) -> Overlap:
    cells = [[100.0 if one == other else len(one) % 9 + 0.25 for other in names] for one in names]
    return Overlap(tuple(names), (5,) * len(names), tuple(map(tuple, cells)))


def curve(name: str, runs: int = 3) -> Curve:
    values = [0.2, 0.3, None, 0.25, 0.4]
    points = [
        CurvePoint(at * 100 + 1, at * 100 + 100, value, value and value - 0.1, value and value + 0.1)
        for at, value in enumerate(values)
    ]
    return Curve(name, runs, tuple(points))


def seen(name: str, runs: int = 3) -> SeenAccuracy:
    accuracy = Accuracy(0.5, 0.02 if runs > 1 else None, 10)
    return SeenAccuracy(name, runs, accuracy, Accuracy(1.0, 0.01, 5), Accuracy(0.0, None, 5))


def shares(names: list[str]) -> dict[str, dict[str, float]]:
    return {name: {"NOUN": 0.25, "VERB": 0.5, "others": 0.25} for name in [ALL_WORDS, *names]}


DRAWN = {
    "overlap": lambda names: draw_overlap(overlap(names), note="in lower case, in 3 sentences or more, without any"),
    "lines": lambda names: draw_density_ratio([*map(curve, names), curve(ALL_WORDS)]),
    "parts": lambda names: draw_parts_of_speech(shares(names)),
    "accuracy": lambda names: draw_seen_accuracy([*map(seen, names)]),
}


@pytest.mark.parametrize(("kind", "names"), list(product(DRAWN, [NAMES[:1], NAMES[:3], NAMES])))
def test_no_label_is_cut_off(kind: str, names: list[str]) -> None:
    figure: Figure = DRAWN[kind](names)
    figure.draw_without_rendering()
    drawn, sheet = figure.get_tightbbox(), figure.get_size_inches()
    assert drawn.x0 >= 0
    assert drawn.y0 >= 0
    assert drawn.x1 <= sheet[0]
    assert drawn.y1 <= sheet[1]


@pytest.mark.parametrize("kind", DRAWN)
def test_every_name_is_in_the_picture(kind: str) -> None:
    found = {
        text.replace("\n", "").replace("\N{NO-BREAK SPACE}", "").replace(" ", "") for text in texts(DRAWN[kind](NAMES))
    }
    for name in NAMES:
        bare = name.replace(" ", "")
        assert found & {bare, f"{bare}(3runs)"}


@pytest.mark.parametrize(("kind", "suffix"), list(product(DRAWN, [".png", ".svg"])))
def test_pictures_are_written_by_the_name_of_the_file(kind: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / "new" / f"picture{suffix}"
    save_figure(DRAWN[kind](NAMES[:2]), path)
    begins = b"\x89PNG" if suffix == ".png" else b"<?xml"
    assert path.read_bytes().startswith(begins)
    assert path.stat().st_size > 5000


def test_the_same_picture_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, suffix in product("ab", (".png", ".svg")):
        save_figure(DRAWN["lines"](NAMES[:2]), tmp_path / f"{name}{suffix}")
    for suffix in (".png", ".svg"):
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_the_overlap_shows_every_figure_and_its_unit() -> None:
    found = texts(draw_overlap(overlap(["news", "social"])))
    assert {"100.0", "4.2", "6.2", "Vocabulary overlap", "shared words (%)"} <= found


def test_lines_say_what_they_are_and_leave_gaps() -> None:
    figure = draw_density_ratio([curve("random", runs=1), curve(ALL_WORDS)])
    assert {"updates", "mean density ratio (0 to 1)", "random", ALL_WORDS} <= texts(figure)
    heights = figure.axes[0].lines[0].get_ydata()
    assert [height == height for height in heights] == [True, True, False, True, True]


def test_the_spread_over_runs_is_drawn_and_explained() -> None:
    few, many = (draw_density_ratio([*map(curve, names), curve(ALL_WORDS)]) for names in (NAMES[:2], NAMES))
    assert "updates\n(bands: from the lowest to the highest run)" in texts(few)
    assert "updates\n(upright lines: from the lowest to the highest run)" in texts(many)
    assert (len(few.axes[0].collections), len(many.axes[0].collections)) == (2, 8)


def test_eight_policies_have_eight_colours() -> None:
    lines = DRAWN["lines"](NAMES).axes[0].lines
    assert len({line.get_color() for line in lines}) == 9  # and grey for all words
    assert len(set(COLOURS)) == 8


def test_shares_are_written_on_few_bars() -> None:
    assert "25.0" in texts(draw_parts_of_speech(shares(["random"])))
    assert "25.0" not in texts(draw_parts_of_speech(shares(NAMES)))


def test_bars_of_accuracy_carry_their_figures() -> None:
    found = texts(draw_seen_accuracy([seen("random", runs=1)]))
    assert {"50.0", "100.0", "0.0", "all words", "seen words", "unseen words"} <= found
    assert "accuracy over words with a gold tag other than O (%)" in found


@pytest.mark.parametrize("draw", [draw_density_ratio, draw_seen_accuracy])
def test_nothing_to_draw_is_said(draw: object) -> None:
    with pytest.raises(InputError, match="there is no"):
        draw([])  # type: ignore[operator]
    with pytest.raises(InputError, match="there are no parts of speech"):
        draw_parts_of_speech({})


def test_mixtures_get_pictures_of_their_parts() -> None:
    rows = [row("[new] old", policy="mix", by="entropy"), row("[old]", policy="mix", by="random")]
    yardsticks = Yardsticks(corpus("old"), corpus("new"), tagger=TagsByRule({}))
    pictures = mask_pictures(mask_statistics({"a": rows}, yardsticks))
    assert list(pictures) == [
        *("density-ratio", "parts-of-speech"),
        *("density-ratio-in-parts", "parts-of-speech-in-parts"),
    ]
    assert "mix, by entropy" in texts(pictures["density-ratio-in-parts"])


def test_masks_without_any_yardstick_cannot_be_drawn() -> None:
    with pytest.raises(InputError, match="nothing to draw"):
        mask_pictures(mask_statistics({"a": [row("[a]")]}))


def test_curves_and_shares_of_real_rows_can_be_drawn() -> None:
    found = mask_statistics({"a": [row("[new] old")]}, Yardsticks(corpus("old"), corpus("new"), tagger=TagsByRule({})))
    assert "random" in texts(draw_density_ratio(density_curves(found)))
    assert "random" in texts(draw_parts_of_speech(mean_part_of_speech_shares(found)))


@pytest.mark.parametrize("name", ["picture", "picture.jpg"])
def test_only_png_and_svg_are_written(name: str) -> None:
    with pytest.raises(InputError, match=r"must end in \.png or \.svg"):
        check_picture(name)


def test_long_names_are_broken_behind_their_signs() -> None:
    assert wrapped("a_name/that-goes_on/and-on_and/on") == "a_name/that-goes_on/and-\non_and/on"
    assert wrapped("x" * 30) == f"{'x' * 26}\n{'x' * 4}"
    assert wrapped("two \n words") == "two words"
    assert wrapped("word " * 90).endswith("…")


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match=r"pictures need matplotlib: pip install 'acclimate\[plots\]'"):
        draw_overlap(overlap(["news"]))


def test_neither_pyplot_nor_torch_is_loaded(tmp_path: Path) -> None:
    code = (
        "import sys; from acclimate.analysis.plots import *; assert 'matplotlib' not in sys.modules\n"
        "from acclimate.analysis.text_comparison import Overlap\n"
        "save_figure(draw_overlap(Overlap(('a',), (1,), ((100.0,),))), sys.argv[1])\n"
        "assert 'matplotlib.pyplot' not in sys.modules and 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.png")], check=True)

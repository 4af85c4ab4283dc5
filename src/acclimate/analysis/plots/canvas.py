"""What all pictures share: the sheet, the colours, the legend, and the file."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acclimate.data.problems import InputError, shorten
from acclimate.data.writers.saving import save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg")
# Okabe and Ito (2008): told apart by all eyes; in place of their yellow, too pale on white, the wine of Paul Tol
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#882255")
GREY = "#8A8A8A"
INK = "#222222"
DOTS_PER_INCH = 120
LETTER = 0.085  # inches; an average letter of a label, with some room


def require_matplotlib() -> None:
    """Refuse, and say what to install, where it is missing."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise InputError("pictures need matplotlib: pip install 'acclimate[plots]'.") from None


def new_sheet(title: str, width: float, height: float) -> tuple[Figure, Axes]:
    """A picture with one empty plot, in inches, wide enough for its title. Labels find their room by themselves."""
    figure = new_figure(title, width, height)
    axes = figure.add_subplot()
    clear_frame(axes)
    return figure, axes


def new_figure(title: str, width: float, height: float) -> Figure:
    """A picture without a plot, in inches, wide enough for its title."""
    require_matplotlib()
    from matplotlib.figure import Figure

    room = 1.2 * LETTER * max(map(len, title.split("\n")))
    figure = Figure(figsize=(max(width, room), height), dpi=DOTS_PER_INCH, layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=12)
    return figure


def clear_frame(axes: Axes) -> None:
    """Only the two axes of a plot are drawn, and its grid behind the data."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.set_axisbelow(True)


def save_figure(figure: Figure, path: str | Path) -> None:
    """PNG or SVG by the file's name; the same picture gives the same bytes."""
    import matplotlib
    from matplotlib.text import Text

    suffix = picture_suffix(path)
    for text in figure.findobj(Text):
        text.set_parse_math(False)  # a name such as $a$ is no formula
    _settle(figure)
    written = io.BytesIO()
    metadata: dict[str, Any] = {"Date": None} if suffix == ".svg" else {"Software": None}
    with matplotlib.rc_context({"svg.hashsalt": "acclimate"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a box in the picture says it, too
        figure.savefig(written, format=suffix[1:], metadata=metadata)
    save(written.getvalue(), path)


def _settle(figure: Figure) -> None:
    """Lay the picture out once and for all, at round places: the last digits differ from time to time where there are
    several plots, and names inside an SVG are made from them."""
    if figure.get_layout_engine() is None:
        return
    for _ in range(2):  # labels change with the room that they are given
        figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        left, bottom, width, height = (round(place, 6) for place in axes.get_position(original=True).bounds)
        axes.set_position((left, bottom, width, height))


def check_picture(path: str | Path) -> None:
    """Say now, and not after the counting, that a picture cannot be drawn."""
    require_matplotlib()
    picture_suffix(path)


def picture_suffix(path: str | Path) -> str:
    """The kind of picture that a name asks for."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{path}: a picture's name must end in {' or '.join(SUFFIXES)}.")
    return suffix


def wrapped(name: str, width: int = 26) -> str:
    """A long name on several lines, broken behind its blanks and signs where it has any; a very long one is cut."""
    lines = [""]
    for part in re.findall(r"[^-/_, ]*[-/_, ]?", shorten(re.sub(r"[ \t\r\n]+", " ", name), 3 * width)):
        for piece in (part[start : start + width] for start in range(0, len(part), width)):
            if len(lines[-1]) + len(piece.rstrip()) > width:
                lines.append("")
            lines[-1] += piece
    return "\n".join(line.strip() for line in lines)


def widest(names: Sequence[str]) -> float:
    """The room that wrapped names need, in inches."""
    return LETTER * max((len(line) for name in names for line in name.split("\n")), default=0)


def add_legend(figure: Figure, handles: Sequence[Any], names: Sequence[str]) -> None:
    """Beside the plot, where it covers nothing."""
    legend = figure.legend(list(handles), [f" {name}" for name in names], loc="outside right upper", frameon=False)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(name)  # given behind a blank above: matplotlib leaves out names that begin with _

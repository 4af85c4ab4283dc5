"""Make the page of a folder, or say why there is nothing to report."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from acclimate.data.problems import InputError
from acclimate.layout import COMPARISON, REPORT, is_begun, runs_of_comparison
from acclimate.model.storage import MANIFEST
from acclimate.reporting.comparison_page import comparison_page
from acclimate.reporting.run_data import collect_run, read_object
from acclimate.reporting.run_page import Look, run_page


def report_page(folder: str | Path, look: Look | None = None) -> str:
    """One HTML file as a string, of a run folder or of a comparison's. The same folder gives the same page."""
    folder, look = Path(folder), look or Look()
    if kind_of(folder) == "comparison":
        return comparison_page(folder, look)
    return run_page(collect_run(folder), look)


def kind_of(folder: Path) -> Literal["run", "comparison"]:
    """Refuses a folder of which no report can be made, and says what is the matter."""
    if not folder.exists():
        raise InputError("there is no such folder.", file=folder)
    if not folder.is_dir():
        raise InputError("this is a file. Name the folder that `acclimate adapt` or `compare` wrote.", file=folder)
    if (folder / COMPARISON).is_file():
        return "comparison"
    if runs_of_comparison(folder):
        raise InputError(
            "this comparison is not finished. Give its `acclimate compare` command again to go on with it, or name "
            "one of its finished runs.",
            file=folder,
        )
    if is_begun(folder):
        raise InputError("this run is not finished. Give its command again to go on with it.", file=folder)
    if not (folder / REPORT).is_file() or not (folder / MANIFEST).is_file():
        raise InputError(
            "there is no run in this folder. Name one that `acclimate adapt --out` or `compare --out` wrote.",
            file=folder,
        )
    if "recipe" not in read_object(folder / REPORT):
        raise InputError("this is no run of `acclimate adapt` or `compare`: nothing was adapted in it.", file=folder)
    return "run"

"""Make the page of a folder."""

from __future__ import annotations

from pathlib import Path

from acclimate.reporting.comparison_page import comparison_page
from acclimate.reporting.folders import kind_of
from acclimate.reporting.run_data import collect_run
from acclimate.reporting.run_page import Look, run_page


def report_page(folder: str | Path, look: Look | None = None) -> str:
    """One HTML file as a string, of a run folder or of a comparison's. The same folder gives the same page."""
    folder, look = Path(folder), look or Look()
    if kind_of(folder) == "comparison":
        return comparison_page(folder, look)
    return run_page(collect_run(folder), look)

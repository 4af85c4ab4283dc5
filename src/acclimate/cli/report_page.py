"""`acclimate report`: what a run or a comparison has shown, as one page for a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from acclimate.cli.options import Json, Quiet
from acclimate.cli.places import check_file_to_write


def report_command(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder that `acclimate adapt --out` or `compare --out` wrote.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Where the page goes.", show_default="DIR/report.html"),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.", show_default="source → target")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out what takes long: distances between features, and their map.")
    ] = False,
    sentences: Annotated[int, typer.Option(min=0, help="Sentences in each part of the error gallery; 0: all.")] = 8,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write one HTML file about a run, or about a comparison: scores, curves, errors, distances, settings.

    Example: acclimate report runs/news-to-social-datnet-seed-1

    The file needs nothing else, no network and no script, and can be sent as it is. A report.html in DIR is replaced.
    """
    from acclimate.cli.progress import stderr_console
    from acclimate.reporting.report import report_page
    from acclimate.reporting.run_page import Look

    place = folder / "report.html" if out is None else out
    if folder.is_dir():  # what else it may be is told by who reads it
        check_file_to_write("--out", place, overwrite=True)
    console = stderr_console(quiet)
    with console.status("making the report"):
        page = report_page(folder, Look(quick, sentences, console.print), title)
    place.parent.mkdir(parents=True, exist_ok=True)
    aside = place.with_name(f"{place.name}.part")
    aside.write_text(page, encoding="utf-8")
    aside.replace(place)
    found = {"report": str(place), "bytes": place.stat().st_size}
    typer.echo(json.dumps(found, ensure_ascii=False) if as_json else f"report: {place}")

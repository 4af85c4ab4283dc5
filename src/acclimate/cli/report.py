"""`acclimate report`: what runs or a comparison have shown, as one page for a browser, or part by part."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from acclimate.cli.options import Json


def report_command(
    folders: Annotated[
        list[str], typer.Argument(metavar="DIR...", help="Folders that `acclimate adapt` or `compare` wrote.")
    ],
    only: Annotated[
        str | None,
        typer.Option(
            metavar="PART[,PART]",
            help="Print only curves, masks, confidence or feature-map. With --out: a page of any of its parts.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Where the page goes.", show_default="DIR/report.html")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="title, quick, sentences, csv, gold, source, target, …"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write one HTML file about a run or a comparison: scores, curves, errors, distances, settings.

    Example: acclimate report runs/news-to-social-datnet-seed-1

    The file needs nothing else, no network and no script. Send it as it is. A report.html in DIR is replaced.

    When does one run reach another's best score? acclimate report runs/a runs/b --only curves

    How sure are taggers? acclimate report runs/a runs/b --only confidence --set gold=social/test
    """
    from acclimate.cli.report_parts import PRINTED, ReportSettings, print_parts, write_page
    from acclimate.settings import UsageError, complete, with_assignments

    settings = complete(ReportSettings, with_assignments({}, assignments or ()), "acclimate report")
    parts = [part.strip() for part in only.split(",")] if only is not None else []
    if not parts or out is not None:
        if settings.csv or settings.gold:
            raise UsageError("--set csv and gold go with --only, without --out.")
        write_page(folders, parts, out, settings, as_json)
        return
    unknown = [part for part in parts if part not in PRINTED]
    if unknown:
        raise UsageError(
            f"--only {unknown[0]}: {', '.join(PRINTED)} are printed. For a page of other parts, name it with --out."
        )
    print_parts(folders, parts, settings, as_json)

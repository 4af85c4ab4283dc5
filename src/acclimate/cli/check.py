"""`acclimate data check`: what is in these files, and what may be wrong with them."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from acclimate.cli.options import Json, ReadingSet


def check_command(
    files: Annotated[
        list[str],
        typer.Argument(metavar="CORPUS...", help="Files of one data set, the training part first; or folders."),
    ],
    assignments: ReadingSet = None,
    as_json: Json = False,
) -> None:
    """Check a data set: counts, labels, tag scheme, duplicates, sentences that two parts share, oddities.

    The first file counts as training data. The others are compared with it.

    Exit code 1 when something is wrong enough to be called an error.
    """
    from acclimate.cli.data_settings import reading_of
    from acclimate.cli.reading import expand, read
    from acclimate.data.checks.checks import check_corpora

    reading = reading_of(assignments)
    report = check_corpora({name: read(place, reading) for name, place in expand(files).items()})
    typer.echo(json.dumps(report.as_dict(), ensure_ascii=False) if as_json else report.render())
    if report.worst == "error":
        raise typer.Exit(1)

"""`acclimate curves`: how the training of a run went, stage by stage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from acclimate.cli.options import CsvFolder, Json


def curves_command(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run, or its records.jsonl.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the curves: FILE.png or FILE.svg (needs matplotlib).")
    ] = None,
    csv: CsvFolder = None,
    as_json: Json = False,
) -> None:
    """Show how training went: losses, scores, a discriminator's accuracy against chance, watched sentences.

    Example: acclimate curves runs/news-to-social --out curves.png

    A run that is still under way can be looked at, too.
    """
    from acclimate.analysis.curve_rendering import render_curves
    from acclimate.analysis.curves import read_curves
    from acclimate.analysis.plots import check_picture, draw_curves, save_figure
    from acclimate.analysis.tables import write_tables

    if out is not None:
        check_picture(out)
    found = read_curves(run)
    if out is not None:
        save_figure(draw_curves(found, f"Training of {Path(run).name or run}"), out)
    if csv is not None:
        write_tables({"curves": [row for curves in found for row in curves.as_rows()]}, csv)
    result = {"run": run, "stages": [curves.as_dict() for curves in found]}
    typer.echo(json.dumps(result, ensure_ascii=False) if as_json else render_curves(found))

"""`acclimate curves`: how the training of a run went, stage by stage, or of several runs side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from acclimate.cli.options import CsvFolder, Json
from acclimate.cli.places import check_file_to_write, check_folder_to_write


def curves_command(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Folders of runs, or their records.jsonl.")],
    compare: Annotated[
        bool,
        typer.Option(
            "--compare", help="When does one curve of scores reach another's best? So also with several runs."
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the curves: FILE.png or FILE.svg (needs matplotlib).")
    ] = None,
    csv: CsvFolder = None,
    as_json: Json = False,
) -> None:
    """Show how training went: losses, scores, a discriminator's accuracy against chance, watched sentences.

    Example: acclimate curves runs/news-to-social --out curves.png

    Several runs: acclimate curves runs/plain runs/other --out compared.png. When does one reach another's best score?

    A run that is still under way can be looked at, too.
    """
    from acclimate.analysis.plots import check_picture

    check_folder_to_write("--csv", csv)
    check_file_to_write("--out", out, overwrite=True)  # a picture is drawn again
    if out is not None:
        check_picture(out)
    if compare or len(runs) > 1:
        _compare(runs, out, csv, as_json)
    else:
        _show(runs[0], out, csv, as_json)


def _show(run: str, out: Path | None, csv: Path | None, as_json: bool) -> None:
    from acclimate.analysis.curves import read_curves, render_curves
    from acclimate.analysis.plots import draw_curves, save_figure
    from acclimate.analysis.tables import write_tables

    found = read_curves(run)
    if out is not None:
        save_figure(draw_curves(found, f"Training of {Path(run).name or run}"), out)
    if csv is not None:
        write_tables({"curves": [row for curves in found for row in curves.as_rows()]}, csv)
    result = {"run": run, "stages": [curves.as_dict() for curves in found]}
    typer.echo(json.dumps(result, ensure_ascii=False) if as_json else render_curves(found))


def _compare(runs: Sequence[str], out: Path | None, csv: Path | None, as_json: bool) -> None:
    from acclimate.analysis.curves import compare_curves, read_curves
    from acclimate.analysis.plots import draw_compared_curves, save_figure
    from acclimate.analysis.tables import write_tables
    from acclimate.cli.reading import short_names

    found = compare_curves({name: read_curves(place) for name, place in short_names(runs).items()})
    if out is not None:
        save_figure(draw_compared_curves(found), out)
    if csv is not None:
        write_tables({"scores": [row for one in found for row in one.as_rows()]}, csv)
    result = {"runs": list(runs), "compared": [one.as_dict() for one in found]}
    told = "\n\n".join(one.render() for one in found)
    typer.echo(json.dumps(result, ensure_ascii=False) if as_json else told)

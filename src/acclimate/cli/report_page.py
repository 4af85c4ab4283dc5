"""`acclimate report`: what runs or a comparison have shown, as one page for a browser, or part by part."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acclimate.cli.options import CsvFolder, Json, Quiet
from acclimate.cli.places import check_file_to_write, check_folder_to_write

if TYPE_CHECKING:
    from acclimate.cli.report_parts import Part, ReportSettings

PRINTED = ("curves", "masks", "confidence", "feature-map")


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
        Path | None,
        typer.Option(metavar="FILE.html", help="Where the page goes.", show_default="DIR/report.html"),
    ] = None,
    csv: CsvFolder = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.svg|DIR", help="With --only: draw its picture, or several in a folder.")
    ] = None,
    gold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CORPUS", help="Labelled sentences: where confidence looks for terms, and masks for entities."
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="title, quick, sentences, source, target, points, …"),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write one HTML file about a run or a comparison: scores, curves, errors, distances, settings.

    Example: acclimate report runs/news-to-social-datnet-seed-1

    The file needs nothing else, no network and no script. Send it as it is. A report.html in DIR is replaced.

    When does one run reach another's best score? acclimate report runs/a runs/b --only curves --plot curves.svg

    How sure are taggers? acclimate report runs/a runs/b --only confidence --gold social/test
    """
    from acclimate.cli.report_parts import ReportSettings
    from acclimate.settings import UsageError, complete, with_assignments

    settings = complete(ReportSettings, with_assignments({}, assignments or ()), "acclimate report")
    parts = [part.strip() for part in only.split(",")] if only is not None else []
    if not parts or out is not None:
        if csv or plot or gold:
            raise UsageError("--csv, --plot and --gold go with --only, without --out.")
        _page(folders, tuple(parts), out, settings, quiet, as_json)
        return
    unknown = [part for part in parts if part not in PRINTED]
    if unknown:
        raise UsageError(
            f"--only {unknown[0]}: {', '.join(PRINTED)} are printed. For a page of other parts, name it with --out."
        )
    check_folder_to_write("--csv", csv)
    _check_plot(plot)
    _print(folders, parts, settings, csv, plot, gold or [], quiet, as_json)


def _page(
    folders: Sequence[str],
    parts: tuple[str, ...],
    out: Path | None,
    settings: ReportSettings,
    quiet: bool,
    as_json: bool,
) -> None:
    """The page of one folder, or some parts of it."""
    from acclimate.cli.progress import stderr_console
    from acclimate.reporting.report import Look, report_page
    from acclimate.settings import UsageError

    if len(folders) > 1:
        raise UsageError("A page is of one folder. Several go with --only curves, masks, confidence or feature-map.")
    folder = Path(folders[0])
    place = folder / "report.html" if out is None else out
    if folder.is_dir():  # what else it may be is told by who reads it
        check_file_to_write("--out", place, overwrite=True)
    console = stderr_console(quiet)
    with console.status("making the report"):
        look = Look(settings.quick, settings.sentences, console.print, settings.title, parts)
        page = report_page(folder, look)
    place.parent.mkdir(parents=True, exist_ok=True)
    aside = place.with_name(f"{place.name}.part")
    aside.write_text(page, encoding="utf-8")
    aside.replace(place)
    result = {"report": str(place), "bytes": place.stat().st_size}
    typer.echo(json.dumps(result, ensure_ascii=False) if as_json else f"report: {place}")


def _print(
    folders: Sequence[str],
    names: Sequence[str],
    settings: ReportSettings,
    csv: Path | None,
    plot: Path | None,
    gold: Sequence[str],
    quiet: bool,
    as_json: bool,
) -> None:
    """Some parts, as text or JSON, with their tables and pictures."""
    from acclimate.cli.progress import stderr_console
    from acclimate.cli.report_parts import PARTS, Request
    from acclimate.data.writers.shared import write_tables

    request = Request(folders, gold, settings, plot is not None, stderr_console(quiet))
    parts = {name: PARTS[name](request) for name in names}
    if plot is not None:
        _draw(parts, plot)
    if csv is not None:
        write_tables({name: rows for part in parts.values() for name, rows in part.tables.items()}, csv)
    result = {name: part.result for name, part in parts.items()}
    text = "\n\n".join(part.text for part in parts.values())
    typer.echo(json.dumps(result, ensure_ascii=False) if as_json else text)


def _check_plot(plot: Path | None) -> None:
    """Refuse a picture that cannot be drawn before anything is read."""
    from acclimate.settings import UsageError

    if plot is None:
        return
    if plot.suffix.lower() == ".svg":
        check_file_to_write("--plot", plot, overwrite=True)  # a picture is drawn again
    elif plot.suffix and not plot.is_dir():
        raise UsageError(f"--plot {plot}: the name of a picture must end in .svg. Any other name is a folder.")
    else:
        check_folder_to_write("--plot", plot)


def _draw(parts: dict[str, Part], plot: Path) -> None:
    from acclimate.reporting.svg import save_sheet
    from acclimate.settings import UsageError

    pictures = {name: figures for part in parts.values() for name, figures in part.pictures.items()}
    is_file = plot.suffix.lower() == ".svg"
    if is_file and len(pictures) > 1:
        raise UsageError(f"--plot {plot}: there are {len(pictures)} pictures ({', '.join(pictures)}). Name a folder.")
    for name, figures in pictures.items():
        save_sheet(plot if is_file else plot / f"{name}.svg", name.replace("-", " ").capitalize(), figures)

"""`acclimate masks`: what one or several runs hid while they were tuned to a domain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acclimate.cli.options import CsvFolder, Device, InputFormat, Json, LowerCase, Quiet
from acclimate.cli.places import check_folder_to_write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acclimate.analysis.mask_log import Yardsticks

NO_TAGGER = "none"


def masks_command(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Run folders whose masks were logged.")],
    source: Annotated[str | None, typer.Option(metavar="CORPUS", help="Tells which words are unseen.")] = None,
    target: Annotated[
        str | None, typer.Option(metavar="CORPUS", help="With --source: how much a word is the target's.")
    ] = None,
    gold: Annotated[
        list[str] | None,
        typer.Option(metavar="CORPUS", help="Look sentences up here: which hidden words are entities? Repeatable."),
    ] = None,
    parts_of_speech: Annotated[
        str, typer.Option(metavar="TAGGER", help="acclimate, spacy, spacy:MODEL, a tagger's folder, or none.")
    ] = "acclimate",
    every: Annotated[
        int | None, typer.Option(min=1, help="Updates in a period.", show_default="a tenth of the longest run")
    ] = None,
    most: Annotated[int, typer.Option(min=0, help="How many over-hidden words to show.")] = 10,
    lower_case: LowerCase = True,
    plot: Annotated[Path | None, typer.Option(metavar="DIR", help="Draw pictures there (needs matplotlib).")] = None,
    svg: Annotated[bool, typer.Option("--svg", help="Draw SVG instead of PNG.")] = False,
    csv: CsvFolder = None,
    input_format: InputFormat = None,
    device: Device = "auto",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Show which words runs hid: density ratio over training, parts of speech, unseen words, entities, favourites.

    Example: acclimate masks runs/random runs/adversarial --source news/train --target social/train --plot pictures

    Runs of the same policy count as seeds: pictures show their mean, and how far they lie apart.
    """
    from acclimate.analysis.mask_log import read_masks
    from acclimate.analysis.mask_statistics import mask_statistics, policies_as_dict
    from acclimate.analysis.mask_tables import mask_tables, render_masks
    from acclimate.analysis.plots import mask_pictures, require_matplotlib, save_figure
    from acclimate.analysis.tables import write_tables
    from acclimate.cli.progress import sentence_bar, stderr_console
    from acclimate.cli.reading import short_names
    from acclimate.settings import UsageError

    if target is not None and source is None:
        raise UsageError("--target needs --source: the density ratio compares the two.")
    check_folder_to_write("--csv", csv)
    check_folder_to_write("--plot", plot)
    if plot is not None:
        require_matplotlib()
        if target is None and parts_of_speech == NO_TAGGER:
            raise UsageError("--plot: there is nothing to draw without --source and --target or --parts-of-speech.")
    yardsticks = _yardsticks(source, target, gold or [], parts_of_speech, lower_case, input_format, device)
    console = stderr_console(quiet)
    logs = {name: read_masks(place) for name, place in short_names(runs).items()}
    with sentence_bar(console, "reading masks") as bar:
        task = bar.add_task("", total=None)
        found = mask_statistics(logs, yardsticks, every=every, most=most, progress=lambda rows: bar.advance(task, rows))
    if plot is not None:
        for name, picture in mask_pictures(found).items():
            save_figure(picture, plot / f"{name}{'.svg' if svg else '.png'}")
    if csv is not None:
        write_tables(mask_tables(found), csv)
    result = {"runs": [run.as_dict() for run in found], "policies": policies_as_dict(found)}
    typer.echo(json.dumps(result, ensure_ascii=False) if as_json else render_masks(found))


def _yardsticks(
    source: str | None,
    target: str | None,
    gold: Sequence[str],
    tagger: str,
    lower_case: bool,
    input_format: str | None,
    device: str,
) -> Yardsticks:
    from acclimate.analysis.mask_log import Yardsticks
    from acclimate.cli.devices import choose_device
    from acclimate.cli.progress import warn
    from acclimate.cli.reading import open_corpus
    from acclimate.inference.part_of_speech import part_of_speech_tagger

    corpora = {
        name: open_corpus(name, tell=warn, format=input_format) for name in (source, target, *gold) if name is not None
    }
    return Yardsticks(
        source=None if source is None else corpora[source],
        target=None if target is None else corpora[target],
        gold=[corpora[name] for name in gold],
        tagger=None if tagger == NO_TAGGER else part_of_speech_tagger(tagger, choose_device(device)),
        lower_case=lower_case,
    )

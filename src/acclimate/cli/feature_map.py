"""`acclimate feature-map`: how far a tagger's features tell the target from the source, and a map of them."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from acclimate.cli.options import CsvFolder, Device, InputFormat, Json, Quiet, TaggerFolder
from acclimate.cli.places import check_file_to_write, check_folder_to_write


class UnitOption(StrEnum):
    """What a point of the map is."""

    word = "word"
    sentence = "sentence"


def feature_map_command(
    tagger_folder: TaggerFolder,
    source: Annotated[str, typer.Option(metavar="CORPUS", help="Text of the source; tags are not looked at.")],
    target: Annotated[str, typer.Option(metavar="CORPUS", help="Text of the target; tags are not looked at.")],
    unit: Annotated[
        UnitOption, typer.Option(help="A point is a word, or a sentence (the mean of its words).")
    ] = UnitOption.word,
    most: Annotated[int, typer.Option(min=1, help="How many points of each corpus, at most.")] = 2000,
    seed: Annotated[int, typer.Option(help="Decides which points are drawn, the halves, and the map.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the map: FILE.png or FILE.svg (needs matplotlib and scikit-learn)."),
    ] = None,
    csv: CsvFolder = None,
    input_format: InputFormat = None,
    device: Device = "auto",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Tell how well source and target can be told apart by a tagger's features, and draw a map of them.

    Example: acclimate feature-map runs/news-to-social --source news/test --target social/test --out map.png

    The number is the accuracy of a linear classifier on sentences it did not learn from: 0.5 means that it cannot tell.
    """
    from acclimate.analysis.features import (
        domain_separability,
        feature_points,
        project,
        readers_of,
        require_scikit_learn,
    )
    from acclimate.analysis.plots import check_picture, draw_feature_map, save_figure
    from acclimate.analysis.tables import write_tables
    from acclimate.cli.devices import choose_device
    from acclimate.cli.progress import sentence_bar, stderr_console, warn
    from acclimate.cli.reading import open_corpus, tell_notes
    from acclimate.cli.run_folder import require_finished
    from acclimate.inference.shipped import resolved_tagger
    from acclimate.model.siblings import load_sibling
    from acclimate.model.tagger import Tagger
    from acclimate.settings import require_seed

    require_seed(seed)
    check_folder_to_write("--csv", csv)
    check_file_to_write("--out", out, overwrite=True)  # a picture is drawn again
    if out is not None:
        check_picture(out)
        require_scikit_learn()
    console = stderr_console(quiet)
    folder = resolved_tagger(tagger_folder)
    require_finished(folder)
    on = choose_device(device)
    tagger, source_tagger = Tagger.load(folder, on), load_sibling(folder, "source", on)
    corpora = {}
    for domain, place in (("source", source), ("target", target)):
        corpus = open_corpus(place, format=input_format, borders="drop")
        tell_notes(corpus, warn, of_tags=False)
        corpora[f"{domain} ({Path(place).name if Path(place).is_file() else place})"] = corpus
    readers = readers_of(tagger, source_tagger, corpora, next(iter(corpora)))
    with sentence_bar(console, "reading") as bar:
        task = bar.add_task("", total=None)
        points = feature_points(readers, corpora, unit.value, most, seed, lambda count: bar.advance(task, count))
    found = domain_separability(points, seed)
    places = None
    if out is not None:
        with console.status("making the map"):
            places = project(points.points, seed)
        title = f"Features of {folder.name}, by {unit.value}"
        save_figure(draw_feature_map(places, points.domains, found, title), out)
    if csv is not None:
        write_tables({"points": points.as_rows(places)}, csv)
    head = {"tagger": tagger_folder, "source": source, "target": target, "unit": unit.value, "seed": seed}
    result = {**head, "width": points.points.shape[1], **found.as_dict()}
    typer.echo(json.dumps(result, ensure_ascii=False) if as_json else found.render(points.names, unit.value))

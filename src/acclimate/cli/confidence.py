"""`acclimate confidence`: how sure taggers are of the class of each term."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from acclimate.cli.options import CsvFolder, Device, InputFormat, Json, Map, Quiet
from acclimate.cli.places import check_file_to_write, check_folder_to_write


def confidence_command(
    folders: Annotated[
        list[str], typer.Argument(metavar="TAGGER...", help="Folders that `acclimate adapt --out` wrote.")
    ],
    gold: Annotated[str, typer.Option(metavar="CORPUS", help="Labelled sentences: a file, or a bundled corpus.")],
    most: Annotated[int, typer.Option(min=1, help="How many terms to show, the most frequent first.")] = 20,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw a heat map: FILE.png or FILE.svg (needs matplotlib).")
    ] = None,
    map_name: Map = None,
    csv: CsvFolder = None,
    input_format: InputFormat = None,
    device: Device = "auto",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Tell how sure taggers are of the class they give to each labelled term, right or wrong.

    Example: acclimate confidence runs/plain runs/mslm --gold test.conll --out confidence.png

    The tags are not shown to the taggers; they only say where the terms are.
    """
    from acclimate.analysis.plots import check_picture, draw_term_confidences, save_figure
    from acclimate.analysis.tables import write_tables
    from acclimate.analysis.terms import compare_term_confidences
    from acclimate.cli.devices import choose_device
    from acclimate.cli.progress import sentence_bar, stderr_console, warn
    from acclimate.cli.reading import open_corpus, short_names
    from acclimate.cli.run_folder import require_finished
    from acclimate.data.problems import InputError
    from acclimate.inference.evaluate import require_comparable
    from acclimate.inference.predict import guess_terms
    from acclimate.inference.shipped import resolved_tagger
    from acclimate.model.tagger import Tagger

    check_folder_to_write("--csv", csv)
    check_file_to_write("--out", out, overwrite=True)  # a picture is drawn again
    if out is not None:
        check_picture(out)
    corpus = open_corpus(gold, map_name=map_name, tell=warn, format=input_format)
    if corpus.kind == "plain":
        raise InputError(f"{corpus.name} has plain tags, one per word: they mark no terms.")
    guesses = {}
    for name, place in short_names(folders).items():
        folder = resolved_tagger(place)
        require_finished(folder)
        tagger = Tagger.load(folder, choose_device(device))
        require_comparable(tagger, corpus)
        with sentence_bar(stderr_console(quiet), name) as bar:
            task = bar.add_task("", total=len(corpus))
            guesses[name] = guess_terms(tagger, corpus, progress=partial(bar.advance, task))
    found = compare_term_confidences(corpus, guesses, most)
    if out is not None:
        save_figure(draw_term_confidences(found), out)
    if csv is not None:
        write_tables({"confidence": found.as_rows()}, csv)
    result = {"gold": gold, **found.as_dict()}
    typer.echo(json.dumps(result, ensure_ascii=False) if as_json else found.render())

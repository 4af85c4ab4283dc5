"""`acclimate compare-text`: how large these corpora are, how alike their words, and what sets the last one apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from acclimate.cli.options import (
    Borders,
    BordersOption,
    Column,
    Comments,
    CsvFolder,
    InputFormat,
    Json,
    LabelKindOption,
    LowerCase,
    SkipBad,
    WordsColumn,
)
from acclimate.cli.places import check_file_to_write, check_folder_to_write


def compare_text_command(
    files: Annotated[
        list[str],
        typer.Argument(metavar="CORPUS...", help="Files, folders or bundled corpora; the first is the source."),
    ],
    lower_case: LowerCase = True,
    least_sentences: Annotated[
        int, typer.Option(min=1, help="Overlap and top words: leave out words that stand in fewer sentences.")
    ] = 3,
    stop_words: Annotated[
        bool, typer.Option("--stop-words", help="Overlap and top words: keep English function words, too.")
    ] = False,
    most: Annotated[int, typer.Option(min=0, help="How many top words to show.")] = 10,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the overlap: FILE.png or FILE.svg (needs matplotlib).")
    ] = None,
    csv: CsvFolder = None,
    input_format: InputFormat = None,
    column: Column = None,
    words_column: WordsColumn = None,
    labels: LabelKindOption = None,
    comments: Comments = False,
    skip_bad: SkipBad = False,
    borders: BordersOption = Borders.split_words,
    as_json: Json = False,
) -> None:
    """Compare the text of corpora: sizes, vocabulary overlap, and the words that set the last apart from the first.

    Example: acclimate compare-text news/train social/train clinical/train --plot overlap.png

    Overlap: shared words in percent of all words of both. Density ratio of a word: max(1 - P_first / P_last, 0).
    """
    from acclimate.analysis.plots import check_picture, draw_overlap, save_figure
    from acclimate.analysis.tables import write_tables
    from acclimate.analysis.text_comparison import compare_text
    from acclimate.cli.progress import warn
    from acclimate.cli.reading import column_of, expand, open_corpus
    from acclimate.data.words import STOP_WORDS

    check_folder_to_write("--csv", csv)
    check_file_to_write("--plot", plot, overwrite=True)  # a picture is drawn again
    if plot is not None:
        check_picture(plot)
    options: dict[str, Any] = {
        "format": input_format,
        "column": column_of(column),
        "words_column": column_of(words_column),
        "labels": labels and labels.value,
        "comments": comments,
        "skip_bad": skip_bad,
        "borders": borders.value,
    }
    found = compare_text(
        {name: open_corpus(place, tell=warn, **options) for name, place in expand(files).items()},
        lower_case=lower_case,
        least_sentences=least_sentences,
        stop_words=() if stop_words else STOP_WORDS,
        most=most,
    )
    if plot is not None:
        save_figure(draw_overlap(found.overlap, note=found.words_compared), plot)
    if csv is not None:
        write_tables(found.tables(), csv)
    typer.echo(json.dumps(found.as_dict(), ensure_ascii=False) if as_json else found.render())

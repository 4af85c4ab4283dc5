"""`acclimate data check`: what is in these files, and what may be wrong with them."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from acclimate.cli.options import (
    Borders,
    BordersOption,
    Column,
    Comments,
    InputFormat,
    Json,
    LabelKindOption,
    SkipBad,
    WordsColumn,
)


def check_command(
    files: Annotated[
        list[str],
        typer.Argument(metavar="CORPUS...", help="Files of one data set, the training part first; or folders."),
    ],
    input_format: InputFormat = None,
    column: Column = None,
    words_column: WordsColumn = None,
    labels: LabelKindOption = None,
    comments: Comments = False,
    skip_bad: SkipBad = False,
    borders: BordersOption = Borders.split_words,
    as_json: Json = False,
) -> None:
    """Look through a data set: counts, labels, tag scheme, duplicates, sentences shared between parts, oddities.

    The first file counts as training data and the others are compared with it.

    Exit code 1 when something is wrong enough to be called an error.
    """
    from acclimate.cli.corpora import column_of, open_corpus
    from acclimate.cli.expand import expand
    from acclimate.cli.wording import in_options
    from acclimate.data.checks.checks import check_corpora

    options: dict[str, Any] = {
        "format": input_format,
        "column": column_of(column),
        "words_column": column_of(words_column),
        "labels": labels and labels.value,
        "comments": comments,
        "skip_bad": skip_bad,
        "borders": borders.value,
    }
    corpora = {name: open_corpus(place, **options) for name, place in expand(files).items()}
    report = check_corpora(corpora)
    typer.echo(json.dumps(report.as_dict(), ensure_ascii=False) if as_json else in_options(report.render(), "check"))
    if report.worst == "error":
        raise typer.Exit(1)

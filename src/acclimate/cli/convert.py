"""`acclimate data convert`: from one corpus format into another."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated

import typer

from acclimate.cli.options import (
    FORMAT_NAMES,
    Borders,
    BordersOption,
    Column,
    Comments,
    LabelKindOption,
    Map,
    Overwrite,
    Paragraphs,
    PreSplit,
    Quiet,
    SkipBad,
    Typeless,
    WordsColumn,
)
from acclimate.cli.places import check_place_to_write, remark_on_folder


class SchemeName(StrEnum):
    IOB1 = "IOB1"
    IOB2 = "IOB2"
    BIOES = "BIOES"
    IO = "IO"


def convert_command(
    source: Annotated[str, typer.Argument(metavar="IN", help="What to read: a file, a folder, - or a bundled corpus.")],
    result: Annotated[str, typer.Argument(metavar="OUT", help="Where to write; - for standard output.")],
    from_format: Annotated[
        str | None,
        typer.Option("--from", metavar="FORMAT", help=f"Format of IN; detected if not given: {FORMAT_NAMES}."),
    ] = None,
    to_format: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help="Format of OUT; by its name if not given.")
    ] = None,
    scheme: Annotated[SchemeName, typer.Option(help="Tag scheme of OUT, where it has tags.")] = SchemeName.IOB2,
    column: Column = None,
    words_column: WordsColumn = None,
    labels: LabelKindOption = None,
    map_name: Map = None,
    typeless: Typeless = False,
    labelled_only: Annotated[
        bool, typer.Option("--labelled-only", help="Leave out sentences that nobody has annotated.")
    ] = False,
    comments: Comments = False,
    pre_split: PreSplit = False,
    paragraphs: Paragraphs = False,
    skip_bad: SkipBad = False,
    borders: BordersOption = Borders.split_words,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Convert a corpus. Formats go by the file's name (.conll, .jsonl, .csv, …, also .gz and .xz) or by option."""
    from acclimate.cli.corpora import column_of, open_corpus
    from acclimate.cli.progress import stderr_console, warn
    from acclimate.data.problems import InputError
    from acclimate.data.writing import write_corpus
    from acclimate.evaluation.table import count

    check_place_to_write("OUT", result, overwrite, [source], to_format)
    console = stderr_console(quiet)
    corpus = open_corpus(
        source,
        map_name=map_name,
        make_typeless=typeless,
        tell=warn,
        format=from_format,
        column=column_of(column),
        words_column=column_of(words_column),
        labels=labels and labels.value,
        comments=comments,
        tokenize="blanks" if pre_split else None,
        paragraphs=paragraphs,
        skip_bad=skip_bad,
        borders=borders.value,
    )
    if labelled_only:
        corpus = corpus.labelled()
        if not len(corpus):
            raise InputError("no sentence has tags, so --labelled-only leaves nothing to write.", file=source)
    written = write_corpus(corpus, result, to_format, scheme=scheme.value)
    size = f"{count(len(corpus), 'sentence')}, {count(corpus.word_count, 'word')}"
    as_brat = ", as brat" if os.path.isdir(result) else ""  # nobody may have asked for it: a folder is read as such
    console.print(f"{source} ({corpus.notes.format}) → {result}{as_brat}: {size}")
    if remark := remark_on_folder(result, written):
        warn(remark)

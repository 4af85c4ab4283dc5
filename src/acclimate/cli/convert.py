"""`acclimate data convert`: from one corpus format into another."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated

import typer

from acclimate.cli.options import Map, Overwrite, Quiet, ReadingSet
from acclimate.cli.places import check_place_to_write, remark_on_folder


class SchemeName(StrEnum):
    IOB1 = "IOB1"
    IOB2 = "IOB2"
    BIOES = "BIOES"
    IO = "IO"


def convert_command(
    source: Annotated[str, typer.Argument(metavar="IN", help="What to read: a file, a folder, - or a bundled corpus.")],
    result: Annotated[str, typer.Argument(metavar="OUT", help="Where to write; - for standard output.")],
    to_format: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help="Format of OUT; by its name if not given.")
    ] = None,
    scheme: Annotated[SchemeName, typer.Option(help="Tag scheme of OUT, where it has tags.")] = SchemeName.IOB2,
    map_name: Map = None,
    labelled_only: Annotated[
        bool, typer.Option("--labelled-only", help="Leave out sentences that nobody has annotated.")
    ] = False,
    assignments: ReadingSet = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Convert a corpus into another format.

    The file names say the formats: .conll, .jsonl, .csv, …, also .gz and .xz. --to and reading.format win.
    """
    from acclimate.cli.data_settings import reading_of
    from acclimate.cli.progress import stderr_console, warn
    from acclimate.cli.reading import read
    from acclimate.data.problems import InputError
    from acclimate.data.writing import write_corpus
    from acclimate.evaluation.table import count

    check_place_to_write("OUT", result, overwrite, [source], to_format)
    console = stderr_console(quiet)
    corpus = read(source, reading_of(assignments, map_name), tell=warn)
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

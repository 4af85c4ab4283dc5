"""`acclimate predict`: tag text."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from acclimate.cli.options import (
    Device,
    InputFormat,
    Paragraphs,
    PreSplit,
    Quiet,
    SkipBad,
    TaggerFolder,
)


class OutputFormat(StrEnum):
    conll = "conll"
    jsonl = "jsonl"


def predict_command(
    tagger_folder: TaggerFolder,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A file of text or of words; - for standard input.")],
    output_format: Annotated[
        OutputFormat, typer.Option("--format", help="conll: WORD<TAB>TAG; jsonl: an object per sentence.")
    ] = OutputFormat.conll,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to write; else standard output.")] = None,
    input_format: InputFormat = None,
    pre_split: PreSplit = False,
    paragraphs: Paragraphs = False,
    skip_bad: SkipBad = False,
    device: Device = "auto",
    quiet: Quiet = False,
) -> None:
    """Tag text: raw (a sentence per line), running (--paragraphs), or already split into words.

    Every word of the input gets one tag, whatever its characters and however long the sentence.
    """
    from acclimate.cli.corpora import open_corpus
    from acclimate.cli.devices import choose_device
    from acclimate.cli.progress import sentence_bar, stderr_console
    from acclimate.data.writing import write_corpus
    from acclimate.inference.predict import predict
    from acclimate.model.tagger import Tagger

    console = stderr_console(quiet)
    tagger = Tagger.load(tagger_folder, choose_device(device))
    corpus = open_corpus(
        text,
        tell=console.print,
        format=input_format,
        tokenize="blanks" if pre_split else None,
        paragraphs=paragraphs,
        skip_bad=skip_bad,
        borders="drop",  # tags in the input are not looked at
    )
    with sentence_bar(console, "tagging") as bar:
        task = bar.add_task("", total=len(corpus))
        predicted = predict(tagger, corpus, progress=lambda count: bar.advance(task, count))
    write_corpus(predicted, "-" if out is None else out, output_format.value)

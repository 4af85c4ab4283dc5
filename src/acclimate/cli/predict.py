"""`acclimate predict`: tag text."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from acclimate.cli.options import (
    Before,
    Device,
    InputFormat,
    Overwrite,
    Paragraphs,
    PreSplit,
    Quiet,
    SkipBad,
    TaggerFolder,
    WordsColumn,
)
from acclimate.cli.places import check_place_to_write, remark_on_folder


class OutputFormat(StrEnum):
    conll = "conll"
    jsonl = "jsonl"


def predict_command(
    tagger_folder: TaggerFolder,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A file of text or of words; - for standard input.")],
    output_format: Annotated[
        OutputFormat | None,
        typer.Option(
            "--format", help="conll: WORD<TAB>TAG; jsonl: an object per sentence. By --out's name, else conll."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to write; else standard output.")] = None,
    input_format: InputFormat = None,
    pre_split: PreSplit = False,
    paragraphs: Paragraphs = False,
    words_column: WordsColumn = None,
    skip_bad: SkipBad = False,
    before: Before = False,
    device: Device = "auto",
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Tag text: raw (a sentence per line), running (--paragraphs), or already split into words.

    Every word of the input gets one tag, whatever its characters and however long the sentence.
    """
    from acclimate.cli.corpora import column_of, open_corpus, tell_notes
    from acclimate.cli.devices import choose_device
    from acclimate.cli.progress import sentence_bar, stderr_console, warn
    from acclimate.cli.run_folder import tagger_in
    from acclimate.data.writing import write_corpus
    from acclimate.evaluation.table import count
    from acclimate.inference.predict import predict
    from acclimate.model.tagger import Tagger

    is_text = out is not None and ".txt" in out.suffixes  # plain text could not hold the tags
    format = output_format or (OutputFormat.conll if out is None or is_text else None)
    check_place_to_write("--out", out, overwrite, [text], format and format.value, has_tags=True)
    console = stderr_console(quiet)
    folder = tagger_in(tagger_folder, before)
    tagger = Tagger.load(folder, choose_device(device))
    corpus = open_corpus(
        text,
        format=input_format,
        tokenize="blanks" if pre_split else None,
        paragraphs=paragraphs,
        words_column=column_of(words_column),
        skip_bad=skip_bad,
        borders="drop",  # tags in the input are not looked at
    )
    tell_notes(corpus, warn, of_tags=False)
    size = f"{count(len(corpus), 'sentence')}, {count(corpus.word_count, 'word')}"
    console.print(f"{text}, read as {corpus.notes.format}: {size}")  # a wrong guess of the format would lose words
    with sentence_bar(console, "tagging") as bar:
        task = bar.add_task("", total=len(corpus))
        predicted = predict(tagger, corpus, progress=lambda count: bar.advance(task, count))
    written = write_corpus(predicted, "-" if out is None else out, format and format.value)
    if out is not None and (others := remark_on_folder(out, written)):
        warn(others)

"""`acclimate predict`: tag text."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acclimate.cli.options import Device, Overwrite, Quiet, ReadingSet, TaggerFolder
from acclimate.cli.places import check_place_to_write, remark_on_folder

if TYPE_CHECKING:
    from acclimate.data.reading import CorpusStream
    from acclimate.data.writing import Parts


_WORDS, _WORDS_ON_GPU = 1 << 13, 1 << 17  # that are read, tagged and written at a time; a GPU would wait for few


class OutputFormat(StrEnum):
    conll = "conll"
    jsonl = "jsonl"
    guesses = "guesses"


def predict_command(
    tagger_folder: TaggerFolder,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A file of text or of words; - for standard input.")],
    output_format: Annotated[
        OutputFormat | None,
        typer.Option(
            "--format",
            help="conll: WORD<TAB>TAG; jsonl: an object per sentence; guesses: the same with scores. By --out's name, "
            "else conll.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to write; else standard output.")] = None,
    assignments: ReadingSet = None,
    device: Device = "auto",
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Tag text: raw (a sentence per line), running (--set reading.paragraphs=true), or already split into words.

    Every word of the input gets one tag, whatever its characters and however long the sentence.
    """
    from acclimate.cli.data_settings import reading_of
    from acclimate.cli.progress import TaggingBar, stderr_console, warn
    from acclimate.cli.reading import read_stream, tell_notes
    from acclimate.cli.tagger import load_tagger
    from acclimate.data.corpus import Corpus
    from acclimate.data.writing import writing_parts
    from acclimate.inference.predict import predict_stream
    from acclimate.spelling import count

    is_text = out is not None and ".txt" in out.suffixes  # plain text could not hold the tags
    soft = output_format is OutputFormat.guesses
    asked = OutputFormat.jsonl if soft else output_format
    format = asked or (OutputFormat.conll if out is None or is_text else None)
    check_place_to_write("--out", out, overwrite, [text], format and format.value, has_tags=True)
    console = stderr_console(quiet)
    tagger, on = load_tagger(tagger_folder, device)
    reading = reading_of(assignments).require_only(
        "format", "words_column", "pre_split", "paragraphs", "comments", "skip_bad"
    )
    words_at_once = _WORDS if on == "cpu" else _WORDS_ON_GPU
    # tags in the input are not looked at
    stream = read_stream(text, reading.model_copy(update={"borders": "drop"}), words_at_once)
    for remark in stream.guess:  # a wrong guess of the format would lose words
        warn(f"{stream.name}: {remark}")
    sentences = words = 0
    with (
        writing_parts("-" if out is None else out, format and format.value) as parts,
        TaggingBar(console, stream.total) as bar,
    ):
        console.print(f"{text}, read as {stream.format}{_held_whole(stream, parts)}")
        for tagged in predict_stream(tagger, stream, soft=soft):
            parts.add(tagged)
            sentences, words = sentences + len(tagged), words + tagged.word_count
            bar.show(sentences if stream.is_whole else tagged[-1].place.line or 0, words)
    tell_notes(Corpus((), stream.name, notes=stream.notes), warn, of_tags=False)
    console.print(f"{count(sentences, 'sentence')}, {count(words, 'word')}")
    if out is not None and (others := remark_on_folder(out, parts.files)):
        warn(others)


def _held_whole(stream: CorpusStream, parts: Parts) -> str:
    """Why memory grows with the file; empty where it does not."""
    if stream.is_whole:
        return f": all of it is in memory, as {stream.format} cannot be read in parts"
    return f": all of it is kept in memory, as {parts.format} cannot be written in parts" if parts.is_whole else ""

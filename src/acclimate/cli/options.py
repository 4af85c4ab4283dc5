"""Options that several commands share, so that they are spelled and explained once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand


class Borders(StrEnum):
    """What to do with a character span that begins or ends inside a word."""

    split_words = "split"
    error = "error"
    expand = "expand"
    contract = "contract"
    drop = "drop"


SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Pass over sentences with a bad line, count and list them, and go on.")
]
BordersOption = Annotated[
    Borders,
    typer.Option(
        metavar="POLICY", help="A character span that cuts a word: split (the word), error, expand, contract or drop."
    ),
]
Comments = Annotated[bool, typer.Option("--comments", help="Column files: lines that begin with # are comments.")]
SourceDev = Annotated[
    str | None, typer.Option(metavar="CORPUS", help="Labelled; chooses the model. Else a tenth is held out.")
]
OUR_TARGET = "social, if --source is left out; else none"
TargetLabelled = Annotated[
    str | None, typer.Option(metavar="CORPUS", help="A few labelled target sentences to learn from.")
]


def set_option(name: str, metavar: str = "A.B=C") -> Any:
    """`--set` of a command whose settings `acclimate info settings NAME` lists."""
    return typer.Option("--set", metavar=metavar, help=f"One setting; `acclimate info settings {name}` lists them.")


ReadingSet = Annotated[list[str] | None, set_option("reading", "reading.X=Y")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there. What is read is never replaced.")]
Map = Annotated[
    str | None, typer.Option("--map", metavar="MAP", help="Rename labels: a YAML file, or a bundled map by name.")
]
LowerCase = Annotated[bool, typer.Option("--lower-case/--cased", help="How words are compared.")]
CsvFolder = Annotated[Path | None, typer.Option("--csv", metavar="DIR", help="Write the tables there, a file each.")]
FORMAT_NAMES = "conll, conllu, jsonl, doccano, label_studio, prodigy, brat, docbin, hub, csv, tsv, parquet, text"
InputFormat = Annotated[
    str | None, typer.Option("--input-format", metavar="FORMAT", help=f"Detected if not given: {FORMAT_NAMES}.")
]
Column = Annotated[
    str | None,
    typer.Option(
        "--column", metavar="COLUMN", help="The tags' column, by name or number from 0; the last if not given."
    ),
]
WordsColumn = Annotated[
    str | None, typer.Option("--words-column", metavar="COLUMN", help="The words' column; the first if not given.")
]


class LabelKind(StrEnum):
    """What the tags of a corpus are."""

    spans = "spans"
    plain = "plain"


LabelKindOption = Annotated[
    LabelKind | None,
    typer.Option("--labels", help="spans (B-PER, I-PER, O) or plain (a label per word); detected if not given."),
]
Before = Annotated[
    bool,
    typer.Option(
        "--before", help='Of a run of adapt: take the tagger "before", which was not adapted; it is kept, too.'
    ),
]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
TaggerFolder = Annotated[
    str,
    typer.Argument(
        metavar="TAGGER", help="Folder that `acclimate adapt --out` wrote, or part-of-speech, which is built in."
    ),
]


def taking_many(*options: str) -> type[TyperCommand]:
    """A command whose options take all words up to the next option, as the shell makes many of `--from huge/*.gz`."""

    class TakingMany(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            return super().parse_args(ctx, _spelled_out(args, options))

    return TakingMany


def _spelled_out(words: list[str], options: tuple[str, ...]) -> list[str]:
    """`--from a b` as `--from a --from b`."""
    spelled: list[str] = []
    repeated, has_value = "", False
    for word in words:
        if word.startswith("-") and word != "-":
            option, equals, _ = word.partition("=")
            repeated, has_value = option if option in options else "", bool(equals)
        elif repeated and has_value:
            spelled.append(repeated)
        else:
            has_value = True
        spelled.append(word)
    return spelled

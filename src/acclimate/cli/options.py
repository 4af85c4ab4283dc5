"""Options that several commands share, so that they are spelled and explained once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

SourceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="CORPUS",
        help="Labelled source: a file, or a bundled corpus by name. Give it several times for several sources. "
        "Behind one may stand ,map=MAP,annotates=PER+LOC,weight=2.",
        show_default="news",
    ),
]
SourceDev = Annotated[
    list[str] | None,
    typer.Option(metavar="CORPUS", help="Labelled; chooses the model. Without it, a tenth of the source does."),
]


def one_or_several(values: list[str] | None) -> str | list[str] | None:
    """What a setting holds that may be one name or a list of them."""
    return values[0] if values and len(values) == 1 else values or None


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
CsvFolder = Annotated[Path | None, typer.Option("--csv", metavar="DIR", help="Write the tables there, a file each.")]
FORMAT_NAMES = "conll, conllu, jsonl, doccano, label_studio, prodigy, brat, docbin, hub, csv, tsv, parquet, text"


Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
TaggerFolder = Annotated[
    str,
    typer.Argument(
        metavar="TAGGER",
        help="Folder of a run (RUN/before: not adapted), or of an export; or general, part-of-speech.",
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

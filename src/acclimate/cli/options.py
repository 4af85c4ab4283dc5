"""Options that several commands share, and `--set`, so that they are spelled and explained once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

SourceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="CORPUS",
        help="Labelled source: a file, or a bundled corpus by name. Give it several times for several sources. "
        "Behind one may stand ,map=MAP,annotates=PER+LOC,weight=2.",
        show_default="none; news, with a recipe or an encoder and no corpus",
    ),
]
Host = Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0: every one.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any that is free.")]
SourceDev = Annotated[
    list[str] | None,
    typer.Option(metavar="CORPUS", help="Labelled; chooses the model. Without it, a tenth of the source does."),
]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="CORPUS",
        help="Target text; tags in it are ignored.",
        show_default="none; social, with a recipe or an encoder and no corpus",
    ),
]
TargetLabelled = Annotated[
    str | None, typer.Option(metavar="CORPUS", help="A few labelled target sentences to learn from.")
]
TargetDev = Annotated[
    str | None,
    typer.Option(
        metavar="CORPUS", help="Labelled; chooses the model with --set select=target-dev, or without a source."
    ),
]
TargetTest = Annotated[
    str | None, typer.Option(metavar="CORPUS", help="Labelled; scored at the end, never seen in training.")
]
EncoderOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="acclimate-mini, character-cnn-lstm, or a Hugging Face model by name or folder.",
        show_default="acclimate-mini",
    ),
]
RunFolder = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Where the results go.", show_default="below runs/")
]
Config = Annotated[Path | None, typer.Option(metavar="YAML", help="Settings file.")]
SeedOption = Annotated[int | None, typer.Option(help="Seed of everything random.", show_default="1")]
Jobs = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Runs side by side, one thread each.", show_default="one per GPU, else 1"),
]
Dask = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Send the work to a Dask cluster, such as tcp://scheduler:8786.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there. What is read is never replaced.")]
RunOverwrite = Annotated[bool, typer.Option("--overwrite", help="Start anew in a folder that holds a run.")]
Map = Annotated[
    str | None, typer.Option("--map", metavar="MAP", help="Rename labels: a YAML file, or a bundled map by name.")
]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda; torch: the tagger itself, not its compact form.")]
TaggerFolder = Annotated[
    str,
    typer.Argument(
        metavar="TAGGER", help="Folder of a run (RUN/before: not adapted), or of an export; or general, part-of-speech."
    ),
]


def _set_option(name: str = "", metavar: str = "A.B=C") -> Any:
    """`--set` of a command whose settings `acclimate info settings NAME` lists."""
    listing = f"acclimate info settings {name}".rstrip()
    return typer.Option("--set", metavar=metavar, help=f"One setting; `{listing}` lists them.")


AdaptSet = Annotated[list[str] | None, _set_option()]
AugmentSet = Annotated[list[str] | None, _set_option("augment")]
CollocationSet = Annotated[list[str] | None, _set_option("collocations")]
CompressSet = Annotated[list[str] | None, _set_option("compress")]
DomainTuneSet = Annotated[list[str] | None, _set_option("domain-tune")]
InspectSet = Annotated[list[str] | None, _set_option("inspect")]
LabelSet = Annotated[list[str] | None, _set_option("label")]
PretrainSet = Annotated[list[str] | None, _set_option("pretrain")]
ReadingSet = Annotated[list[str] | None, _set_option("reading", "reading.X=Y")]
SelectSet = Annotated[list[str] | None, _set_option("select")]
ServeSet = Annotated[list[str] | None, _set_option("serve", "serve.X=Y")]
SuggestSet = Annotated[list[str] | None, _set_option("suggest")]
WeakLabelSet = Annotated[list[str] | None, _set_option("weak-label")]

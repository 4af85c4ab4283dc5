"""`acclimate export`: a tagger in another form."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acclimate.cli.options import TaggerFolder
from acclimate.cli.places import check_folder_to_write

if TYPE_CHECKING:
    from acclimate.data.corpus import Corpus


class Form(StrEnum):
    onnx = "onnx"


def export_command(
    tagger_folder: TaggerFolder,
    to: Annotated[Form, typer.Option("--to", help="onnx: a compact tagger, which needs no torch.")] = Form.onnx,
    int8: Annotated[bool, typer.Option("--int8", help="Weights in 8 bits: smaller and faster.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to write.", show_default="TAGGER-onnx, TAGGER-onnx-int8")
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(metavar="CORPUS", help="Text to compare on.", show_default="the run's target, else news/dev"),
    ] = None,
) -> None:
    """Write a tagger as a compact one: an ONNX graph, faster on a CPU, without torch.

    Example: acclimate export runs/a --to onnx --int8

    It tags the same text as the original first. Where too few tags are equal, nothing is written.
    """
    from acclimate.cli.reading import read
    from acclimate.cli.tagger import tagger_in
    from acclimate.settings import UsageError

    folder = tagger_in(tagger_folder)
    place = out or Path(f"{tagger_folder.rstrip('/')}-{to.value}{'-int8' if int8 else ''}")
    check_folder_to_write("--out", place, "an export")
    if place.is_dir() and any(place.iterdir()):
        raise UsageError(f"{place} is there already. Name another --out, or remove it.")
    compared = _text_of_run(folder) if text is None else read(text)

    from acclimate.inference.export import export_onnx
    from acclimate.model.tagger import Tagger

    own = folder / "README.md"
    card = own.read_text(encoding="utf-8") if own.is_file() else None
    parity = export_onnx(Tagger.load(folder), place, compared, int8=int8, card=card)
    size = sum(file.stat().st_size for file in place.iterdir()) / 1e6
    typer.echo(f"{place}: {size:.0f} MB, {parity}")


def _text_of_run(folder: Path) -> Corpus:
    """The text that a run was adapted to; for a tagger without any, bundled news."""
    from acclimate.cli.data_settings import PairReadingSettings
    from acclimate.cli.reading import read
    from acclimate.settings import UsageError, complete, load_yaml

    file = folder / "settings.yaml"
    settings = load_yaml(file) if file.is_file() else {}
    name = settings.get("target") or settings.get("source") or "news/dev"
    reading = complete(PairReadingSettings, settings.get("reading", {}), where="reading").of_target()
    try:
        return read(name if isinstance(name, str) else name[0], reading.model_copy(update={"map": None}))
    except (OSError, ValueError) as failure:
        raise UsageError(f"the run's own text cannot be read ({failure}). Give --text CORPUS to compare on.") from None

"""`acclimate encoder pretrain`: an encoder of one's own, from raw text."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from acclimate.cli.options import Json, Quiet, set_option

if TYPE_CHECKING:
    from acclimate.runs.pretrain import PretrainSettings


def pretrain_command(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the encoder goes.")],
    text: Annotated[
        list[str] | None, typer.Option(metavar="FILE...", help="Raw text, a paragraph a line; plain, .gz or .xz.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Go on from this encoder, with its tokenizer and sizes, not from nothing."),
    ] = None,
    updates: Annotated[
        int | None, typer.Option(help="Moves of the optimizer.", show_default="20 passes over the text")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything random.", show_default="1")] = None,
    config: Annotated[Path | None, typer.Option(metavar="YAML", help="Settings file.")] = None,
    assignments: Annotated[list[str] | None, set_option("pretrain")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Start anew in a folder that holds a run.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train a tokenizer and a masked language model from nothing on your own text.

    The result is a folder that `acclimate adapt --encoder DIR` and plain `transformers` open.

    A run that was interrupted goes on when the same command is given again.

    With several GPUs: torchrun --nproc-per-node 4 -m acclimate encoder pretrain …
    """
    from acclimate.runs.pretrain import PretrainSettings
    from acclimate.settings import complete, gathered

    given: dict[str, Any] = {
        "text": text or None,
        "start": start,
        "training.updates": updates,
        "seed": seed,
    }
    settings = complete(PretrainSettings, gathered(config, given, assignments), where=str(config or "pretrain"))
    _run(settings, out, overwrite, quiet, as_json)


def _run(settings: PretrainSettings, out: Path, overwrite: bool, quiet: bool, as_json: bool) -> None:
    from acclimate.cli.progress import stderr_console
    from acclimate.cli.run_folder import resumable, take_folder
    from acclimate.runs.pretrain import pretrain
    from acclimate.spelling import count
    from acclimate.training.engine import is_main_process
    from acclimate.training.progress_bar import PretrainingBar

    take_folder(out, overwrite)
    console = stderr_console(quiet or not is_main_process())
    with resumable(out, overwrite), PretrainingBar(console) as bar:
        done = pretrain(settings, out, bar, console.print, overwrite)
    if not is_main_process():
        return
    if as_json:
        typer.echo(json.dumps({"encoder": str(out), **done.as_dict()}))
        return
    lines = [
        f"encoder: {out} ({done.parameters:,} parameters, {done.vocabulary:,} word pieces)",
        f"read {done.pieces_seen:,} pieces in {count(done.updates, 'update')}, {done.seconds:,.0f} s "
        f"({done.pieces_seen / max(done.seconds, 1e-9):,.0f} pieces/s)",
    ]
    if done.held_out_loss is not None:
        lines.append(
            f"held-out text ({done.held_out_pieces:,} pieces): loss {done.held_out_loss:.3f}, "
            f"perplexity {done.held_out_perplexity:.2f}"
        )
    lines.append(f"use it: acclimate adapt --encoder {shlex.quote(str(out))}")
    typer.echo("\n".join(lines))

"""`acclimate papers reproduce`: tables and figures of the papers, run again."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer

from acclimate.cli.options import Jobs, Quiet


def reproduce_command(
    name: Annotated[str, typer.Argument(metavar="TABLE", help="datnet-table6, …: see `acclimate papers list`.")],
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Data sets, a folder each: DIR/conll2003/train.*, dev.*, test.*")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="How many.", show_default="the paper's; small: 1")
    ] = None,
    scale: Annotated[
        Literal["full", "small"],
        typer.Option(help="small: bundled corpora and a few updates, in a few minutes on a CPU."),
    ] = "full",
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where trainings and tables go.")] = Path("runs/reproduce"),
    jobs: Jobs = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="A.B=C", help="A setting of all cells, or of one recipe's: --set pdaln.options.rounds=1."
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Run a table or figure of one of the five papers again, and show the paper's own numbers beside ours.

    Written to DIR: TABLE.md, TABLE.csv and TABLE.png. A data set that is missing is named; what needs it is left out.

    Interrupted, the same command goes on. Tables with the same trainings share them.
    """
    from acclimate.cli.outputs import check_folder_to_write, resumable, stderr_console
    from acclimate.inference.loading import visible_gpus
    from acclimate.reproduction.reproduce import reproduce
    from acclimate.reproduction.table import find_table
    from acclimate.settings import UsageError

    table = find_table(name)  # a mistyped name is told before anything else is asked for
    if data is None and scale == "full":
        raise UsageError(f"{name}: give the data sets (--data DIR), or run it on bundled corpora (--scale small).")
    check_folder_to_write("--out", out, "a table")
    console = stderr_console(quiet)
    with resumable(out, False), console.status("making trainings"):
        reproduce(
            name,
            data,
            out,
            seeds=seeds,
            scale=scale,
            assignments=assignments or [],
            jobs=jobs or max(1, len(visible_gpus())),
            command=_command(table.name, data, seeds, scale, assignments or []),
            tell=console.print,
        )
    typer.echo((out / f"{table.name}.md").read_text(encoding="utf-8"))


def list_tables_command() -> None:
    """List the tables and figures of the five papers that can be run again."""
    from acclimate.reproduction.table import all_tables

    for table in all_tables().values():
        typer.echo(f"{table.name:<24} {table.paper}, {table.shows}: {table.title}")


def _command(table: str, data: Path | None, seeds: int | None, scale: str, assignments: list[str]) -> str:
    """How to run it again. Where the data are is everybody's own."""
    parts = ["acclimate", "papers", "reproduce", table]
    parts += ["--data", "DIR"] if data is not None else []
    parts += ["--scale", scale] if scale != "full" else []
    parts += ["--seeds", str(seeds)] if seeds is not None else []
    for assignment in assignments:
        parts += ["--set", assignment]
    return shlex.join(parts)

"""`acclimate compare`: which recipe helps, and how sure is that?"""

from __future__ import annotations

import json
import shlex
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from acclimate.cli.options import (
    Config,
    Dask,
    EncoderOption,
    Jobs,
    Json,
    Map,
    Quiet,
    RunFolder,
    SourceDev,
    SourceOption,
    Target,
    TargetDev,
    TargetLabelled,
    TargetTest,
)


def compare_command(
    source: SourceOption = None,
    target: Target = None,
    recipes: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Recipes; all: every one that this data permits.", show_default="all"),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="N|A,B,...", help="How many seeds, or which (3, is seed 3 alone).", show_default="3"),
    ] = None,
    out: RunFolder = None,
    source_dev: SourceDev = None,
    target_labelled: TargetLabelled = None,
    target_dev: TargetDev = None,
    target_test: TargetTest = None,
    encoder: EncoderOption = None,
    jobs: Jobs = None,
    dask: Dask = None,
    config: Config = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="A.B=C", help="One setting, of all recipes, or of one: --set datnet.options.share=all."
        ),
    ] = None,
    map_name: Map = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train several recipes with several seeds, and say which one helps and how sure that is.

    Every run is a folder below DIR. An interrupted comparison goes on when the same command is given again.

    More recipes or seeds may be named then. --set share=0.3 makes three tenths of the updates, for a first look.

    Also told: which run each selector would have chosen without target labels, and how much worse it is than the best.
    """
    given = dict(locals())
    from acclimate.cli.cluster import dask_executor
    from acclimate.cli.outputs import check_folder_to_write, resumable, stderr_console, warn
    from acclimate.cli.task import compare_settings, name_of_task, task_to_compare
    from acclimate.comparison.compare import compare
    from acclimate.comparison.scheduler import fitting_recipes
    from acclimate.comparison.tables import render
    from acclimate.inference.loading import visible_gpus
    from acclimate.model.storage import write_checksums
    from acclimate.runs.folder import locked, require_no_run
    from acclimate.settings import UsageError, dump_yaml

    settings = compare_settings(config, given, assignments)
    if jobs is not None and dask is not None:
        raise UsageError("--jobs and --dask are two ways to share the work: give one of them.")
    console = stderr_console(quiet)
    task = task_to_compare(settings, warn)
    names = settings.recipe_names or fitting_recipes(task, settings.tagger.encoder)
    folder = out or Path("runs") / f"{name_of_task(settings)}-compared"
    check_folder_to_write("--out", folder, "a comparison")
    require_no_run(folder)
    console.print(f"{', '.join(names)}: {task.describe()}\nfolder: {folder}")
    here = nullcontext((None, jobs or max(1, len(visible_gpus()))))
    with (
        dask_executor(dask) if dask is not None else here as (executor, at_once),
        locked(folder),
        resumable(folder, False),
        console.status("making runs"),
    ):
        found = compare(
            task,
            names,
            settings.seed_numbers,
            folder,
            settings=settings.shared,
            each=settings.each,
            against=settings.against,
            selectors=settings.selector_names,
            rounds=settings.rounds,
            jobs=at_once,
            executor=executor,
            estimate=not quiet,
            tell=console.print,
        )
        (folder / "settings.yaml").write_text(dump_yaml(settings), encoding="utf-8")
        write_checksums(folder, "settings.yaml")
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), **found.as_dict()}, ensure_ascii=False))
        return
    typer.echo(f"{render(found)}\n\ntables: {folder / 'comparison.md'}, comparison.csv, comparison.json")
    typer.echo(f"as a page: acclimate report {shlex.quote(str(folder))}")

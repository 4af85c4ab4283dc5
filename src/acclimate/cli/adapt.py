"""`acclimate adapt`: the main job."""

from __future__ import annotations

from typing import Annotated

import typer

from acclimate.cli.options import (
    AdaptSet,
    Config,
    EncoderOption,
    Json,
    Map,
    Quiet,
    RunFolder,
    RunOverwrite,
    SeedOption,
    SourceDev,
    SourceOption,
    Target,
    TargetDev,
    TargetLabelled,
    TargetTest,
)


def adapt_command(
    source: SourceOption = None,
    target: Target = None,
    target_text: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE...", help="More text of the target, of any size, for domain tuning."),
    ] = None,
    pool: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE...", help="Other text, from which the sentences most like the target are selected."),
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(help="How long all may take: domain tuning is shortened first, then the rest.")
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            help="How to adapt: a name in `acclimate info recipes`, a Python file with a recipe, or auto: a committee "
            "of recipes that suit your data.",
            show_default="acclimate; source-free without a source",
        ),
    ] = None,
    out: RunFolder = None,
    source_dev: SourceDev = None,
    target_labelled: TargetLabelled = None,
    target_dev: TargetDev = None,
    target_test: TargetTest = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="TAGGER",
            help="Without --source: the trained tagger to adapt, a folder or a shipped one by name.",
            show_default="general",
        ),
    ] = None,
    encoder: EncoderOption = None,
    members: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Train so many taggers, each with its own seed; one student learns their labels of the target text.",
            show_default="0, no committee",
        ),
    ] = None,
    seed: SeedOption = None,
    config: Config = None,
    assignments: AdaptSet = None,
    map_name: Map = None,
    overwrite: RunOverwrite = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Adapt a tagger from a labelled source to a target domain, and compare it with not adapting.

    Without options it shows an example on what ships: the tagger `general` learns social posts from 100 labelled ones.

    With --target and no --source it adapts a trained tagger (--start) without the text that it was trained on.

    --set select=target-dev has --target-dev choose the model. --set tagger.lstm.vectors=FILE reads word vectors.

    A few labelled target sentences alone adapt `general`. With --source, datnet, mat and acclimate learn them, too.

    --set train_on_dev=true also learns from --source-dev. --set watch=CORPUS records how sure the tagger gets of it.

    A run that was interrupted goes on when the same command is given again.
    """
    given = dict(locals())
    from acclimate.cli.adapt_run import run_adapt
    from acclimate.cli.task import adapt_settings

    run_adapt(adapt_settings(config, given, assignments), out, overwrite, quiet, as_json)

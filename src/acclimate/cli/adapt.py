"""`acclimate adapt`: the main job."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from acclimate.cli.options import Json, Map, Quiet, SkipBad, SourceDev, SourceTest, TargetLabelled, Typeless

if TYPE_CHECKING:
    from acclimate.cli.settings import AdaptSettings

_FILE = "a file, or a bundled corpus by name"


def adapt_command(
    source: Annotated[
        str | None, typer.Option(metavar="CORPUS", help=f"Labelled source: {_FILE}.", show_default="news")
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="CORPUS", help="Target text; tags in it are ignored.", show_default="social")
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            help="How to adapt; see `acclimate recipes`. auto: let them race, and take the one that wins.",
            show_default="self-training",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="10m|3000u", help="With --recipe auto: minutes or updates of the race.", show_default="10m"
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where tagger and report go.", show_default="below runs/")
    ] = None,
    source_dev: SourceDev = None,
    source_test: SourceTest = None,
    target_labelled: TargetLabelled = None,
    target_dev: Annotated[
        str | None, typer.Option(metavar="CORPUS", help="Labelled; chooses the model with --select target-dev.")
    ] = None,
    target_test: Annotated[
        str | None, typer.Option(metavar="CORPUS", help="Labelled; scored at the end, never seen in training.")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="acclimate-mini, character-cnn-lstm, or a Hugging Face model by name or folder.",
            show_default="acclimate-mini",
        ),
    ] = None,
    head: Annotated[str | None, typer.Option(help="crf or softmax.")] = None,
    vectors: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|glove",
            help="Word vectors for character-cnn-lstm: a text file (GloVe, word2vec, fastText), or glove, packaged.",
        ),
    ] = None,
    select: Annotated[
        str | None,
        typer.Option(
            help="What chooses the model: source-dev, target-dev (needs labels) or last. Left open, source-dev; "
            "target-dev, or last, where a tagger of the target's own is trained (datnet with --target-labelled).",
        ),
    ] = None,
    train_on_dev: Annotated[
        bool, typer.Option("--train-on-dev", help="Learn from --source-dev too, and keep the last state.")
    ] = False,
    watch: Annotated[
        str | None,
        typer.Option(metavar="CORPUS", help="Labelled sentences whose tags' probability is recorded along training."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything random.", show_default="1")] = None,
    config: Annotated[Path | None, typer.Option(metavar="YAML", help="Settings file.")] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="A.B=C", help="One setting; see `acclimate settings`.")
    ] = None,
    map_name: Map = None,
    typeless: Typeless = False,
    skip_bad: SkipBad = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Start anew in a folder that holds a run.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Adapt a tagger from a labelled source to a target domain, and compare it with not adapting.

    Without options it runs on what ships: bundled news to bundled social posts.

    A run that was interrupted goes on when the same command is given again.
    """
    from acclimate.cli.settings import AdaptSettings
    from acclimate.cli.task import with_fitting_encoder
    from acclimate.settings import complete, load_yaml, with_assignments

    given: dict[str, Any] = {
        "source": source,
        "target": target,
        "recipe": recipe,
        "source_dev": source_dev,
        "source_test": source_test,
        "target_labelled": target_labelled,
        "target_dev": target_dev,
        "target_test": target_test,
        "select": select,
        "train_on_dev": train_on_dev or None,
        "watch": watch,
        "seed": seed,
        "options.budget": budget,
        "tagger.encoder": encoder,
        "tagger.head": head,
        "tagger.lstm.vectors": vectors,
        "reading.map": map_name,
        "reading.typeless": typeless or None,
        "reading.skip_bad": skip_bad or None,
    }
    values = load_yaml(config) if config is not None else {}
    if source is not None and target is None and "target" not in values:
        values["target"] = None  # a source of one's own is not adapted to our posts unasked
        if target_labelled is None and "target_labelled" not in values:
            values.setdefault("recipe", "source-only")
    spelled = [f"{name}={json.dumps(value)}" for name, value in given.items() if value is not None]
    values = with_assignments(values, [*spelled, *(assignments or [])])
    settings = complete(AdaptSettings, with_fitting_encoder(values), where=str(config or "adapt"))
    if budget is not None and settings.recipe != "auto":
        raise typer.BadParameter(f"is of a race, --recipe auto, and not of {settings.recipe}.", param_hint="--budget")
    _run(settings, out, overwrite, quiet, as_json)


def _run(settings: AdaptSettings, out: Path | None, overwrite: bool, quiet: bool, as_json: bool) -> None:
    import torch

    from acclimate.analysis.run_evidence import DOMAINS, PREDICTIONS
    from acclimate.cli.auto import clear_race, run_race
    from acclimate.cli.encoder_run import told_how_to_go_on
    from acclimate.cli.evidence import domains_json, feature_keeper, predictions_json
    from acclimate.cli.progress import TrainingBar, stderr_console, warn
    from acclimate.cli.report import markdown, summary
    from acclimate.cli.run_folder import claim_of, default_folder, finish, take
    from acclimate.cli.task import build_tagger, read_task, tell_coverage, with_recipe_options
    from acclimate.comparison.race_settings import AUTO
    from acclimate.recipes.adapt import adapt
    from acclimate.settings import dump_yaml
    from acclimate.training.engine import is_main_process
    from acclimate.training.loop import completed

    settings = with_recipe_options(settings)
    console = stderr_console(quiet or not is_main_process())
    task = read_task(settings, warn if is_main_process() else console.print)
    is_race = settings.recipe == AUTO
    if not is_race:
        torch.manual_seed(settings.seed)
        tagger = build_tagger(settings, task)
        settings = settings.model_copy(update={"training": completed(settings.training, tagger)})
    claim = claim_of(settings, task.fingerprint())
    folder = default_folder(settings, claim, overwrite) if out is None else out
    if is_main_process():
        take(folder, claim, overwrite)
    console.print(f"{settings.recipe}: {task.describe()}\nrun folder: {folder}")
    found = None
    if is_race:
        with told_how_to_go_on(folder, overwrite):
            settings, found = run_race(settings, task, folder, console.print)
        console.print(f"{found.choice} is taken. {found.reasons[0]}")
        torch.manual_seed(settings.seed)
        tagger = build_tagger(settings, task)
        settings = settings.model_copy(update={"training": completed(settings.training, tagger)})
    tell_coverage(tagger, settings, console.print, warn if is_main_process() else console.print)
    keeper = feature_keeper(task)
    with told_how_to_go_on(folder, overwrite), TrainingBar(console) as bar:
        outcome = adapt(
            tagger,
            task.source,
            task.target,
            settings.recipe,
            source_dev=task.source_dev,
            source_test=task.source_test,
            target_labelled=task.target_labelled,
            target_dev=task.target_dev,
            target_test=task.target_test,
            select=settings.select,
            train_on_dev=settings.train_on_dev,
            watch=task.watch,
            training=settings.training,
            seed=settings.seed,
            out=folder,
            watcher=bar,
            look=keeper,
            **settings.options,
        )
    if not is_main_process():
        return
    result = {"run": str(folder), "seed": settings.seed, "data": task.fingerprint(), **outcome.as_dict()}
    told = {}
    if found is not None:
        result["race"] = found.as_dict()
        told["race.json"] = json.dumps(found.as_dict(), indent=2, ensure_ascii=False)
    tagger.save(
        folder,
        **{
            "settings.yaml": dump_yaml(settings),
            "report.json": json.dumps(result, indent=2, ensure_ascii=False),
            "report.md": markdown(outcome, settings, found),
            PREDICTIONS: predictions_json(outcome),
            DOMAINS: domains_json(task, keeper),
            **told,
        },
    )
    keeper.save(folder)
    clear_race(folder)
    finish(folder)
    typer.echo(json.dumps(result, ensure_ascii=False) if as_json else summary(outcome, settings, folder, found))

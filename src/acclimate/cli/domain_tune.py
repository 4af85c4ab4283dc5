"""`acclimate encoder domain-tune`: an encoder, tuned to the text of a domain."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from acclimate.cli.options import Json, Quiet, set_option

if TYPE_CHECKING:
    from acclimate.runs.domain_tune import DomainTuned, DomainTuneSettings


def domain_tune_command(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the tuned encoder goes.")],
    text: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE...", help="Text of the domain, a sentence a line; or any corpus, tags ignored."),
    ] = None,
    source: Annotated[
        str | None, typer.Option(metavar="FILE", help="Text of the source domain, mixed in evenly.")
    ] = None,
    masking: Annotated[
        str | None,
        typer.Option(
            metavar="POLICY",
            help="Which words to hide: random, whole-words, pos, entropy, adversarial, density-ratio, span or pmi; "
            "with mix- before it, for half of the sentences.",
            show_default="adversarial",
        ),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(help="A masked language model, by name or folder.", show_default="acclimate-mini"),
    ] = None,
    config: Annotated[Path | None, typer.Option(metavar="YAML", help="Settings file.")] = None,
    assignments: Annotated[list[str] | None, set_option("domain-tune")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Start anew in a folder that holds a run.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Go on with the masked-language-model training of an encoder on text of your domain.

    acclimate encoder domain-tune --text tweets.txt --source news.conll --masking mix-adversarial --out tweet-encoder

    It reads the text 16 times (--set passes=16), in at most 5,000 updates, and stops when the held-out loss rises.

    The result is a folder that `acclimate adapt --encoder DIR` and plain `transformers` open.

    `acclimate adapt --recipe adversarial-masking` does this and trains the tagger too.

    A run that was interrupted goes on when the same command is given again.
    """
    from acclimate.runs.domain_tune import DomainTuneSettings
    from acclimate.settings import complete, gathered

    given: dict[str, Any] = {
        "text": text or None,
        "source": source,
        "masking": masking,
        "encoder": encoder,
    }
    where = str(config or "domain-tune")
    settings = complete(DomainTuneSettings, gathered(config, given, assignments), where)
    _run(settings, out, overwrite, quiet, as_json)


def _run(settings: DomainTuneSettings, out: Path, overwrite: bool, quiet: bool, as_json: bool) -> None:
    from acclimate.cli.progress import stderr_console
    from acclimate.cli.run_folder import resumable, take_folder
    from acclimate.runs.domain_tune import domain_tune
    from acclimate.training.engine import is_main_process
    from acclimate.training.progress_bar import TrainingBar

    take_folder(out, overwrite)
    console = stderr_console(quiet or not is_main_process())
    with resumable(out, overwrite), TrainingBar(console) as bar:
        done = domain_tune(settings, out, bar, console.print, overwrite, not quiet)
    if is_main_process():
        typer.echo(json.dumps({"out": str(out), **done.as_dict()}) if as_json else _told(done, out))


def _told(done: DomainTuned, out: Path) -> str:
    from acclimate.spelling import count

    lines = [
        f"encoder: {out} ({done.encoder}, tuned on {count(done.sentences, 'sentence')})",
        f"masking {done.masking}: {count(done.updates, 'update')} in {done.seconds:,.0f} s "
        f"({done.updates_per_second:,.2f} updates/s), update {done.kept_update:,} kept",
    ]
    if done.loss_before is not None and done.loss_after is not None:
        lines.append(
            f"held-out text ({count(done.held_out_sentences, 'sentence')}): loss {done.loss_before:.3f} -> "
            f"{done.loss_after:.3f}, perplexity {done.perplexity_before:.2f} -> {done.perplexity_after:.2f}"
        )
    return "\n".join([*lines, f"use it: acclimate adapt --encoder {shlex.quote(str(out))}"])

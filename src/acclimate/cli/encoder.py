"""`acclimate encoder`: an encoder of one's own from raw text, or one tuned to the text of a domain."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from acclimate.cli.options import Config, DomainTuneSet, PretrainSet, Quiet, RunOverwrite
from acclimate.spelling import count

if TYPE_CHECKING:
    from acclimate.runs.domain_tune import DomainTuned
    from acclimate.runs.pretrain import Pretrained

Done = TypeVar("Done")


def pretrain_command(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the encoder goes.")],
    text: Annotated[
        list[str] | None, typer.Option(metavar="FILE...", help="Raw text, a paragraph a line; plain, .gz or .xz.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Go on from this encoder, with its tokenizer and sizes, not from nothing."),
    ] = None,
    config: Config = None,
    assignments: PretrainSet = None,
    overwrite: RunOverwrite = False,
    quiet: Quiet = False,
) -> None:
    """Train a tokenizer and a masked language model from nothing on your own text.

    It makes 20 passes over the text (--set training.updates=N: so many updates).

    The result is a folder that `acclimate adapt --encoder DIR` and plain `transformers` open.

    A run that was interrupted goes on when the same command is given again.

    With several GPUs: torchrun --nproc-per-node 4 -m acclimate encoder pretrain …
    """
    given = {"text": text or None, "start": start}
    from acclimate.runs.pretrain import PretrainSettings, pretrain
    from acclimate.settings import complete, gathered
    from acclimate.training.progress_bar import PretrainingBar

    settings = complete(PretrainSettings, gathered(config, given, assignments), where=str(config or "pretrain"))
    _train(pretrain, settings, PretrainingBar, _pretrained_lines, out, overwrite, quiet)


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
        str | None, typer.Option(help="A masked language model, by name or folder.", show_default="acclimate-mini")
    ] = None,
    config: Config = None,
    assignments: DomainTuneSet = None,
    overwrite: RunOverwrite = False,
    quiet: Quiet = False,
) -> None:
    """Go on with the masked-language-model training of an encoder on text of your domain.

    acclimate encoder domain-tune --text tweets.txt --source news.conll --masking mix-adversarial --out tweet-encoder

    It reads the text 16 times (--set passes=16), in at most 5,000 updates, and stops when the held-out loss rises.

    The result is a folder that `acclimate adapt --encoder DIR` and plain `transformers` open.

    `acclimate adapt --recipe adversarial-masking` does this and trains the tagger too.

    A run that was interrupted goes on when the same command is given again.
    """
    given = {"text": text or None, "source": source, "masking": masking, "encoder": encoder}
    from acclimate.runs.domain_tune import DomainTuneSettings, domain_tune
    from acclimate.settings import complete, gathered
    from acclimate.training.progress_bar import TrainingBar

    settings = complete(DomainTuneSettings, gathered(config, given, assignments), where=str(config or "domain-tune"))
    _train(domain_tune, settings, TrainingBar, _tuned_lines, out, overwrite, quiet)


def _train(
    train: Callable[[Any, Path, Any, Callable[[str], Any], bool], Done],
    settings: Any,
    bar_kind: Callable[[Any], Any],
    lines: Callable[[Done, Path], list[str]],
    out: Path,
    overwrite: bool,
    quiet: bool,
) -> None:
    """Train under a progress bar, and print the result."""
    from acclimate.cli.outputs import check_folder_to_write, resumable, stderr_console
    from acclimate.training.loop import is_main_process

    check_folder_to_write("--out", out, "an encoder")
    console = stderr_console(quiet or not is_main_process())
    with resumable(out, overwrite), bar_kind(console) as bar:
        done = train(settings, out, bar, console.print, overwrite)
    if is_main_process():
        typer.echo("\n".join([*lines(done, out), f"use it: acclimate adapt --encoder {shlex.quote(str(out))}"]))


def _pretrained_lines(done: Pretrained, out: Path) -> list[str]:
    lines = [
        f"encoder: {out} ({done.parameters:,} parameters, {done.vocabulary:,} word pieces)",
        f"read {done.pieces_seen:,} pieces in {count(done.updates, 'update')}, {done.seconds:,.0f} s "
        f"({done.pieces_seen / max(done.seconds, 1e-9):,.0f} pieces/s)",
    ]
    if done.held_out_loss is not None:
        lines.append(
            f"held-out text ({done.held_out_pieces:,} pieces): loss {done.held_out_loss:.3f}, "
            f"perplexity {exp(done.held_out_loss):.2f}"
        )
    return lines


def _tuned_lines(done: DomainTuned, out: Path) -> list[str]:
    lines = [
        f"encoder: {out} ({done.encoder}, tuned on {count(done.sentences, 'sentence')})",
        f"masking {done.masking}: {count(done.updates, 'update')} in {done.seconds:,.0f} s "
        f"({done.updates / max(done.seconds, 1e-9):,.2f} updates/s), update {done.kept_update:,} kept",
    ]
    if done.loss_before is not None and done.loss_after is not None:
        lines.append(
            f"held-out text ({count(done.held_out_sentences, 'sentence')}): loss {done.loss_before:.3f} -> "
            f"{done.loss_after:.3f}, perplexity {exp(done.loss_before):.2f} -> {exp(done.loss_after):.2f}"
        )
    return lines

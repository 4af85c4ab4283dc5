"""`acclimate`: the commands, and how every failure is told.

Only typer is imported here: heavy libraries wait inside the commands, so that `--help` answers at once.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from acclimate import __version__
from acclimate.cli.adapt import adapt_command
from acclimate.cli.check import check_command
from acclimate.cli.convert import convert_command
from acclimate.cli.evaluate import evaluate_command
from acclimate.cli.listings import corpora_command, recipes_command, settings_command
from acclimate.cli.predict import predict_command

app = typer.Typer(
    name="acclimate",
    help="Adapt a sequence labeller (NER, chunking, POS) from a labelled source domain to a new target domain.",
    epilog="Exit codes: 0 done; 1 could not be done (bad data, a damaged file, findings of check); 2 wrong usage.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("adapt")(adapt_command)
app.command("evaluate")(evaluate_command)
app.command("predict")(predict_command)
app.command("check")(check_command)
app.command("convert")(convert_command)
app.command("recipes")(recipes_command)
app.command("corpora")(corpora_command)
app.command("settings")(settings_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"acclimate {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> None:
    """The entry point: a mistake of the user's ends in one sentence, not in a page of program."""
    try:
        app()
    except KeyboardInterrupt:
        typer.echo("Stopped. The same command goes on where this one left off, if it had an --out folder.", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # `acclimate predict … | head` is no error
        sys.exit(0)
    except Exception as failure:
        code = _exit_code(failure)
        if code is None:
            raise
        typer.echo(f"error: {failure}", err=True)
        sys.exit(code)


def _exit_code(failure: Exception) -> int | None:
    """2 for wrong usage, 1 for what could not be done, None for a fault of our own, which shows its traceback."""
    from acclimate.data.problems import InputError
    from acclimate.settings import SettingsError, UsageError

    if isinstance(failure, SettingsError | UsageError):
        return 2
    if isinstance(failure, InputError):
        return 1
    # named, not imported: their homes need torch, and if they were raised it is there anyway
    expected = {"StorageError", "EncoderNotFound", "Diverged"}
    return 1 if {kind.__name__ for kind in type(failure).__mro__} & expected else None

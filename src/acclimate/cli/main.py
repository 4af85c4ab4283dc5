"""`acclimate`: the commands, and how failures are reported. Heavy libraries are imported when a command runs."""

from __future__ import annotations

import difflib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from acclimate import __version__
from acclimate.cli.adapt import adapt_command
from acclimate.cli.compare import compare_command
from acclimate.cli.corpora import augment_command, check_command, convert_command, split_command, subset_command
from acclimate.cli.encoder import domain_tune_command, pretrain_command
from acclimate.cli.export import compress_command, export_command
from acclimate.cli.inspect import inspect_command
from acclimate.cli.label import label_command, suggest_command
from acclimate.cli.listings import corpora_command, info_command, recipes_command, settings_command
from acclimate.cli.predict import evaluate_command, predict_command
from acclimate.cli.raw_text import collocations_command, select_command
from acclimate.cli.report import report_command
from acclimate.cli.reproduce import list_tables_command, reproduce_command
from acclimate.cli.serve import serve_command
from acclimate.cli.weak_label import weak_label_command
from acclimate.spelling import describe_failure, spelled_by

_COMMAND = "acclimate.command"


class Terminated(KeyboardInterrupt):
    """SIGTERM: the work ends as after Ctrl-C."""


@contextmanager
def _terminated_like_ctrl_c() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, unless the caller handles or ignores it."""
    in_main = threading.current_thread() is threading.main_thread()  # no other may say what a signal does
    if not in_main or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)  # a second one must not cut off the tidying up
        raise Terminated

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


class Group(TyperGroup):
    """Commands that belong together. An unknown name is answered with the close names of all groups."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands and not args[0].startswith("-"):
            full_names = dict(_full_names(ctx.find_root().command))
            close = difflib.get_close_matches(args[0], full_names.values(), n=1)
            meant = " or ".join(f"`acclimate {words}`" for words, name in full_names.items() if name in close)
            ctx.fail(f"No such command {args[0]!r}. {f'Did you mean {meant}?' if meant else 'See --help.'}")
        found = super().resolve_command(ctx, args)
        ctx.meta[_COMMAND] = found[1]  # messages name its options
        return found


def _full_names(group: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """All commands and groups: how they are typed, such as `data check`, and their last word."""
    for name, command in group.commands.items():
        yield f"{before}{name}", name
        if isinstance(command, TyperGroup):
            yield from _full_names(command, f"{before}{name} ")


class Commands(Group):
    """All commands. A mistake of the user ends in one sentence. Failures are caught here: typer hides Ctrl-C from its
    caller."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with (
                _terminated_like_ctrl_c(),
                spelled_by(lambda name, value: as_option(ctx.meta.get(_COMMAND), name, value)),
            ):
                return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            typer.echo(" ".join(["Stopped.", *getattr(stop, "__notes__", ())]), err=True)
            raise typer.Exit(143 if isinstance(stop, Terminated) else 130) from None
        except BrokenPipeError:  # `acclimate predict … | head` is no error
            # or Python complains when it flushes at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except Exception as failure:
            code = exit_code(failure)
            if code is None:
                raise
            message = " ".join([describe_failure(failure), *getattr(failure, "__notes__", ())])
            typer.echo(f"error: {message}", err=True)
            raise typer.Exit(code) from None


def as_option(command: Any, name: str, value: Any) -> str:
    """An argument of the library as the command at hand takes it: `--target-dev`, `--set reading.skip_bad=true`."""
    from acclimate.cli.reading import PairReadingSettings

    own = {} if command is None else {parameter.name: parameter.opts[0] for parameter in command.params}
    option = own.get(name) or (f"--{name}" if f"--{name}" in own.values() else "")
    spelled = str(value).lower() if isinstance(value, bool) else str(value)
    if value in (None, ...):
        spelled = {"to": "FORMAT"}.get(name, name.upper())
    if name == "to" and not option:  # only convert writes in a format that the file's name does not say
        return f"--to {spelled} (acclimate data convert)"
    of_reading = name in PairReadingSettings.model_fields and option != "--map"
    if option and not of_reading:
        return option if value in (None, True) else f"{option} {spelled}"
    if not of_reading:
        return f"--set {name}={spelled}"
    sides = name in ("column", "format") and {"source", "target"} <= own.keys()
    return f"--set reading.source_{name}={spelled} (or target_{name})" if sides else f"--set reading.{name}={spelled}"


def exit_code(failure: Exception) -> int | None:
    """2 for wrong usage, 1 for what could not be done, None for a fault of our own, which shows its traceback."""
    # named, not imported: their homes need pydantic or torch, for which `--help` must not wait
    kinds = {f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(failure).__mro__}
    if kinds & {"acclimate.SettingsError", "acclimate.UsageError"}:
        return 2
    expected = {"InputError", "StorageError", "EncoderNotFound", "Diverged"}
    known = kinds & {f"acclimate.{name}" for name in expected} or "torch.OutOfMemoryError" in kinds
    return 1 if known or isinstance(failure, OSError) else None


def taking_many(*options: str) -> type[TyperCommand]:
    """A command whose options take all words up to the next option, as the shell makes many of `--from huge/*.gz`."""

    class TakingMany(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            return super().parse_args(ctx, _repeated(args, options))

    return TakingMany


def _repeated(words: list[str], options: tuple[str, ...]) -> list[str]:
    """`--from a b` as `--from a --from b`."""
    result: list[str] = []
    current, has_value = "", False
    for word in words:
        if word.startswith("-") and word != "-":
            option, equals, _ = word.partition("=")
            current, has_value = option if option in options else "", bool(equals)
        elif current and has_value:
            result.append(current)
        else:
            has_value = True
        result.append(word)
    return result


app = typer.Typer(
    name="acclimate",
    cls=Commands,
    help="Adapt a sequence labeller (NER, chunking, POS) from a labelled source domain to a new target domain.",
    epilog="Exit codes: 0 done; 1 could not be done (bad data, a damaged file, findings of check); 2 wrong usage; "
    "130 after Ctrl-C; 143 after SIGTERM.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("adapt", cls=taking_many("--target-text", "--pool"), short_help="Adapt a tagger to a new domain.")(
    adapt_command
)
app.command("predict", short_help="Tag text with a tagger.")(predict_command)
app.command("evaluate", short_help="Score a tagger on labelled sentences.")(evaluate_command)
app.command("export", short_help="Make a tagger compact: fast on a CPU, without torch.")(export_command)
app.command("serve", short_help="Serve taggers over HTTP, with a page to try them.")(serve_command)
app.command("compress", cls=taking_many("--text"), short_help="Make a smaller tagger, which learns another's answers.")(
    compress_command
)
app.command("label", short_help="Label a little of your text, and let the tagger learn it.")(label_command)
app.command("compare", short_help="Compare recipes over several seeds.")(compare_command)
app.command("report", short_help="Write an HTML page about a run or a comparison, or print a part of it.")(
    report_command
)

info = typer.Typer(cls=Group, help="Show what is installed here; list recipes, settings and bundled corpora.")
info.callback(invoke_without_command=True)(info_command)
info.command("recipes")(recipes_command)
info.command("settings")(settings_command)
info.command("corpora")(corpora_command)

data = typer.Typer(cls=Group, no_args_is_help=True, help="Check, convert, divide, label and extend corpora.")
data.command("check")(check_command)
data.command("inspect")(inspect_command)
data.command("convert")(convert_command)
data.command("subset")(subset_command)
data.command("split")(split_command)
data.command("augment")(augment_command)
data.command("select", cls=taking_many("--like", "--from"))(select_command)
data.command("suggest")(suggest_command)
data.command("weak-label", cls=taking_many("--concepts", "--text"))(weak_label_command)
data.command("collocations")(collocations_command)

encoder = typer.Typer(cls=Group, no_args_is_help=True, help="Train an encoder on your own text.")
encoder.command("pretrain", cls=taking_many("--text"))(pretrain_command)
encoder.command("domain-tune", cls=taking_many("--text"))(domain_tune_command)

papers = typer.Typer(cls=Group, no_args_is_help=True, help="Run the tables and figures of the five papers again.")
papers.command("list")(list_tables_command)
papers.command("reproduce")(reproduce_command)

app.add_typer(info, name="info")
for _name, _group in (("data", data), ("encoder", encoder), ("papers", papers)):
    app.add_typer(_group, name=_name, rich_help_panel="Groups of commands")


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


def _fill_closed_streams() -> None:
    """Open the standard streams that the caller has closed: no file may get their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # takes the lowest number that is free
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115


def main() -> None:
    """The entry point."""
    _fill_closed_streams()
    # Read when torch is imported: how long its threads spin while they wait for each other. Spinning long makes
    # training several times slower beside a busy program, never spinning nearly halves its speed alone (on 2 cores).
    os.environ.setdefault("GOMP_SPINCOUNT", "300")
    app()

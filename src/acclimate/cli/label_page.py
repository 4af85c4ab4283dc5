"""What `acclimate label` does without `--simulate`: the page on a server, the page in a file, and what comes back."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from acclimate.spelling import count

if TYPE_CHECKING:
    from collections.abc import Callable

    from acclimate.cli.data_settings import LabelSettings
    from acclimate.labelling.session import Session


def serve_page(begin: Callable[[], Session], host: str, port: int, settings: LabelSettings) -> None:
    """Serve the page until Ctrl-C. `begin` opens the session, once it is known that the port is free."""
    from acclimate.settings import UsageError

    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise UsageError("the page needs starlette and uvicorn. pip install 'acclimate[serve]'") from None

    from acclimate.cli.outputs import warn
    from acclimate.labelling.desk import Desk, build_app
    from acclimate.serving.server import TOKEN, bind, hosts_of, is_local, serve, token_of, url_of

    token = token_of(settings.serve)
    made = bind(host, port)
    with made, begin() as session:
        url = url_of(made)
        if token is None and not is_local(made):
            warn(f"Everybody who reaches {url} can read and label this text: set {TOKEN} to ask for a token.")
        desk = Desk(session, settings.serve)

        def announce() -> None:
            gc.freeze()  # sentences stay: looking through them for garbage would hold up an answer for a second
            typer.echo(f"{url} shows the page for {session.folder}. Ctrl-C ends it; every answer is saved at once.")
            sys.stdout.flush()
            if opens_browser(settings.browser, is_local(made)):
                open_browser(url)

        serve(desk, build_app(desk, hosts_of(made, host, settings.serve), token), made, announce)
        typer.echo(farewell(session))


def opens_browser(wish: str, is_local: bool) -> bool:
    """Whether to open the page: as the settings say, or where somebody sits at a terminal of this machine."""
    return wish == "always" or (wish == "auto" and is_local and sys.stdin.isatty() and sys.stdout.isatty())


def open_browser(url: str) -> None:
    import threading
    import webbrowser

    def attempt() -> None:
        try:
            webbrowser.get()
        except webbrowser.Error:
            return  # none is here, and the address is printed
        webbrowser.open(url)

    threading.Thread(target=attempt, daemon=True).start()


def farewell(session: Session) -> str:
    """How far it is, how to go on, and what uses the labels."""
    progress, out = session.progress(), session.folder
    done = f"{count(progress.done, 'sentence')} done, {progress.held_back:,} of them held back"
    use = f"acclimate adapt --target-labelled {out}"
    lines = [f"{done}; {progress.seconds / 60:.0f} minutes.", f"go on:  acclimate label --out {out}"]
    if progress.held_back:
        use += f" --target-test {out / 'held-back'}"
    return "\n".join([*lines, f"use it: {use}"] if progress.done + progress.part else lines)


def write_page(session: Session, file: Path, sentences: int) -> None:
    """Write the page with the next sentences in it."""
    from acclimate.cli.outputs import check_file_to_write
    from acclimate.labelling.export import exported
    from acclimate.settings import UsageError

    if file.exists():
        raise UsageError(f"--export {file} is there already. Name another place, or remove it first.")
    check_file_to_write("--export", file, overwrite=True)
    written = exported(session, file, sentences)
    typer.echo(
        f"{file}: {count(written, 'sentence')} to label in any browser, without a server. What comes back from it:\n"
        f"  acclimate label --out {session.folder} --set take=FILE\n"
        f"  acclimate data convert FILE labelled.conll"
    )


def take_answers(session: Session, file: Path) -> None:
    """Put the answers of a page without a server into the session."""
    from acclimate.cli.outputs import warn
    from acclimate.labelling.export import imported

    taken = imported(session, file)
    typer.echo(f"{file}: {count(taken.new, 'answer')} by {', '.join(taken.annotators) or 'nobody'} taken.")
    if taken.known:
        warn(f"{count(taken.known, 'answer')} stood here already.")
    if taken.kept:
        warn(f"{count(taken.kept, 'answer')} differ from what the same person answered here, which was kept.")

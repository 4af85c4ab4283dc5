"""`acclimate serve`: taggers behind HTTP, and a page to try them."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from acclimate.cli.options import Device, Host, Port, ServeSet


def serve_command(
    taggers: Annotated[
        list[str],
        typer.Argument(metavar="TAGGER...", help="Folders of runs or exports, or general; NAME=TAGGER names one."),
    ],
    host: Host = "127.0.0.1",
    port: Port = 8000,
    assignments: ServeSet = None,
    device: Device = "auto",
) -> None:
    """Answer requests for entities over HTTP, and show a page to try taggers on.

    Example: acclimate serve runs/a general --port 8000

    A run's tagger before adaptation is served beside it. Ctrl-C and SIGTERM let requests in work end.
    """
    require_server("serving")
    from acclimate.cli.outputs import warn
    from acclimate.serving.app import Service, build_app
    from acclimate.serving.server import TOKEN, bind, hosts_of, is_local, serve, token_of, url_of
    from acclimate.serving.settings import ServeSettings
    from acclimate.serving.taggers import load_taggers
    from acclimate.settings import complete, with_assignments

    settings = complete(ServeSettings, with_assignments({}, assignments or ()), where="serve").serve
    token = token_of(settings)
    made = bind(host, port)
    with made:
        if token is None and not is_local(made):
            warn(f"Everybody who reaches {url_of(made)} can use this server: set {TOKEN} to ask for a token.")
        served = load_taggers(taggers, device, settings.before)
        line = f"{url_of(made)} serves {', '.join(one.name for one in served)}. Ctrl-C stops it."

        def announce() -> None:
            typer.echo(line)
            sys.stdout.flush()

        service = Service(served, settings)
        serve(service, build_app(service, hosts_of(made, host, settings), token), made, announce)


def require_server(what: str) -> None:
    """Refuse to serve without the libraries of the extra."""
    from importlib.util import find_spec

    from acclimate.settings import UsageError

    if not (find_spec("starlette") and find_spec("uvicorn")):
        raise UsageError(f"{what} needs starlette and uvicorn. pip install 'acclimate[serve]'")

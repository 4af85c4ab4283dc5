"""The page on a server: its routes. Every request but those for the page is a POST of JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from jinja2 import Environment, PackageLoader
from starlette.requests import Request
from starlette.responses import Response

from acclimate import __version__
from acclimate.data.problems import InputError
from acclimate.labelling import requests
from acclimate.labelling.desk import Desk, conflict
from acclimate.labelling.session import Conflict
from acclimate.serving.application import PAGE_STYLE, Act, Routes, application, asset
from acclimate.serving.errors import Json, Refusal
from acclimate.serving.requests import read_json
from acclimate.settings import UsageError

A = TypeVar("A", bound=requests.Asked)
STYLE = (*PAGE_STYLE, "serving/page/page.css", "labelling/page/label.css")
SCRIPTS = tuple(
    f"labelling/page/{name}.js" for name in ("spans", "server", "alone", "panels", "progress", "drawing", "label")
)
_ASSETS = {
    "label.css": (STYLE, "text/css"),
    "label.js": (SCRIPTS, "text/javascript"),
    "icon.svg": (("serving/page/icon.svg",), "image/svg+xml"),
}


def _act(kind: type[A], act: Callable[[Desk, A], Any]) -> Act:
    """A route that reads a body of this kind, and asks the desk in a thread."""

    async def answer(desk: Desk, request: Request) -> Response:
        asked = await read_json(request, kind, desk.access)
        return await asyncio.to_thread(_answered, lambda: act(desk, asked))

    return answer


def _answered(act: Callable[[], Any]) -> Response:
    try:
        found = act()
    except Conflict as failure:
        return Json({"error": {"code": "conflict", "message": str(failure)}, **conflict(failure)}, 409)
    except (InputError, UsageError) as failure:
        raise Refusal(422, "invalid_request", str(failure)) from None
    except OSError as failure:
        message = f"Nothing was saved: {failure.strerror or failure}. The page keeps the answer, and tries again."
        raise Refusal(503, "not_saved", message, {"Retry-After": "2"}) from failure
    return found if isinstance(found, Response) else Json(found)


def _corpus(desk: Desk, asked: requests.CorpusRequest) -> Response:
    name = f"{'held-back' if asked.held_back else 'labelled'}.{asked.format}"
    kept = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(desk.corpus(asked.format, asked.held_back), media_type="text/plain; charset=utf-8", headers=kept)


async def _page(desk: Desk, request: Request) -> Response:
    return Response(page(), media_type="text/html")


def page(**more: Any) -> str:
    """The page; `more` is what a page without a server holds itself."""
    environment = Environment(
        loader=PackageLoader("acclimate.labelling", "page"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("label.html.j2").render(version=__version__, **more)


ROUTES: Routes = {
    "/": ("GET", _page),
    **{f"/assets/{name}": ("GET", asset(*found)) for name, found in _ASSETS.items()},
    "/v1/begin": ("POST", _act(requests.Asked, lambda desk, asked: desk.begin(asked.annotator))),
    "/v1/next": ("POST", _act(requests.NextRequest, lambda desk, asked: desk.next(asked.annotator, asked.show))),
    "/v1/answers": ("POST", _act(requests.AnswersRequest, lambda desk, asked: desk.answer(asked.read, asked.show))),
    "/v1/undo": ("POST", _act(requests.Asked, lambda desk, asked: desk.undo(asked.annotator))),
    "/v1/redo": ("POST", _act(requests.Asked, lambda desk, asked: desk.redo(asked.annotator))),
    "/v1/search": ("POST", _act(requests.SearchRequest, lambda desk, asked: desk.search(asked.text, asked.annotator))),
    "/v1/elsewhere": (
        "POST",
        _act(requests.ElsewhereRequest, lambda desk, asked: desk.elsewhere(asked.words, asked.annotator)),
    ),
    "/v1/elsewhere/label": (
        "POST",
        _act(
            requests.LabelElsewhereRequest,
            lambda desk, asked: desk.label_elsewhere(asked.words, asked.label, asked.read, asked.annotator),
        ),
    ),
    "/v1/guide": (
        "POST",
        _act(requests.GuideRequest, lambda desk, asked: desk.change_guide(asked.read, asked.annotator, asked.seen)),
    ),
    "/v1/progress": (
        "POST",
        _act(requests.ProgressRequest, lambda desk, asked: desk.progress(asked.annotator, asked.sentence)),
    ),
    "/v1/corpus": ("POST", _act(requests.CorpusRequest, _corpus)),
}
OPEN = {"/", *(f"/assets/{name}" for name in _ASSETS)}  # without a token: no text


def build_app(desk: Desk, hosts: Sequence[str] = (), token: str | None = None) -> Any:
    """The whole application. `hosts` are the names that it answers to, any where there are none."""
    return application(desk, ROUTES, OPEN, hosts, token)

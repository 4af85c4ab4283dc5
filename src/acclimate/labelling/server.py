"""The page on a server: its routes. Every request but those for the page is a POST of JSON."""

from __future__ import annotations

from collections.abc import Sequence

from acclimate.labelling import requests
from acclimate.labelling.desk import Desk
from acclimate.serving.application import PAGE_STYLE, Application, Operation, page_operations

TEMPLATE = "labelling/page/label.html.j2"
STYLE = (*PAGE_STYLE, "labelling/page/label.css")
_MODULES = ("spans", "server", "alone", "panels", "progress", "drawing", "editor", "label")
SCRIPTS = tuple(f"labelling/page/{name}.js" for name in _MODULES)
OPERATIONS = (
    *page_operations(TEMPLATE, STYLE, SCRIPTS),
    Operation("/v1/begin", Desk.begin, requests.Asked),
    Operation("/v1/next", Desk.next, requests.NextRequest),
    Operation("/v1/answers", Desk.answer, requests.AnswersRequest),
    Operation("/v1/undo", Desk.undo, requests.Asked),
    Operation("/v1/redo", Desk.redo, requests.Asked),
    Operation("/v1/search", Desk.search, requests.SearchRequest),
    Operation("/v1/elsewhere", Desk.elsewhere, requests.ElsewhereRequest),
    Operation("/v1/elsewhere/label", Desk.label_elsewhere, requests.LabelElsewhereRequest),
    Operation("/v1/guide", Desk.change_guide, requests.GuideRequest),
    Operation("/v1/progress", Desk.progress, requests.ProgressRequest),
    Operation("/v1/corpus", Desk.corpus, requests.Asked),
)


def build_app(desk: Desk, hosts: Sequence[str] = (), token: str | None = None) -> Application:
    """The whole application. `hosts` are the names that it answers to, any where there are none."""
    return Application(desk, OPERATIONS, hosts, token)

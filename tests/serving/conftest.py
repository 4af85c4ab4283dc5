"""A run with a tagger before and after, both tiny, and the server on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from served import opinionated
from starlette.testclient import TestClient

from acclimate.data.corpus import Corpus
from acclimate.inference.export import export_onnx
from acclimate.model.tagger import Tagger
from acclimate.serving.app import Service, build_app
from acclimate.serving.settings import ServerSettings
from acclimate.serving.taggers import ServedTagger, load_taggers


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory, build: Callable[..., Tagger]) -> Path:
    folder = tmp_path_factory.mktemp("served") / "a"
    opinionated(build("bert"), 18).save(folder, **{"README.md": "# news → tweets\n\nModel chosen by hand.\n"})
    opinionated(build("bert"), 24).save(folder / "before")
    return folder


@pytest.fixture(scope="session")
def compact_folder(tmp_path_factory: pytest.TempPathFactory, run_folder: Path, tweets: Corpus) -> Path:
    """The same taggers without torch: a process with them starts in a second."""
    folder = tmp_path_factory.mktemp("compact") / "a"
    export_onnx(Tagger.load(run_folder), folder, tweets)
    export_onnx(Tagger.load(run_folder / "before"), folder / "before", tweets)
    return folder


@pytest.fixture(scope="session")
def taggers(run_folder: Path) -> list[ServedTagger]:
    return load_taggers([str(run_folder)], "cpu")


@pytest.fixture
def serving(taggers: list[ServedTagger]) -> Iterator[Callable[..., TestClient]]:
    """Clients of an application with settings of one's own: `serving(max_words=3)`."""
    open_clients = []

    def make(token: str | None = None, hosts: tuple[str, ...] = (), **settings: object) -> TestClient:
        service = Service(taggers, ServerSettings(**settings))  # type: ignore[arg-type]
        client = TestClient(build_app(service, hosts, token), raise_server_exceptions=False)
        client.service = service  # type: ignore[attr-defined]
        open_clients.append(client)
        return client.__enter__()

    yield make
    for client in open_clients:
        client.__exit__(None, None, None)


@pytest.fixture
def client(serving: Callable[..., TestClient]) -> TestClient:
    return serving()

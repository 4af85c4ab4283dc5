"""A tiny tagger on disk to start sessions from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acclimate.model.tagger import Tagger


@pytest.fixture(scope="session")
def start(tmp_path_factory: pytest.TempPathFactory, build: Callable[..., Tagger], news: Any) -> str:
    folder = tmp_path_factory.mktemp("start") / "tagger"
    build(labels=["PER", "LOC", "ORG"]).save(folder)
    return str(folder)

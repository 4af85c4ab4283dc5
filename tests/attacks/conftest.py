"""A small tagger as it stands on disk, made once and unpacked for each attack."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from acclimate.model.tagger import Tagger


@pytest.fixture(scope="session")
def small_tagger(tmp_path_factory: pytest.TempPathFactory, build: Callable[..., Tagger]) -> bytes:
    folder = tmp_path_factory.mktemp("small") / "tagger"
    build("character-cnn-lstm").save(folder)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(folder, ".")
    return packed.getvalue()


@pytest.fixture(scope="session")
def unpack() -> Callable[[bytes, Path], None]:
    def unpacked(packed: bytes, folder: Path) -> None:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")

    return unpacked

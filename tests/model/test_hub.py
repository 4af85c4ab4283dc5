"""Taggers go to a model hub and come back, by the hub's own client, to a stand-in on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from acclimate.data.corpus import Corpus
from acclimate.inference.predict import predict
from acclimate.model.storage import StorageError, verify
from acclimate.model.tagger import Tagger
from local_hub import SHA, Hub, local_hub


def opinionated(tagger: Tagger) -> Tagger:
    with torch.no_grad():
        tagger.scores.weight.mul_(30)
        tagger.head.transitions.normal_(0, 1)
    return tagger.eval()


@pytest.fixture
def hub() -> Iterator[Hub]:
    with local_hub() as hub:
        yield hub


@pytest.fixture(scope="module")
def tagger(build: Callable[..., Tagger]) -> Tagger:
    return opinionated(build("bert"))


@pytest.fixture(scope="module")
def folder(tagger: Tagger, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tagger") / "run"
    tagger.save(place, **{"predictions.json": "private"})
    return place


def run(code: str, url: str, home: Path, *words: object, offline: bool = False) -> str:
    """A program of its own: the client reads its settings when it is imported."""
    own = {"HF_ENDPOINT": url, "HF_HOME": str(home), "HF_HUB_OFFLINE": str(int(offline)), "OMP_NUM_THREADS": "1"}
    own |= {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1"}
    begin = (
        "import sys, json\nfrom acclimate import Tagger, predict\nfrom acclimate.model.storage import StorageError\n"
    )
    asked = [sys.executable, "-c", begin + code, *map(str, words)]
    done = subprocess.run(asked, env={**os.environ, **own}, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


ROUND_TRIP = """
tagger = Tagger.load(sys.argv[1])
print(tagger.push_to_hub("me/names", private=True, token="hf_secret", commit_message="first"))
again = Tagger.from_pretrained("me/names", cache_dir=sys.argv[2])
kept = Tagger.from_pretrained("me/names", cache_dir=sys.argv[2], local_files_only=True, revision="main")
texts = json.loads(sys.argv[3])
for each in (again, kept):
    print(json.dumps([sentence.tags for sentence in predict(each, texts)]))
print(again.card == tagger.card)
for how in ({"name_or_folder": "me/nothing"}, {"name_or_folder": "me/names", "revision": "v9"}):
    try:
        Tagger.from_pretrained(**how)
    except StorageError as refusal:
        print(refusal)
"""


def test_a_tagger_goes_to_a_hub_and_comes_back(
    hub: Hub, tagger: Tagger, folder: Path, tweets: Corpus, tmp_path: Path
) -> None:
    texts = [list(sentence.words) for sentence in tweets]
    told = run(ROUND_TRIP, hub.url, tmp_path, folder, tmp_path / "cache", json.dumps(texts)).splitlines()
    url, came, kept, has_card, unknown, no_revision = told
    expected = [list(sentence.tags or ()) for sentence in predict(tagger, texts)]
    assert url == f"{hub.url}/me/names/commit/{SHA}"
    assert json.loads(came) == json.loads(kept) == expected
    assert has_card == "True"
    assert "me/nothing is no folder here" in unknown
    assert "no such tagger, or it is private" in unknown
    assert "not this revision" in no_revision
    assert hub.private == {"me/names": True}
    assert hub.messages == ["first"]
    assert "Bearer hf_secret" in hub.tokens
    assert "predictions.json" not in hub.files["me/names"]
    assert hub.files["me/names"]["README.md"].startswith(b"---\nlibrary_name: acclimate\n")


REFUSALS = """
try:
    Tagger.from_pretrained(*sys.argv[1:2], cache_dir=sys.argv[2])
except StorageError as refusal:
    print(refusal)
"""


def test_what_comes_from_a_hub_is_checked_like_any_folder(hub: Hub, folder: Path, tmp_path: Path) -> None:
    hub.files["me/broken"] = {
        str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()
    }
    hub.files["me/broken"]["README.md"] += b"edited on the web"
    told = run(REFUSALS, hub.url, tmp_path, "me/broken", tmp_path / "cache")
    assert told.startswith("me/broken/README.md: ")
    assert "damaged" in told
    hub.files["me/plain"] = {"config.json": b"{}", "model.safetensors": b""}
    assert "me/plain" in run(REFUSALS, hub.url, tmp_path, "me/plain", tmp_path / "cache")


def test_a_newer_tagger_leaves_no_file_of_an_older_one(hub: Hub, folder: Path, tmp_path: Path) -> None:
    hub.files["me/names"] = {"compact.json": b"", "model.onnx": b"", "notes.txt": b"mine", "encoder/old.bin": b""}
    run('Tagger.load(sys.argv[1]).push_to_hub("me/names")', hub.url, tmp_path, folder)
    assert not {"compact.json", "model.onnx", "encoder/old.bin"} & hub.files["me/names"].keys()
    assert {"tagger.json", "encoder/config.json", "notes.txt"} <= hub.files["me/names"].keys()


def test_offline_the_reason_is_told_and_nothing_asked(hub: Hub, tmp_path: Path) -> None:
    told = run(REFUSALS, hub.url, tmp_path, "me/names", tmp_path / "cache", offline=True)
    assert "me/names is no folder here, and cannot be had from the model hub" in told
    assert "go online once, or name a folder" in told
    assert hub.asked == []


def test_a_place_on_disk_asks_no_hub(tagger: Tagger, folder: Path, tweets: Corpus) -> None:
    for place in (str(folder), folder):
        assert predict(Tagger.from_pretrained(place), tweets) == predict(tagger, tweets)
    assert set(Tagger.from_pretrained("general").labels) == {"LOC", "MISC", "ORG", "PER"}


@pytest.mark.parametrize("name", ["/no/such/folder", "runs/a/b", "a name", ""])
def test_what_is_neither_a_folder_nor_a_name_is_told(name: str) -> None:
    with pytest.raises(StorageError, match="folder"):
        Tagger.from_pretrained(name)


def test_save_pretrained_writes_what_save_writes(tagger: Tagger, folder: Path, tmp_path: Path) -> None:
    tagger.save_pretrained(tmp_path / "copy")
    assert verify(tmp_path / "copy") == verify(folder) - {"predictions.json"}
    with pytest.raises(TypeError, match="private only with push_to_hub=True"):
        tagger.save_pretrained(tmp_path / "other", private=True)


def test_a_compact_tagger_comes_and_goes_too(hub: Hub, tagger: Tagger, tweets: Corpus, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    from acclimate.inference.compact import CompactTagger
    from acclimate.inference.export import export_onnx

    export_onnx(tagger, tmp_path / "compact", tweets)
    CompactTagger.load(tmp_path / "compact").save_pretrained(tmp_path / "copy")
    assert predict(CompactTagger.from_pretrained(tmp_path / "copy"), tweets) == predict(tagger, tweets)
    code = """
from acclimate import CompactTagger
CompactTagger.load(sys.argv[1]).push_to_hub("me/small")
again = CompactTagger.from_pretrained("me/small", cache_dir=sys.argv[2])
again.save_pretrained(sys.argv[3])
try:
    Tagger.from_pretrained("me/small", cache_dir=sys.argv[2])
except StorageError as refusal:
    print(refusal)
"""
    told = run(code, hub.url, tmp_path, tmp_path / "compact", tmp_path / "cache", tmp_path / "back")
    assert "Load it with CompactTagger" in told
    assert predict(CompactTagger.load(tmp_path / "back"), tweets) == predict(tagger, tweets)

"""The compact form in a tagger's folder is used by itself, and never in place of another version of the tagger."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from acclimate.cli.main import app
from acclimate.data.corpus import Corpus
from acclimate.inference import loading
from acclimate.inference.export import export_onnx
from acclimate.inference.loading import load_tagger
from acclimate.model.storage import StorageError, verify
from acclimate.model.tagger import Tagger

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")

from acclimate.inference.compact import CompactTagger, version_of


@pytest.fixture(scope="module")
def made(build: Callable[..., Tagger], tweets: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tagger's folder with a compact form in it."""
    folder = tmp_path_factory.mktemp("form") / "a"
    tagger = build("bert").eval()
    tagger.save(folder)
    export_onnx(tagger, folder / "compact", tweets, original=version_of(folder))
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "a"))


class Heard(list[str]):
    def __call__(self, line: str) -> None:
        self.append(line)


def load(folder: Path, device: str = "auto") -> tuple[bool, Heard, Heard]:
    """Whether the form is used, what is told, and what is warned of."""
    told, warned = Heard(), Heard()
    return isinstance(load_tagger(folder, device, told, warned), CompactTagger), told, warned


def see_gpu(monkeypatch: pytest.MonkeyPatch, is_there: bool) -> None:
    monkeypatch.setattr(loading, "_OF_GPUS", (__file__,) if is_there else ())
    monkeypatch.setattr(torch.cuda, "is_available", lambda: is_there)


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_it_is_used_on_a_cpu_and_said_in_a_line(folder: Path, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    see_gpu(monkeypatch, False)
    is_used, told, warned = load(folder, device)
    assert is_used
    assert told == [f"Tagging with the compact form in {folder / 'compact'} (float32; 100.0 % of tags equal)."]
    assert not warned


def test_the_tagger_itself_is_taken_if_it_is_asked_for(folder: Path) -> None:
    assert load(folder, "torch") == (False, [], [])


def test_the_tagger_itself_is_taken_where_there_is_a_gpu(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    see_gpu(monkeypatch, True)
    asked = Heard()
    monkeypatch.setattr(Tagger, "load", lambda place, device: asked(device))
    load_tagger(folder)
    assert asked == ["cuda"]


def test_a_form_of_another_version_is_not_used(folder: Path, build: Callable[..., Tagger]) -> None:
    other = build("bert").eval()
    with torch.no_grad():
        other.scores.bias.add_(1)
    other.save(folder)
    is_used, told, (warned,) = load(folder, "cpu")
    assert not is_used
    assert not told
    assert "made from another version" in warned
    assert f"acclimate export {folder}" in warned


def test_a_form_that_says_nothing_of_its_original_is_not_used(
    folder: Path, build: Callable[..., Tagger], tweets: Corpus
) -> None:
    export_onnx(build("bert").eval(), folder / "compact", tweets)
    assert not load(folder, "cpu")[0]


def test_a_new_report_beside_the_same_weights_keeps_the_form(folder: Path) -> None:
    Tagger.load(folder).save(folder, **{"report.json": "{}"})
    assert load(folder, "cpu")[0]


def test_without_onnxruntime_the_tagger_itself_is_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "find_spec", lambda name: None)
    is_used, _, (warned,) = load(folder, "cpu")
    assert not is_used
    assert "acclimate[fast]" in warned


def test_a_damaged_form_is_refused(folder: Path) -> None:
    (folder / "compact" / "tokenizer.json").write_text("{}")
    with pytest.raises(StorageError, match="damaged"):
        load_tagger(folder, "cpu")


def test_the_tagger_s_folder_stays_whole(folder: Path) -> None:
    listed = verify(folder)
    assert not any(name.startswith("compact/") for name in listed)
    Tagger.load(folder)


def run(*words: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result.output


def test_export_writes_into_the_folder_and_replaces_the_form_there(folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("Anna flew to Oslo.\nBert stayed.\n")
    shown = run("export", folder, "--text", text)
    assert shown.startswith(f"{folder / 'compact'}: ")
    assert json.loads((folder / "compact" / "compact.json").read_text())["original"] == version_of(folder)
    assert load(folder, "cpu")[0]
    assert "Tagging with the compact form" in run("predict", folder, text, "--device", "cpu")
    assert "Tagging with" not in run("predict", folder, text, "--device", "torch")


def test_a_folder_of_one_s_own_is_not_overwritten(folder: Path) -> None:
    shutil.rmtree(folder / "compact")
    (folder / "compact").mkdir()
    (folder / "compact" / "notes.txt").write_text("mine")
    assert "is there already" in run("export", folder, code=2)
    assert not load(folder, "cpu")[0]


def test_an_unknown_device_is_refused_by_name(folder: Path) -> None:
    assert "expected auto, cpu, cuda or torch" in run("predict", folder, "news/dev", "--device", "tpu", code=2)

"""What tutorials and examples show can be done: their commands and programs run, with fewer updates."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from acclimate.cli.main import app
from acclimate.data import reading
from acclimate.data.reading import load_bundled
from acclimate.data.writing import write_corpus
from acclimate.model.tagger import Tagger
from acclimate.recipes import catalogue, source_free
from acclimate.training.settings import LoopSettings, TrainingSettings
from doc_pages import DOCS, ROOT, examples
from local_hub import local_hub

EXAMPLES = ROOT / "examples"
TUTORIALS = [page for page in sorted((DOCS / "tutorials").glob("*.md")) if page.stem != "index"]


@pytest.fixture(autouse=True)
def brief(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Less training; all else as a user has it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(LoopSettings, "updates_for", lambda self, epoch_length: 2)
    monkeypatch.setattr(catalogue, "RECIPES", dict(catalogue.RECIPES))


@pytest.fixture
def beginnings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs read the first sentences of each bundled part."""
    monkeypatch.setattr(
        reading, "load_bundled", lambda name: reading.Domain(*(part[:60] for part in load_bundled(name)))
    )


def test_the_commands_and_the_program_of_the_guide_to_several_sources_run(
    beginnings: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = DOCS / "how-to" / "several-sources.md"
    monkeypatch.setattr("acclimate.cli.reading.load_bundled", reading.load_bundled)
    run_commands(page, tmp_path)
    (program,) = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    exec(compile(program, page.name, "exec"), {})


def test_the_commands_of_the_guide_to_guesses_run(
    beginnings: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("acclimate.cli.reading.load_bundled", reading.load_bundled)
    run_commands(DOCS / "how-to" / "learn-from-guesses.md", tmp_path)


def test_the_commands_and_the_program_of_the_guide_to_labelling_run(
    beginnings: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("acclimate.cli.reading.load_bundled", reading.load_bundled)
    monkeypatch.setattr("acclimate.serving.server.serve", lambda service, app, made, announce: announce())
    page = DOCS / "how-to" / "label.md"
    run_commands(page, tmp_path)
    (program,) = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    exec(compile(program, page.name, "exec"), {})


def test_the_commands_and_the_program_of_the_guide_to_exports_run(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    page = DOCS / "how-to" / "export.md"
    run_commands(page, tmp_path)
    for program in programs(page):
        exec(compile(program, page.name, "exec"), {})


def programs(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


def test_the_programs_of_the_guide_to_spacy_run_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("spacy")
    exec(compile("\n".join(programs(DOCS / "how-to" / "use-in-spacy.md")), "use-in-spacy.md", "exec"), {})
    assert "PER Anna Schmidt" in capsys.readouterr().out


def test_the_programs_of_the_guide_to_hubs_run_one_after_the_other(tmp_path: Path) -> None:
    small = Tagger.build("character-cnn-lstm", labels=["PER"], text=load_bundled("social").few)
    small.save(tmp_path / "runs" / "a")
    program = "\n".join(programs(DOCS / "how-to" / "share-on-the-hub.md"))
    with local_hub() as hub:
        own = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "0", "HF_TOKEN": "hf_x"}
        subprocess.run([sys.executable, "-c", program], env={**os.environ, **own}, check=True, cwd=tmp_path)
    assert b"our newsroom" in hub.files["me/post-names"]["README.md"]
    assert (tmp_path / "post-names" / "manifest.json").is_file()


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_commands_of_a_tutorial_run_in_their_order(page: Path, tmp_path: Path) -> None:
    run_commands(page, tmp_path)


def run_commands(page: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").mkdir()
    shutil.copy(EXAMPLES / "compose.yaml", tmp_path / "examples")
    kept = re.findall(
        r"Save this as `([\w.-]+)`:\n\n```(?:yaml|text|json)\n(.*?)```", page.read_text("utf-8"), re.DOTALL
    )
    for file, text in kept:
        (tmp_path / file).write_text(text, encoding="utf-8")
    for words in examples(page):
        done = CliRunner().invoke(app, words[1:], input="Anneliese flew from Doha to Izmir\n")
        assert done.exit_code == 0, f"{words}: {done.output}"


def test_the_commands_for_a_run_without_a_source_run_in_their_order(tmp_path: Path, monkeypatch) -> None:
    social, page = load_bundled("social"), DOCS / "how-to" / "adapt-without-a-source.md"
    for name, corpus in {"few": social.train[:20], "gold": social.test[:20], "dev": social.dev[:20]}.items():
        write_corpus(corpus, tmp_path / f"{name}.conll")
    for name in ("notes.txt", "more-notes.txt"):
        write_corpus(social.unlabelled[:20].unlabelled(), tmp_path / name)
    Tagger.build("character-cnn-lstm", labels=social.train.labels, text=social.train).save(tmp_path / "runs" / "mine")
    monkeypatch.setattr(source_free, "training_of", lambda tagger, plan: TrainingSettings(updates=2))
    for words in examples(page):
        done = CliRunner().invoke(app, words[1:])
        assert done.exit_code == 0, f"{words}: {done.output}"


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_a_program_runs(
    name: str, beginnings: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", [name, "--updates", "2"])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert "target F1 before" in capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.ipynb")))
def test_a_notebook_runs(name: str, beginnings: None) -> None:
    notebook = json.loads((EXAMPLES / name).read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), name, "exec"), names)
    assert set(names["scores"]) == {"target-only", "acclimate"}


def test_the_program_of_the_tutorial_is_the_one_that_runs() -> None:
    page = (DOCS / "tutorials" / "your-own-recipe.md").read_text(encoding="utf-8")
    program = (EXAMPLES / "own_objective.py").read_text(encoding="utf-8")
    (objective,) = re.findall(r"class Certainty.*?\.mean\(\)\n", page, re.DOTALL)
    assert objective in program

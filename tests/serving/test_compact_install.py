"""A compact tagger is served where neither torch nor transformers is installed, as in the image of the Dockerfile."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import httpx
import pytest
from hatchling.builders.wheel import WheelBuilder

from acclimate.inference.compact import CompactTagger
from acclimate.serving.taggers import ServedTagger

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
COMPACT: list[str] = PROJECT["dependency-groups"]["compact"]


def test_the_few_packages_are_those_of_the_package_and_its_extras() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    assert set(COMPACT) <= {*PROJECT["project"]["dependencies"], *extras["serve"], *extras["fast"]}
    assert set(extras["serve"]) <= set(COMPACT)


def test_the_image_is_made_by_the_same_script_and_runs_as_a_plain_user() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    script = (ROOT / "install-compact").read_text(encoding="utf-8")
    assert any(line.startswith("RUN ./install-compact python") for line in lines)
    assert lines.index("USER acclimate") < next(n for n, line in enumerate(lines) if line.startswith("CMD "))
    assert "--group compact" in script
    assert "--no-deps ." in script


def blocking(packages: list[str]) -> str:
    return "import sys\n" + "".join(f"sys.modules[{name!r}] = None\n" for name in packages)


def test_the_server_of_a_compact_tagger_needs_no_package_but_these(compact_folder: Path) -> None:
    """Every other package of the dependencies is made impossible to import."""
    names = {re.split("[<>=]", each)[0] for each in PROJECT["project"]["dependencies"]} - {
        re.split("[<>=]", each)[0] for each in COMPACT
    }
    assert {"torch", "transformers", "accelerate"} <= names
    code = blocking(sorted(names)) + (
        "sys.argv = ['acclimate', 'serve', sys.argv[1], '--port', '0']\nfrom acclimate.cli.main import main\nmain()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(compact_folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        url = process.stdout.readline().partition(" ")[0]
        assert url.startswith("http://")
        found = httpx.post(f"{url}/v1/entities", json={"text": "Anna flew to Oslo."}).json()["entities"]
        assert found
        assert httpx.get(f"{url}/assets/style.css").status_code == 200
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors


def test_only_an_8_bit_tagger_reads_each_text_alone(compact_folder: Path) -> None:
    """Its graph scales numbers by the whole batch, so neighbours would change the answer."""
    tagger = CompactTagger.load(compact_folder)
    served = ServedTagger("a", tagger)
    assert not served.reads_alone
    tagger.description = tagger.description.model_copy(update={"weights": "int8"})
    assert served.reads_alone


@pytest.mark.skipif("ACCLIMATE_TEST_INSTALL" not in os.environ, reason="slow: set ACCLIMATE_TEST_INSTALL=1 to install")
def test_the_steps_of_the_image_run_in_an_empty_environment(compact_folder: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([ROOT / "install-compact", python], check=True, cwd=tmp_path)
    have = subprocess.run([python, "-m", "pip", "list"], capture_output=True, text=True, check=True).stdout
    assert not re.search(r"^(torch|transformers|accelerate) ", have, re.MULTILINE)
    command = [tmp_path / "venv" / "bin" / "acclimate", "serve", f"tagger={compact_folder}", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stdout is not None
    try:
        url = process.stdout.readline().partition(" ")[0]
        assert httpx.post(f"{url}/v1/entities", json={"text": "Anna flew to Oslo."}).json()["entities"]
        assert "Try a tagger" in httpx.get(f"{url}/").text
    finally:
        process.terminate()
        process.wait(60)
    assert process.returncode == 0


def test_the_files_of_the_page_are_in_the_wheel(tmp_path: Path) -> None:
    builder = WheelBuilder(str(ROOT))
    (wheel,) = builder.build(directory=str(tmp_path), versions=["standard"])
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("page.html.j2", "page.css", "page.js", "icon.svg"):
        assert f"acclimate/serving/page/{name}" in names

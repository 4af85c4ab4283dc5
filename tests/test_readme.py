"""The README is true: its code runs, its commands exist with these options, its links lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from acclimate.data import reading as bundled
from acclimate.data.reading import load_bundled
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import RECIPES
from acclimate.training.settings import LoopSettings
from doc_pages import APP, command_of, understood

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
SHELL = re.findall(r"^```(?:sh|bash)?\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
TEST_COMMAND = "python3 -m venv .venv && . .venv/bin/activate && pip install '.[test]' && ./check"


def commands() -> list[list[str]]:
    """Every `acclimate …` of the README's shell blocks, as words."""
    lines = [line for block in SHELL for line in block.splitlines()]
    parts = [shlex.split(part, comments=True) for line in lines for part in line.split("&&")]
    return [part for part in parts if part[:1] == ["acclimate"]]


def beginning_of(name: str) -> bundled.Domain:
    return bundled.Domain(*(part[:60] for part in load_bundled(name)))


def test_the_python_example_runs_word_for_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # less training on less text; all else as a user has it
    monkeypatch.setattr(LoopSettings, "updates_for", lambda self, epoch_length: 3)
    monkeypatch.setattr(bundled, "load_bundled", beginning_of)
    (example,) = PYTHON
    names: dict[str, Any] = {}
    exec(compile(example, "README.md", "exec"), names)
    assert names["outcome"].recipe == "source-free"
    assert capsys.readouterr().out.strip()
    assert isinstance(names["again"], Tagger)
    assert (tmp_path / "post-tagger" / "manifest.json").is_file()


def test_the_python_example_is_of_ten_lines() -> None:
    assert len([line for line in PYTHON[0].splitlines() if line.strip()]) <= 10


def test_every_command_of_the_readme_is_understood() -> None:
    found = commands()
    assert {command_of(words) for words in found} >= {"adapt", "data check", "evaluate", "predict", "report", "compare"}
    for words in found:
        understood(words)


def test_a_wrong_option_would_be_noticed() -> None:
    with pytest.raises(Exception, match="No such option"):
        understood(["acclimate", "adapt", "--sauce", "news"])


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`acclimate ([a-z]+)", README))))
def test_every_command_in_the_running_text_exists(name: str) -> None:
    assert name in APP.commands


def test_links_to_files_lead_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", README) if "://" not in link]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_table_lists_every_recipe() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| [^|]+ \|$", README, re.MULTILINE)
    assert sorted(rows) == sorted(RECIPES)


def test_the_first_command_needs_nothing_but_the_checkout() -> None:
    first = next(line for block in SHELL for line in block.splitlines())
    assert first == "python3 -m venv .venv && . .venv/bin/activate && pip install . && acclimate adapt"


def test_ci_runs_the_readme_s_test_command() -> None:
    """`.ci/run` finds the command by a pattern: the pattern must find exactly this one."""
    assert TEST_COMMAND in README.splitlines()
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    line = next(line for line in script.splitlines() if line.startswith("command="))
    found = subprocess.run(
        ["bash", "-c", f'{line}; echo "$command"'], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert found.stdout == f"{TEST_COMMAND}\n"

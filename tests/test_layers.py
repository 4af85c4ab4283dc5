"""The map kept true: folders are layers, and each imports only from those before it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import acclimate

PACKAGE = Path(acclimate.__file__).parent
LAYERS = [
    *("data", "evaluation", "model", "inference", "methods", "training", "recipes", "analysis", "runs"),
    *("comparison", "reporting", "reproduction", "serving", "labelling", "cli"),
]
EVERYWHERE = {"layout", "settings", "spelling"}  # stand on no layer, and may be used on all of them
FILES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.glob("*/**/*.py"))


def imported_modules(file: str) -> Iterator[str]:
    for node in ast.walk(ast.parse((PACKAGE / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: write the whole name, not a relative import"
            yield from [f"{node.module}.{name.name}" for name in node.names] if node.module == "acclimate" else []
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def imported_layers(file: str) -> set[str]:
    parts = [module.split(".") for module in imported_modules(file)]
    return {part[1] for part in parts if part[0] == "acclimate" and len(part) > 1}


def test_every_file_imports_only_from_earlier_layers() -> None:
    faults = []
    for file in FILES:
        layer = file.split("/")[0]
        allowed = LAYERS[: LAYERS.index(layer) + 1]
        later = imported_layers(file) - {*allowed, *EVERYWHERE, "__version__"}
        faults += (
            [f"{file} imports from {', '.join(sorted(later))}; {layer} may only import from {allowed}"] if later else []
        )
    assert not faults, "\n".join(faults)


def test_every_folder_has_its_place_among_the_layers() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= set(LAYERS)


@pytest.mark.parametrize("name", sorted(EVERYWHERE))
def test_what_all_layers_may_use_uses_none_of_them(name: str) -> None:
    assert imported_layers(f"{name}.py") == set()


def loaded_by(code: str) -> set[str]:
    """The modules in memory after running some code in a fresh Python."""
    code += "\nimport sys\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


HEAVY = {"torch", "transformers", "accelerate"}


def test_importing_the_package_is_quick() -> None:
    assert not loaded_by("import acclimate; dir(acclimate)") & (HEAVY | {"numpy", "pydantic"})


def test_evaluation_knows_no_model() -> None:
    modules = [file[:-3].replace("/", ".") for file in FILES if file.startswith("evaluation/")]
    assert not loaded_by("\n".join(f"import acclimate.{module}" for module in modules)) & HEAVY


def test_building_a_tagger_of_one_s_own_does_not_wait_for_transformers() -> None:
    assert "transformers" not in loaded_by("from acclimate import Tagger")


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_tagger_is_used_without_what_trains_one(command: str, tmp_path: Path) -> None:
    code = f"""
from typer.testing import CliRunner
from acclimate.cli.main import app
result = CliRunner().invoke(app, [{command!r}, {str(tmp_path)!r}, "news/test"])
assert result.exit_code == 1, result.output
"""
    others = ("recipes", "methods", "runs", "comparison", "reporting", "data.selection")
    loaded = loaded_by(code)
    assert "acclimate.model.tagger" in loaded
    assert not [name for name in loaded if name.startswith(tuple(f"acclimate.{other}." for other in others))]


def test_every_name_of_the_package_is_to_be_had() -> None:
    for name in acclimate.__all__:
        assert getattr(acclimate, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Tager'"):
        _ = acclimate.Tager

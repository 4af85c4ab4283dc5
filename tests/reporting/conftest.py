"""A finished run and a finished comparison on toy corpora, with words, labels and file names that try to be HTML."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from report_folders import EVIL_LABEL, EVIL_WORD, QUICK_SETTINGS, Folders
from typer.testing import CliRunner

from acclimate.cli.main import app
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.writing import write_corpus


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory, make_corpus: Callable[..., Corpus], tweets: Corpus) -> Folders:
    home = tmp_path_factory.mktemp("reports")
    names = {name: home / f"{name} <i>&'\".conll" for name in ("news", "dev", "tweets")}
    write_corpus(_evil(make_corpus(24)), names["news"])
    write_corpus(_evil(make_corpus(8, seed=5)), names["dev"])
    write_corpus(_evil(tweets), names["tweets"])
    corpora = [
        *("--source", names["news"], "--source-dev", names["dev"], "--set", f"source_test={names['dev']}"),
        *("--target", names["tweets"], "--target-test", names["tweets"]),
    ]
    run, comparison = home / "run <u>", home / "comparison"
    _acclimate("adapt", *corpora, *QUICK_SETTINGS, "--recipe", "datnet", "--set", "training.updates=40", "--out", run)
    recipes = ("--recipes", "source-only,self-training", "--seeds", "2")
    selectors = ("--set", "selectors=source-dev,entropy,information-maximisation")
    _acclimate(
        "compare", *corpora, *QUICK_SETTINGS, *recipes, *selectors, "--set", "training.updates=20", "--out", comparison
    )
    return Folders(list(map(str, corpora)), run, comparison)


@pytest.fixture
def run(folders: Folders, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(folders.run, tmp_path / "run"))


@pytest.fixture
def comparison(folders: Folders, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folders.comparison, tmp_path / "comparison"))


@pytest.fixture(scope="session")
def acclimate() -> Callable[..., None]:
    """A command that must go well."""
    return _acclimate


def _evil(corpus: Corpus) -> Corpus:
    """The same corpus with a word and a label that a browser would run."""

    def change(sentence: Sentence) -> Sentence:
        assert sentence.tags is not None
        tags = [tag.replace("ORG", EVIL_LABEL) for tag in sentence.tags]
        return Sentence((*sentence.words, EVIL_WORD), (*tags, f"B-{EVIL_LABEL}"))

    return corpus.map(change)


def _acclimate(*words: object) -> None:
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output

"""Toy corpora on disk, and one finished run on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import QUICK, Answer, Files, acclimate

from acclimate.data.corpus import Corpus
from acclimate.data.writing import write_corpus


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory, make_corpus: Callable[..., Corpus], tweets: Corpus) -> Files:
    folder = tmp_path_factory.mktemp("corpora")
    files = Files(*(folder / name for name in ("news.conll", "dev.conll", "tweets.txt", "gold.conll")))
    write_corpus(make_corpus(24), files.news)
    write_corpus(make_corpus(8, seed=5), files.dev)
    write_corpus(tweets.unlabelled(), files.tweets)
    write_corpus(tweets, files.gold)
    return files


@pytest.fixture(scope="session")
def adapt_words(files: Files) -> list[object]:
    """The usual run on the toy corpora, still without --out."""
    given = ["--source", files.news, "--source-dev", files.dev, "--target", files.tweets, "--target-test", files.gold]
    return ["adapt", *given, "--recipe", "self-training", *QUICK]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory, adapt_words: list[object]) -> tuple[Path, Answer]:
    """One finished run, and what its command printed."""
    folder = tmp_path_factory.mktemp("runs") / "a"
    # enough to find some spans
    longer = ["--set", "training.updates=80", "--set", "training.learning_rate=0.05", "--set", "tagger.lstm.dropout=0"]
    return folder, acclimate(*adapt_words, *longer, "--out", folder, "--json")


@pytest.fixture(scope="session")
def tagger(run: tuple[Path, Answer]) -> Path:
    """The folder of a tagger that `adapt` left."""
    return run[0]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path

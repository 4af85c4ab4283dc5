"""`acclimate compare-text`: sizes, overlap and the words that set a domain apart."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from command_line import Files, acclimate


def test_corpora_are_compared_in_words() -> None:
    answer = acclimate("compare-text", "news/train", "social/train")
    assert "words in common, % (in lower case, in 3 sentences or more, without stop words)" in answer.out
    assert "words that set social/train apart from news/train" in answer.out
    assert answer.err == ""


def test_json_says_the_same(files: Files) -> None:
    found = acclimate("compare-text", files.news, files.tweets, "--least-sentences", 1, "--most", 3, "--json").json
    assert [row["name"] for row in found["statistics"]] == ["news.conll", "tweets.txt"]
    assert found["statistics"][1]["spans"] is None
    assert found["overlap"]["percents"]["news.conll"]["news.conll"] == 100.0
    assert found["density_ratio"]["target"] == "tweets.txt"
    assert len(found["density_ratio"]["top_words"]) == 3


def test_a_bundled_name_stands_for_all_its_parts_as_in_check() -> None:
    found = acclimate("compare-text", "clinical", "--json").json
    assert [row["name"] for row in found["statistics"]] == ["train", "dev", "test", "unlabelled"]


def test_one_corpus_is_enough(files: Files) -> None:
    answer = acclimate("compare-text", files.news)
    assert "apart" not in answer.out
    assert "news.conll" in answer.out


def test_words_can_be_taken_as_they_are(files: Files) -> None:
    folded, kept = (
        acclimate("compare-text", files.news, "--least-sentences", 1, *more, "--json").json
        for more in ([], ["--cased", "--stop-words"])
    )
    assert kept["overlap"]["words"]["news.conll"] > folded["overlap"]["words"]["news.conll"]
    assert kept["overlap"]["words_compared"] == "as written"


def test_picture_and_tables_are_written(files: Files, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture, tables = tmp_path / "overlap.png", tmp_path / "tables"
    acclimate("compare-text", files.news, files.gold, "--plot", picture, "--csv", tables)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tables.iterdir()) == ["overlap.csv", "statistics.csv", "top-words.csv"]


def test_another_kind_of_picture_is_refused_before_anything_is_read() -> None:
    pytest.importorskip("matplotlib")
    assert "must end in .png or .svg" in acclimate("compare-text", "nowhere.conll", "--plot", "a.jpg", code=1).err


def test_without_matplotlib_a_picture_is_refused(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    answer = acclimate("compare-text", files.news, "--plot", "a.png", code=1)
    assert "pip install 'acclimate[plots]'" in answer.err


def test_what_the_reader_passed_over_is_told(files: Files, tmp_path: Path) -> None:
    path = tmp_path / "train.conll"
    path.write_text("a\tO\tmore\n\n" + files.news.read_text(encoding="utf-8"), encoding="utf-8")
    assert "line 1" in acclimate("compare-text", path, code=1).err
    assert "1 bad line skipped" in acclimate("compare-text", path, "--skip-bad").err

"""The tagger of names that comes with the package."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from acclimate import Tagger, predict
from acclimate.cli.main import app
from acclimate.model.shipped import GENERAL, shipped_tagger_path


@pytest.fixture(scope="module")
def general() -> Tagger:
    return Tagger.load(GENERAL)


@pytest.mark.parametrize(
    "text",
    [
        "Angela Merkel met Barack Obama in Berlin.",
        "angela merkel met barack obama in berlin",
        "ANGELA MERKEL MET BARACK OBAMA IN BERLIN",
    ],
)
def test_it_finds_names_in_any_case_and_without_punctuation(general: Tagger, text: str) -> None:
    sentence = predict(general, [text])[0]
    found = [(" ".join(sentence.words[span.start : span.end]).lower(), span.label) for span in sentence.spans]
    assert found == [("angela merkel", "PER"), ("barack obama", "PER"), ("berlin", "LOC")]


def test_it_has_conll_s_four_types(general: Tagger) -> None:
    assert tuple(general.labels) == ("LOC", "MISC", "ORG", "PER")


def test_the_command_tags_text_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("Anna Schmidt works for Siemens in Munich.\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["predict", "general", str(tmp_path / "text.txt"), "--quiet"])
    assert result.exit_code == 0
    tags = dict(line.split("\t") for line in result.stdout.splitlines() if line)
    assert (tags["Anna"], tags["Schmidt"], tags["Munich"], tags["works"]) == ("B-PER", "I-PER", "B-LOC", "O")


def test_its_folder_is_small_and_tells_whose_corpora_it_learnt() -> None:
    folder = shipped_tagger_path(GENERAL)
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 40_000_000
    card = (folder / "README.md").read_text(encoding="utf-8")
    for needed in ("CC BY-SA 4.0", "Broad Twitter Corpus", "DocRED", "GUM", "LitBank", "grobid-ner", "re3d"):
        assert needed in card

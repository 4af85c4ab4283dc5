"""`acclimate data inspect`: on what ships, on files, for machines, and its refusals."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Answer, Files, acclimate

from acclimate.cli import inspect


@pytest.fixture(scope="module")
def shipped() -> Answer:
    """As a newcomer types it."""
    return acclimate("data", "inspect", "--json")


def test_without_arguments_the_bundled_corpora_are_looked_over(shipped: Answer) -> None:
    found = shipped.json
    assert found["given"]["source"] == "news"
    assert found["given"]["target"] == "social"
    assert found["text"]["statistics"][1]["sentences"] == 897  # the unlabelled part as well, as `adapt` reads it
    assert found["labels"]["target"]["sentences"] == 311
    assert found["labels"]["target"]["both"] == ["LOC", "MISC", "ORG", "PER"]
    assert shipped.err == ""


def test_posts_are_harder_to_guess_and_easy_to_tell_from_news(shipped: Answer) -> None:
    encoder = shipped.json["encoder"]
    assert encoder["masked_words"]["gap"] > 1
    assert encoder["separability"]["a_distance"] > 1.5
    tried = {suggestion["rule"] for suggestion in shipped.json["suggestions"]}
    assert tried == {"default_recipe", "other_recipes", "first_labels"}


def test_files_are_looked_over_for_people(files: Files, bert: str) -> None:
    words = ["data", "inspect", files.news, files.tweets, "--target-labelled", files.gold, "--encoder", bert]
    answer = acclimate(*words)
    assert answer.out.startswith(f"{files.news} → {files.tweets}\n")
    assert "with what is given: source-only, target-only," in answer.out
    assert f"--target-labelled {files.gold}" in answer.out


def test_of_huge_text_the_beginning_is_read(files: Files, bert: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect, "MOST_READ", 5)
    found = acclimate("data", "inspect", files.news, files.tweets, "--encoder", bert, "--json").json
    assert found["text"]["statistics"][1]["sentences"] == 5
    assert "Only the beginning of the target text was read" in found["notes"][0]


def test_a_part_of_a_bundled_corpus_can_be_the_target(files: Files, bert: str) -> None:
    found = acclimate("data", "inspect", files.news, "clinical/test", "--encoder", bert, "--json").json
    assert found["labels"]["target"]["only_target"] == ["DISEASE", "SYMPTOM", "TREATMENT"]
    assert "labels_without_source" in {suggestion["rule"] for suggestion in found["suggestions"]}


def test_labels_can_be_mapped(files: Files, bert: str, tmp_path: Path) -> None:
    names = tmp_path / "names.yaml"
    names.write_text("labels:\n  DISEASE: ORG\n  SYMPTOM: O\n  TREATMENT: ORG\n", encoding="utf-8")
    found = acclimate(
        "data", "inspect", files.news, "clinical/test", "--set", f"reading.map={names}", "--encoder", bert, "--json"
    ).json
    assert found["labels"]["target"]["both"] == ["ORG"]
    assert found["given"]["map_name"] == str(names)


def test_a_missing_target_is_asked_for(files: Files) -> None:
    assert "TARGET is missing" in acclimate("data", "inspect", files.news, code=2).err


def test_a_source_of_raw_text_is_refused(files: Files) -> None:
    assert "has no tags to learn from" in acclimate("data", "inspect", files.tweets, files.news, code=1).err


@pytest.mark.parametrize("name", ["nowhere.txt", "socail"])
def test_a_target_that_is_not_there_is_named(files: Files, name: str) -> None:
    assert name in acclimate("data", "inspect", files.news, name, code=1).err


def test_an_encoder_that_was_never_trained_is_refused(files: Files) -> None:
    answer = acclimate("data", "inspect", files.news, files.tweets, "--encoder", "character-cnn-lstm", code=2)
    assert "acclimate-mini" in answer.err


def test_labels_of_other_names_stand_in_the_rows_of_the_source_s(files: Files, bert: str, tmp_path: Path) -> None:
    text = files.gold.read_text(encoding="utf-8").replace("-PER", "-person").replace("-LOC", "-location")
    (tmp_path / "few.conll").write_text("\n\n".join(text.split("\n\n")[:3]), encoding="utf-8")
    words = [
        "data",
        "inspect",
        files.news,
        files.tweets,
        "--target-labelled",
        tmp_path / "few.conll",
        "--encoder",
        bert,
    ]
    rows = acclimate(*words).out.split("\nlabels\n")[1].split("\nrecipes\n")[0].splitlines()
    names = [row.strip().split("  ")[0] for row in rows[1:]]
    assert "PER (target: person)" in names
    assert "LOC (target: location)" in names
    assert not {"PER", "LOC", "person", "location"} & set(names)


def test_words_that_set_the_target_apart_are_told(files: Files, bert: str, shipped: Answer) -> None:
    text = shipped.json["text"]
    assert [row["name"] for row in text["statistics"]] == ["source", "target"]
    assert 0 < text["density_ratio"]["mean"] < 1
    assert text["overlap"]["percents"]["source"]["target"] == text["overlap"]["percents"]["target"]["source"]
    answer = acclimate("data", "inspect", files.news, files.tweets, "--encoder", bert)
    assert "words that set target apart from source" in answer.out

"""What selectors said of a run is kept beside it, and believed only where it is whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acclimate.comparison import selectors
from acclimate.comparison.selectors import judge, read_judgements, run_and_judge
from acclimate.data.corpus import Corpus
from acclimate.runs.run import PlannedRun
from acclimate.runs.settings import RunSettings
from acclimate.runs.task import BlindTask, Task
from acclimate.settings import complete

LSTM = {"word_width": 6, "character_width": 4, "character_filters": 5, "lstm_width": 7, "dropout": 0.0}
SETTINGS = {
    "tagger": {"encoder": "character-cnn-lstm", "lstm": LSTM},
    "training": {"updates": 10, "words_per_batch": 60},
}
ASKED = ["entropy", "agreement"]
Said = dict[str, dict[str, float | None]]


@pytest.fixture(scope="module")
def task(news: Corpus, tweets: Corpus) -> BlindTask:
    return BlindTask.of(Task(news, target=tweets.unlabelled()))


@pytest.fixture
def judged(task: BlindTask, tmp_path: Path) -> tuple[list[PlannedRun], Said]:
    """Three runs, and what was said of them."""
    settings = complete(RunSettings, {**SETTINGS, "recipe": "source-only"})
    seeded = (settings.model_copy(update={"seed": seed}) for seed in (1, 2, 3))
    trials = [PlannedRun(each, tmp_path / f"seed-{each.seed}") for each in seeded]
    for trial in trials:
        run_and_judge(trial, task, ASKED)
    return trials, read_judgements(trials, ASKED)


def halved(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def changed(file: Path) -> None:
    """Still readable, and wrong."""
    kept = json.loads(file.read_text(encoding="utf-8"))
    kept["content"]["values"]["entropy"] = 0.125
    file.write_text(json.dumps(kept), encoding="utf-8")


def without_checksum(file: Path) -> None:
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8"))["content"]), encoding="utf-8")


@pytest.mark.parametrize("damage", [halved, emptied, changed, without_checksum])
def test_what_is_not_whole_is_not_believed_and_the_run_is_judged_again(
    judged: tuple[list[PlannedRun], Said], task: BlindTask, damage: Any
) -> None:
    trials, said = judged
    assert all(value is not None for found in said.values() for value in found.values())
    damage(trials[1].folder / "selectors.json")
    assert set(read_judgements(trials, ASKED)[trials[1].name].values()) == {None}
    for trial in trials:
        judge(trial, task, ASKED)
    assert read_judgements(trials, ASKED) == said


def test_what_is_whole_is_not_asked_again(
    judged: tuple[list[PlannedRun], Said], task: BlindTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors.Tagger, "load", lambda *_: pytest.fail("asked again"))
    for trial in judged[0]:
        judge(trial, task, ASKED)

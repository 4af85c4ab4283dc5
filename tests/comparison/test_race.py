"""A race of recipes on toy corpora: who takes part, who wins and why, and what nobody may see."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acclimate.comparison import judging
from acclimate.comparison.race import Entry, Race, named_judge, race, render_race
from acclimate.comparison.race_settings import Budget, RaceSettings, read_budget
from acclimate.data.corpus import Corpus
from acclimate.model.storage import StorageError
from acclimate.runs.checksummed_json import read_checksummed
from acclimate.runs.run import PlannedRun
from acclimate.runs.settings import RunSettings
from acclimate.runs.task import BlindTask, Task
from acclimate.settings import SettingsError, UsageError, complete

LSTM = {"word_width": 6, "character_width": 4, "character_filters": 5, "lstm_width": 7, "dropout": 0.0}
TRIAL = {
    "tagger": {"encoder": "character-cnn-lstm", "lstm": LSTM},
    "training": {"updates": 40, "words_per_batch": 60, "learning_rate": 0.05},
}
TWO = {"recipes": ["self-training"], "budget": "30u"}


@pytest.fixture(scope="module")
def task(news: Corpus, tweets: Corpus, make_corpus: Callable[..., Corpus]) -> Task:
    return Task(news, make_corpus(8, seed=5), None, tweets.unlabelled(), None, None, tweets)


@pytest.fixture(scope="module")
def finished(task: Task, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Race]:
    folder = tmp_path_factory.mktemp("race")
    return folder, race(task, folder, TWO, TRIAL)


def without_time(found: Race) -> dict[str, Any]:
    kept = found.as_dict()
    for entry in kept["candidates"]:
        del entry["seconds"]
    return kept


def test_not_adapting_always_takes_part_and_every_candidate_has_a_value(finished: tuple[Path, Race]) -> None:
    _, found = finished
    assert {entry.recipe for entry in found.entries} == {"source-only", "self-training"}
    assert all(entry.is_judged for entry in found.entries)
    assert found.choice == max(found.entries, key=lambda entry: entry.value or 0).recipe


def test_the_budget_holds(finished: tuple[Path, Race]) -> None:
    """source-only 40 updates, and self-training two rounds of a quarter of that beside the shared baseline."""
    _, found = finished
    assert found.share == 0.5
    made = {entry.recipe: entry.updates for entry in found.entries}
    assert made == {"source-only": 20, "self-training": 20 + 2 * 5}


def test_what_is_finished_is_not_done_again(
    finished: tuple[Path, Race], task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, found = finished
    monkeypatch.setattr("acclimate.runs.run.train_run", lambda *_, **__: pytest.fail("trained again"))
    assert without_time(race(task, folder, TWO, TRIAL)) == without_time(found)


def test_a_race_that_was_cut_off_goes_on_and_ends_the_same(
    finished: tuple[Path, Race], task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = judging.finish_run

    def cut_off(trial: Any, task: Any) -> None:
        if trial.recipe == "self-training":
            raise KeyboardInterrupt
        train(trial, task)

    with monkeypatch.context() as patch:
        patch.setattr(judging, "finish_run", cut_off)
        with pytest.raises(KeyboardInterrupt):
            race(task, tmp_path, TWO, TRIAL)
    assert without_time(race(task, tmp_path, TWO, TRIAL)) == without_time(finished[1])


def test_the_test_s_labels_change_no_weight_and_no_choice(
    finished: tuple[Path, Race], task: Task, tmp_path: Path
) -> None:
    assert task.target_test is not None
    test = Corpus.of(sentence.with_tags(["O"] * len(sentence)) for sentence in task.target_test)
    other = race(replace(task, target_test=test), tmp_path, TWO, TRIAL)
    assert without_time(other) == without_time(finished[1])
    for name in ("source-only", "self-training"):
        one, two = (folder / name / "seed-1" / "weights.safetensors" for folder in (finished[0], tmp_path))
        assert one.read_bytes() == two.read_bytes()


def test_the_target_s_own_tags_are_not_looked_at(finished: tuple[Path, Race], task: Task, tmp_path: Path) -> None:
    assert task.target_test is not None
    tagged = replace(task, target=task.target_test)
    assert without_time(race(tagged, tmp_path, TWO, TRIAL)) == without_time(finished[1])


def test_a_folder_of_another_race_is_refused(finished: tuple[Path, Race], task: Task) -> None:
    with pytest.raises(UsageError, match="holds a race that was begun otherwise"):
        race(task, finished[0], {**TWO, "budget": "60u"}, TRIAL)


def test_who_cannot_run_is_left_out_with_a_reason(task: Task, tmp_path: Path) -> None:
    asked = ["la-dtl", "adversarial-masking", "target-only", "mat"]
    each = {"mat": {"second": str(tmp_path / "none.conll")}}
    found = race(task, tmp_path / "race", {"recipes": asked, "budget": "10u", "each": each}, TRIAL)
    assert [entry.recipe for entry in found.entries] == ["source-only"]
    assert found.choice == "source-only"
    assert "labelled target sentences" in found.left_out["la-dtl"]
    assert "pre-trained encoder" in found.left_out["adversarial-masking"]
    assert "no such file" in found.left_out["mat"]
    assert "nothing is adapted" in render_race(found)


def test_labelled_target_sentences_judge_where_there_are_enough(task: Task, tmp_path: Path, make_corpus) -> None:
    few = make_corpus(45, seed=8)
    asked = {"recipes": ["la-dtl", "target-only"], "budget": "20u"}
    found = race(replace(task, target_labelled=few), tmp_path, asked, TRIAL)
    assert found.with_target_labels
    assert "held-out target" in found.measure
    assert {entry.recipe for entry in found.entries} == {"source-only", "la-dtl", "target-only"}
    begun = json.loads((tmp_path / "la-dtl" / "seed-1" / "run.json").read_text(encoding="utf-8"))
    assert begun["recipe"] == "la-dtl"


def test_too_few_labelled_sentences_judge_nobody(task: Task, tmp_path: Path, make_corpus) -> None:
    found = race(
        replace(task, target_labelled=make_corpus(6, seed=8)),
        tmp_path,
        {"recipes": ["target-only"], "budget": "8u"},
        TRIAL,
    )
    assert not found.with_target_labels
    assert "a tagger of the target's own" in found.left_out["target-only"]


def test_a_race_that_nobody_can_judge_is_refused_before_anything_is_timed(
    task: Task, tmp_path: Path, make_corpus: Callable[..., Corpus]
) -> None:
    few = replace(task, target=None, target_labelled=make_corpus(12, seed=8))
    with pytest.raises(UsageError, match=r"there is no target text, and .* here are 0\.3 \(options.held_out\) of 12\."):
        race(few, tmp_path / "few", TWO, TRIAL)
    with pytest.raises(UsageError, match="source-dev cannot judge this race: there are no held-out source sentences"):
        race(replace(task, source_dev=None), tmp_path, {**TWO, "selector": "source-dev"}, {**TRIAL, "select": "last"})
    assert not list(tmp_path.iterdir())


def test_a_race_that_is_refused_begins_nothing(task: Task, tmp_path: Path, make_corpus) -> None:
    begun: list[str] = []
    few = replace(task, target=None, target_labelled=make_corpus(4))
    with pytest.raises(UsageError, match="Nothing can judge this race"):
        race(few, tmp_path / "a", TWO, TRIAL, begin=lambda: begun.append("a"))
    assert begun == []
    with pytest.raises(UsageError, match=r"were learnt, too \(train_on_dev\)\. Name another judge"):
        race(task, tmp_path / "b", {**TWO, "selector": "source-dev"}, {**TRIAL, "train_on_dev": True})
    race(task, tmp_path / "c", TWO, TRIAL, begin=lambda: begun.append("c"))
    assert begun == ["c"]


def test_candidates_without_target_labels_are_judged_on_the_source_and_others_by_agreement(
    task: Task, make_corpus: Callable[..., Corpus]
) -> None:
    trial = PlannedRun(complete(RunSettings, {**TRIAL, "recipe": "mat"}), Path("nowhere"))
    blind = PlannedRun(complete(RunSettings, {**TRIAL, "recipe": "mat", "select": "last"}), Path("nowhere"))
    labelled = BlindTask.of(replace(task, target_labelled=make_corpus(4)))
    assert named_judge(RaceSettings(), trial, BlindTask.of(task)) == "source-dev"
    assert named_judge(RaceSettings(), trial, labelled) == "agreement"
    assert named_judge(RaceSettings(), blind, BlindTask.of(replace(task, source_dev=None))) == "agreement"
    assert named_judge(RaceSettings(selector="entropy"), trial, labelled) == "entropy"


def test_agreement_of_two_is_replaced_by_a_judge_that_can_tell_them_apart(task: Task, tmp_path: Path) -> None:
    found = race(task, tmp_path, {**TWO, "selector": "agreement"}, TRIAL)
    assert found.measure == "information-maximisation"
    assert all(entry.is_judged for entry in found.entries)
    assert "agreement asks 3 candidates at least: information-maximisation judged in its place." in found.reasons


def test_what_candidates_had_of_target_labels_is_told(
    task: Task, tmp_path: Path, make_corpus: Callable[..., Corpus]
) -> None:
    with_labels = replace(task, target_labelled=make_corpus(6, seed=8), target_dev=task.target_test)
    found = race(with_labels, tmp_path, {"recipes": ["la-dtl"], "budget": "8u"}, {**TRIAL, "select": "target-dev"})
    had = "6 labelled target sentences to learn from and target dev sentences to choose their states by"
    assert f"The judge used no target label. Candidates had {had}." in render_race(found)
    assert "No target label was used" not in render_race(found)


def test_the_winner_learns_from_all_labels_unless_nothing_is_adapted() -> None:
    for winner, is_told in (("mat", True), ("source-only", False)):
        entries = [entry("source-only", 0.5), entry("mat", 0.6 if winner == "mat" else 0.4)]
        told = render_race(Race.of(entries, {}, "held-out", Budget(10), 1.0, True))
        assert "were held out to judge by" in told
        assert ("the winner learns from all of them" in told) == is_told


def test_a_race_needs_a_target(task: Task, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give target text"):
        race(replace(task, target=None), tmp_path, TWO, TRIAL)


def entry(recipe: str, value: float | None) -> Entry:
    return Entry(recipe, value, 10, 1.0, 0.5)


@pytest.mark.parametrize(
    ("values", "choice", "words"),
    [
        ({"source-only": 0.1, "mat": 0.2}, "mat", "mat is preferred by entropy: 0.2"),
        ({"source-only": 0.2, "mat": 0.1}, "source-only", "No recipe is preferred to not adapting"),
        ({"source-only": 0.2, "mat": 0.2}, "source-only", "mat has the very same value"),
        ({"source-only": None, "mat": float("nan")}, "source-only", "could judge no run"),
        ({"source-only": None, "mat": -3.0}, "mat", "mat is preferred"),
        ({"source-only": 0.1, "a": 0.4, "b": 0.3, "c": 0.2}, "a", "Behind it: b 0.3, c 0.2, source-only 0.1."),
    ],
)
def test_the_highest_value_wins_and_not_adapting_among_equals(
    values: dict[str, float | None], choice: str, words: str
) -> None:
    entries = [entry(recipe, value) for recipe, value in values.items()]
    found = Race.of(entries, {}, "entropy", Budget(10), 0.25, False)
    assert found.choice == choice
    assert words in render_race(found)


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("10", Budget(10)),
        ("2.5 minutes", Budget(2.5)),
        ("1h", Budget(60)),
        ("3000u", Budget(3000, "updates")),
        (7, Budget(7)),
    ],
)
def test_a_budget_is_minutes_or_updates(text: Any, budget: Budget) -> None:
    assert read_budget(text) == budget


@pytest.mark.parametrize("text", ["", "soon", "0", "-3", "10 days"])
def test_a_budget_that_is_none_is_told(text: str) -> None:
    with pytest.raises(SettingsError, match=r"minutes .*or updates"):
        read_budget(text)
    with pytest.raises(SettingsError, match=r"minutes .*or updates"):
        complete(RaceSettings, {"budget": text})


def test_minutes_are_measured_once_and_kept(task: Task, tmp_path: Path) -> None:
    found = race(task, tmp_path, {"recipes": ["source-only"], "budget": "1000h"}, TRIAL)
    assert found.share == 1
    plan = tmp_path / "race-plan.json"
    assert read_checksummed(plan)["share"] == 1
    plan.write_bytes(plan.read_bytes()[:-9])
    with pytest.raises(StorageError, match=r"race-plan\.json: damaged"):
        race(task, tmp_path, {"recipes": ["source-only"], "budget": "1000h"}, TRIAL)

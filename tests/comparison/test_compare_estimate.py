"""How long a comparison will take, told beforehand; and recipes that refuse while they are timed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from comparing import compare

from acclimate.comparison import scheduler
from acclimate.comparison.scheduler import fitting_recipes, plan_runs, seconds_of_all
from acclimate.data.corpus import Corpus
from acclimate.runs.run import PlannedRun
from acclimate.runs.settings import SharedSettings
from acclimate.runs.task import Task

LSTM = {"word_width": 6, "character_width": 4, "character_filters": 5, "lstm_width": 7, "dropout": 0.0}
TAGGER = {"encoder": "character-cnn-lstm", "lstm": LSTM}
TRAINING = {"updates": 3, "words_per_batch": 60}
EXPECTED = {"source-only": 10.0, "self-training": 4.0, "mat": 30.0}


def planned(news: Corpus, tweets: Corpus, seeds: list[int]) -> list[PlannedRun]:
    return plan_runs(list(EXPECTED), seeds, Path("out"), Task(news, target=tweets), SharedSettings(), {})


def test_entities_are_not_asked_of_plain_tags(part_of_speech: Corpus) -> None:
    text = part_of_speech.unlabelled()
    assert "mslm" not in fitting_recipes(Task(part_of_speech, target=text), "acclimate-mini")


def test_a_recipe_that_refuses_while_it_is_timed_is_named_and_the_others_are_made(
    news: Corpus, tweets: Corpus, tmp_path: Path
) -> None:
    told: list[str] = []
    found = compare(
        news,
        tweets,
        ["datnet"],
        1,
        tmp_path,
        target_labelled=tweets[:6],
        select="source-dev",  # cannot choose the state of a tagger of the target's own
        tagger=TAGGER,
        training=TRAINING,
        selectors=(),
        estimate=True,
        tell=told.append,
    )
    assert [run.recipe for run in found.runs] == ["source-only"]
    assert list(found.failures) == ["datnet, seed 1"]
    assert any(line.startswith("datnet cannot be timed, and its runs will fail: The tagger is") for line in told)
    assert any("One run: source-only" in line for line in told)


def test_a_fault_of_the_program_is_not_taken_for_a_refusal(
    news: Corpus, tweets: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(*_: object) -> None:
        raise TypeError("a fault")

    monkeypatch.setattr(scheduler, "expected_cost", fault)
    with pytest.raises(TypeError, match="a fault"):
        list(scheduler.estimate_lines(planned(news, tweets, [1]), None, 1, None))  # type: ignore[arg-type]


def test_a_run_waits_for_its_baseline_however_many_hands_there_are(news: Corpus, tweets: Corpus) -> None:
    left = planned(news, tweets, [1])
    assert seconds_of_all(left, EXPECTED, 1) == 44
    assert seconds_of_all(left, EXPECTED, 3) == 10 + 30
    assert seconds_of_all(left[1:], EXPECTED, 2) == 30  # the baseline is there


def test_many_runs_are_shared_out(news: Corpus, tweets: Corpus) -> None:
    assert seconds_of_all(planned(news, tweets, [1, 2, 3, 4]), EXPECTED, 2) == 4 * 44 / 2


def test_runs_are_timed_with_the_threads_that_they_will_have(
    news: Corpus, tweets: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def timed(*_: object) -> float:
        seen.append(torch.get_num_threads())
        return 8.0

    monkeypatch.setattr(scheduler, "expected_seconds", timed)
    torch.set_num_threads(2)
    try:
        (line,) = scheduler.estimate_lines(planned(news, tweets, [1]), None, 9, 1)  # type: ignore[arg-type]
    finally:
        torch.set_num_threads(1)
    assert seen == [1, 1, 1]
    assert line.startswith("expected time: about 16 s by 3 processes (")  # three runs, and two wait for the first

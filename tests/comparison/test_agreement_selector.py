"""The selector that asks all runs: against plain counting, and what it cannot tell."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from comparing import compare

from acclimate.comparison.selectors import agreement
from acclimate.data.corpus import Corpus, Kind, Sentence
from acclimate.evaluation.scores import score
from acclimate.runs.task import Task

LSTM = {"word_width": 6, "character_width": 4, "character_filters": 5, "lstm_width": 7, "dropout": 0.0}
TAGGER = {"encoder": "character-cnn-lstm", "lstm": LSTM}
TRAINING = {"updates": 20, "words_per_batch": 60, "learning_rate": 0.05}
WORDS = [("a", "b", "c", "d", "e"), ("f", "g", "h")]


def drawn(tags: tuple[str, ...], seed: int) -> list[list[str]]:
    lots = random.Random(seed)
    return [[lots.choice(tags) for _ in words] for words in WORDS]


def corpus(rows: list[list[str]], kind: Kind) -> Corpus:
    return Corpus(tuple(Sentence(words, tuple(row)) for words, row in zip(WORDS, rows, strict=True)), kind=kind)


@pytest.mark.parametrize("tags", [("O", "B-PER", "I-PER", "B-LOC"), ("NOUN", "VERB", "ADJ")])
def test_it_is_the_mean_score_with_each_other_run_in_the_place_of_gold(tags: tuple[str, ...]) -> None:
    answers = {f"run {seed}": drawn(tags, seed) for seed in range(4)}
    kind: Kind = "spans" if "O" in tags else "plain"
    found = agreement(answers, kind)
    for name, mine in answers.items():
        gold = [corpus(rows, kind) for other, rows in answers.items() if other != name]
        scores = [score(each, corpus(mine, kind)) for each in gold]
        figures = [each.span.f1 if kind == "spans" else each.token.accuracy for each in scores]
        assert found[name] == pytest.approx(sum(figures) / 3)


def test_it_prefers_what_most_have_found_and_not_silence() -> None:
    right, other, silent = [["B-PER", "O", "O"]], [["O", "B-LOC", "O"]], [["O", "O", "O"]]
    found = agreement({"one": right, "two": right, "three": other, "four": silent})
    assert found["one"] == found["two"] == pytest.approx(1 / 3)
    assert found["three"] == found["four"] == 0
    assert agreement({"one": silent, "two": silent, "three": silent}) == dict.fromkeys(("one", "two", "three"), 0.0)


def test_two_runs_cannot_be_told_apart_by_it() -> None:
    assert agreement({"one": [["O"]], "two": [["B-PER"]]}) == {"one": None, "two": None}
    assert agreement({}) == {}


@pytest.fixture(scope="module")
def task(news: Corpus, tweets: Corpus, make_corpus: Callable[..., Corpus]) -> Task:
    return Task(news, make_corpus(8, seed=5), None, tweets.unlabelled(), None, None, tweets)


def test_a_comparison_that_grows_asks_all_its_runs_again(task: Task, tmp_path: Path) -> None:
    given = {"source_dev": task.source_dev, "target_test": task.target_test, "tagger": TAGGER, "training": TRAINING}
    common = {**given, "selectors": ["agreement"], "rounds": 10}
    assert task.target is not None
    two = compare(task.source, task.target, ["source-only", "self-training"], 1, tmp_path, **common)
    assert [run.judgements["agreement"] for run in two.runs] == [None, None]
    assert two.choices == ()
    three = compare(task.source, task.target, ["source-only", "self-training", "mat"], 1, tmp_path, **common)
    values = [run.judgements["agreement"] for run in three.runs]
    assert all(value is not None for value in values)
    (choice,) = three.choices
    assert choice.value == max(value for value in values if value is not None)

"""The leaderboard: whose sentences teach and test, and what its tables say."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.reproduction.datasets import Datasets

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from leaderboard import TARGETS, Race, recipes_of, regret_table, score_table, task_of


def options(**changes: Any) -> Namespace:
    return Namespace(**{"data": None, "judges": False, "limit": 80, **changes})


def words(corpus: Corpus | None) -> list[tuple[str, ...]]:
    assert corpus is not None
    return [sentence.words for sentence in corpus]


def test_the_seed_draws_the_labelled_sentences_and_nothing_else() -> None:
    (one, test), (other, same_test) = (task_of(options(), "wnut2016", 20, "typed", seed) for seed in (1, 2))
    assert words(one.target_labelled) != words(other.target_labelled)
    assert len(one.target_labelled) == 20
    assert words(test) == words(same_test)
    assert words(one.target_dev) == words(other.target_dev)
    assert not any(sentence.tags for sentence in one.target)
    assert not set(map(id, one.target_labelled)) & set(map(id, one.target))


def test_without_labels_no_target_sentence_chooses() -> None:
    task, _ = task_of(options(), "wnut2016", 0, "typed", 1)
    assert (task.target_labelled, task.target_dev) == (None, None)


def test_types_are_made_one_on_both_sides() -> None:
    task, test = task_of(options(), "wnut2016", 20, "typeless", 1)
    assert len(task.source.labels) == len(test.labels) == 1


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_has_judges_that_are_no_test(target: str) -> None:
    """The set is known, and its file is looked for; there is none here."""
    with pytest.raises((InputError, AssertionError)):
        task_of(options(data="nowhere", judges=True), target, 0, "typed", 1)
    name = f"{target}-judged"
    assert Datasets(Path("nowhere"), small=False).missing(name, ["test"]) is not None


def test_recipes_that_need_labels_are_left_out_without_them() -> None:
    wanted = Namespace(recipes=["source-only", "la-dtl", "target-only"])
    assert recipes_of(wanted, 0) == ["source-only"]
    assert recipes_of(wanted, 100) == wanted.recipes


def race(target: str, seed: int, news: Corpus, right: str, wrong: str) -> Race:
    nothing = news.with_tags([["O"] * len(sentence) for sentence in news])
    runs = [
        SimpleNamespace(recipe=recipe, f1=f1, predicted=predicted, updates=10, seconds=1.0)
        for recipe, f1, predicted in ((right, 1.0, news), (wrong, 0.0, nothing))
    ]
    choices = [SimpleNamespace(selector="entropy", regret=1.0 if seed == 1 else 0.0)]
    return Race(target, seed, news, SimpleNamespace(runs=runs, choices=choices))


def test_a_line_has_a_star_where_it_differs_from_the_reference(news: Corpus) -> None:
    races = [race("fin", seed, news, "mat", "source-only") for seed in (1, 2)]
    table = score_table(races, "source-only").splitlines()
    assert table[2:] == [
        "| mat | 100.00 ± 0.00\\* | 100.00 ± 0.00 | 10 | 1 |",
        "| source-only | 0.00 ± 0.00 | 0.00 ± 0.00 | 10 | 1 |",
    ]


def test_the_regret_of_a_selector_is_the_mean_of_races(news: Corpus) -> None:
    races = [race("fin", seed, news, "mat", "source-only") for seed in (1, 2)]
    assert regret_table(races).splitlines()[2] == "| entropy | 50.00 | 50.00 |"

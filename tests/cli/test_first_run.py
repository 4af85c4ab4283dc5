"""`acclimate adapt` alone: the example on what ships."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Files, acclimate

from acclimate.cli.task import FIRST_RUN, with_first_run, with_start
from acclimate.data.reading import load_bundled


def test_the_general_tagger_learns_posts_from_100_labelled_ones(here: Path) -> None:
    answer = acclimate("adapt", "--set", "training.updates=1", "--json")
    assert answer.json["run"] == "runs/general-to-social-few-source-free-seed-1"
    assert (answer.json["recipe"], answer.json["before"]) == ("source-free", "start")
    assert answer.json["target"]["corpus"] == "social test"
    assert "100 labelled target sentences" in answer.err
    assert [stage["stage"] for stage in answer.json["stages"]][-1] == "labels"
    assert (here / "runs/general-to-social-few-source-free-seed-1/before/tagger.json").is_file()


@pytest.mark.parametrize("given", [{}, {"seed": 3}, {"training": {"updates": 9}}])
def test_who_names_nothing_sees_the_example(given: dict[str, object]) -> None:
    values = with_start(with_first_run(given))
    assert {name: values[name] for name in FIRST_RUN} == FIRST_RUN
    assert (values["recipe"], values["tagger"]) == ("source-free", {"start": "general"})


@pytest.mark.parametrize("given", [{"recipe": "mat"}, {"tagger": {"encoder": "e"}}, {"target": "t"}, {"source": "s"}])
def test_who_names_a_corpus_a_recipe_or_a_tagger_does_not(given: dict[str, object]) -> None:
    assert with_first_run(given) == given


def test_the_few_are_100_of_train_and_none_of_them_is_tested() -> None:
    posts = load_bundled("social")
    texts = {" ".join(sentence.words) for sentence in posts.few}
    assert len(posts.few) == 100
    assert posts.few == load_bundled("social").few
    assert texts <= {" ".join(sentence.words) for sentence in posts.train}
    assert not texts & {" ".join(sentence.words) for sentence in (*posts.test, *posts.dev)}


def test_a_part_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    err = acclimate("evaluate", "general", "social/fewer", code=2).err
    assert "train, dev, test, unlabelled, and few" in " ".join(err.split())


@pytest.mark.parametrize("given", [{}, {"recipe": "source-free"}])
def test_labelled_sentences_alone_adapt_the_general_tagger(files: Files, given: dict[str, str]) -> None:
    values = with_start({"target_labelled": str(files.gold), **given})
    assert (values["source"], values["target"], values["recipe"]) == (None, None, "source-free")
    assert values["tagger"] == {"start": "general"}


def test_target_only_learns_the_labelled_sentences_and_no_bundled_corpus(files: Files) -> None:
    values = with_start({"target_labelled": str(files.gold), "recipe": "target-only"})
    assert (values["source"], values["target"]) == (None, None)
    assert "tagger" not in values


@pytest.mark.parametrize("option", ["--target-test", "--target-dev"])
def test_sentences_to_score_alone_teach_nothing_and_are_refused(files: Files, option: str) -> None:
    assert "There is nothing to learn from" in acclimate("adapt", option, files.gold, code=2).err

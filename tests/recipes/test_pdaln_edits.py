"""The twins of PDALN's contrast: what edits them, and where synonyms come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.model.tagger import Tagger
from acclimate.recipes.pdaln_check import check_plan
from acclimate.recipes.pdaln_edits import edit_for, nearest_in, synonyms_for
from acclimate.recipes.pdaln_settings import PdalnSettings
from acclimate.recipes.recipe import Plan
from acclimate.settings import UsageError
from acclimate.training.settings import TrainingSettings

SENTENCE = Sentence(("Anna", "said", "it", "rained", "all", "day"), ("B-PER", "O", "O", "O", "O", "O"))


@pytest.fixture
def plan(news: Corpus, tweets: Corpus) -> Plan:
    return Plan(news, tweets.unlabelled(), TrainingSettings(), PdalnSettings(), 1)


@pytest.fixture
def table(tmp_path: Path) -> str:
    (tmp_path / "synonyms.tsv").write_text("rained\tpoured\nsaid\ttold\nall\tevery\n", encoding="utf-8")
    return str(tmp_path / "synonyms.tsv")


def with_options(plan: Plan, **options: Any) -> Plan:
    return replace(plan, options=PdalnSettings(**options))


def twins(tagger: Tagger, plan: Plan) -> list[Sentence]:
    edit = edit_for(tagger, plan)
    return [edit(SENTENCE, Random(seed)) for seed in range(30)]


def test_each_kind_of_edit_does_what_it_says(build: Callable[..., Tagger], plan: Plan, table: str) -> None:
    lengths = {
        edits: {len(twin) for twin in twins(build(), with_options(plan, edits=edits, synonyms=table))}
        for edits in ("synonyms", "both")
    }
    lengths["deletion"] = {len(twin) for twin in twins(build(), with_options(plan, edits="deletion"))}
    assert lengths == {"synonyms": {6}, "both": {5, 6}, "deletion": {5}}


def test_a_larger_share_changes_more_and_entities_stay(build: Callable[..., Tagger], plan: Plan, table: str) -> None:
    given = {"edits": "synonyms", "synonyms": table}
    for share, changed in ((0.2, 1), (0.5, 3)):
        for twin in twins(build(), with_options(plan, edit_share=share, **given)):
            assert sum(one != other for one, other in zip(twin.words, SENTENCE.words, strict=True)) == changed
            assert (twin.words[0], twin.tags) == ("Anna", SENTENCE.tags)


def test_where_nothing_is_named_the_encoder_s_own_neighbours_do(build: Callable[..., Tagger], plan: Plan) -> None:
    tagger = build(text=Corpus.of([Sentence(("big", "large", "cold"))]), labels=plan.source.labels)
    table = tagger.encoder.word_table.weight.data
    rows = [tagger.encoder.vocabulary.number(word) for word in ("big", "large", "cold")]
    table[rows] = torch.eye(3, table.shape[1])
    table[rows[1], 0] = 2.0  # now near `big`
    words = nearest_in(tagger.encoder, {"Big", "large", "cold", "neverseen", "unheardof", "3.5"})
    assert (words.of("big"), words.of("Large"), words.of("cold")) == (["large"], ["Big"], [])
    assert words.of("neverseen") == words.of("unheardof") == []  # they share the vector of unknown words
    assert synonyms_for(tagger, plan).of("neverseen") == []


def test_words_of_several_pieces_have_no_neighbours(build: Callable[..., Tagger], news: Corpus) -> None:
    tagger = build("bert")
    words = nearest_in(tagger.encoder, news.vocabulary)
    assert set(tagger.encoder.sizes_of(words.words)) <= {1}
    assert nearest_in(tagger.encoder, ["3.5", ","]).of("rain") == []


@pytest.mark.parametrize("option", ["synonyms", "wordnet", "vectors"])
def test_a_file_that_is_not_there_is_told_before_training(
    build: Callable[..., Tagger], plan: Plan, tmp_path: Path, option: str
) -> None:
    with pytest.raises(InputError, match=rf"options\.{option}"):
        check_plan(build(), with_options(plan, **{option: str(tmp_path / "nowhere")}))


def test_a_file_that_nobody_would_read_is_told(build: Callable[..., Tagger], plan: Plan, table: str) -> None:
    for options in ({"edits": "deletion"}, {"contrast": 0}):
        with pytest.raises(UsageError, match=r"options\.synonyms has no effect"):
            check_plan(build(), with_options(plan, synonyms=table, **options))

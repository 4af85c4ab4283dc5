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
from acclimate.recipes.catalogue import RECIPES
from acclimate.recipes.pdaln import PdalnSettings, check_plan, edit_for, nearest_in, synonyms_for
from acclimate.recipes.recipe import Plan
from acclimate.runs.train import adapt
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


def test_a_table_without_vectors_has_no_synonyms(build: Callable[..., Tagger], plan: Plan, table: str) -> None:
    told = RECIPES["pdaln"].check
    with pytest.raises(UsageError, match=r"options\.edits=synonyms: .*untrained table .*tagger\.lstm\.vectors"):
        check_plan(build(), with_options(plan, edits="synonyms"))
    check_plan(build(), plan)  # both: what can be done is done, and told
    assert {len(twin) for twin in twins(build(), plan)} == {5}
    (remark,) = told(build(), plan)
    assert "leaving words out, never by synonyms" in remark
    for options in ({"edits": "deletion"}, {"synonyms": table}, {"contrast": 0}):
        assert told(build(), with_options(plan, **options)) == ()
    assert told(build("bert"), plan) == ()


def test_what_is_not_done_is_a_remark_of_the_run(build: Callable[..., Tagger], news: Corpus, tweets: Corpus) -> None:
    texts = {"source_dev": news, "target": tweets.unlabelled(), "target_test": tweets}
    stages = {"stages": [{"objectives": ["tagging", "contrast"]}]}
    for recipe, options in (("pdaln", {}), ("compose", stages)):
        outcome = adapt(build(), news, **texts, recipe=recipe, training={"updates": 1}, **options)
        assert sum("never by synonyms" in remark for remark in outcome.remarks) == 1


def test_the_vectors_that_the_table_began_with_are_the_source(
    build: Callable[..., Tagger], plan: Plan, tmp_path: Path
) -> None:
    """Words without a vector have random rows, which in a narrow table soon have neighbours."""
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("big 1 0\nlarge 2 1\ncold 0 1\n", encoding="utf-8")
    others = tuple(2 * letter for letter in "abcdefghijklmnopqrstuvwxyz")
    text = Corpus.of([Sentence(("big", "large", "cold", *others))])
    tagger = build(text=text, labels=plan.source.labels, vectors=str(vectors))
    assert any(nearest_in(tagger.encoder, text.vocabulary).of(word) for word in others)
    words = synonyms_for(tagger, replace(plan, source=text))
    assert (words.of("big"), words.of("Large"), words.of("cold")) == (["large"], ["Big"], [])
    assert not any(words.of(word) for word in others)


def test_where_nothing_is_named_the_encoder_s_own_neighbours_do(build: Callable[..., Tagger], plan: Plan) -> None:
    tagger = build("bert")
    one, other, *_ = nearest_in(tagger.encoder, plan.source.vocabulary).words
    table = tagger.encoder.model.get_input_embeddings().weight.data
    (first,), (second,) = tagger.encoder.pieces.of_words([one, other])
    table[first] = table[second] = torch.zeros(table.shape[1])
    table[[first, second], 0] = torch.tensor([50.0, 51.0])
    assert synonyms_for(tagger, plan).of(one)[0] == other


def test_words_that_share_a_vector_are_those_that_the_encoder_does_not_know(build: Callable[..., Tagger]) -> None:
    tagger = build(text=Corpus.of([Sentence(("big", "large", "cold"))]), labels=["PER"])
    table = tagger.encoder.word_table.weight.data
    rows = [tagger.encoder.vocabulary.number(word) for word in ("big", "large", "cold")]
    table[rows] = torch.eye(3, table.shape[1])
    table[rows[1], 0] = 2.0  # now near `big`
    words = nearest_in(tagger.encoder, {"Big", "large", "cold", "neverseen", "unheardof", "3.5"})
    assert (words.of("big"), words.of("Large"), words.of("cold")) == (["large"], ["Big"], [])
    assert words.of("neverseen") == words.of("unheardof") == []


def test_words_of_several_pieces_have_no_neighbours(build: Callable[..., Tagger], news: Corpus) -> None:
    tagger = build("bert")
    words = nearest_in(tagger.encoder, news.vocabulary)
    assert set(tagger.encoder.sizes_of(words.words)) <= {1}
    assert nearest_in(tagger.encoder, ["3.5", ","]).of("rain") == []


@pytest.mark.parametrize("option", ["synonyms", "vectors"])
def test_a_file_that_is_not_there_is_told_before_training(
    build: Callable[..., Tagger], plan: Plan, tmp_path: Path, option: str
) -> None:
    with pytest.raises(InputError, match=rf"options\.{option}"):
        check_plan(build(), with_options(plan, **{option: str(tmp_path / "nowhere")}))


def test_a_file_that_nobody_would_read_is_told(build: Callable[..., Tagger], plan: Plan, table: str) -> None:
    for options in ({"edits": "deletion"}, {"contrast": 0}):
        with pytest.raises(UsageError, match=r"options\.synonyms has no effect"):
            check_plan(build(), with_options(plan, synonyms=table, **options))

"""Self-training: the most confident sentences are believed, and true labels are kept."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from acclimate.data.corpus import Corpus
from acclimate.inference.predict import predict, sentence_confidences
from acclimate.model.tagger import Tagger
from acclimate.recipes.baselines import SelfTrainingSettings, most_confident, self_training
from acclimate.recipes.recipe import Plan
from acclimate.training.settings import TrainingSettings


@pytest.fixture(scope="module")
def tagger(build: Callable[..., Tagger]) -> Tagger:
    return build()


@pytest.mark.parametrize(("share", "count"), [(0.5, 5), (1.0, 10), (0.01, 1)])
def test_the_surest_share_is_kept_under_the_tagger_s_own_tags(
    tagger: Tagger, tweets: Corpus, share: float, count: int
) -> None:
    target = tweets.unlabelled()
    sure, guessed = sentence_confidences(tagger, target), predict(tagger, target)
    best = sorted(range(10), key=lambda number: -sure[number])[:count]
    assert most_confident(tagger, target, share).sentences == tuple(guessed[number] for number in sorted(best))


def test_true_tags_are_kept_whatever_the_tagger_thinks(tagger: Tagger, tweets: Corpus) -> None:
    target = tweets[:2] + tweets[2:].unlabelled()
    believed = most_confident(tagger, target, 0.2)
    assert believed.sentences[:2] == tweets.sentences[:2]
    assert all(sentence.tags is not None for sentence in believed)


def test_the_gold_tags_of_the_target_are_not_needed_nor_used(tagger: Tagger, tweets: Corpus) -> None:
    others = tweets.map(lambda sentence: sentence.with_tags(["B-ORG"] * len(sentence)))
    assert most_confident(tagger, tweets.unlabelled(), 0.5) == most_confident(tagger, others.unlabelled(), 0.5)


def stages_of(tagger: Tagger, news: Corpus, tweets: Corpus, **options: float) -> list:
    training = TrainingSettings(updates=8, words_per_batch=60)
    return list(self_training(tagger, Plan(news, tweets.unlabelled(), training, SelfTrainingSettings(**options), 1)))


def test_each_round_is_a_stage_on_both_domains(tagger: Tagger, news: Corpus, tweets: Corpus) -> None:
    stages = stages_of(tagger, news, tweets, rounds=3, share=0.5, weight=0.3)
    assert [stage.name for stage in stages] == ["round-1", "round-2", "round-3"]
    assert {stage.updates for stage in stages} == {4}
    assert all(stage.weights == {"believe": 0.3} for stage in stages)
    assert all(stage.batches.batch(0).keys() == {"source", "target"} for stage in stages)


def test_rounds_read_their_batches_in_unlike_order(tagger: Tagger, news: Corpus, tweets: Corpus) -> None:
    one, other = stages_of(tagger, news, tweets)
    assert one.batches.batch(0)["source"] != other.batches.batch(0)["source"]


def test_the_recipe_looks_again_between_two_rounds(build: Callable[..., Tagger], news: Corpus, tweets: Corpus) -> None:
    tagger = build()
    options = SelfTrainingSettings(keep=1.0)
    recipe = self_training(tagger, Plan(news, tweets.unlabelled(), TrainingSettings(updates=1), options, 1))
    first = next(recipe).batches.corpora["target"]
    tagger.scores.bias.data[tagger.tags.index("S-LOC")] += 99
    second = next(recipe).batches.corpora["target"]
    assert set(second.label_counts) == {"LOC"} != set(first.label_counts)

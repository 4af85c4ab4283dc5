"""No transfer: the labelled target sentences alone, for long enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acclimate.data.corpus import Corpus, Sentence
from acclimate.model.tagger import Tagger
from acclimate.recipes.baselines import LEAST_UPDATES, long_enough, target_only
from acclimate.recipes.recipe import Plan
from acclimate.runs.train import adapt
from acclimate.settings import UsageError
from acclimate.training.settings import TrainingSettings

QUICK = {"updates": 4, "words_per_batch": 60, "learning_rate": 0.02}
Build = Callable[..., Tagger]


def test_it_learns_from_the_labelled_target_alone(build: Build, news, tweets, same_weights, part_of_speech) -> None:
    taggers = []
    for source, target in ((news, None), (news[:3], tweets.unlabelled()), (part_of_speech, None)):
        taggers.append(build(text=tweets[:4], labels=news.labels))
        adapt(taggers[-1], source, target, "target-only", target_labelled=tweets[:4], training=QUICK)
    assert same_weights(taggers[0], taggers[1])
    assert same_weights(taggers[0], taggers[2])
    adapt(taggers[1], news, recipe="target-only", target_labelled=tweets[4:], training=QUICK)
    assert not same_weights(taggers[0], taggers[1])


def test_before_and_after_are_the_same(build: Build, news: Corpus, tweets: Corpus) -> None:
    tagger = build(text=tweets[:4], labels=news.labels)
    given: dict[str, Any] = {"target_labelled": tweets[:4], "target_test": tweets, "source_test": news}
    outcome = adapt(tagger, news, recipe="target-only", training=QUICK, **given)
    assert outcome.target.before == outcome.target.after
    assert outcome.target.comparison is None
    assert outcome.source is None
    assert [stage["stage"] for stage in outcome.stages] == ["target"]


@pytest.mark.parametrize("given", [{}, {"target": True}])
def test_without_labels_it_says_what_it_needs(build: Build, news, tweets, given: dict[str, Any]) -> None:
    given = dict.fromkeys(given, tweets)
    with pytest.raises(UsageError, match="target-only learns from labelled target sentences"):
        adapt(build(), news, recipe="target-only", training=QUICK, **given)


def test_a_short_text_is_read_until_there_were_enough_updates() -> None:
    settings = long_enough(TrainingSettings(epochs=5), epoch_length=2, least=500)
    assert (settings.updates, settings.evaluate_every) == (500, 25)
    assert long_enough(TrainingSettings(epochs=5, evaluate_every=7), 2, 500).evaluate_every == 7


@pytest.mark.parametrize("training", [TrainingSettings(epochs=5), TrainingSettings(updates=3)])
def test_enough_updates_are_left_as_they_are(training: TrainingSettings) -> None:
    assert long_enough(training, epoch_length=100, least=500) is training


def test_who_sets_the_number_of_updates_gets_that_number() -> None:
    training = TrainingSettings(updates=3)
    assert long_enough(training, epoch_length=1, least=500) is training


def test_a_few_sentences_are_learnt_long_enough(build: Build, tweets: Corpus) -> None:
    plan = Plan(Corpus(()), tweets[:4], TrainingSettings(epochs=2), None, 1)
    (stage,) = target_only(build(text=tweets[:4], labels=tweets.labels), plan)
    assert stage.updates == LEAST_UPDATES


def test_it_beats_knowing_nothing(build: Build) -> None:
    few = Corpus.of([Sentence(("anna", "is", "here"), ("B-PER", "O", "O")), Sentence(("is", "it"), ("O", "O"))])
    tagger = build(text=few, dropout=0.0, forget_rare=0.0)
    outcome = adapt(
        tagger,
        few,
        recipe="target-only",
        target_labelled=few,
        target_test=few,
        training=QUICK | {"updates": 40, "learning_rate": 0.05},
    )
    assert outcome.target.after.span.f1 == 1

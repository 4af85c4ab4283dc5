"""Labelled target sentences with labels of their own: the source has a head for itself, and "before" is target-only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.inference.predict import evaluate
from acclimate.model.tagger import Tagger
from acclimate.recipes.recipe import has_other_labels
from acclimate.runs.train import adapt
from acclimate.settings import UsageError

LEARN = {"updates": 80, "words_per_batch": 60, "learning_rate": 0.03, "device": "cpu"}
QUICK = LEARN | {"updates": 2}
NAMES = {"PER": "person", "LOC": "place", "ORG": "firm"}
Build = Callable[..., Tagger]


def renamed(corpus: Corpus, names: Mapping[str, str] = NAMES) -> Corpus:
    def spelled(sentence: Sentence) -> Sentence:
        return sentence.with_tags([tag[:2] + names.get(tag[2:], tag[2:]) for tag in sentence.tags or ()])

    return corpus.map(spelled)


@pytest.fixture
def posts(tweets: Corpus) -> Corpus:
    return renamed(tweets)


@pytest.mark.parametrize("encoder", ["character-cnn-lstm", "bert"])
def test_the_default_recipe_learns_the_target_s_labels_beside_the_source(
    build: Build, news: Corpus, posts: Corpus, encoder: str
) -> None:
    words = {"text": posts[:6]} if encoder != "bert" else {}
    tagger = build(encoder, labels=posts.labels, dropout=0.0, **words)
    rate = {} if encoder != "bert" else {"learning_rate": 0.003}
    given: dict[str, Any] = {"target_labelled": posts[:6], "target_test": posts[:6], "training": LEARN | rate}
    outcome = adapt(tagger, news, recipe="acclimate", tuning=False, **given)
    assert [stage["stage"] for stage in outcome.stages] == ["target", "learn"]
    assert outcome.target is not None
    assert outcome.before == "target-only"
    assert outcome.target.before.span.f1 > 0
    assert outcome.target.after == evaluate(tagger, posts[:6])
    assert outcome.target.after.span.f1 > 0.5
    assert outcome.source is None
    source = outcome.siblings["source"].tagger
    assert source.labels == news.labels
    assert evaluate(source, news).span.f1 > 0.5  # it has learnt, on the same encoder
    told = " ".join(outcome.remarks)
    assert "have labels of their own: the source has a head for itself" in told
    assert "Before: trained on the labelled target sentences alone, without the source." in told
    assert "Left out, since source and target have labels of their own: rounds." in told
    assert "text was not learnt from" not in told


def test_the_source_changes_what_the_target_learns(
    build: Build, news: Corpus, posts: Corpus, same_weights: Callable[[Any, Any], bool]
) -> None:
    found = []
    for source in (news, news[:6]):
        tagger = build(text=posts[:6], labels=posts.labels)
        adapt(tagger, source, recipe="acclimate", target_labelled=posts[:6], training=QUICK)
        found.append(tagger.head)
    assert not same_weights(*found)


def test_a_source_of_another_kind_of_tags_will_do(build: Build, part_of_speech: Corpus, posts: Corpus) -> None:
    tagger = build(text=posts[:6], labels=posts.labels)
    outcome = adapt(tagger, part_of_speech, posts, "acclimate", target_labelled=posts[:6], training=QUICK)
    assert outcome.siblings["source"].tagger.labels.kind == "plain"


def test_labels_that_the_source_has_are_learnt_by_one_head(build: Build, news: Corpus, tweets: Corpus) -> None:
    outcome = adapt(build(), news, recipe="acclimate", target_labelled=tweets[:6], training=QUICK, rounds=0)
    assert outcome.before == "source-only"
    assert outcome.siblings == {}


def test_a_label_that_is_held_out_of_the_source_is_still_the_source_s(build: Build, news: Corpus) -> None:
    """A tenth of the source chooses the model; a rare label may stand there alone."""
    rare = renamed(news[:1], {"PER": "rare", "LOC": "rare", "ORG": "rare"})
    for seed in range(3):
        outcome = adapt(
            build(labels=[*news.labels, "rare"]),
            news + rare,
            recipe="acclimate",
            target_labelled=rare,
            training=QUICK,
            rounds=0,
            seed=seed,
        )
        assert outcome.before == "source-only"


@pytest.mark.parametrize("recipe", ["mat", "pdaln", "la-dtl"])
def test_other_recipes_refuse_them_before_any_training(build: Build, news: Corpus, posts: Corpus, recipe: str) -> None:
    with pytest.raises(InputError, match=r"labels that the tagger does not know|no label|person"):
        adapt(build(), news, posts, recipe, target_labelled=posts[:6], training=QUICK)


def test_the_source_cannot_choose_its_state(build: Build, news: Corpus, posts: Corpus) -> None:
    tagger = build(text=posts[:6], labels=posts.labels)
    with pytest.raises(UsageError, match="source sentences cannot choose"):
        adapt(tagger, news, recipe="acclimate", target_labelled=posts[:6], select="source-dev", training=QUICK)


def test_what_are_other_labels(news: Corpus, tweets: Corpus, posts: Corpus, part_of_speech: Corpus) -> None:
    assert has_other_labels(news, posts)
    assert has_other_labels(news, tweets + posts)
    assert has_other_labels(news, part_of_speech)
    assert not has_other_labels(news, tweets)
    assert not has_other_labels(news, tweets[:0])
    assert not has_other_labels(part_of_speech, Corpus(()))
    assert not has_other_labels(tweets + posts, posts)

"""The main job: the baseline beside it, the judge named, and test labels out of reach."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.evaluation.seen import PERHAPS_UNLEARNT, Shared, Vocabulary
from acclimate.inference.predict import evaluate
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import RECIPES
from acclimate.recipes.recipe import Plan
from acclimate.runs.result import change_of
from acclimate.runs.train import adapt
from acclimate.settings import SettingsError

QUICK = {"updates": 4, "words_per_batch": 60, "learning_rate": 0.02}
Build = Callable[..., Tagger]


def shuffled(corpus: Corpus) -> Corpus:
    """The same words under other tags."""
    dice = random.Random(0)
    return corpus.map(lambda s: s.with_tags([f"B-{dice.choice(['PER', 'LOC', 'ORG'])}" for _ in s.words]))


def test_source_only_has_the_same_scores_before_and_after(build: Build, news: Corpus, tweets: Corpus) -> None:
    outcome = adapt(build(), news, training=QUICK, source_test=news, target_test=tweets)
    for change in (outcome.source, outcome.target):
        assert change is not None
        assert change.before == change.after
        assert change.comparison is None


def test_the_scores_after_are_those_of_the_tagger_that_is_handed_back(
    build: Build, news: Corpus, tweets: Corpus
) -> None:
    tagger = build()
    outcome = adapt(tagger, news, tweets.unlabelled(), "self-training", training=QUICK, target_test=tweets)
    assert outcome.target is not None
    assert outcome.target.after == evaluate(tagger, tweets)
    assert not tagger.training


def test_the_scores_before_are_those_of_the_recipe_that_does_not_adapt(
    build: Build, news: Corpus, tweets: Corpus
) -> None:
    given: dict[str, Any] = {"training": QUICK | {"learning_rate": 0.1}, "source_test": news, "target_test": tweets}
    plain = adapt(build(), news, **given)
    beside = adapt(build(), news, tweets.unlabelled(), "self-training", **given)
    assert (beside.source.before, beside.target.before) == (plain.source.after, plain.target.after)


def test_the_labels_of_the_test_sentences_have_no_part_in_training(build: Build, news, tweets, same_weights) -> None:
    taggers = []
    for test in (tweets, shuffled(tweets), None):
        taggers.append(build())
        adapt(taggers[-1], news, tweets.unlabelled(), "self-training", training=QUICK, target_test=test)
    assert same_weights(taggers[0], taggers[1])
    assert same_weights(taggers[0], taggers[2])


def test_target_tags_are_seen_only_when_they_are_given(build: Build, news, tweets, same_weights) -> None:
    taggers = []
    for target, labelled in ((tweets, None), (shuffled(tweets), None), (tweets.unlabelled(), None), (tweets, tweets)):
        taggers.append(build())
        adapt(taggers[-1], news, target, "self-training", target_labelled=labelled, training=QUICK)
    assert same_weights(taggers[0], taggers[1])
    assert same_weights(taggers[0], taggers[2])
    assert not same_weights(taggers[0], taggers[3])


def test_the_seed_alone_decides_the_result(build: Build, news, tweets, same_weights) -> None:
    taggers = []
    for seed, noise in ((1, 0), (1, 99), (2, 0)):
        taggers.append(build())
        torch.manual_seed(noise)
        adapt(taggers[-1], news, tweets.unlabelled(), "self-training", training=QUICK, seed=seed)
    assert same_weights(taggers[0], taggers[1])
    assert not same_weights(taggers[0], taggers[2])


@pytest.mark.parametrize(
    ("given", "selector", "remark"),
    [
        ({"select": "last"}, "last update", None),
        ({}, "span F1 on held-out source (2 sentences)", "2 of 24 source sentences were held out"),
        ({"source_dev": True}, "span F1 on source dev (10 sentences)", "the sentences that also chose the model"),
        ({"select": "target-dev", "target_dev": True}, "span F1 on target dev (10 sentences)", "not unsupervised"),
    ],
)
def test_what_chose_the_model_is_named(
    build: Build, news, tweets, given: dict[str, Any], selector: str, remark: str | None
):
    given = {name: tweets if value is True else value for name, value in given.items()}
    outcome = adapt(build(), news, training=QUICK, **given)
    assert outcome.selector == selector
    assert any(remark in found for found in outcome.remarks) if remark else not outcome.remarks


def test_held_out_sentences_are_not_trained_on(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Plan] = []
    watched = replace(RECIPES["source-only"], check=lambda tagger, plan: plans.append(plan) or ())
    monkeypatch.setitem(RECIPES, "source-only", watched)
    tagger = build()
    adapt(tagger, Corpus.of(Sentence((f"w{n}",), ("B-PER",)) for n in range(40)), training=QUICK)
    assert len(plans[0].source) == 36
    assert tagger.seen is not None
    assert tagger.seen.words == set(plans[0].source.vocabulary)  # no word of the four that chose the model


@pytest.mark.parametrize("recipe", ["source-only", "self-training", "mat", "datnet", "target-only"])
def test_a_mention_counts_as_seen_that_any_labelled_sentence_given_has(
    build: Build, news: Corpus, tweets: Corpus, recipe: str
) -> None:
    tagger = build(text=news + tweets)
    adapt(tagger, news, tweets, recipe, target_labelled=tweets[:4], select="last", training=QUICK)
    assert tagger.seen == Vocabulary.of(news, tweets[:4])


def test_of_a_tiny_source_nothing_is_held_out(build: Build, news: Corpus) -> None:
    outcome = adapt(build(), news[:5], training=QUICK)
    assert outcome.selector == "last update"
    assert outcome.remarks == ("Too few source sentences to hold any out: the last update is kept.",)


def test_source_sentences_without_tags_are_not_trained_on(
    build: Build, news: Corpus, tweets: Corpus, same_weights
) -> None:
    one, other = build(), build()
    adapt(one, news, training=QUICK, select="last")
    adapt(other, news + tweets.unlabelled(), training=QUICK, select="last")
    assert same_weights(one, other)


@pytest.mark.parametrize("document", [None, "the only one"])
def test_a_source_of_one_document_with_repeated_headlines_is_held_out_by_sentences(
    build: Build, document: str | None
) -> None:
    headline = Sentence(("SOCCER",), ("O",), document=document)
    rows = [
        Sentence((f"w{n}", "is", "a", "longer", "sentence", "now"), ("B-PER", *"OOOOO"), document=document)
        for n in range(20)
    ]
    outcome = adapt(build(), Corpus.of([headline, *rows, *[headline] * 5]), training=QUICK)
    assert outcome.selector == "span F1 on held-out source (3 sentences)"


def test_of_a_source_that_says_one_thing_only_nothing_is_held_out(build: Build) -> None:
    rows = [Sentence(("the", "same", "long", "sentence", "all", "over"), tuple("OOOOOO"))] * 30
    outcome = adapt(build(), Corpus.of(rows), training=QUICK)
    assert outcome.selector == "last update"
    assert "repeats itself too much" in outcome.remarks[0]


CLINICAL = Corpus.of([Sentence(("flu",), ("B-DISEASE",))] * 30, "clinical")


@pytest.mark.parametrize(
    "where", ["source", "target_labelled", "source_dev", "source_test", "target_dev", "target_test"]
)
def test_labels_that_the_tagger_does_not_know_are_refused_before_any_training(
    build: Build, news, tweets, where: str
) -> None:
    tagger = build()
    given: dict[str, Any] = {"source": news, "target": tweets.unlabelled(), where: CLINICAL}
    if where == "target_dev":
        given["select"] = "target-dev"
    before = tagger.state_dict()["scores.weight"].clone()
    with pytest.raises(InputError, match=r"clinical.* has labels that the tagger does not know: DISEASE"):
        adapt(tagger, recipe="self-training", training=QUICK, **given)
    assert torch.equal(tagger.state_dict()["scores.weight"], before)


@pytest.mark.parametrize("where", ["source_dev", "source_test", "target_test"])
def test_a_judge_without_tags_is_refused_before_any_training(build: Build, news, tweets, where: str) -> None:
    with pytest.raises(InputError, match="tweets has no tags to compare with"):
        adapt(build(), news, training=QUICK, **{where: tweets.unlabelled()})


def test_a_recipe_that_needs_a_target_says_so(build: Build, news: Corpus) -> None:
    with pytest.raises(ValueError, match="Recipe self-training needs target text"):
        adapt(build(), news, recipe="self-training", training=QUICK)


def test_a_target_without_sentences_is_refused(build: Build, news: Corpus) -> None:
    with pytest.raises(ValueError, match="Recipe self-training needs target text"):
        adapt(build(), news, Corpus((), "tweets"), recipe="self-training", training=QUICK)


def test_a_source_without_tags_is_refused(build: Build, news: Corpus) -> None:
    with pytest.raises(ValueError, match="no sentences to train on"):
        adapt(build(), news[:9].unlabelled(), training=QUICK)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"select": "target-dev"}, "needs labelled target development sentences"),
        (
            {"select": "best"},
            "setting 'select' cannot be 'best': Input should be 'auto', 'source-dev'",
        ),
    ],
)
def test_a_selector_that_cannot_be_is_refused(build: Build, news: Corpus, given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        adapt(build(), news, training=QUICK, **given)


def test_unknown_options_are_refused_with_a_suggestion(build: Build, news: Corpus, tweets: Corpus) -> None:
    with pytest.raises(SettingsError, match=r"options of recipe self-training: .*'round'.*Did you mean rounds"):
        adapt(build(), news, tweets, "self-training", training=QUICK, round=3)
    with pytest.raises(SettingsError, match=r"training settings: .*'epoch'.*Did you mean epochs"):
        adapt(build(), news, training={"epoch": 3})


def test_an_outcome_is_plain_json(build: Build, news: Corpus, tweets: Corpus, tmp_path: Path) -> None:
    import json

    outcome = adapt(
        build(), news, tweets.unlabelled(), "self-training", training=QUICK, target_test=tweets, out=tmp_path
    )
    shown = json.loads(json.dumps(outcome.as_dict()))
    assert [stage["stage"] for stage in shown["stages"]] == ["source", "round-1", "round-2"]
    assert shown["source"]["corpus"].startswith("news")
    assert "self-training made 6 updates, the baseline 4" in " ".join(shown["remarks"])
    assert shown["target"]["before"]["span"].keys() == shown["target"]["after"]["span"].keys()


def test_plain_tags_can_be_adapted_too(build: Build, part_of_speech: Corpus) -> None:
    tagger = build(text=part_of_speech)
    raw = part_of_speech[:3].unlabelled()
    outcome = adapt(tagger, part_of_speech, raw, "self-training", training=QUICK, target_test=part_of_speech)
    assert outcome.target.after.token.accuracy >= 0


@pytest.mark.parametrize(("updates", "is_told"), [(1, True), (60, False)])
def test_a_baseline_that_has_learnt_nothing_is_told(build, news, tweets, updates: int, is_told: bool) -> None:
    training = {"updates": updates, "words_per_batch": 40, "learning_rate": 0.05}
    outcome = adapt(
        build(), news, tweets.unlabelled(), "self-training", source_test=news, training=training, select="last"
    )
    assert outcome.source is not None
    assert (outcome.source.before.span.correct == 0) == is_told
    assert any("trained too briefly to compare with" in remark for remark in outcome.remarks) == is_told


@pytest.mark.parametrize(
    "given", [{"target_test": True}, {"source_test": True}, {"source_dev": True}, {"target_dev": True}]
)
def test_a_part_to_be_scored_without_a_span_is_refused_before_training(
    build: Build, news: Corpus, tweets: Corpus, given: dict[str, Any], tmp_path: Path
) -> None:
    bare = tweets.map(lambda sentence: sentence.with_tags("O" for _ in sentence.words)).renamed("bare.conll")
    given = dict.fromkeys(given, bare) | ({"select": "target-dev"} if "target_dev" in given else {})
    with pytest.raises(InputError, match=r"bare\.conll has no labelled span: F1 would say nothing\. Give sentences"):
        adapt(build(), news, tweets, "self-training", training=QUICK, out=tmp_path / "out", **given)
    assert not (tmp_path / "out").exists()


def test_plain_tags_need_no_span(build: Build, part_of_speech: Corpus) -> None:
    given: dict[str, Any] = {"source_dev": part_of_speech, "target_test": part_of_speech, "training": QUICK}
    assert adapt(build(text=part_of_speech), part_of_speech, **given).target is not None


def test_where_there_is_no_source_score_the_target_tells_that_the_baseline_knows_nothing(
    build: Build, news: Corpus, tweets: Corpus
) -> None:
    given: dict[str, Any] = {"target_labelled": tweets[:4], "target_test": tweets[4:], "training": {"updates": 1}}
    outcome = adapt(build(text=tweets[:4], labels=news.labels), news, recipe="datnet", **given)
    assert outcome.source is None
    assert outcome.target is not None
    assert outcome.target.before.span.correct == 0
    assert outcome.reservation is PERHAPS_UNLEARNT
    assert PERHAPS_UNLEARNT.why in outcome.remarks


LEARNT = "the score on them measures memory."


@pytest.mark.parametrize(
    ("given", "remark"),
    [
        (
            {"target_labelled": "tweets"},
            "5 of 5 target test sentences of 6 or more words also stand among the labelled target",
        ),
        ({"source": "tweets"}, "5 of 5 target test sentences of 6 or more words also stand in the source"),
        ({"source_test": "news"}, "17 of 17 source test sentences of 6 or more words also stand in the source"),
        ({"source_dev": "news"}, "17 of 17 source dev sentences of 6 or more words also stand in the source"),
        (
            {"target_labelled": "few"},
            "2 of 5 target test sentences of 6 or more words also stand among the labelled target",
        ),
    ],
)
def test_held_out_sentences_that_are_learnt_from_are_told(
    build: Build, news: Corpus, tweets: Corpus, given: dict[str, str], remark: str
) -> None:
    corpora = {"news": news, "tweets": tweets, "few": tweets[:4]}
    parts: dict[str, Any] = {"source": news} | {name: corpora[which] for name, which in given.items()}
    outcome = adapt(build(), target=tweets, recipe="self-training", target_test=tweets, training=QUICK, **parts)
    assert any(told.startswith(remark) and told.endswith(LEARNT) for told in outcome.remarks)
    is_most = parts["source"] is tweets or parts.get("target_labelled") is tweets
    assert outcome.learnt is not None
    assert outcome.learnt.is_most == is_most
    assert (outcome.reservation is not None and "learnt from" in outcome.reservation.headline) == is_most


def test_text_that_holds_the_test_is_told_mildly_and_forbids_no_claim(
    build: Build, news: Corpus, tweets: Corpus
) -> None:
    outcome = adapt(build(), news, tweets, "self-training", target_test=tweets, training=QUICK)
    assert "The target text holds 10 of 10 target test sentences, without their labels." in outcome.remarks
    assert not any(LEARNT in told for told in outcome.remarks)
    assert outcome.learnt == Shared(0, 5, 6)


def test_sentences_that_choose_the_model_and_test_it_are_told(build: Build, news: Corpus, tweets: Corpus) -> None:
    outcome = adapt(build(), news, target_dev=tweets, select="target-dev", target_test=tweets[2:4], training=QUICK)
    assert any(
        told.startswith("2 of 2 target test sentences also stand in the target dev, which chooses the model")
        for told in outcome.remarks
    )


def test_what_a_baseline_does_not_learn_is_not_told_as_learnt(build: Build, news: Corpus, tweets: Corpus) -> None:
    outcome = adapt(build(), news, recipe="source-only", target_labelled=tweets, target_test=tweets, training=QUICK)
    assert outcome.learnt == Shared(0, 5, 6)


def test_to_look_for_learnt_tests_changes_no_weight(build: Build, news: Corpus, tweets: Corpus, same_weights) -> None:
    taggers = []
    for test in (tweets, shuffled(tweets), tweets[5:], None):
        taggers.append(build())
        adapt(taggers[-1], news, tweets, "self-training", target_labelled=tweets, training=QUICK, target_test=test)
    assert all(same_weights(taggers[0], other) for other in taggers[1:])


@pytest.mark.parametrize("rises", [True, False])
def test_longer_training_explains_a_gain_and_no_fall(
    build: Build, news: Corpus, tweets: Corpus, monkeypatch: pytest.MonkeyPatch, rises: bool
) -> None:
    nothing = tweets.map(lambda sentence: sentence.with_tags(["O"] * len(sentence)))
    answers = (nothing, tweets) if rises else (tweets, nothing)
    monkeypatch.setattr("acclimate.runs.train.change_of", lambda test, *_: change_of(tweets, *answers, build()))
    outcome = adapt(build(), news, tweets.unlabelled(), "self-training", training=QUICK, target_test=tweets)
    told = " ".join(outcome.remarks)
    assert "self-training made 6 updates, the baseline 4" in told
    assert ("longer training" in told) == rises


def test_the_tagger_before_is_handed_out(build: Build, news: Corpus, tweets: Corpus) -> None:
    tagger = build()
    outcome = adapt(tagger, news, tweets.unlabelled(), "self-training", training=QUICK, target_test=tweets)
    assert outcome.tagger_before is not None
    assert evaluate(outcome.tagger_before, tweets).span == outcome.target.before.span
    assert evaluate(tagger, tweets).span == outcome.target.after.span
    assert adapt(build(), news, training=QUICK).tagger_before is None

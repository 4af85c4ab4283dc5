"""Adaptation without a source: the tagger that was given, target text, and perhaps a few labels."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.inference.predict import predict
from acclimate.methods.teachers import lower_cased
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import RECIPES
from acclimate.recipes.recipe import Plan
from acclimate.recipes.source_free import Guard, SourceFreeSettings, agreement, source_free
from acclimate.runs.train import adapt
from acclimate.settings import UsageError
from acclimate.training.settings import TrainingSettings
from interruptions import StopAt, Stopped

Build = Callable[..., Tagger]
QUICK: dict[str, Any] = {"updates": 6, "words_per_batch": 60, "learning_rate": 0.02, "evaluate_every": 2}
ENCODERS = ["character-cnn-lstm", "bert"]


@pytest.fixture(scope="module")
def text(make_corpus: Callable[..., Corpus]) -> Corpus:
    return make_corpus(60, seed=4, patterns=["omg {PER} is in {LOC} !!!", "{ORG} sux", "ok"], name="posts").unlabelled()


@pytest.fixture(scope="module")
def start(build: Build, make_corpus: Callable[..., Corpus]) -> Tagger:
    """A trained tagger that finds something."""
    tagger = build(dropout=0.1)
    training = {"updates": 120, "words_per_batch": 100, "learning_rate": 0.03}
    adapt(tagger, make_corpus(60), recipe="source-only", select="last", training=training)
    return tagger


def few_of(corpus: Corpus, label: str, name: str) -> Corpus:
    """Sentences in which only one type is labelled, under another name."""

    def tags(row: tuple[str, ...]) -> list[str]:
        return [tag.replace(label, name) if tag.endswith(label) else "O" for tag in row]

    return corpus.map(lambda sentence: sentence.with_tags(tags(sentence.tags or ()))).renamed("few")


def test_before_is_the_tagger_as_it_was_and_that_one_is_not_touched(
    start: Tagger, text: Corpus, tweets: Corpus, same_weights
) -> None:
    kept = copy.deepcopy(start)
    outcome = adapt(target=text, start=start, target_test=tweets, training=QUICK, guard=0)
    assert (outcome.recipe, outcome.before, outcome.source) == ("source-free", "start", None)
    assert same_weights(start, kept)
    assert same_weights(outcome.tagger_before, kept)
    assert not same_weights(outcome.tagger, kept)
    assert outcome.predicted["target"][0] == predict(kept, tweets)
    assert [stage["stage"] for stage in outcome.stages] == ["source-free"]
    assert not any("longer training" in remark for remark in outcome.remarks)


def test_it_starts_from_a_folder_as_from_a_tagger(start: Tagger, text: Corpus, tmp_path: Path, same_weights) -> None:
    start.save(tmp_path / "a")
    taggers = [adapt(target=text, start=each, training=QUICK).tagger for each in (start, str(tmp_path / "a"))]
    assert same_weights(*taggers)


def test_its_words_stay_seen(start: Tagger, text: Corpus, tweets: Corpus) -> None:
    outcome = adapt(target=text, start=start, target_labelled=tweets, training=QUICK)
    assert outcome.tagger.seen.has_mention("Lake Como")
    assert outcome.tagger.seen.words >= {*start.seen.words, *tweets.vocabulary}


# -------------------------------------------------------------------------------------------------------------- guard


def test_a_tagger_that_drifts_is_left_as_it_was_and_that_is_said(
    start: Tagger, text: Corpus, tweets: Corpus, same_weights
) -> None:
    wild = {**QUICK, "learning_rate": 3.0, "clip": None}
    outcome = adapt(target=text, start=start, training=wild, target_test=tweets, stay=0, rate=1)
    assert same_weights(outcome.tagger, start)
    assert outcome.stages[-1]["kept_update"] == 0
    assert outcome.advice is not None
    assert (outcome.advice.tagger, outcome.advice.why) == (
        "before",
        "nothing that was learnt is kept, so both are the same",
    )
    assert any("the tagger is left as it was" in remark for remark in outcome.remarks)
    last = adapt(target=text, start=start, training=wild, stay=0, rate=1, guard=0)
    assert last.stages[-1]["kept_update"] == QUICK["updates"]
    assert not same_weights(last.tagger, start)


def test_the_guard_is_0_for_a_tagger_that_finds_nothing_or_other_things(start: Tagger, text: Corpus) -> None:
    guard = Guard.of(start, text, 0.5)
    assert guard(start) == agreement(predict(start, text), predict(start, text.map(lower_cased))) > 0
    silent = copy.deepcopy(start)
    with torch.no_grad():
        silent.scores.bias[0] += 100
    assert guard(silent) == 0
    assert guard.describe(0.0) == "drifted"


def test_a_tagger_that_keeps_one_type_of_three_has_drifted(start: Tagger, text: Corpus) -> None:
    forgetful = copy.deepcopy(start)
    with torch.no_grad():
        for number, tag in enumerate(start.tags):
            forgetful.scores.bias[number] -= 100 if tag[2:] in ("LOC", "ORG") else 0
    found = predict(start, text).label_counts
    assert found["PER"] > max(found["LOC"], found["ORG"])
    assert Guard.of(start, text, 0.5)(forgetful) == 0


def test_on_text_without_capitals_the_guard_keeps_the_start(start: Tagger, text: Corpus) -> None:
    outcome = adapt(target=text.map(lower_cased), start=start, training={**QUICK, "learning_rate": 0.5}, rate=1)
    assert outcome.stages[-1]["evaluations"][0] == (0, 1.0)
    assert outcome.stages[-1]["kept_update"] == 0 or outcome.stages[-1]["score"] == 1.0


def test_agreement_is_the_f1_of_spans_and_two_silent_answers_agree(tweets: Corpus, part_of_speech: Corpus) -> None:
    silent = tweets.map(lambda sentence: sentence.with_tags(["O"] * len(sentence)))
    assert (agreement(tweets, tweets), agreement(tweets, silent), agreement(silent, silent)) == (1.0, 0.0, 1.0)
    other = part_of_speech.map(lambda sentence: sentence.with_tags(["X", *(sentence.tags or ())[1:]]))
    words = part_of_speech.word_count
    assert agreement(part_of_speech, other) == pytest.approx(1 - len(part_of_speech) / words)


def test_labelled_sentences_of_the_target_choose_where_they_are_given(
    start: Tagger, text: Corpus, tweets: Corpus
) -> None:
    outcome = adapt(target=text, start=start, target_dev=tweets, training=QUICK)
    assert outcome.selector == "span F1 on target dev (10 sentences)"
    evaluations = outcome.stages[-1]["evaluations"]
    assert evaluations[0][0] == 0  # the start takes part
    assert outcome.stages[-1]["score"] == max(score for _, score in evaluations)


# ------------------------------------------------------------------------------------------------------------- labels


def test_labels_alone_are_enough(start: Tagger, tweets: Corpus, same_weights) -> None:
    outcome = adapt(start=start, target_labelled=tweets, training=QUICK)
    assert outcome.recipe == "source-free"
    assert not same_weights(outcome.tagger, start)


def test_a_new_type_is_learnt_beside_what_the_tagger_knows(
    start: Tagger, text: Corpus, make_corpus: Callable[..., Corpus]
) -> None:
    posts = make_corpus(40, seed=5, patterns=["omg {PER} is in {LOC} !!!", "{ORG} sux"])
    few = few_of(posts, "PER", "HERO")
    training = {**QUICK, "updates": 100}
    outcome = adapt(target=text, start=start, target_labelled=few, target_test=few, training=training, rate=1)
    assert list(outcome.tagger.labels) == ["HERO", "LOC", "ORG", "PER"]
    assert outcome.target.before.by_label["HERO"].recall == 0
    assert outcome.target.after.by_label["HERO"].recall > 0.8
    found = predict(outcome.tagger, posts).label_counts
    assert min(found["LOC"], found["ORG"]) > 0.7 * posts.label_counts["LOC"]  # no word of few said so
    assert any("does not annotate LOC, ORG, PER" in remark for remark in outcome.remarks)
    assert any("The tagger learns HERO besides what it knows." in remark for remark in outcome.remarks)


def test_nothing_that_the_tagger_knows_counts_as_wrong_where_nobody_looked_for_it(
    start: Tagger, text: Corpus, make_corpus: Callable[..., Corpus]
) -> None:
    gold = few_of(make_corpus(20, seed=5), "PER", "HERO")
    outcome = adapt(target=text, start=start, target_labelled=gold, target_test=gold, training=QUICK)
    assert sum(len(one.spans) for one in predict(start, gold)) > 0
    assert not set(outcome.target.before.by_label) & {"LOC", "ORG"}


def test_a_corpus_that_says_what_it_annotates_is_taken_at_its_word(start: Tagger, text: Corpus, tweets: Corpus) -> None:
    """Its words may hide the types that it leaves out, also where no label is new."""
    few = replace(few_of(tweets, "PER", "PER"), annotates=("PER",))
    found: dict[str, Plan] = {}

    def stages(tagger: Tagger, plan: Plan) -> Any:
        found["plan"] = plan
        return source_free(tagger, plan)

    known = RECIPES["source-free"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(RECIPES, "source-free", replace(known, stages=stages))
        adapt(target=text, start=start, target_labelled=few, training=QUICK)
    tags = {tag for sentence in found["plan"].target.labelled() for tag in sentence.tags or ()}
    assert "O|LOC|ORG" in tags
    assert "O" not in tags


# ------------------------------------------------------------------------------------------------- resuming, refusals


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("update", [1, 3, 5])
def test_stopped_anywhere_it_ends_with_the_same_weights(
    build: Build, text: Corpus, tweets: Corpus, same_weights, tmp_path: Path, encoder: str, update: int
) -> None:
    training = {**QUICK, "checkpoint_every": 2}

    def adapted(out: Path | None = None, watcher: Any = None) -> Tagger:
        given: dict[str, Any] = {"out": out, "watcher": watcher, "training": training, "target_labelled": tweets[:3]}
        found = adapt(target=text, start=build(encoder), **given).tagger
        assert found is not None
        return found

    with pytest.raises(Stopped):
        adapted(tmp_path, StopAt(update))
    assert same_weights(adapted(tmp_path), adapted())


def test_a_run_goes_on_only_from_the_same_start(start: Tagger, build: Build, text: Corpus, tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        adapt(target=text, start=start, training={**QUICK, "checkpoint_every": 2}, out=tmp_path, watcher=StopAt(3))
    with pytest.raises(UsageError, match="other settings or data"):
        adapt(target=text, start=build(), training={**QUICK, "checkpoint_every": 2}, out=tmp_path)


def test_target_only_is_plain_fine_tuning_of_the_start(start: Tagger, tweets: Corpus) -> None:
    outcome = adapt(start=start, recipe="target-only", target_labelled=tweets, training=QUICK)
    assert outcome.before == "target-only"
    assert list(outcome.tagger.labels) == list(start.labels)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"start": "start", "source": "news"}, "adapt\\(target=..., start=tagger\\)"),
        ({"start": "start", "tagger": "start"}, "adapt\\(target=..., start=tagger\\)"),
        ({"tagger": "start"}, "adapt\\(target=..., start=tagger\\)"),
        ({"source": "news"}, "adapt\\(tagger, source, ...\\)"),
        ({"start": "start", "target": None}, "source-free needs target text"),
        ({"start": "start", "select": "source-dev"}, "There is no source"),
        ({"start": "start", "teaching": 0, "tuning": 0}, "There is nothing to learn"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    start: Tagger, news: Corpus, text: Corpus, given: dict[str, Any], words: str
) -> None:
    known = {"start": start, "news": news}
    given = {"target": text} | {
        name: known.get(value, value) if isinstance(value, str) else value for name, value in given.items()
    }
    with pytest.raises(UsageError, match=words):
        adapt(**given, training=QUICK)


def test_tags_of_another_kind_are_refused(start: Tagger, text: Corpus, part_of_speech: Corpus) -> None:
    with pytest.raises(InputError, match="plain tags"):
        adapt(target=text, start=start, target_labelled=part_of_speech, training=QUICK)


# ------------------------------------------------------------------------------------------------------------- stages


@pytest.mark.parametrize(("encoder", "tuned"), [("bert", True), ("character-cnn-lstm", False)])
def test_hidden_words_are_guessed_where_there_is_a_language_model(
    build: Build, text: Corpus, encoder: str, tuned: bool
) -> None:
    plan = Plan(Corpus(()), text, TrainingSettings(**QUICK), SourceFreeSettings(), 1)
    (stage,) = source_free(build(encoder), plan)
    assert set(stage.objectives) == {"teach", "near"} | ({"words"} if tuned else set())
    assert stage.weights == {"teach": 1.0, "near": 0.01} | ({"words": 0.1} if tuned else {})


def test_the_encoder_of_a_saved_tagger_is_known_by_its_pieces(news: Corpus, text: Corpus, tmp_path: Path) -> None:
    tagger = Tagger.build(labels=news.labels, seed=0)
    tagger.save(tmp_path / "a")
    plan = Plan(Corpus(()), text, TrainingSettings(**QUICK), SourceFreeSettings(), 1)
    (stage,) = source_free(Tagger.load(tmp_path / "a"), plan)
    assert "words" in stage.objectives


def test_the_guard_watches_text_that_is_not_learnt(start: Tagger, text: Corpus) -> None:
    plan = Plan(Corpus(()), text, TrainingSettings(**QUICK), SourceFreeSettings(), 1)
    (stage,) = source_free(start, plan)
    assert isinstance(stage.selector, Guard)
    learnt = {sentence.words for sentence in stage.batches.corpora["target"]}
    assert not learnt & {sentence.words for sentence in stage.selector.text}
    assert len(stage.batches.corpora["target"]) + len(stage.selector.text) == len(text)


def test_with_a_source_it_begins_where_plain_training_ends(
    build: Build, news: Corpus, text: Corpus, same_weights
) -> None:
    taggers = {}
    for recipe in ("source-only", "source-free"):
        tagger = build()
        outcome = adapt(tagger, news, text, recipe, training=QUICK, select="last")
        taggers[recipe] = outcome.tagger if recipe == "source-only" else outcome.tagger_before
    assert same_weights(*taggers.values())

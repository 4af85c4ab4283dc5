"""A few labelled sentences: fine-tuning, and how much of it is kept."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from acclimate.data.batches import SOURCE
from acclimate.data.corpus import Corpus
from acclimate.evaluation.counts import Tally
from acclimate.evaluation.scores import score
from acclimate.inference.predict import predict
from acclimate.methods.objective import Tagging
from acclimate.model.tagger import Tagger
from acclimate.recipes import source_free
from acclimate.recipes.recipe import Plan
from acclimate.recipes.source_free import FEWEST, FOLDS, RATE, SHARES, best_of, between, folds, weights_of
from acclimate.runs.train import adapt
from acclimate.training.loop import build_engine
from acclimate.training.run import run_stages
from acclimate.training.stage import LastUpdate, Stage
from interruptions import StopAt, Stopped

Build = Callable[..., Tagger]
TRAINING: dict[str, Any] = {"updates": 6, "words_per_batch": 60, "learning_rate": 0.02}


@pytest.fixture(scope="module")
def start(build: Build, make_corpus: Callable[..., Corpus]) -> Tagger:
    """A trained tagger that finds something."""
    tagger = build(dropout=0.1)
    training = {"updates": 120, "words_per_batch": 100, "learning_rate": 0.03}
    adapt(tagger, make_corpus(60), recipe="source-only", select="last", training=training)
    return tagger


@pytest.fixture(scope="module")
def few(make_corpus: Callable[..., Corpus]) -> Corpus:
    return make_corpus(20, seed=5, patterns=["omg {PER} is in {LOC} !!!", "{ORG} sux", "ok"], name="few")


def learnt(start: Tagger, few: Corpus, **given: Any) -> Any:
    return adapt(start=start, target_labelled=few, training=TRAINING, **given)


def fine_tuned(start: Tagger, few: Corpus) -> Tagger:
    """By plain training alone."""
    plain = copy.deepcopy(start)
    slower = {**TRAINING, "learning_rate": RATE * TRAINING["learning_rate"]}
    settings = learnt(start, few, share=1.0).training.model_copy(update=slower)
    batches = Plan(Corpus(()), few, settings, None, 1).batches(plain, {SOURCE: few})
    stage = Stage("plain", {"tag": Tagging()}, batches, settings)
    run_stages(plain, [stage], build_engine(settings, plain), LastUpdate(), seed=1)
    return plain


def test_a_share_of_1_is_plain_fine_tuning_and_one_of_0_is_the_start(
    start: Tagger, few: Corpus, same_weights: Callable[..., bool]
) -> None:
    assert same_weights(learnt(start, few, share=1.0).tagger, fine_tuned(start, few))
    assert same_weights(learnt(start, few, share=0.0).tagger, start)


def test_half_of_the_way_is_the_mean_of_both_ends(start: Tagger, few: Corpus) -> None:
    end = weights_of(fine_tuned(start, few))
    half = learnt(start, few, share=0.5).tagger.state_dict()
    for name, own in weights_of(start).items():
        torch.testing.assert_close(half[name], (own + end[name]) / 2)


def test_cross_validation_chooses_the_share_that_tags_the_held_out_folds_best(
    start: Tagger, few: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: what the other folds teach, at each share, tags the fold; the counts of all are added."""
    ends: list[dict[str, torch.Tensor]] = []
    whole = source_free.interpolated

    def kept(tagger: Tagger, begin: Any) -> Any:
        ends.append(weights_of(tagger))
        return whole(tagger, begin)

    monkeypatch.setattr(source_free, "interpolated", kept)
    outcome = learnt(start, few)
    assert [stage["stage"] for stage in outcome.stages] == [
        *(f"fold-{number + 1}" for number in range(FOLDS)),
        "labels",
    ]
    probe, begin = copy.deepcopy(start), weights_of(start)
    found = {}
    for share in SHARES:
        tally = Tally()
        for end, (_, held_out) in zip(ends, folds(few, FOLDS, seed=1), strict=True):
            probe.load_state_dict(between(begin, end, share))
            tally += score(held_out, predict(probe, held_out)).span
        found[share] = tally.f1
    best = max(found.values())
    share = min(share for share in SHARES if found[share] == best)
    assert any(f"went {share:.0%} of the way" in remark for remark in outcome.remarks)
    shown = ", ".join(f"{100 * found[share]:.1f} at {share:.0%}" for share in SHARES)
    assert any(f"{FOLDS}-fold cross-validation (F1 {shown})" in remark for remark in outcome.remarks)


def test_labelled_sentences_of_the_target_choose_the_share_where_they_are_given(
    start: Tagger, few: Corpus, tweets: Corpus
) -> None:
    outcome = learnt(start, few, target_dev=tweets)
    assert [stage["stage"] for stage in outcome.stages] == ["labels"]
    scores = {}
    for share in SHARES:
        scores[share] = score(tweets, predict(learnt(start, few, share=share).tagger, tweets)).span.f1
    assert score(tweets, predict(outcome.tagger, tweets)).span.f1 == max(scores.values())
    assert any("chosen by span F1 on target dev" in remark for remark in outcome.remarks)


def test_too_few_sentences_choose_nothing(start: Tagger, few: Corpus) -> None:
    outcome = learnt(start, few[: FEWEST - 1])
    assert [stage["stage"] for stage in outcome.stages] == ["labels"]
    assert any("50% of the way" in remark and "too few" in remark for remark in outcome.remarks)


def test_the_text_is_learnt_afterwards(start: Tagger, few: Corpus) -> None:
    outcome = learnt(start, few, target=few.unlabelled(), share=0.5)
    assert [stage["stage"] for stage in outcome.stages] == ["labels", "source-free"]


@pytest.mark.parametrize("number", [2, 5])
def test_each_sentence_is_in_one_fold_and_folds_are_alike(few: Corpus, part_of_speech: Corpus, number: int) -> None:
    for corpus in (few, few[:11], replace(part_of_speech, sentences=part_of_speech.sentences * 5)):
        parts = folds(corpus, number, seed=3)
        assert sorted(map(str, (sentence for _, held_out in parts for sentence in held_out))) == sorted(
            map(str, corpus)
        )
        for learnt, held_out in parts:
            assert sorted(map(str, (*learnt, *held_out))) == sorted(map(str, corpus))
        sizes = [len(held_out) for _, held_out in parts]
        assert max(sizes) - min(sizes) <= 1
    spans = [sum(len(sentence.spans) for sentence in held_out) for _, held_out in folds(few, number, seed=3)]
    assert max(spans) - min(spans) <= max(len(sentence.spans) for sentence in few)


def test_of_equal_shares_the_nearest_to_the_start_is_taken() -> None:
    assert best_of(dict.fromkeys(SHARES, 0.5)) == 0.0
    assert best_of({0.0: 0.1, 0.25: 0.4, 0.5: 0.4, 0.75: 0.2, 1.0: 0.3}) == 0.25


@pytest.mark.parametrize("update", [2, 8, 33])
def test_stopped_in_any_stage_it_ends_with_the_same_weights(
    start: Tagger, few: Corpus, tmp_path: Path, same_weights: Callable[..., bool], update: int
) -> None:
    def run(**given: Any) -> Any:
        training = {**TRAINING, "checkpoint_every": 2}
        return adapt(start=start, target_labelled=few, training=training, **given).tagger

    with pytest.raises(Stopped):
        run(out=tmp_path, watcher=StopAt(update))
    assert same_weights(run(out=tmp_path), run())


def test_plain_tags_are_learnt_too(build: Build, part_of_speech: Corpus) -> None:
    tagger = build(text=part_of_speech)
    many = replace(part_of_speech, sentences=part_of_speech.sentences * FEWEST)
    outcome = learnt(tagger, many)
    assert any("of the way" in remark for remark in outcome.remarks)

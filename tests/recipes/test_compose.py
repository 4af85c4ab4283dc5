"""Recipes of one's own: known ones written as compositions, and any subset of objectives."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_every_recipe import QUICK, Losses

from acclimate.analysis.run_records import read_changes
from acclimate.data.corpus import Corpus, Sentence
from acclimate.methods.objective import Tagging
from acclimate.model.learner import NoView
from acclimate.model.tagger import Tagger
from acclimate.recipes.compose import compose
from acclimate.recipes.compose_parts import OBJECTIVES, ComposeSettings
from acclimate.recipes.recipe import Plan
from acclimate.runs.train import adapt
from acclimate.settings import complete
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import DevelopmentScore, LastUpdate, Stage

TRAINING = {"updates": 6, "words_per_batch": 40, "learning_rate": 0.02, "device": "cpu"}
Row = dict[str, list[float]]


def losses_of(
    tagger: Tagger, source: Corpus, target: Corpus | None, recipe: str, few: Corpus | None = None, **options: Any
) -> Row:
    """Of the recipe's own stages."""
    watcher = Losses()
    shared = {"training": TRAINING, "select": "last", "watcher": watcher, "target_labelled": few}
    adapt(tagger, source, target, recipe, **shared, **options)
    own = "source/tag" if recipe != "source-only" else ""
    return {name: row for name, row in watcher.found.items() if name != own}


def composed(*stages: dict[str, Any]) -> dict[str, Any]:
    return {"stages": [dict(stage) for stage in stages]}


TAGGING = {"objectives": ["tagging"]}


@pytest.mark.parametrize("encoder", ["character-cnn-lstm", "bert"])
def test_tagging_alone_is_source_only_bit_for_bit(
    build: Callable[..., Tagger], same_weights, news, encoder: str
) -> None:
    plain, mine = build(encoder), build(encoder)
    (wanted,) = losses_of(plain, news, None, "source-only").values()
    (found,) = losses_of(mine, news, None, "compose", **composed(TAGGING)).values()
    assert found == wanted
    assert same_weights(plain, mine)


@pytest.mark.parametrize("encoder", ["character-cnn-lstm", "bert"])
def test_the_objective_mat_is_the_recipe_bit_for_bit(
    build: Callable[..., Tagger], same_weights, news, encoder: str
) -> None:
    known, mine = build(encoder), build(encoder)
    wanted = losses_of(known, news, None, "mat", rate=0.5)
    found = losses_of(mine, news, None, "compose", **composed({"objectives": {"mat": {"settings": {"rate": 0.5}}}}))
    assert list(found.values()) == list(wanted.values())
    assert same_weights(known, mine)


def test_self_training_is_three_stages(build: Callable[..., Tagger], same_weights, news, tweets) -> None:
    """Without dropout: there the stages of the two draw from other seeds."""
    known, mine = (build(dropout=0.0, forget_rare=0.0) for _ in range(2))
    text = tweets.unlabelled()
    wanted = losses_of(known, news, text, "self-training")
    believe = {
        "name": "round",
        "objectives": {"tagging": 1, "target-tagging": 0.5},
        "beside": ["pseudo-labelled"],
        "share": 0.25,
        "rounds": 2,
    }
    found = losses_of(mine, news, text, "compose", **composed({"name": "first", **TAGGING}, believe))
    first = found.pop("first/tagging")
    assert len(first) == TRAINING["updates"]
    assert list(found.values()) == list(wanted.values())
    assert same_weights(known, mine)


def test_domain_tuning_is_the_stage_of_adversarial_masking(build: Callable[..., Tagger], news, tweets) -> None:
    tuning = {"updates": 3, "rows_per_batch": 4, "quick": False}
    text = tweets.unlabelled()
    known, mine = build("bert"), build("bert")
    wanted = losses_of(known, news, text, "adversarial-masking", **tuning)
    found = losses_of(mine, news, text, "compose", **composed({"domain_tuning": tuning}, TAGGING))
    names = ("masked_words", "policy")
    assert [found[f"stage-1/{name}"] for name in names] == [wanted[f"domain-tuning/{name}"] for name in names]


def test_mslm_may_be_a_stage(build: Callable[..., Tagger], news) -> None:
    wanted = losses_of(build("bert"), news, None, "mslm")
    found = losses_of(build("bert"), news, None, "compose", **composed({"mslm": {}}))
    assert list(found.values()) == list(wanted.values())


def test_a_teacher_is_the_tagger_of_the_stage_before(build: Callable[..., Tagger], news) -> None:
    """At the first update student and teacher are one: what is left is the teacher's own entropy, which falls as tags
    are learnt."""
    teach = {"name": "teach", "objectives": {"tagging": 1, "distillation": 1}, "updates": 2}
    short, long = (
        losses_of(build(dropout=0.0), news, None, "compose", **composed({**TAGGING, "updates": updates}, teach))
        for updates in (1, 60)
    )
    assert short["teach/distillation"][0] > 1.5 * long["teach/distillation"][0]


@pytest.mark.parametrize("probabilities", ["marginals", "softmax"])
def test_teachers_compare_what_is_set(build: Callable[..., Tagger], news, tweets, probabilities: str) -> None:
    teachers = {name: {"settings": {"probabilities": probabilities}} for name in ("distillation", "mean-teacher")}
    options = complete(ComposeSettings, composed(TAGGING, {"objectives": {"tagging": {}, **teachers}}))
    _, taught = compose(build(), Plan(news, tweets.unlabelled(), TrainingSettings(**TRAINING), options, 1))
    assert {taught.objectives[name].probabilities for name in teachers} == {probabilities}


def test_a_stage_has_its_own_length_and_rate(build: Callable[..., Tagger], news) -> None:
    stages = [
        {"name": "a", **TAGGING, "updates": 3},
        {"name": "b", **TAGGING, "share": 0.5},
        {"name": "c", **TAGGING, "epochs": 100},  # never more updates than were asked for
        {"name": "d", **TAGGING, "rounds": 2, "updates": 1},
    ]
    found = losses_of(build(), news, None, "compose", **composed(*stages))
    lengths = {name: len(row) for name, row in found.items()}
    assert lengths == {"a/tagging": 3, "b/tagging": 3, "c/tagging": 6, "d-1/tagging": 1, "d-2/tagging": 1}
    slow, fast = (
        losses_of(build(dropout=0.0), news, None, "compose", **composed({**TAGGING, "learning_rate": rate}))
        for rate in (1e-9, 0.05)
    )
    assert slow["stage-1/tagging"][0] == fast["stage-1/tagging"][0]
    assert slow["stage-1/tagging"][-1] > fast["stage-1/tagging"][-1]


def test_a_weight_counts(build: Callable[..., Tagger], same_weights, news, tweets) -> None:
    def trained(weight: float) -> Tagger:
        tagger = build(dropout=0.0)
        stage = {"objectives": {"tagging": 1, "sentence-mmd": weight}}
        losses_of(tagger, news, tweets.unlabelled(), "compose", **composed(stage))
        return tagger

    assert same_weights(trained(0.5), trained(0.5))
    assert not same_weights(trained(0.5), trained(1.0))


def test_rounds_that_the_selector_finds_worse_end_them(build: Callable[..., Tagger], news, tweets) -> None:
    ruin = {"name": "ruin", **TAGGING, "learning_rate": 30.0, "updates": 2, "rounds": 3, "keep_best": True}
    tagger = build(dropout=0.0)
    stages = composed(
        {"name": "first", **TAGGING, "updates": 80},
        ruin,
    )
    watcher = Losses()
    adapt(tagger, news, None, "compose", source_dev=news, training=TRAINING, watcher=watcher, **stages)
    made = [name for name in watcher.found if name.startswith("ruin")]
    assert made == ["ruin-1/tagging"]


def test_a_stage_to_the_end_keeps_its_last_state_whoever_chooses(
    build: Callable[..., Tagger], same_weights, news
) -> None:
    blind, seeing = build(dropout=0.0), build(dropout=0.0)
    ruin = {"name": "ruin", **TAGGING, "learning_rate": 30.0, "updates": 4}
    for tagger, how in ((blind, {"to_the_end": True}), (seeing, {"keep_best": True, "evaluations": 4})):
        stages = composed({"name": "first", **TAGGING, "updates": 80}, {**ruin, **how})
        adapt(tagger, news, None, "compose", source_dev=news, training=TRAINING, **stages)
    found = [DevelopmentScore(news)(tagger) for tagger in (blind, seeing)]
    assert found[0] < found[1]


def test_looks_are_as_many_as_asked_for_where_somebody_chooses(build: Callable[..., Tagger], news) -> None:
    stage = {**TAGGING, "updates": 20, "evaluations": 5}
    for selector, every in ((DevelopmentScore(news), 4), (LastUpdate(), 20), (None, 20)):
        options = complete(ComposeSettings, composed(stage))
        training = TrainingSettings(updates=20, evaluate_every=20)
        (made,) = compose(build(), Plan(news, Corpus(()), training, options, 1, selector=selector))
        assert made.evaluate_every == every


def test_nobody_chooses_in_a_stage_that_goes_to_the_end() -> None:
    with pytest.raises(ValueError, match="leave out keep_best and evaluations"):
        complete(ComposeSettings, composed({**TAGGING, "to_the_end": True, "keep_best": True}))


BOTH = {"tagging": {"settings": {"side": "both"}}}


def made_apart(tagger: Tagger, source: Corpus, few: Corpus) -> Stage:
    options = complete(ComposeSettings, composed({"objectives": BOTH, "separate_heads": True}))
    (stage,) = compose(tagger, Plan(source, few, TrainingSettings(**TRAINING), options, 1))
    return stage


@pytest.mark.parametrize("encoder", ["character-cnn-lstm", "bert"])
def test_apart_the_source_has_a_head_of_its_own_that_begins_as_the_tagger_s(
    build: Callable[..., Tagger], news, tweets, encoder: str
) -> None:
    tagger = build(encoder)
    learner = made_apart(tagger, news, tweets).learner
    assert learner is not None
    losses = [Tagging("source")(one.eval().view(news.sentences), NoView("target")) for one in (learner, tagger)]
    assert torch.equal(*losses)
    losses[0].backward()
    assert all(parameter.grad is None for parameter in tagger.head.parameters())
    assert any(parameter.grad is not None and parameter.grad.any() for parameter in tagger.encoder.parameters())


def test_a_stage_apart_that_is_undone_leaves_the_tagger_as_it_was(build: Callable[..., Tagger], news, tweets) -> None:
    tagger = build("bert", dropout=0.0)
    first, ruin = (
        {"name": "first", **TAGGING, "updates": 40},
        {"name": "ruin", "objectives": BOTH, "separate_heads": True},
    )
    stages = composed(first, {**ruin, "learning_rate": 30.0, "updates": 2, "keep_best": True})
    alone = build("bert", dropout=0.0)
    given = {"source_dev": news, "target_labelled": tweets, "training": TRAINING}
    adapt(alone, news, None, "compose", **given, **composed(first))
    adapt(tagger, news, None, "compose", **given, **stages)
    assert DevelopmentScore(news)(tagger) == DevelopmentScore(news)(alone)


def test_what_is_written_comes_back(news) -> None:
    written = complete(
        ComposeSettings, composed({"objectives": {"tagging": 1, "mat": {"weight": 2, "settings": {"rate": 0.1}}}})
    )
    again = complete(ComposeSettings, written.model_dump(mode="json"))
    assert again == written
    assert again.stages[0].objectives["mat"].settings.rate == 0.1


AWKWARD_SOURCE = Corpus.of(
    [
        Sentence(("it", "rained"), ("O", "O")),
        Sentence(("ok",), ("O",)),
        Sentence(("Anna", "saw", "New", "York"), ("B-PER", "O", "B-LOC", "I-LOC")),
    ]
)
AWKWARD_TARGET = Corpus.of([Sentence(("\u200b", "😀", "\ud800", "x" * 500)), Sentence(("",)), Sentence(("Oslo",))])
AWKWARD_FEW = Corpus.of([Sentence(("omg", "Anna"), ("O", "B-PER")), Sentence(("lol",), ("O",))])


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.sets(st.sampled_from(sorted(OBJECTIVES)), min_size=1), beside=st.integers(0, 2))
@example(names=set(OBJECTIVES), beside=0)
def test_any_objectives_go_together(build: Callable[..., Tagger], names: set[str], beside: int) -> None:
    """In the second stage, so that there is a teacher; on text without entities, words nobody knows, one sentence."""
    text = [["target-labelled", "target"], ["pseudo-labelled", "target"], None][beside]
    stages = composed(TAGGING, {"name": "mixed", "objectives": sorted(names), "beside": text})
    watcher = Losses()
    tagger = build("bert", labels=AWKWARD_SOURCE.labels)
    given = {"training": QUICK, "select": "last", "watcher": watcher, "target_labelled": AWKWARD_FEW}
    adapt(tagger, AWKWARD_SOURCE, AWKWARD_TARGET, "compose", **given, **stages)
    assert watcher.all_finite
    assert {name.split("/")[1] for name in watcher.found if name.startswith("mixed/")} >= names


PAIRS = list(itertools.combinations(sorted(set(OBJECTIVES) - {"masked-words"}), 2))


@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
def test_any_two_go_together_on_letters_and_words(build: Callable[..., Tagger], news, tweets, pair) -> None:
    stages = composed(TAGGING, {"name": "mixed", "objectives": list(pair)})
    watcher = Losses()
    given = {"training": QUICK, "select": "last", "watcher": watcher, "target_labelled": tweets[:2]}
    adapt(build(), news, tweets[2:].unlabelled(), "compose", **given, **stages)
    assert watcher.all_finite


@pytest.mark.parametrize(
    ("recipe", "options"),
    [
        ("compose", {"stages": [{"name": "round", "objectives": ["tagging"], "learns": ["anchors"], "rounds": 2}]}),
        ("acclimate", {"anchors": True, "rounds": 2, "tuning": False, "noise": False}),
    ],
)
def test_exchanged_entities_are_logged_as_pdaln_s_are(
    build: Callable[..., Tagger], news: Corpus, tweets: Corpus, tmp_path: Path, recipe: str, options: dict[str, Any]
) -> None:
    few, text = tweets[:4], tweets[4:].unlabelled()
    given = {"training": {"updates": 3, "words_per_batch": 60}, "select": "last", "out": tmp_path}
    adapt(build(), news, text, recipe, target_labelled=few, **given, **options)
    rows = list(read_changes(tmp_path))
    assert {row.by for row in rows} == {"anchors"}
    assert {row.stage for row in rows} == {"round-1", "round-2"}
    assert {row.side for row in rows} == {"source", "target"}
    originals = {sentence.words for sentence in (*news, *few)}
    assert all(row.words in originals for row in rows)
    assert all(edit.label for row in rows for edit in row.edits)

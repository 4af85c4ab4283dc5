"""A stage of MSLM inside a composition: every setting of the stage counts, or is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest
import torch
from test_every_recipe import QUICK, Losses

from acclimate.data.corpus import Corpus
from acclimate.evaluation.scores import score
from acclimate.inference.predict import predict
from acclimate.model.tagger import Tagger
from acclimate.recipes.compose import check_plan, compose
from acclimate.recipes.compose_parts import ComposeSettings
from acclimate.recipes.recipe import Plan
from acclimate.runs.train import adapt
from acclimate.settings import UsageError, complete
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import DevelopmentScore, Stage

Build = Callable[..., Tagger]
TAGGING = {"name": "first", "objectives": ["tagging"]}


def plan_of(source: Corpus, target: Corpus, *stages: dict[str, Any]) -> Plan:
    options = complete(ComposeSettings, {"stages": stages})
    return Plan(source, target, TrainingSettings(**QUICK), options, 1, selector=DevelopmentScore(source))


def stages_of(tagger: Tagger, plan: Plan) -> list[Stage]:
    check_plan(tagger, plan)
    return list(compose(tagger, plan))


def learnt(stage: Stage) -> list[tuple[str, ...]]:
    """The sentences of an epoch, in their order."""
    batches = islice(stage.batches.starting_at(0), stage.batches.epoch_length)
    return [sentence.words for batch in batches for part in batch.values() for sentence in part]


@pytest.mark.parametrize(
    ("learns", "which"),
    [(None, "both"), (["source"], "source"), (["target-labelled"], "target"), (["source", "target-labelled"], "both")],
)
def test_it_learns_what_is_named_and_else_all_that_is_labelled(
    build: Build, news, tweets, learns: list[str] | None, which: str
) -> None:
    (stage,) = stages_of(build("bert"), plan_of(news, tweets, {"mslm": {}, "learns": learns}))
    there = {"source": list(news), "target": list(tweets), "both": [*news, *tweets]}[which]
    assert set(learnt(stage)) == {sentence.words for sentence in there}


def test_keep_best_asks_the_selector_of_the_run(build: Build, news) -> None:
    for keep in (False, True):
        plan = plan_of(news, Corpus(()), {"mslm": {}, "keep_best": keep})
        (stage,) = stages_of(build("bert"), plan)
        assert stage.selector is (plan.selector if keep else None)


def test_a_round_that_is_worse_ends_the_rounds(build: Build, news) -> None:
    watcher = Losses()
    stages = [
        {"name": "learn", "mslm": {}},
        {"name": "ruin", "mslm": {}, "learning_rate": 30.0, "updates": 2, "rounds": 3, "keep_best": True},
    ]
    rates = {"learning_rate": 0.01, "head_rate": 1, "transition_rate": 1}  # so high that one is enough for all parts
    training = {"updates": 80, "words_per_batch": 60, "device": "cpu", **rates}
    tagger = build("bert")
    adapt(tagger, news, None, "compose", source_dev=news, training=training, watcher=watcher, stages=stages)
    assert score(news, predict(tagger, news)).span.f1 > 0.2  # there was something to ruin
    assert {name.split("/")[0] for name in watcher.found} == {"source", "learn", "ruin-1"}


def test_the_second_round_goes_on_with_the_heads_of_the_first(build: Build, news) -> None:
    tagger = build("bert")
    plan = plan_of(news, Corpus(()), {"mslm": {}, "rounds": 2})
    rounds = compose(tagger, plan)
    first = next(rounds)
    with torch.no_grad():
        for weight in tagger.parameters():
            weight.add_(1.0)  # as if it had been trained
    trained = {name: value.clone() for name, value in tagger.state_dict().items()}
    second = next(rounds)
    assert all(torch.equal(value, trained[name]) for name, value in tagger.state_dict().items())
    assert learnt(first) != learnt(second)
    assert sorted(learnt(first)) == sorted(learnt(second))


@pytest.mark.parametrize(
    ("stages", "words"),
    [
        ([{"name": "odd", "mslm": {}, "beside": ["target-labelled"]}], "beside has no effect beside mslm"),
        ([{"name": "odd", "mslm": {}, "learns": ["target"]}], "mslm learns from labelled text, and target has no"),
        ([{"name": "odd", "mslm": {}, "learns": ["pseudo-labelled"]}], "no stage before it has taught it any"),
        ([TAGGING, {"name": "odd", "mslm": {}, "keep_best": True}], "keep_best cannot bring back what was before"),
        (
            [{"mslm": {}}, {"name": "odd", "mslm": {"entities": {"width": 7}}}],
            "mslm.entities is not what it was in the stage before",
        ),
        ([{"name": "odd", "domain_tuning": {}, "updates": 5}, TAGGING], "set domain_tuning.updates"),
        ([{"name": "odd", "domain_tuning": {}, "learns": ["target"]}, TAGGING], "learns has no effect beside domain_"),
        ([{"name": "odd", "domain_tuning": {}, "keep_best": True}, TAGGING], "keep_best has no effect"),
        ([{"name": "odd", "domain_tuning": {}, "to_the_end": True}, TAGGING], "to_the_end has no effect"),
        ([{"name": "odd", "mslm": {}, "separate_heads": True}], "separate_heads has no effect beside mslm"),
        (
            [{**TAGGING, "name": "odd", "separate_heads": True}],
            "with separate_heads the tagger learns tags from what stands beside alone",
        ),
    ],
)
def test_what_would_be_passed_over_is_refused(
    build: Build, news, tweets, stages: list[dict[str, Any]], words: str
) -> None:
    target = tweets.select(range(4)) + tweets.select(range(4, 8)).unlabelled()
    with pytest.raises(UsageError, match=re.escape(words)) as told:
        check_plan(build("bert"), plan_of(news, target, *stages))
    assert str(told.value).startswith("Stage odd")

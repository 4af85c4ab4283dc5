"""Parts of several papers together: which stages there are with which data, and that every part can be left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from test_every_recipe import QUICK, Losses

from acclimate.data.corpus import Corpus
from acclimate.model.tagger import Tagger
from acclimate.recipes.acclimate import AcclimateSettings, composition, left_out
from acclimate.recipes.catalogue import find_recipe
from acclimate.recipes.pdaln import PdalnSettings
from acclimate.recipes.recipe import Plan
from acclimate.runs.train import adapt
from acclimate.settings import UsageError, complete
from acclimate.training.settings import TrainingSettings, default_learning_rate
from acclimate.training.stage import DevelopmentScore, LastUpdate, Stage

ALL = dict.fromkeys(("noise", "anchors", "distillation"), True)
NONE = dict.fromkeys(ALL, False) | {"tuning": False, "separate_heads": False}
TUNING = {"domain_tuning": {"updates": 2, "rows_per_batch": 4, "quick": False}}


def stages_of(tagger: Tagger, source: Corpus, target: Corpus, **options: Any) -> dict[str, dict[str, Any]]:
    plan = Plan(source, target, TrainingSettings(), complete(AcclimateSettings, options), 1)
    return {stage["name"]: stage for stage in composition(tagger, plan)["stages"]}


def test_with_a_few_labels_it_learns_anchors(build: Callable[..., Tagger], news, tweets) -> None:
    found = stages_of(build("bert"), news, tweets[:4] + tweets[4:].unlabelled(), **ALL)
    assert found["learn"]["objectives"]["mat"]["settings"]["side"] == "both"
    assert found["round"]["learns"] == ["anchors"]


def test_left_to_the_data_labels_bring_anchors_and_a_teacher_and_text_alone_does_not(
    build: Callable[..., Tagger], news, tweets
) -> None:
    few = tweets[:4] + tweets[4:].unlabelled()
    assert list(stages_of(build("bert"), news, tweets.unlabelled())) == ["domain-tuning", "learn"]
    found = stages_of(build("bert"), news, few)
    assert list(found) == ["domain-tuning", "learn", "round"]
    assert found["round"]["learns"] == ["anchors"]
    assert "distillation" in found["round"]["objectives"]
    assert "round" not in stages_of(build("bert"), news, few, anchors=False)
    untaught = stages_of(build("bert"), news, few, distillation=False)
    assert list(untaught["round"]["objectives"]) == ["tagging"]


def test_every_round_learns_at_a_lower_rate(build: Callable[..., Tagger], news, tweets) -> None:
    target = tweets[:4] + tweets[4:].unlabelled()
    for distillation in (True, False):
        found = stages_of(build("bert"), news, target, distillation=distillation, round_rate=0.5)
        assert found["round"]["learning_rate"] == pytest.approx(0.5 * default_learning_rate(build("bert")))


def test_apart_comes_after_the_rounds_at_their_rate_and_only_with_labels(build, news, tweets) -> None:
    few = tweets[:4] + tweets[4:].unlabelled()
    found = stages_of(build("bert"), news, few, separate_heads=True, noise=False)
    assert list(found) == ["domain-tuning", "learn", "round", "separate_heads"]
    assert found["separate_heads"]["objectives"] == {"tagging": {"settings": {"side": "both"}}}
    assert found["separate_heads"]["learning_rate"] == found["round"]["learning_rate"]
    assert "separate_heads" not in stages_of(build("bert"), news, tweets.unlabelled(), separate_heads=True)


def test_left_to_the_data_it_parts_where_target_sentences_choose_and_nothing_follows(build, news, tweets) -> None:
    def last_stage(of_target: bool, **options: Any) -> str:
        plan = plan_for(news, tweets[:4] + tweets[4:].unlabelled(), complete(AcclimateSettings, options))
        plan = replace(plan, selector=DevelopmentScore(news, of_target=of_target))
        return str(composition(build("bert"), plan)["stages"][-1]["name"])

    assert last_stage(of_target=True) == "separate_heads"
    assert last_stage(of_target=True, separate_heads=False) == "round"
    assert last_stage(of_target=False) == "round"
    assert last_stage(of_target=False, separate_heads=True) == "separate_heads"


def test_the_report_says_who_chose_in_the_last_stage(build: Callable[..., Tagger], news, tweets) -> None:
    given = {"source_dev": news, "target_labelled": tweets, "training": QUICK, "tuning": False}
    for options, chosen_by in (({}, "source dev"), ({"separate_heads": True}, "last update")):
        assert chosen_by in adapt(build("bert"), news, None, "acclimate", **given, **options).selector


def test_sentences_of_the_source_do_not_choose_in_the_stage_with_separate_heads(
    build: Callable[..., Tagger], news, tweets
) -> None:
    options = AcclimateSettings(separate_heads=True, tuning=False, anchors=False)
    for of_target in (False, True):
        selector = DevelopmentScore(news, of_target=of_target)
        plan = replace(plan_for(news, tweets, options, {"updates": 20}), selector=selector)
        *_, last = find_recipe("acclimate").stages(build("bert"), plan)
        assert last.selector == (selector if of_target else LastUpdate())
        assert last.evaluate_every <= 2 or not of_target


PDALN = {"noise": False, "tuning": False}


def test_its_rounds_are_those_of_pdaln(build: Callable[..., Tagger], news, tweets) -> None:
    target = tweets[:4] + tweets[4:].unlabelled()
    theirs = list(
        find_recipe("pdaln").stages(
            build("bert"), plan_for(news, target, PdalnSettings(gamma=0.98, alpha=0, beta=0, contrast=0))
        )
    )
    mine = list(find_recipe("acclimate").stages(build("bert"), plan_for(news, target, AcclimateSettings(**PDALN))))
    assert len(theirs) == len(mine) == 4
    for one, other in zip(theirs, mine, strict=True):
        assert sorted(weights_of(one)) == pytest.approx(sorted(weights_of(other)))
        assert {type(term) for term in one.objectives.values()} == {type(term) for term in other.objectives.values()}
        assert one.updates == other.updates
        assert one.settings.learning_rate == pytest.approx(other.settings.learning_rate)


def plan_for(source: Corpus, target: Corpus, options: Any, training: dict[str, Any] | None = None) -> Plan:
    usual = {"updates": 8, "words_per_batch": 60, "learning_rate": 1e-3}
    return Plan(source, target, TrainingSettings(**(usual if training is None else training)), options, 1)


def weights_of(stage: Stage) -> list[float]:
    found = (stage.weights.get(name, 1.0) for name in stage.objectives)
    return [weight(0) if callable(weight) else weight for weight in found]


def test_an_encoder_that_is_no_language_model_is_not_tuned_unless_asked(build, news, tweets) -> None:
    text = tweets.unlabelled()
    assert "domain-tuning" not in stages_of(build(), news, text)
    with pytest.raises(UsageError, match="tunes a masked language model"):
        adapt(build(), news, text, "acclimate", training=QUICK, tuning=True)


def test_with_all_parts_off_it_is_source_only(build: Callable[..., Tagger], same_weights, news, tweets) -> None:
    plain, mine = build(), build()
    adapt(plain, news, None, "source-only", training=QUICK, select="last")
    adapt(mine, news, tweets.unlabelled(), "acclimate", training=QUICK, select="last", **NONE)
    assert same_weights(plain, mine)


def test_labels_are_learnt_in_the_rounds_whoever_teaches_them(build, news, tweets) -> None:
    target = tweets[:4] + tweets[4:].unlabelled()
    found = stages_of(build(), news, target, **{**NONE, "anchors": True})
    assert found["round"]["objectives"] == {"tagging": {"settings": {"side": "both"}}}


@pytest.mark.parametrize("part", [*ALL, "tuning", "separate_heads"])
@pytest.mark.parametrize("few", [0, 4])
@pytest.mark.parametrize("alone", [False, True])
def test_every_part_can_be_had_alone_and_left_out(
    build: Callable[..., Tagger], news, tweets, part: str, few: int, alone: bool
) -> None:
    options = {**NONE, part: True} if alone else {**ALL, "tuning": True, "separate_heads": True, part: False}
    watcher = Losses()
    given = {"training": QUICK, "select": "last", "watcher": watcher}
    labelled = tweets[:few] if few else None
    adapt(
        build("bert"),
        news,
        tweets[few:].unlabelled(),
        "acclimate",
        target_labelled=labelled,
        **given,
        **options,
        **TUNING,
    )
    assert watcher.all_finite


def test_labelled_sentences_alone_are_enough(build: Callable[..., Tagger], news, tweets) -> None:
    watcher = Losses()
    adapt(build(), news, None, "acclimate", target_labelled=tweets, training=QUICK, select="last", watcher=watcher)
    assert watcher.all_finite


@pytest.mark.parametrize(
    ("few", "part", "told"),
    [
        (0, "separate_heads", "There was no stage separate_heads: no target sentence is labelled."),
        (4, "separate_heads", ""),
        (0, "anchors", ""),
        (4, "anchors", ""),
    ],
)
def test_a_part_that_the_data_do_not_allow_is_told(news, tweets, few: int, part: str, told: str) -> None:
    target = tweets[:few] + tweets[few:].unlabelled()
    options = complete(AcclimateSettings, {**NONE, part: True})
    assert left_out(Plan(news, target, TrainingSettings(), options, 1)) == ((told,) if told else ())

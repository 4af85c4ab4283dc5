"""What a composition cannot be, told before anything is trained."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from test_every_recipe import QUICK, Losses

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.model.tagger import Tagger
from acclimate.recipes.compose_parts import ComposeSettings
from acclimate.runs.train import adapt
from acclimate.settings import SettingsError, UsageError, complete

TAGGING = {"name": "first", "objectives": ["tagging"]}


@pytest.mark.parametrize(
    ("stages", "words"),
    [
        ([{"objectives": {"taging": 1}}], "unknown objective 'taging'. Did you mean 'tagging'?"),
        ([{"objectives": ["xyz"]}], "Known: tagging, target-tagging, adversarial"),
        ([{"objectives": {"mat": {"settings": {"rats": 1}}}}], "unknown setting 'rats'. Did you mean rate?"),
        ([{"objectives": {"mat": {"wait": 1}}}], "Did you mean stages.0.objectives.mat.weight?"),
        ([{"objectives": {"mat": {"settings": 3}}}], "its settings are a mapping, not 3"),
        ([{"objectives": {"mat": "a lot"}}], "a weight, or weight and settings, not 'a lot'"),
        ([{"objectives": {"tagging": 0}}], "greater than 0"),
        ([{"objectives": 3}], "stages.0.objectives"),
        ([{"objectivs": ["tagging"]}], "Did you mean stages.0.objectives?"),
        ([{"objectives": ["tagging"], "learns": ["sauce"]}], "'stages.0.learns.0' cannot be 'sauce'"),
        ([{"objectives": ["tagging"], "learns": []}], "learns from something"),
        ([{"domain_tuning": {"masking": "advers"}}], "Unknown masking 'advers'. Did you mean 'adversarial'?"),
        ([{}], "a stage has objectives, or domain_tuning, or mslm: one of them"),
        ([{**TAGGING, "domain_tuning": {}}], "one of them"),
        ([{**TAGGING, "updates": 3, "epochs": 1}], "updates or epochs, not both"),
        ([TAGGING, TAGGING], "two stages are called 'first'"),
        ([{**TAGGING, "name": "a/b"}], "stages.0.name"),
        ([], "one stage at least"),
    ],
)
def test_settings_that_cannot_be_meant_are_told_with_what_would_be_right(stages: Any, words: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(words)):
        complete(ComposeSettings, {"stages": stages})


def refused(tagger: Tagger, source: Corpus, target: Corpus | None, *stages: dict[str, Any], **more: Any) -> Losses:
    """Nothing is trained before the refusal."""
    watcher = Losses()
    training = {**QUICK, **more.pop("training", {})}
    try:
        adapt(
            tagger, source, target, "compose", training=training, select="last", watcher=watcher, **more, stages=stages
        )
    finally:
        assert not watcher.found
    return watcher


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ({"objectives": ["sentence-mmd", "tagging"]}, "sentence-mmd looks at target sentences, and there are none"),
        (
            {"objectives": ["tagging"], "learns": ["target-labelled"]},
            "needs labelled target sentences: give --target-l",
        ),
        ({"objectives": ["tagging"], "learns": ["anchors"]}, "Stage odd learns from anchors, which needs labelled"),
        ({"objectives": ["tagging"], "beside": ["target"]}, "learns from target, which needs target text"),
        ({"objectives": ["masked-words"]}, "masked-words looks at target sentences"),
        ({"objectives": {"masked-words": {"settings": {"side": "source"}}}}, "and character-cnn-lstm is none"),
        ({"domain_tuning": {}}, "Stage odd tunes a masked language model, and character-cnn-lstm is none"),
        ({"mslm": {}}, "Stage odd tunes a masked language model, and character-cnn-lstm is none"),
        ({"objectives": {"contrast": {"settings": {"synonyms": "none.tsv"}}}}, "Stage odd, contrast: .*none.tsv"),
    ],
)
def test_what_is_not_there_is_missed_by_name(
    build: Callable[..., Tagger], news, stage: dict[str, Any], words: str
) -> None:
    with pytest.raises((UsageError, InputError), match=words):
        refused(build(), news, None, TAGGING, {"name": "odd", **stage})


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ({"objectives": ["tagging", "word-mmd"]}, "word-mmd needs labelled sentences beside, and target has none"),
        ({"objectives": ["target-tagging"]}, "or name pseudo-labelled in `beside`"),
        ({"objectives": {"mat": {"settings": {"side": "both"}}}}, "mat needs labelled sentences beside"),
        ({"objectives": ["mean-teacher"], "beside": ["pseudo-labelled"]}, "learns from unlabelled target text"),
        ({"objectives": ["tagging"], "learns": ["target"]}, "learns tags from target, which has none"),
        (
            {"objectives": {"word-mmd": {"settings": {"mu": {"B-XYZ": 1}}}}, "beside": ["pseudo-labelled"]},
            "'B-XYZ' is none of the tagger's tags",
        ),
    ],
)
def test_unlabelled_text_is_no_labelled_text(
    build: Callable[..., Tagger], news, tweets, stage: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        refused(build(), news, tweets.unlabelled(), TAGGING, {"name": "odd", **stage})


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ({"objectives": ["tagging", "distillation"]}, "but no stage before it learns tags"),
        ({"objectives": ["target-tagging"], "beside": ["pseudo-labelled"]}, "no stage before it has taught it any"),
        ({"objectives": ["sentence-mmd"]}, "No stage learns tags"),
    ],
)
def test_there_must_be_tags_before_they_can_be_taught(
    build: Callable[..., Tagger], news, tweets, stage: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        refused(build(), news, tweets.unlabelled(), stage)


def test_anchors_without_a_common_type_are_none(build: Callable[..., Tagger], news) -> None:
    foreign = Corpus.of([Sentence(("no", "entity"), ("O", "O"))])
    with pytest.raises(InputError):
        refused(build(), news, None, {**TAGGING, "learns": ["anchors"]}, target_labelled=foreign)


def test_a_discriminator_with_muon_learns_at_one_rate(build: Callable[..., Tagger], news, tweets) -> None:
    stage = {"objectives": ["tagging", "discriminator"]}
    with pytest.raises(UsageError, match=r"set Stage stage-1, discriminator: settings\.rate=1"):
        refused(build("bert"), news, tweets.unlabelled(), stage, training={"optimizer": "muon"})

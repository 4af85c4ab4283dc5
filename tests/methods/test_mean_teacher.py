"""Mean Teacher: the average follows, and only unlabelled target words count."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from acclimate.data.corpus import Corpus
from acclimate.methods.objective import Tagging
from acclimate.methods.teachers import MeanTeacher, rising
from acclimate.model.tagger import Tagger
from acclimate.training.loop import parameter_groups
from acclimate.training.stage import TrainingStep

ENCODERS = ["character-cnn-lstm", "bert"]


@pytest.mark.parametrize(("update", "bias"), [(0, 0.995), (299, 0.995), (300, 0.9975)])
def test_the_worked_average_and_its_slower_pace_after_three_hundred_updates(
    build: Callable[..., Tagger], update: int, bias: float
) -> None:
    tagger = build()
    torch.nn.init.ones_(tagger.scores.bias)
    teacher = MeanTeacher(tagger)
    torch.nn.init.constant_(tagger.scores.bias, 0.5)
    teacher.before_update(update)
    teacher.after_update(tagger)
    assert teacher.teacher.scores.bias.tolist() == pytest.approx([bias] * len(tagger.tags))  # oracle 9e: 0.995


def test_its_voice_rises() -> None:
    assert rising(0, 300) == pytest.approx(math.exp(-5))
    assert rising(150, 300) == pytest.approx(math.exp(-1.25))
    assert rising(300, 300) == rising(10_000, 300) == 1
    assert rising(0, 0) == pytest.approx(math.exp(-5))


@pytest.mark.parametrize("encoder", ENCODERS)
def test_only_words_of_unlabelled_target_sentences_count(
    build: Callable[..., Tagger], news: Corpus, tweets: Corpus, encoder: str
) -> None:
    tagger = build(encoder).eval()
    objective = MeanTeacher(tagger)
    tagger.scores.weight.data += 0.3
    text, few = tweets[:3].unlabelled().sentences, tweets[3:5].sentences
    source = tagger.view(news[:2].sentences)
    both, alone = tagger.view([*text, *few]), tagger.view(text)
    torch.testing.assert_close(objective(source, both), objective(source, alone), atol=1e-5, rtol=1e-4)
    slow = [
        ((mine - theirs) ** 2).sum()
        for sentence in text
        for mine, theirs in zip(
            tagger.view([sentence]).marginals[0], objective.teacher.view([sentence]).marginals[0], strict=True
        )
    ]
    torch.testing.assert_close(objective(source, alone), torch.stack(slow).mean(), atol=1e-5, rtol=1e-4)
    assert objective(source, tagger.view(few)) == 0


@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_teacher_gets_no_gradient_and_stays_in_eval_mode(
    build: Callable[..., Tagger], news: Corpus, tweets: Corpus, encoder: str
) -> None:
    tagger = build(encoder)
    objective = MeanTeacher(tagger)
    step = TrainingStep(tagger, {"tag": Tagging(), "mean": objective}).train()
    step({"source": news[:2].sentences, "target": tweets[:3].unlabelled().sentences})["mean"].backward()
    assert not any(module.training for module in objective.teacher.modules())
    assert tagger.training
    assert all(weight.grad is None for weight in objective.teacher.parameters())
    assert any(weight.grad is not None for weight in tagger.parameters())
    own = {id(weight) for weight in objective.teacher.parameters()}
    assert not any(id(weight) in own for group in parameter_groups(step) for weight in group)


def test_a_checkpoint_holds_the_teacher(build: Callable[..., Tagger]) -> None:
    objective = MeanTeacher(build())
    other = MeanTeacher(build())
    objective.teacher.scores.bias.data += 1
    other.load_state_dict(objective.state_dict())
    assert torch.equal(other.teacher.scores.bias, objective.teacher.scores.bias)

"""Distillation: the worked numbers, the teacher's entropy, and a teacher that nothing moves."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from acclimate.data.corpus import Corpus
from acclimate.methods.objective import Tagging
from acclimate.methods.teachers import Distillation, cross_entropy, frozen_copy, log_probabilities
from acclimate.model.heads.tag_heads import ConditionalRandomField
from acclimate.model.learner import NoView
from acclimate.model.tagger import Tagger
from acclimate.training.loop import parameter_groups
from acclimate.training.stage import TrainingStep

# Oracle 9b_pdaln_distill
TEACHER = torch.tensor([[[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]]], dtype=torch.float64)
STUDENT = torch.tensor([[[0.6, 0.3, 0.1], [0.2, 0.6, 0.2]]], dtype=torch.float64)
BOTH = torch.ones(1, 2, dtype=torch.bool)
ENCODERS = ["character-cnn-lstm", "bert"]
NO_TARGET = NoView("target")


def test_the_worked_numbers() -> None:
    found = cross_entropy(TEACHER.log(), STUDENT.log(), BOTH).item()
    assert found == pytest.approx(0.779589544150199)
    assert 0.6 * 1.25 + 0.4 * found == pytest.approx(1.0618358176600795)  # equation 11
    entropy = cross_entropy(TEACHER.log(), TEACHER.log(), BOTH).item()
    assert found - entropy == pytest.approx(0.0591643380534419)  # the divergence


def test_it_is_not_the_other_way_round() -> None:
    assert cross_entropy(STUDENT.log(), TEACHER.log(), BOTH).item() != pytest.approx(0.779589544150199, rel=1e-3)


def test_padding_counts_nothing_and_the_mean_is_over_words() -> None:
    mask = torch.tensor([[True, True, False], [True, False, False]])
    teacher, student = torch.randn(2, 3, 4).log_softmax(-1), torch.randn(2, 3, 4).log_softmax(-1)
    each = [-(teacher[s, w].exp() * student[s, w]).sum() for s, w in ((0, 0), (0, 1), (1, 0))]
    torch.testing.assert_close(cross_entropy(teacher, student, mask), torch.stack(each).mean())
    assert cross_entropy(teacher, student, torch.zeros_like(mask)) == 0


def test_it_may_be_a_mean_over_sentences_as_a_crf_s_likelihood_is() -> None:
    mask = torch.tensor([[True, True, False], [True, False, False], [False, False, False]])
    teacher, student = torch.randn(3, 3, 4).log_softmax(-1), torch.randn(3, 3, 4).log_softmax(-1)
    per_word = cross_entropy(teacher, student, mask)
    torch.testing.assert_close(cross_entropy(teacher, student, mask, "sentence"), 3 * per_word / 2)


def scored(scores: Tensor, head: Any) -> Any:
    mask = torch.tensor([[True, True, True], [True, False, False]])
    return SimpleNamespace(scores=scores, marginals=head.marginals(scores, mask), sentences=SimpleNamespace(mask=mask))


@pytest.mark.parametrize("probabilities", ["marginals", "softmax"])
def test_a_student_that_equals_its_teacher_has_the_teacher_s_entropy_and_no_gradient(probabilities: Any) -> None:
    head = ConditionalRandomField(4).double()
    scores = (3 * torch.randn(2, 3, 4)).double().requires_grad_()
    view = scored(scores, head)
    taught = log_probabilities(view, probabilities).detach()
    loss = cross_entropy(taught, log_probabilities(view, probabilities), view.sentences.mask)
    (slopes,) = torch.autograd.grad(loss, scores)
    distribution = taught[view.sentences.mask].exp()
    assert loss.item() == pytest.approx(-(distribution * distribution.log()).sum(-1).mean().item())
    assert slopes.abs().max() < 1e-12


@pytest.mark.parametrize("probabilities", ["marginals", "softmax"])
def test_its_gradient_is_exact(probabilities: Any) -> None:
    head = ConditionalRandomField(3).double().requires_grad_(False)
    taught = torch.randn(2, 3, 3).double().log_softmax(-1)

    def loss(scores: Tensor) -> Tensor:
        view = scored(scores, head)
        return cross_entropy(taught, log_probabilities(view, probabilities), view.sentences.mask)

    assert torch.autograd.gradcheck(loss, (torch.randn(2, 3, 3).double().requires_grad_(),))


def test_a_tag_that_the_student_thinks_impossible_gives_a_number_and_a_slope() -> None:
    scores = torch.tensor([[[0.0, -500.0]] * 3] * 2, requires_grad=True)
    view = scored(scores, ConditionalRandomField(2).requires_grad_(False))
    loss = cross_entropy(torch.full((2, 3, 2), 0.5).log(), log_probabilities(view, "marginals"), view.sentences.mask)
    loss.backward()
    assert loss.isfinite()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()


# the objective


@pytest.mark.parametrize("probabilities", ["marginals", "softmax"])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_it_compares_teacher_and_learner_on_the_source(
    build: Callable[..., Tagger], news: Corpus, encoder: str, probabilities: Any
) -> None:
    tagger = build(encoder).eval()
    teacher = frozen_copy(tagger)
    tagger.scores.weight.data += 0.3
    view, taught = tagger.view(news[:4].sentences), teacher.view(news[:4].sentences)
    expected = cross_entropy(
        log_probabilities(taught, probabilities), log_probabilities(view, probabilities), view.sentences.mask
    )
    torch.testing.assert_close(Distillation(teacher, probabilities)(view, NO_TARGET), expected)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_teacher_gets_no_gradient_stays_in_eval_mode_and_stands_in_no_checkpoint(
    build: Callable[..., Tagger], news: Corpus, encoder: str
) -> None:
    tagger = build(encoder)
    distillation = Distillation(frozen_copy(tagger))
    step = TrainingStep(tagger, {"tag": Tagging(), "distil": distillation}).train()
    before = {name: value.clone() for name, value in distillation.teacher.state_dict().items()}
    step({"source": news[:4].sentences})["distil"].backward()
    assert not any(module.training for module in distillation.teacher.modules())
    assert all(weight.grad is None for weight in distillation.teacher.parameters())
    assert all(torch.equal(value, before[name]) for name, value in distillation.teacher.state_dict().items())
    assert not distillation.state_dict()
    own = {id(weight) for weight in distillation.teacher.parameters()}
    assert not any(id(weight) in own for group in parameter_groups(step) for weight in group)
    assert {name.split(".")[0] for name, weight in tagger.named_parameters() if weight.grad is not None} == {
        "encoder",
        "scores",
        "head",
    }


def test_a_frozen_copy_is_no_part_of_what_it_was_copied_from(build: Callable[..., Tagger], same_weights: Any) -> None:
    tagger = build().train()
    teacher = frozen_copy(tagger)
    assert same_weights(teacher, tagger)
    assert tagger.training
    assert all(weight.requires_grad for weight in tagger.parameters())
    tagger.scores.bias.data += 1
    assert not same_weights(teacher, tagger)


def test_a_teacher_that_could_be_moved_is_refused(build: Callable[..., Tagger]) -> None:
    with pytest.raises(ValueError, match="hand in frozen_copy"):
        Distillation(build())

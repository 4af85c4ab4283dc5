"""A loss whose gradient is handed over: the same number, and the same gradient as going back through the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from slow_noise import LONG, NOBODY, RADII, NaiveAdversarial, view_of
from torch import Tensor, nn

from acclimate.data.batches import Batches
from acclimate.data.corpus import Corpus
from acclimate.methods.objective import Objective, Tagging
from acclimate.methods.perturbation.adversarial import AdversarialTraining, precomputed_gradient
from acclimate.model.learner import View
from acclimate.model.tagger import Tagger
from acclimate.training.loop import build_engine
from acclimate.training.run import run_stages
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import LastUpdate, Stage


def toy() -> tuple[Tensor, list[nn.Parameter], list[Tensor | None]]:
    parameters = [nn.Parameter(torch.tensor([1.0, 2.0])), nn.Parameter(torch.tensor(3.0))]
    loss = parameters[0].square().sum() * 2
    return loss, parameters, [torch.tensor([4.0, 8.0]), None]


def test_it_is_the_same_number_with_the_gradient_that_was_handed_over() -> None:
    loss, parameters, gradients = toy()
    found = precomputed_gradient(loss, parameters, gradients)
    assert found.item() == loss.item() == 10
    found.backward()
    assert parameters[0].grad.tolist() == [4, 8]
    assert parameters[1].grad is None  # an optimizer must not move what has no part in the loss


def test_the_gradient_follows_what_is_done_with_the_number() -> None:
    loss, parameters, gradients = toy()
    (0.5 * precomputed_gradient(loss, parameters, gradients) ** 2).backward()
    assert parameters[0].grad.tolist() == [40, 80]


def test_gradients_add_up_over_several_losses() -> None:
    loss, parameters, gradients = toy()
    for _ in range(3):
        (precomputed_gradient(loss, parameters, gradients) + parameters[1] * 2).backward()
    assert parameters[0].grad.tolist() == [12, 24]
    assert parameters[1].grad.item() == 6


def test_nothing_is_left_in_the_parameters_before_the_backward_pass() -> None:
    loss, parameters, gradients = toy()
    precomputed_gradient(loss, parameters, gradients)
    assert parameters[0].grad is None
    assert gradients[0].tolist() == [4, 8]


def test_a_second_slope_is_refused_rather_than_wrong() -> None:
    loss, parameters, gradients = toy()
    (slope,) = torch.autograd.grad(
        precomputed_gradient(loss, parameters, gradients) ** 2, parameters[:1], create_graph=True
    )
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        slope.sum().backward()


# --- adversarial training against one graph for both losses ---

TAGGERS: dict[str, dict[str, Any]] = {
    "crf": {"head": "crf"},
    "softmax": {"head": "softmax"},
    "normalised": {"normalise": "weighted"},
    "private": {"private_width": 4},
    "bert": {"encoder": "bert", "head": "softmax"},
    "bert-crf": {"encoder": "bert", "head": "crf", "feed_forward": 5, "private_width": 3},
}


@pytest.fixture(scope="module", params=list(TAGGERS))
def tagger(request: pytest.FixtureRequest, build: Callable[..., Tagger]) -> Tagger:
    tagger = build(**TAGGERS[request.param]).double().eval()  # no dropout, or two passes could not be compared
    tagger.encoder.stand_alone()
    return tagger


def slopes(tagger: Tagger, *losses: Tensor) -> dict[str, Tensor | None]:
    tagger.zero_grad()
    for loss in losses:
        loss.backward()
    return {name: parameter.grad for name, parameter in tagger.named_parameters()}


def agree(one: dict[str, Tensor | None], other: dict[str, Tensor | None]) -> None:
    assert one.keys() == other.keys()
    for name, slope in other.items():
        assert (one[name] is None) == (slope is None), name
        if slope is not None:
            torch.testing.assert_close(one[name], slope, msg=lambda told, name=name: f"{name}: {told}")


def pair(weight: float = 0.6) -> tuple[AdversarialTraining, NaiveAdversarial]:
    return AdversarialTraining(Tagging(), {"source": RADII}, weight=weight), NaiveAdversarial(Tagging(), RADII, weight)


@pytest.mark.parametrize("weight", [0.6, 1.0, 0.0])
def test_value_and_gradients_equal_those_of_one_graph(tagger: Tagger, news: Corpus, weight: float) -> None:
    quick, naive = pair(weight)
    text = (*news[:4], LONG)
    mine, theirs = quick(view_of(tagger, *text), NOBODY), naive(view_of(tagger, *text), NOBODY)
    torch.testing.assert_close(mine, theirs)
    found, expected = slopes(tagger, mine), slopes(tagger, theirs)
    if weight:  # a loss of weight 0 leaves zeros where none would do
        agree(found, expected)
    else:
        clean = slopes(tagger, Tagging()(view_of(tagger, *text), NOBODY))
        agree(
            {n: g for n, g in found.items() if clean[n] is not None}, {n: g for n, g in clean.items() if g is not None}
        )


def test_gradients_of_several_batches_add_up(tagger: Tagger, news: Corpus) -> None:
    quick, naive = pair()
    found = slopes(tagger, *(0.5 * quick(view_of(tagger, *part), NOBODY) for part in (news[:3], news[3:6])))
    expected = slopes(tagger, *(0.5 * naive(view_of(tagger, *part), NOBODY) for part in (news[:3], news[3:6])))
    agree(found, expected)


def test_no_gradient_is_left_behind_by_the_search_for_the_noise(tagger: Tagger, news: Corpus) -> None:
    tagger.zero_grad()
    pair()[0](view_of(tagger, *news[:3]), NOBODY)
    assert all(parameter.grad is None for parameter in tagger.parameters())


class Guess(Objective):
    """Reads the same features as the tagger, with a layer of its own, as a discriminator does."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layer = nn.Linear(width, 1)

    def forward(self, source: View, target: View) -> Tensor:
        guess: Tensor = self.layer(source.features).sigmoid().mean()
        return guess


class Mixed(Objective):
    """A task with parameters of its own."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.guess, self.tagging = Guess(width), Tagging()

    def forward(self, source: View, target: View) -> Tensor:
        loss: Tensor = self.tagging(source, target) + 0.3 * self.guess(source, target)
        return loss


@pytest.mark.parametrize("before", [True, False])
def test_another_objective_on_the_same_view_keeps_its_gradient(tagger: Tagger, news: Corpus, before: bool) -> None:
    guess = Guess(tagger.encoder.width).double()
    found = []
    for adversarial in pair():
        view = view_of(tagger, *news[:4])
        terms = [lambda v: 0.7 * guess(v, NOBODY), lambda v, a=adversarial: 2 * a(v, NOBODY)]
        guess.zero_grad()
        losses = [term(view) for term in (terms if before else terms[::-1])]
        found.append(slopes(tagger, sum(losses)) | {f"guess.{n}": p.grad for n, p in guess.named_parameters()})
    agree(*found)


def test_a_task_s_own_parameters_learn_as_well(tagger: Tagger, news: Corpus) -> None:
    task, found = Mixed(tagger.encoder.width).double(), []
    for adversarial in (AdversarialTraining(task, {"source": RADII}), NaiveAdversarial(task, RADII, 1.0)):
        task.zero_grad()
        slope = slopes(tagger, adversarial(view_of(tagger, *news[:4]), NOBODY))
        found.append(slope | {f"task.{name}": parameter.grad for name, parameter in task.named_parameters()})
    agree(*found)


def stages(tagger: Tagger, news: Corpus, adversarial: Objective) -> Iterator[Stage]:
    settings = TrainingSettings(
        updates=4, accumulate=2, optimizer="sgd", learning_rate=0.5, clip=None, warm_up=0, device="cpu"
    )
    objectives = {"tag": adversarial, "guess": Guess(tagger.encoder.width)}
    yield Stage("only", objectives, Batches({"source": news}, 60), settings, {"tag": 0.8, "guess": lambda n: 0.1 * n})


@pytest.mark.parametrize("head", ["crf", "softmax"])
def test_a_whole_stage_ends_where_the_naive_one_ends(build: Callable[..., Tagger], news: Corpus, head: str) -> None:
    ends = []
    for adversarial in pair():
        tagger = build(head=head, dropout=0.0, forget_rare=0.0, normalise="weighted")
        tagger.encoder.stand_alone()
        run_stages(tagger, stages(tagger, news, adversarial), build_engine(TrainingSettings(), tagger), LastUpdate(), 1)
        ends.append(tagger.state_dict())
    begun = build(head=head, normalise="weighted").state_dict()
    for name, value in ends[0].items():
        torch.testing.assert_close(value, ends[1][name], rtol=1e-4, atol=1e-6)
    assert not torch.allclose(ends[0]["scores.weight"], begun["scores.weight"], atol=1e-3)

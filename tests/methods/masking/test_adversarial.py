"""The adversary: its gradient goes where it should, its reward is signed, and it learns to be hard."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AutoModelForMaskedLM, AutoTokenizer

from acclimate.data.batches import TARGET, Batches
from acclimate.data.corpus import Corpus
from acclimate.methods.masked_words import Budget, MaskedWords, PolicyLoss
from acclimate.methods.masking.adversarial import Adversarial
from acclimate.methods.masking.masked_batch import Corruption, MaskedBatch, pose
from acclimate.methods.masking.policy import Mixture, Policy
from acclimate.methods.masking.subset_distribution import SubsetDistribution
from acclimate.model.language_model import MaskedLanguageModel
from acclimate.training.loop import build_engine
from acclimate.training.run import run_stages
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import LastUpdate, Stage

ESTIMATORS = ["score", "gumbel-path"]


@pytest.fixture
def reader(bert: str) -> MaskedLanguageModel:
    torch.manual_seed(0)
    return MaskedLanguageModel(AutoModelForMaskedLM.from_pretrained(bert), AutoTokenizer.from_pretrained(bert))


def adversary(reader: MaskedLanguageModel, **options: Any) -> Adversarial:
    torch.manual_seed(1)
    return Adversarial(reader.encoder.width, inner=8, **{"beta": 1.0, "dropout": 0.0, **options})


def objective(reader: MaskedLanguageModel, policy: Policy, budget: Budget | None = None) -> MaskedWords:
    tokenizer = reader.encoder.pieces.tokenizer
    corruption = Corruption(tokenizer.mask_token_id, torch.arange(5, len(tokenizer)))
    return MaskedWords(policy, corruption, tuple(tokenizer.all_special_ids), budget or Budget(0.3))


def slopes(module: torch.nn.Module) -> list[bool]:
    return [weight.grad is not None and bool(weight.grad.any()) for weight in module.parameters()]


@pytest.mark.parametrize("by_words", [False, True])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_each_loss_reaches_its_own_weights_and_no_others(
    reader: MaskedLanguageModel, news: Corpus, estimator: str, by_words: bool
) -> None:
    policy = adversary(reader, estimator=estimator)
    mlm, view = objective(reader, policy, Budget(0.3, by_words)), reader.view(news[:6])
    loss = mlm(view, view)
    lesson = PolicyLoss(policy)(view, view)
    loss.backward()
    assert not any(slopes(policy))
    assert all(slopes(reader.mlm_head))
    reader.zero_grad()
    lesson.backward()
    assert not any(weight.grad is not None for weight in reader.parameters())
    assert any(slopes(policy))


@pytest.mark.parametrize(("options", "moves"), [({"beta": 0.0}, False), ({"beta": 1.0}, True)])
def test_the_optimizer_moves_it_only_when_the_coin_says_so(
    reader: MaskedLanguageModel, news: Corpus, options: dict[str, float], moves: bool
) -> None:
    policy = adversary(reader, **options)
    before = [weight.clone() for weight in policy.parameters()]
    train(reader, news, policy, {})
    assert any(not torch.equal(*pair) for pair in zip(before, policy.parameters(), strict=True)) == moves


def test_its_own_step_leaves_the_language_model_bit_identical(reader: MaskedLanguageModel, news: Corpus) -> None:
    before = {name: weight.clone() for name, weight in reader.named_parameters()}
    policy = adversary(reader)
    was = policy.generator.layers[0].weight.clone()
    train(reader, news, policy, {"masked_words": 0.0})
    assert all(torch.equal(before[name], weight) for name, weight in reader.named_parameters())
    assert not torch.equal(was, policy.generator.layers[0].weight)


def train(
    reader: MaskedLanguageModel, news: Corpus, policy: Policy, weights: dict[str, float], **training: Any
) -> None:
    settings = TrainingSettings.model_validate({"updates": 3, "device": "cpu", "learning_rate": 1e-2, **training})
    objectives = {"masked_words": objective(reader, policy), "policy": PolicyLoss(policy)}
    stage = Stage("tune", objectives, Batches({TARGET: news}, 60), settings, weights=weights)
    run_stages(reader, [stage], build_engine(settings, reader), LastUpdate(), seed=1)


def test_a_mixture_learns_from_its_own_rows_alone(reader: MaskedLanguageModel, news: Corpus) -> None:
    inner = adversary(reader)
    policy = Mixture(inner)
    mlm, view = objective(reader, policy), reader.view(news[:12])
    mlm(view, view)
    rows = sum(by == "adversarial" for by in policy.chosen_by(12))
    assert 0 < rows < 12
    ((_, _, losses),) = inner._draws
    assert len(losses) == rows


def small_puzzle(rows: int, places: int) -> MaskedBatch:
    return pose(torch.ones(rows, places, dtype=torch.long), torch.tensor([0]), 0.4)


class Bandit(Adversarial):
    """Scores that do not depend on any text."""

    def __init__(self, places: int, **options: Any) -> None:
        super().__init__(4, beta=1.0, **options)
        self.scores = torch.nn.Parameter(torch.zeros(places))

    def forward(self, batch: MaskedBatch) -> Tensor:
        chosen, log_probability = self._draw(batch, self.scores.expand(batch.pieces.shape), learns=True)
        self._drawn = batch.sizes > 0, log_probability
        return chosen.float()


def test_the_gradient_is_the_advantage_times_chosen_less_marginal() -> None:
    bandit, batch = Bandit(5), small_puzzle(6, 5)
    chosen = bandit(batch)
    losses = torch.tensor([1.0, 3.0, 2.0, 5.0, 4.0, 2.0])
    bandit.reward(losses)
    lesson = bandit.loss()
    assert lesson is not None
    lesson.backward()
    advantages = (losses - losses.mean()) / losses.std()
    expected = -(advantages.unsqueeze(1) * (chosen - 2 / 5)).mean(0)
    torch.testing.assert_close(bandit.scores.grad, expected, rtol=1e-4, atol=1e-5)


def test_easy_puzzles_are_made_less_likely_not_more() -> None:
    """The released code takes the absolute value of the advantage: both would be reinforced."""
    bandit, batch = Bandit(5), small_puzzle(2, 5)
    bandit(batch)
    chosen = torch.tensor([[True, True, False, False, False], [False, False, False, True, True]])
    distribution = SubsetDistribution(bandit.scores.expand(2, 5), batch.allowed, batch.sizes, batch.most)
    bandit._drawn = batch.sizes > 0, distribution.log_probability(chosen)
    bandit.reward(torch.tensor([0.0, 1.0]))
    lesson = bandit.loss()
    assert lesson is not None
    lesson.backward()
    assert bandit.scores.grad is not None
    down, up = bandit.scores.grad[:2], bandit.scores.grad[3:]  # gradient descent moves against these
    assert (down > 0).all()
    assert (up < 0).all()


def test_on_a_bandit_the_rewarded_place_comes_to_be_chosen() -> None:
    bandit, batch = Bandit(6), small_puzzle(64, 6)
    optimizer = torch.optim.Adam([bandit.scores], lr=0.05)
    probabilities = []
    for _ in range(60):
        chosen = bandit(batch)
        probabilities.append(float(chosen[:, 0].mean()))
        bandit.reward(chosen[:, 0])
        lesson = bandit.loss()
        assert lesson is not None
        optimizer.zero_grad()
        lesson.backward()
        optimizer.step()
    early, middle, late = (sum(probabilities[start : start + 20]) for start in (0, 20, 40))
    assert early < middle < late
    assert late / 20 > 0.9


def test_a_row_alone_is_held_against_what_was_usual() -> None:
    bandit, batch = Bandit(5), small_puzzle(1, 5)
    for loss, sign in ((2.0, 0.0), (4.0, 1.0), (0.1, -1.0)):  # the first is all that is known
        chosen = bandit(batch)
        bandit.reward(torch.tensor([loss]))
        lesson = bandit.loss()
        assert lesson is not None
        (slope,) = torch.autograd.grad(lesson, bandit.scores)
        assert (torch.sign(-slope[chosen[0].bool()]) == sign).all()
    assert 1 < bandit.usual[0] / bandit.usual[1] < 4


def test_several_samples_are_learnt_from_together(reader: MaskedLanguageModel, news: Corpus) -> None:
    policy = adversary(reader)
    mlm, view = objective(reader, policy, Budget(0.3, samples=3)), reader.view(news[:4])
    mlm(view, view)
    assert [len(losses) for *_, losses in policy._draws] == [4, 4, 4]
    assert policy.loss() is not None
    assert policy._draws == []


def test_it_does_not_learn_while_it_is_only_looked_at(reader: MaskedLanguageModel, news: Corpus) -> None:
    policy = adversary(reader).eval()
    mlm, view = objective(reader, policy).eval(), reader.view(news[:4])
    mlm(view, view)
    assert policy.loss() is None


def test_the_papers_boundary_prefers_early_places() -> None:
    batch = small_puzzle(4_000, 6)
    fair, early = (Bandit(6, paper_boundary=paper)(batch).mean(0) for paper in (False, True))
    assert fair == pytest.approx(torch.full((6,), 1 / 3), abs=0.04)
    assert early[0] > early[5] + 0.1


def test_a_draw_is_of_the_size_that_the_puzzle_asks_for() -> None:
    for estimator in ESTIMATORS:
        bandit = Bandit(7, estimator=estimator)
        assert (bandit(small_puzzle(50, 7)).sum(1) == 3).all()


def test_a_row_with_nothing_to_hide_is_no_puzzle() -> None:
    bandit = Bandit(5)
    losses, posed = torch.tensor([5.0, 6.0, 7.0, 0.0]), torch.tensor([True, True, True, False])
    found = bandit._advantages(losses, posed)
    torch.testing.assert_close(found, torch.tensor([-1.0, 0.0, 1.0, 0.0]), rtol=0, atol=1e-4)
    assert float(bandit.usual[0] / bandit.usual[1]) == pytest.approx(6.0)


def test_the_players_do_not_meet_in_the_clip_either(bert: str, news: Corpus) -> None:
    """The language model moves as far, to the bit, whether or not the adversary learns beside it."""
    moved = []
    for weight in (1.0, 0.0):
        torch.manual_seed(0)
        reader = MaskedLanguageModel(
            AutoModelForMaskedLM.from_pretrained(bert), AutoTokenizer.from_pretrained(bert)
        ).eval()
        train(reader, news, adversary(reader), {"policy": weight}, updates=1, clip=0.1)
        moved.append({name: value.clone() for name, value in reader.named_parameters()})
    assert all(torch.equal(value, moved[1][name]) for name, value in moved[0].items())


@pytest.mark.parametrize("accumulate", [1, 4])
def test_the_coin_is_tossed_once_an_update(reader: MaskedLanguageModel, news: Corpus, accumulate: int) -> None:
    policy = adversary(reader, beta=0.3)
    learnt: list[int] = []
    policy.generator.layers[0].weight.register_hook(lambda slope: learnt.append(1))
    train(reader, news, policy, {}, updates=60, accumulate=accumulate)
    assert len(learnt) % accumulate == 0
    assert 0.15 * 60 < len(learnt) / accumulate < 0.45 * 60


def test_the_coin_depends_on_the_number_of_the_update_alone(reader: MaskedLanguageModel) -> None:
    tossed = []
    for _ in range(2):
        policy = adversary(reader, beta=0.5)
        torch.manual_seed(len(tossed))
        row = []
        for update in range(40):
            policy.before_update(update)
            row.append(policy._learns)
        tossed.append(row)
    assert tossed[0] == tossed[1]
    assert 10 < sum(map(bool, tossed[0])) < 30


def test_draws_do_not_pile_up_when_nobody_asks_for_the_lesson(reader: MaskedLanguageModel, news: Corpus) -> None:
    policy = adversary(reader)
    mlm, view = objective(reader, policy), reader.view(news[:4])
    for update in range(5):
        mlm.before_update(update)
        mlm(view, view)
    assert len(policy._draws) == 1

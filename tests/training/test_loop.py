"""The loop: one update at a time, its gradients summed, clipped and shrunk as the settings say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from acclimate.data.batches import Batches
from acclimate.data.corpus import Corpus
from acclimate.methods.objective import Objective, Tagging
from acclimate.methods.perturbation.adversarial import AdversarialTraining
from acclimate.model.learner import View
from acclimate.model.siblings import Siblings
from acclimate.model.tagger import Tagger
from acclimate.training.loop import Progress, Training, build_engine, build_optimizer
from acclimate.training.settings import TrainingSettings, completed, default_learning_rate
from acclimate.training.stage import Stage, TrainingStep

PLAIN = {"optimizer": "sgd", "momentum": 0.0, "weight_decay": 0.0, "decay": "none", "warm_up": 0, "clip": None}
"""One update then moves each weight by the learning rate times its gradient, and by nothing else."""


class Pull(Objective):
    """Pulls its own number to zero, and counts what happens to it."""

    def __init__(self) -> None:
        super().__init__()
        self.own = nn.Parameter(torch.ones(()))
        self.updates = 0

    def forward(self, source: View, target: View) -> Tensor:
        return self.own.square()

    def after_update(self, tagger: Tagger) -> None:
        self.updates += 1


@pytest.fixture
def still(build: Callable[..., Tagger]) -> Callable[[], Tagger]:
    """Builds taggers without any dropout."""
    return lambda: build(dropout=0.0, forget_rare=0.0)


def stage_of(
    corpus: Corpus, objectives: dict[str, Objective] | None = None, weights: Any = None, **settings: Any
) -> Stage:
    training = TrainingSettings(**({"words_per_batch": 60, "learning_rate": 0.1} | settings))
    batches = Batches({"source": corpus}, training.words_per_batch, seed=5)
    return Stage("only", objectives or {"tag": Tagging()}, batches, training, weights or {})


def run(tagger: Tagger, stage: Stage) -> list[Progress]:
    return list(Training(tagger, stage, build_engine(stage.settings, tagger)))


def gradients(tagger: Tagger, stage: Stage, number: int) -> list[Tensor]:
    loss = TrainingStep(tagger, stage.objectives)(stage.batches.batch(number))["tag"]
    return list(torch.autograd.grad(loss, [weight for weight in tagger.parameters() if weight.requires_grad]))


def moved(tagger: Tagger, before: dict[str, Tensor]) -> list[Tensor]:
    return [before[name] - weight.detach() for name, weight in tagger.named_parameters() if weight.requires_grad]


def state(tagger: Tagger) -> dict[str, Tensor]:
    return {name: weight.detach().clone() for name, weight in tagger.named_parameters()}


@pytest.mark.parametrize("encoder", ["character-cnn-lstm", "bert"])
@pytest.mark.parametrize("head", ["crf", "softmax"])
def test_the_loss_falls(build: Callable[..., Tagger], news: Corpus, encoder: str, head: str) -> None:
    tagger = build(encoder, head=head, dropout=0.0)
    rate = 0.01 if encoder == "bert" else 0.05
    losses = [float(p.losses["tag"]) for p in run(tagger, stage_of(news, updates=40, learning_rate=rate))]
    assert sum(losses[-5:]) < 0.5 * sum(losses[:5])


def test_an_update_is_the_gradient_times_the_rate(still: Callable[[], Tagger], news: Corpus) -> None:
    tagger, stage = still(), stage_of(news, updates=1, **PLAIN)
    slopes, before = gradients(tagger, stage, 0), state(tagger)
    run(tagger, stage)
    torch.testing.assert_close(moved(tagger, before), [0.1 * slope for slope in slopes])


def test_gathering_two_batches_is_one_update_with_the_mean_of_their_gradients(
    still: Callable[[], Tagger], news: Corpus
) -> None:
    tagger, stage = still(), stage_of(news, updates=1, accumulate=2, **PLAIN)
    both, before = [gradients(tagger, stage, number) for number in (0, 1)], state(tagger)
    (progress,) = run(tagger, stage)
    expected = [0.1 * (one + other) / 2 for one, other in zip(*both, strict=True)]
    torch.testing.assert_close(moved(tagger, before), expected)
    assert progress.words == sum(len(s) for number in (0, 1) for s in stage.batches.batch(number)["source"])


def test_the_loss_told_is_the_mean_over_the_batches_gathered(still: Callable[[], Tagger], news: Corpus) -> None:
    tagger, stage = still(), stage_of(news, updates=1, accumulate=2, **PLAIN)
    step = TrainingStep(tagger, stage.objectives)
    expected = torch.stack([step(stage.batches.batch(number))["tag"] for number in (0, 1)]).mean()
    (progress,) = run(tagger, stage)
    torch.testing.assert_close(progress.losses["tag"], expected.detach())


def test_later_updates_read_later_batches(still: Callable[[], Tagger], news: Corpus) -> None:
    stage = stage_of(news, updates=7, accumulate=2)
    expected = [sum(len(s) for n in (2 * u, 2 * u + 1) for s in stage.batches.batch(n)["source"]) for u in range(7)]
    assert [progress.words for progress in run(still(), stage)] == expected


def test_a_clipped_gradient_keeps_its_direction_and_has_the_given_length(
    still: Callable[[], Tagger], news: Corpus
) -> None:
    tagger, stage = still(), stage_of(news, updates=1, **(PLAIN | {"clip": 0.01}))
    slopes, before = gradients(tagger, stage, 0), state(tagger)
    length = torch.stack([slope.norm() for slope in slopes]).norm()
    assert length > 0.01
    run(tagger, stage)
    torch.testing.assert_close(moved(tagger, before), [0.1 * 0.01 / length * slope for slope in slopes])


def test_weight_decay_reaches_matrices_only(build: Callable[..., Tagger]) -> None:
    step = TrainingStep(build(train_vectors=False), {"pull": Pull()})
    shrunk, kept = build_optimizer(step, TrainingSettings(weight_decay=0.3), 0.1).param_groups
    names = {id(weight): name for name, weight in step.named_parameters()}
    named = [{names[id(weight)] for weight in group["params"]} for group in (shrunk, kept)]
    assert (shrunk["weight_decay"], kept["weight_decay"]) == (0.3, 0)
    assert named[0] | named[1] == {name for name, weight in step.named_parameters() if weight.requires_grad}
    assert all(name.endswith(("weight", "weight_ih_l0", "weight_hh_l0", "transitions")) for name in named[0])
    assert {"learner.encoder.word_table.special", "learner.scores.bias", "objectives.pull.own"} <= named[1]
    assert not named[0] & named[1]


@pytest.mark.parametrize(("optimizer", "decay"), [("adamw", 0.01), ("muon", 0.01), ("adam", 0.0), ("sgd", 0.0)])
def test_weights_decay_by_default_only_where_that_is_apart_from_the_gradient(optimizer: str, decay: float) -> None:
    settings = TrainingSettings.model_validate({"optimizer": optimizer})
    assert settings.shrinking == decay
    assert settings.model_copy(update={"weight_decay": 0.2}).shrinking == 0.2


@pytest.mark.parametrize("optimizer", ["adamw", "adam", "sgd", "muon"])
def test_what_is_frozen_does_not_move_and_the_rest_does(
    build: Callable[..., Tagger], news: Corpus, optimizer: str
) -> None:
    tagger = build(train_vectors=False)
    before = state(tagger)
    run(tagger, stage_of(news, updates=3, optimizer=optimizer))
    still = {name for name, weight in tagger.named_parameters() if torch.equal(weight, before[name])}
    # "unknown" and "hidden" may always learn, but no word here was either
    assert still == {"encoder.word_table.weight", "encoder.word_table.special"}


def rates_of(tagger: Tagger, **settings: Any) -> dict[str, set[float]]:
    """By the first part of a parameter's name: what multiple of the learning rate it learns at."""
    step = TrainingStep(tagger, {"pull": Pull()})
    names = {id(weight): name for name, weight in tagger.named_parameters()}
    found: dict[str, set[float]] = {}
    for group in build_optimizer(step, TrainingSettings(**settings), 0.1).param_groups:
        for weight in group["params"]:
            found.setdefault(names.get(id(weight), "objective").split(".")[0], set()).add(group["times"])
    return found


def test_heads_learn_faster_than_a_pre_trained_encoder(build: Callable[..., Tagger]) -> None:
    expected = {"encoder": {1.0}, "objective": {1.0}, "scores": {30.0}, "head": {100.0}}
    assert rates_of(build("bert")) == expected
    assert rates_of(build("bert"), head_rate=3, transition_rate=7) == expected | {"scores": {3.0}, "head": {7.0}}


def test_all_parts_of_an_lstm_tagger_learn_at_one_rate(build: Callable[..., Tagger]) -> None:
    assert set().union(*rates_of(build()).values()) == {1.0}
    assert rates_of(build(), transition_rate=5)["head"] == {5.0}


@pytest.mark.parametrize("optimizer", ["sgd", "muon"])
def test_optimizers_that_do_not_divide_by_the_size_of_the_gradient_have_one_rate(
    build: Callable[..., Tagger], optimizer: str
) -> None:
    step = TrainingStep(build("bert"), {"pull": Pull()})
    optimizer_of = build_optimizer(step, TrainingSettings.model_validate({"optimizer": optimizer}), 0.1)
    assert {group.get("times", 1.0) for group in optimizer_of.param_groups} == {1.0}


def test_taggers_that_share_an_encoder_each_have_a_fast_head(build: Callable[..., Tagger], news: Corpus) -> None:
    tagger = build("bert")
    learner = Siblings({"source": tagger, "target": tagger.sibling(news.labels, tagger.encoder)})
    step = TrainingStep(learner, {"pull": Pull()})
    names = {id(weight): name for name, weight in learner.named_parameters()}
    groups = build_optimizer(step, TrainingSettings(), 0.1).param_groups
    fast = {names[id(weight)] for group in groups if group["times"] == 100 for weight in group["params"]}
    assert fast == {"taggers.source.head.transitions", "taggers.target.head.transitions"}


def test_the_first_step_of_each_part_is_as_long_as_its_rate_says(build: Callable[..., Tagger], news: Corpus) -> None:
    tagger = build("bert", dropout=0.0)
    before = state(tagger)
    run(tagger, stage_of(news, updates=1, learning_rate=1e-4, warm_up=0, weight_decay=0, decay="none"))
    steps = {name: float((weight.detach() - before[name]).abs().max()) for name, weight in tagger.named_parameters()}
    # the first step of Adam is the learning rate, whatever the gradient is
    assert steps["head.transitions"] == pytest.approx(1e-2, rel=1e-2)
    assert steps["scores.weight"] == pytest.approx(3e-3, rel=1e-2)
    assert max(step for name, step in steps.items() if name.startswith("encoder")) == pytest.approx(1e-4, rel=1e-2)


def test_a_run_s_settings_tell_the_rates_of_its_heads(build: Callable[..., Tagger]) -> None:
    known = completed(TrainingSettings(), build("bert"))
    assert (known.head_rate, known.transition_rate) == (30, 100)
    assert completed(TrainingSettings(head_rate=2), build()).head_rate == 2


def test_a_term_of_weight_zero_is_left_out_altogether(still: Callable[[], Tagger], news: Corpus) -> None:
    pull, tagger = Pull(), still()
    weights = {"pull": lambda update: 1.0 if update == 0 else 0}
    stage = stage_of(news, {"tag": Tagging(), "pull": pull}, weights, updates=4, warm_up=0)
    places = [pull.own.item() for _ in Training(tagger, stage, build_engine(stage.settings, tagger))]
    assert 1 > places[0] == places[3]  # a gradient of zero would still have let AdamW glide on


def test_a_term_counts_with_its_weight_which_may_change_with_the_updates(
    still: Callable[[], Tagger], news: Corpus
) -> None:
    pull = Pull()
    stage = stage_of(news, {"tag": Tagging(), "pull": pull}, {"pull": lambda update: update / 4}, updates=2, **PLAIN)
    run(still(), stage)
    assert pull.own.item() == pytest.approx(1 - 0.1 * 0.25 * 2)  # nothing at update 0; a quarter of the slope 2 at 1


def test_objectives_hear_of_every_update_once(still: Callable[[], Tagger], news: Corpus) -> None:
    pull = Pull()
    run(still(), stage_of(news, {"tag": Tagging(), "pull": pull}, updates=5, accumulate=3))
    assert pull.updates == 5


def test_objectives_are_told_by_what_losses_are_scaled(still: Callable[[], Tagger], news: Corpus) -> None:
    inner = AdversarialTraining(Tagging(), {})
    objective = AdversarialTraining(inner, {})
    stage = stage_of(news, {"tag": objective}, clip=None, updates=2)
    tagger = still()
    engine = build_engine(stage.settings, tagger)
    assert engine.scaler is None
    engine.scaler = torch.amp.GradScaler("cpu", init_scale=512.0, growth_interval=1)  # as fp16 has it on a GPU
    scales = [(objective.loss_scale, inner.loss_scale) for _ in Training(tagger, stage, engine)]
    assert scales == [(512.0, 512.0), (1024.0, 1024.0)]


def test_the_rate_told_follows_the_schedule(still: Callable[[], Tagger], news: Corpus) -> None:
    stage = stage_of(news, updates=4, decay="linear", warm_up=0)
    assert [progress.learning_rate for progress in run(still(), stage)] == pytest.approx([0.1, 0.075, 0.05, 0.025])


def test_losses_told_do_not_hold_on_to_the_graph(still: Callable[[], Tagger], news: Corpus) -> None:
    assert not any(progress.losses["tag"].requires_grad for progress in run(still(), stage_of(news, updates=2)))


def test_a_pre_trained_encoder_is_moved_with_more_care(build: Callable[..., Tagger]) -> None:
    assert default_learning_rate(build("bert")) == 3e-4 < default_learning_rate(build()) == 3e-3


def test_a_large_pre_trained_encoder_is_moved_with_the_most_care(build: Callable[..., Tagger]) -> None:
    large = build("bert")
    large.encoder.state_width = 768
    assert default_learning_rate(large) == 5e-5


def test_whoever_iterates_may_simply_stop(still: Callable[[], Tagger], news: Corpus) -> None:
    stage = stage_of(news, updates=9)
    training = Training(tagger := still(), stage, build_engine(stage.settings, tagger))
    for progress in training:
        if progress.update == 2:
            break
    assert training.update == 2


def test_an_objective_without_its_domain_says_so(still: Callable[[], Tagger], news: Corpus) -> None:
    with pytest.raises(ValueError, match="needs target sentences"):
        run(still(), stage_of(news, {"believe": Tagging("target")}, updates=1))


def test_the_same_seed_gives_the_same_weights_bit_for_bit(build, news: Corpus, same_weights) -> None:
    taggers = []
    for _ in range(2):
        tagger = build()
        torch.manual_seed(4)
        run(tagger, stage_of(news, updates=8))
        taggers.append(tagger)
    assert same_weights(*taggers)

"""Schedules, by hand: functions of the update number and of nothing else."""

from __future__ import annotations

import pytest

from acclimate.training.settings import Decay, TrainingSettings, ganin_ramp


def rates(settings: TrainingSettings, updates: int, epoch_length: int) -> list[float]:
    assert settings.learning_rate is not None
    schedule = settings.schedule(updates, epoch_length)
    return [settings.learning_rate * schedule(update) for update in range(updates)]


def test_linear_decay_goes_down_in_equal_steps_and_never_reaches_zero_while_training() -> None:
    schedule = TrainingSettings(decay="linear", warm_up=0).schedule(4, 4)
    assert [schedule(update) for update in range(5)] == [1, 0.75, 0.5, 0.25, 0]


def test_cosine_decay_is_half_way_in_the_middle() -> None:
    schedule = TrainingSettings(decay="cosine", warm_up=0).schedule(10, 10)
    assert [schedule(0), schedule(5), schedule(10), schedule(99)] == pytest.approx([1, 0.5, 0, 0])


def test_ganin_s_ramp_rises_steeply_from_zero_and_stays_up() -> None:
    schedule = ganin_ramp(10)
    assert [schedule(0), schedule(1), schedule(10)] == pytest.approx([0, 0.4621171573, 0.9999092043])
    assert schedule(99) == schedule(10)


def test_datnet_s_rate_falls_once_per_epoch() -> None:
    settings = TrainingSettings(learning_rate=0.001, decay="inverse", decay_rate=0.05, warm_up=0)
    expected = [0.001 / (1 + 0.05 * (update // 3)) for update in range(9)]
    assert rates(settings, updates=9, epoch_length=3) == pytest.approx(expected)
    assert rates(settings, 9, 3)[6:] == pytest.approx([0.001 / 1.1] * 3)


def test_mat_s_rate_falls_once_per_epoch() -> None:
    settings = TrainingSettings(learning_rate=0.0006, decay="exponential", decay_rate=0.992, warm_up=0)
    found = rates(settings, updates=6, epoch_length=2)
    assert found == pytest.approx([0.0006, 0.0006, 0.0005952, 0.0005952, 0.0005904384, 0.0005904384])


@pytest.mark.parametrize(
    ("decay", "given", "expected"),
    [
        ("inverse", {}, [1, 1 / 1.05, 1 / 1.1]),
        ("exponential", {}, [1, 0.992, 0.992**2]),
        ("inverse", {"decay_rate": 1}, [1, 1 / 2, 1 / 3]),
        ("exponential", {"decay_rate": 0.5}, [1, 0.5, 0.25]),
        ("inverse", {"decay_rate": 0}, [1, 1, 1]),
        ("exponential", {"decay_rate": 0}, [1, 0, 0]),
    ],
)
def test_each_decay_has_its_papers_rate_unless_told(
    decay: Decay, given: dict[str, float], expected: list[float]
) -> None:
    settings = TrainingSettings(learning_rate=1, decay=decay, warm_up=0, **given)
    assert rates(settings, updates=3, epoch_length=1) == pytest.approx(expected)


def test_an_epoch_is_counted_in_updates_when_batches_are_gathered() -> None:
    settings = TrainingSettings(learning_rate=1, decay="inverse", decay_rate=1, warm_up=0, accumulate=2)
    assert rates(settings, updates=4, epoch_length=4) == pytest.approx([1, 1, 0.5, 0.5])


def test_the_rate_rises_first_and_then_follows_the_other_schedule_from_its_beginning() -> None:
    settings = TrainingSettings(learning_rate=1, decay="linear", warm_up=3)
    assert rates(settings, updates=7, epoch_length=7) == pytest.approx([0.25, 0.5, 0.75, 1, 0.75, 0.5, 0.25])


@pytest.mark.parametrize(("warm_up", "first_full"), [(0, 0), (0.1, 2), (0.5, 10), (5, 5)])
def test_warm_up_is_a_share_below_one_and_a_number_of_updates_above(warm_up: float, first_full: int) -> None:
    settings = TrainingSettings(learning_rate=1, decay="none", warm_up=warm_up)
    assert rates(settings, updates=20, epoch_length=20).index(1.0) == first_full


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"epochs": 3}, 30),
        ({"epochs": 0.5}, 5),
        ({"epochs": 0.001}, 1),
        ({"updates": 7}, 7),
        ({"epochs": 15, "accumulate": 4}, 38),
    ],
)
def test_epochs_become_updates(given: dict[str, float], expected: int) -> None:
    assert TrainingSettings(**given).updates_for(epoch_length=10) == expected


@pytest.mark.parametrize("updates", [1, 2, 3])
@pytest.mark.parametrize("decay", ["none", "linear", "cosine", "inverse", "exponential"])
def test_even_the_shortest_training_moves(updates: int, decay: str) -> None:
    settings = TrainingSettings(learning_rate=1, decay=decay, warm_up=0.05)
    assert all(rate > 0 for rate in rates(settings, updates, epoch_length=2))

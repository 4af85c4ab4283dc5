"""Checkpoints: everything the next update depends on, whole or passed over."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from acclimate.data.batches import Batches
from acclimate.data.corpus import Corpus
from acclimate.methods.objective import Tagging
from acclimate.model.storage import StorageError, verify
from acclimate.model.tagger import Tagger
from acclimate.training.loop import Training, build_engine
from acclimate.training.record import checkpoints, load_checkpoint, save_checkpoint
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Stage

NOTES = {"best_score": 0.5, "best_update": 2, "evaluations": [[1, 0.25], [2, 0.5]], "seconds": 1.5}


@pytest.fixture
def begin(build: Callable[..., Tagger], news: Corpus) -> Callable[..., Training]:
    def begun(**settings: Any) -> Training:
        training = TrainingSettings(**({"updates": 9, "device": "cpu"} | settings))
        tagger = build()
        return Training(
            tagger,
            Stage("only", {"tag": Tagging()}, Batches({"source": news}, 60), training),
            build_engine(training, tagger),
        )

    return begun


@pytest.fixture
def told() -> list[str]:
    """What a user hears."""
    return []


def walk(training: Training, updates: int) -> None:
    steps = iter(training)
    for _ in range(updates):
        next(steps)


def kept(training: Training) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in training.bare_step.learner.state_dict().items()}


@pytest.mark.parametrize("optimizer", ["adamw", "adam", "sgd", "muon"])
def test_a_restored_training_goes_on_as_if_nothing_had_happened(
    begin, tmp_path: Path, told: list[str], optimizer: str
) -> None:
    first = begin(optimizer=optimizer)
    walk(first, 3)
    best = kept(first)
    save_checkpoint(tmp_path, first, NOTES, best)
    walk(first, 4)
    second = begin(optimizer=optimizer)
    notes, found = load_checkpoint(tmp_path, second, told.append)
    assert second.update == 3
    assert notes == NOTES
    assert all(torch.equal(found[name], best[name]) for name in best)
    walk(second, 4)
    mine, theirs = kept(first), kept(second)
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_two_checkpoints_are_kept_and_the_newest_is_taken(begin, tmp_path: Path, told: list[str]) -> None:
    training = begin()
    for _ in range(4):
        walk(training, 1)
        save_checkpoint(tmp_path, training, NOTES, {})
    assert [place.name for place in checkpoints(tmp_path)] == ["checkpoint-000000003", "checkpoint-000000004"]
    load_checkpoint(tmp_path, fresh := begin(), told.append)
    assert fresh.update == 4


def test_a_flipped_bit_in_any_file_of_a_checkpoint_is_found_and_the_one_before_is_taken(
    begin, tmp_path: Path, told: list[str]
) -> None:
    training = begin()
    for _ in range(2):
        walk(training, 1)
        save_checkpoint(tmp_path, training, NOTES, kept(training))
    newest, dice = checkpoints(tmp_path)[-1], random.Random(0)
    files = sorted(newest.iterdir())
    assert len(files) == 6
    for path in files:
        whole = path.read_bytes()
        for place in (0, len(whole) - 1, dice.randrange(len(whole)), dice.randrange(len(whole))):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << dice.randrange(8)
            path.write_bytes(damaged)
            with pytest.raises(StorageError, match=path.name):
                verify(newest)
            assert load_checkpoint(tmp_path, fresh := begin(), told.append) is not None
            assert fresh.update == 1
            assert path.name in told[-1]
            assert "passed over" in told[-1]
        path.write_bytes(whole)


@pytest.mark.parametrize("lost", ["manifest.json", "state.json", "step.safetensors", "random.safetensors"])
def test_a_checkpoint_with_a_file_missing_is_passed_over(begin, tmp_path: Path, told: list[str], lost: str) -> None:
    training = begin()
    walk(training, 1)
    save_checkpoint(tmp_path, training, NOTES, {})
    (checkpoints(tmp_path)[0] / lost).unlink()
    assert load_checkpoint(tmp_path, begin(), told.append) is None
    assert lost in told[0]


def test_without_a_checkpoint_a_training_begins_at_the_beginning(begin, tmp_path: Path, told: list[str]) -> None:
    assert load_checkpoint(tmp_path / "nowhere", fresh := begin(), told.append) is None
    assert fresh.update == 0


def test_what_a_killed_write_left_behind_is_swept_away(begin, tmp_path: Path) -> None:
    for litter in (".checkpoint-000000007.abcd.part", ".finished.abcd.part"):
        (tmp_path / litter).mkdir()
    assert checkpoints(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_can_be_written_over_a_damaged_one_of_the_same_update(
    begin, tmp_path: Path, told: list[str]
) -> None:
    training = begin()
    walk(training, 2)
    save_checkpoint(tmp_path, training, NOTES, {})
    (checkpoints(tmp_path)[0] / "step.safetensors").write_bytes(b"")
    save_checkpoint(tmp_path, training, NOTES, {})
    assert load_checkpoint(tmp_path, begin(), told.append) is not None


def test_nothing_that_could_run_code_is_written(begin, tmp_path: Path) -> None:
    training = begin()
    walk(training, 1)
    save_checkpoint(tmp_path, training, NOTES, {})
    assert {path.suffix for path in checkpoints(tmp_path)[0].iterdir()} == {".json", ".safetensors"}

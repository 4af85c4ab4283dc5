"""Stop at any update, run again, and the weights are those of the unbroken run, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from acclimate.data.batches import Batches
from acclimate.data.corpus import Corpus
from acclimate.methods.objective import Objective, Tagging
from acclimate.model.learner import View
from acclimate.model.storage import read_json
from acclimate.model.tagger import Tagger
from acclimate.runs.train import adapt
from acclimate.training.loop import build_engine
from acclimate.training.run import Nobody, run_stages
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import LastUpdate, Stage
from interruptions import StopAt, Stopped

TRAINING = {"updates": 9, "words_per_batch": 60, "checkpoint_every": 2, "evaluate_every": 3, "learning_rate": 0.02}
# self-training then has 9 updates on the source, and two rounds of 4 more


@pytest.fixture(scope="module")
def learn(build: Callable[..., Tagger], news: Corpus, tweets: Corpus) -> Callable[..., Tagger]:
    """Self-training with dropout and forgetting on; gives the tagger back."""

    def learner(
        out: Path | None = None, watcher: Any = None, encoder: str = "character-cnn-lstm", **more: Any
    ) -> Tagger:
        tagger = build(encoder)
        if encoder == "character-cnn-lstm":
            assert tagger.encoder.rare_words
            assert min(tagger.encoder.settings.dropout, tagger.encoder.settings.forget_rare) > 0
        torch.manual_seed(torch.seed() % 2**32)  # whatever random numbers came before a run must not matter
        options = {"share": 0.5, "rounds": 2}
        given = {"select": more.pop("select", "last"), "training": TRAINING | more, "out": out, "watcher": watcher}
        adapt(tagger, news, tweets.unlabelled(), "self-training", **given, **options)
        return tagger

    return learner


@pytest.fixture(scope="module")
def unbroken(learn: Callable[..., Tagger]) -> Tagger:
    return learn()


def stopped(learn: Callable[..., Tagger], out: Path, *updates: int, **more: Any) -> None:
    for update in updates:
        with pytest.raises(Stopped):
            learn(out, StopAt(update), **more)


def test_saving_checkpoints_changes_nothing(learn, unbroken: Tagger, same_weights, tmp_path: Path) -> None:
    assert same_weights(learn(tmp_path), unbroken)


@pytest.mark.parametrize("update", [1, 2, 3, 5, 9, 10, 12, 14, 15, 16, 17])
def test_stopped_once_anywhere_the_weights_are_the_same(
    learn, unbroken: Tagger, same_weights, tmp_path: Path, update: int
) -> None:
    stopped(learn, tmp_path, update)
    assert same_weights(learn(tmp_path), unbroken)


def test_stopped_again_and_again_the_weights_are_the_same(
    learn, unbroken: Tagger, same_weights, tmp_path: Path
) -> None:
    stopped(learn, tmp_path, 3, 3, 2, 3, 3, 3)
    assert same_weights(learn(tmp_path), unbroken)


def test_a_finished_run_is_not_trained_again(learn, unbroken: Tagger, same_weights, tmp_path: Path) -> None:
    learn(tmp_path)
    assert same_weights(learn(tmp_path, StopAt(1)), unbroken)


def test_a_pre_trained_encoder_resumes_too(learn, same_weights, tmp_path: Path) -> None:
    stopped(learn, tmp_path, 4, 8, encoder="bert")
    assert same_weights(learn(tmp_path, encoder="bert"), learn(encoder="bert"))


def test_gathered_batches_resume_too(learn, same_weights, tmp_path: Path) -> None:
    stopped(learn, tmp_path, 5, accumulate=3)
    assert same_weights(learn(tmp_path, accumulate=3), learn(accumulate=3))


def test_the_best_state_so_far_is_not_forgotten(learn, same_weights, tmp_path: Path) -> None:
    more = {"select": "source-dev", "evaluate_every": 1}
    stopped(learn, tmp_path, 7, **more)
    assert same_weights(learn(tmp_path, **more), learn(**more))


def test_a_run_that_has_lost_patience_resumes_to_the_same_end(learn, same_weights, tmp_path: Path) -> None:
    more = {"select": "source-dev", "patience": 1, "evaluate_every": 5, "updates": 80, "learning_rate": 0.05}
    stopped(learn, tmp_path, 57, **more)
    assert same_weights(learn(tmp_path, **more), learn(**more))
    summary = tmp_path / "training" / "source-only" / "00-source" / "finished" / "summary.json"
    assert read_json(summary)["updates"] < 80


@pytest.mark.parametrize("name", ["step", "optimizer", "random", "best"])
@pytest.mark.filterwarnings("ignore:.*damaged")
def test_a_damaged_newest_checkpoint_is_passed_over_for_the_one_before(
    learn, unbroken: Tagger, same_weights, tmp_path: Path, name: str
) -> None:
    stopped(learn, tmp_path, 7)
    older, newest = sorted((tmp_path / "training" / "source-only" / "00-source").glob("checkpoint-*"))
    damage(newest / f"{name}.safetensors")
    begun: list[int] = []

    class Watcher(Nobody):
        def begin(self, stage: str, update: int, updates: int) -> None:
            begun.append(update)

    assert same_weights(learn(tmp_path, Watcher()), unbroken)
    assert begun[0] == int(older.name.partition("-")[2]) == 4


@pytest.mark.filterwarnings("ignore:.*damaged")
def test_a_damaged_finished_stage_is_trained_again(learn, unbroken: Tagger, same_weights, tmp_path: Path) -> None:
    stopped(learn, tmp_path, 16)
    damage(tmp_path / "training" / "self-training" / "00-round-1" / "finished" / "learner.safetensors")
    assert same_weights(learn(tmp_path), unbroken)


def test_a_finished_run_keeps_no_checkpoints_and_no_litter(learn, tmp_path: Path) -> None:
    stopped(learn, tmp_path, 7, 6)
    learn(tmp_path)
    names = {path.name for path in tmp_path.rglob("*")}
    assert not [name for name in names if name.startswith(("checkpoint", "."))]


def test_the_record_of_a_resumed_run_has_every_row_once(learn, tmp_path: Path) -> None:
    stopped(learn, tmp_path, 4, 7)
    learn(tmp_path)
    learn(tmp_path / "unbroken")
    rows = [
        [(r["stage"], r["kind"], r["update"], r.get("tag")) for r in records(place)]
        for place in (tmp_path, tmp_path / "unbroken")
    ]
    assert rows[0] == rows[1]


def records(out: Path) -> list[dict[str, Any]]:
    import json

    places = sorted((out / "training").glob("*/records.jsonl"))
    return [json.loads(line) for place in places for line in place.read_text().splitlines()]


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


class Guess(Objective):
    """A part of its own that begins at random, as a discriminator does."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layer = nn.Linear(width, 1)

    def forward(self, source: View, target: View) -> Tensor:
        guess: Tensor = self.layer(source.features).square().mean()
        return guess


def two_stages(tagger: Tagger, news: Corpus) -> Iterator[Stage]:
    training = TrainingSettings(**(TRAINING | {"updates": 5}))
    for name in ("one", "two"):
        objectives = {"tag": Tagging(), "guess": Guess(tagger.encoder.width)}
        yield Stage(name, objectives, Batches({"source": news}, 60), training)


@pytest.mark.parametrize("updates", [(1,), (3,), (6,), (8,), (6, 1)])
def test_an_objective_s_own_random_parts_begin_alike_in_a_resumed_run(
    build: Callable[..., Tagger], news: Corpus, same_weights, tmp_path: Path, updates: tuple[int, ...]
) -> None:
    def learn(folder: Path | None = None, watcher: Any = None) -> Tagger:
        tagger = build()
        torch.manual_seed(torch.seed() % 2**32)
        engine = build_engine(TrainingSettings(), tagger)
        run_stages(tagger, two_stages(tagger, news), engine, LastUpdate(), 1, folder, watcher)
        return tagger

    stopped(learn, tmp_path, *updates)
    assert same_weights(learn(tmp_path), learn())

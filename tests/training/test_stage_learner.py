"""Stages that train more than the tagger, and write down what they watch: kept, resumed and rewound like all else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from acclimate.data.batches import Batches
from acclimate.data.corpus import Corpus
from acclimate.methods.objective import Objective, Tagging, TaggingOfAll
from acclimate.methods.perturbation.adversarial import AdversarialTraining
from acclimate.methods.perturbation.virtual_adversarial import VirtualAdversarialTraining
from acclimate.methods.perturbation.word_changes import WordChanges
from acclimate.model.learner import Learner
from acclimate.model.siblings import Siblings
from acclimate.model.tagger import Tagger
from acclimate.training.loop import build_engine
from acclimate.training.record import Record
from acclimate.training.run import run_stages
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import LastUpdate, Stage
from interruptions import StopAt, Stopped

Build = Callable[..., Tagger]
SETTINGS = {"updates": 7, "checkpoint_every": 2, "evaluate_every": 2, "learning_rate": 0.02, "device": "cpu"}
RADII = {"words": 0.4, "characters": 0.2, "pieces": 0.3}


class Scripted:
    """A selector that gives the scores it was told to give."""

    name, is_blind, lowest = "a script", False, 0.0

    def __init__(self, *scores: float) -> None:
        self.scores, self.asked = list(scores), []

    def __call__(self, learner: Learner) -> float:
        self.asked.append(learner)
        return self.scores[len(self.asked) - 1]

    def describe(self, score: float) -> str:
        return f"score {score}"


def total_of(learner: torch.nn.Module) -> float:
    return sum(weight.detach().double().sum().item() for weight in learner.parameters())


class Weight:
    """Watches one number, and which learner it was shown."""

    kind = "weight"

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __call__(self, learner: Any) -> dict[str, Any]:
        self.seen.append(learner)
        return {"value": total_of(learner)}


class Count(Weight):
    kind = "count"

    def __call__(self, learner: Any) -> dict[str, Any]:
        return {"parameters": len(list(learner.parameters())), "names": ["a", "b"]}


def engine_for(tagger: Tagger) -> Any:
    return build_engine(TrainingSettings(device="cpu"), tagger)


def siblings_stage(target: Tagger, news: Corpus, tweets: Corpus, **given: Any) -> Iterator[Stage]:
    """Two domains, adversarial training with a changed word now and then; the tagger is the target's."""
    target.split()
    source = target.sibling(news.labels, target.encoder.sibling(news))
    learner = Siblings({"target": target, "source": source})
    changes = WordChanges(sorted(tweets.vocabulary), rate=0.5, hide=0.5)
    objectives: dict[str, Objective] = {
        "tag": AdversarialTraining(TaggingOfAll(), {"source": RADII, "target": RADII}, changes=changes),
        "virtual": VirtualAdversarialTraining(domains=["target"]),
    }
    batches = Batches({"source": news, "target": tweets}, 40)
    settings = TrainingSettings(**SETTINGS | given.pop("settings", {}))
    yield Stage("both", objectives, batches, settings, learner=learner, **given)


@pytest.fixture(scope="module")
def learn(build: Build, news: Corpus, tweets: Corpus) -> Callable[..., Siblings]:
    """Trains the siblings and gives them back."""

    def learner(
        folder: Path | None = None,
        watcher: Any = None,
        encoder: str = "character-cnn-lstm",
        selector: Any = None,
        **given: Any,
    ) -> Siblings:
        tagger = build(encoder, text=tweets) if encoder != "bert" else build(encoder)
        record = given.pop("record", None)
        torch.manual_seed(torch.seed() % 2**32)  # whatever random numbers came before a run must not matter
        found = []

        def remembered() -> Iterator[Stage]:
            for stage in siblings_stage(tagger, news, tweets, **given):
                found.append(stage.learner)
                yield stage

        run_stages(tagger, remembered(), engine_for(tagger), selector or LastUpdate(), 1, folder, watcher, record)
        (both,) = found
        assert both["target"] is tagger
        return both

    return learner


def stopped(learn: Callable[..., Siblings], folder: Path, *updates: int, **more: Any) -> None:
    for update in updates:
        with pytest.raises(Stopped):
            learn(folder, StopAt(update), **more)


# --- more than the tagger ---


def test_everything_in_the_learner_is_trained(learn, build: Build, news: Corpus, tweets: Corpus) -> None:
    torch.manual_seed(1_000)  # as the run seeds its first stage
    tagger = build(text=tweets)
    torch.manual_seed(1_000)
    (before,) = siblings_stage(tagger, news, tweets)
    begun = before.learner.state_dict()
    after = dict(learn().named_parameters())
    still = [name for name in after if name in begun and torch.equal(after[name], begun[name])]
    assert [name for name in still if not name.endswith("key.bias")] == []


def test_words_are_shared_again_in_all_encoders_at_the_end(learn) -> None:
    assert all(tagger.encoder.share_characters for tagger in learn())


@pytest.mark.parametrize("updates", [(1,), (2,), (5,), (7,), (3, 3)])
def test_stopped_anywhere_it_ends_with_the_same_weights(learn, same_weights, tmp_path: Path, updates) -> None:
    stopped(learn, tmp_path, *updates)
    assert same_weights(learn(tmp_path), learn())


def test_a_shared_transformer_resumes_too(learn, same_weights, tmp_path: Path) -> None:
    stopped(learn, tmp_path, 5, encoder="bert")
    assert same_weights(learn(tmp_path, encoder="bert"), learn(encoder="bert"))


def test_a_finished_stage_is_read_back_into_the_whole_learner(learn, same_weights, tmp_path: Path) -> None:
    first = learn(tmp_path)
    assert same_weights(learn(tmp_path, StopAt(1)), first)


def test_the_best_state_is_put_back_in_all_parts(learn) -> None:
    states: list[dict[str, torch.Tensor]] = []

    class Snap(Weight):
        def __call__(self, learner: Any) -> dict[str, Any]:
            states.append({name: value.clone() for name, value in learner.state_dict().items()})
            return {}

    kept = learn(selector=Scripted(0.1, 0.9, 0.2, 0.3), watches=(Snap(),)).state_dict()
    assert all(torch.equal(value, states[1][name]) for name, value in kept.items())
    assert not any(torch.equal(kept[name], states[3][name]) for name in kept if name.endswith("scores.weight"))


def test_the_run_s_selector_is_asked_about_the_tagger_alone(learn) -> None:
    selector = Scripted(*range(9))
    both = learn(selector=selector)
    assert selector.asked == [both["target"]] * 4


# --- what is watched ---


def run_watched(build: Build, news: Corpus, record: Record, *watches: Any, **more: Any) -> Tagger:
    tagger = build()
    settings = TrainingSettings(**SETTINGS | more.pop("settings", {}))
    batches = Batches({"source": news}, 60)
    stage = Stage("only", {"tag": Tagging()}, batches, settings, watches=watches, selector=more.pop("selector", None))
    run_stages(tagger, [stage], engine_for(tagger), LastUpdate(), 1, record=record, **more)
    return tagger


def rows_of(record: Record, *kinds: str) -> list[tuple[str, int]]:
    return [(row["kind"], row["update"]) for row in record.rows if row["kind"] in kinds]


def test_watches_are_written_down_at_every_look(build: Build, news: Corpus) -> None:
    record = Record()
    tagger = run_watched(build, news, record, Weight(), Count())
    assert rows_of(record, "evaluation") == [("evaluation", update) for update in (2, 4, 6, 7)]
    assert rows_of(record, "weight") == [("weight", update) for update in (2, 4, 6, 7)]
    assert rows_of(record, "count") == [("count", update) for update in (2, 4, 6, 7)]
    values = [row["value"] for row in record.rows if row["kind"] == "weight"]
    assert len(set(values)) == 4
    assert values[-1] == total_of(tagger)
    assert next(row for row in record.rows if row["kind"] == "count")["names"] == ["a", "b"]


def test_the_look_before_the_first_update_is_one_of_them(build: Build, news: Corpus) -> None:
    record = Record()
    run_watched(build, news, record, Weight(), selector=Scripted(0.5, 0.1, 0.1, 0.1, 0.1))
    assert rows_of(record, "evaluation", "weight")[:2] == [("evaluation", 0), ("weight", 0)]
    assert len(rows_of(record, "weight")) == 5


def test_a_run_that_loses_patience_has_written_down_its_last_look(build: Build, news: Corpus) -> None:
    record = Record()
    script = Scripted(0.5, 0.4, 0.3, 0.2)
    run_watched(build, news, record, Weight(), selector=script, settings={"patience": 1})
    assert rows_of(record, "weight") == [("weight", 0), ("weight", 2)]


def test_a_watch_is_shown_the_whole_learner(learn) -> None:
    watch = Weight()
    both = learn(watches=(watch,))
    assert watch.seen == [both] * 4


def test_watching_changes_nothing_in_the_result(learn, same_weights) -> None:
    assert same_weights(learn(watches=(Weight(), Count())), learn())


@pytest.mark.parametrize("updates", [(1,), (3,), (5,), (6, 1)])
def test_what_was_watched_is_rewound_when_the_stage_is_resumed(learn, tmp_path: Path, updates) -> None:
    def rows(folder: Path) -> list[dict[str, Any]]:
        lines = (folder / "records.jsonl").read_text().splitlines()
        found = [json.loads(line) for line in lines]
        return [{key: value for key, value in row.items() if key != "time"} for row in found]

    def run(folder: Path, watcher: Any = None) -> None:
        learn(folder, watcher, watches=(Weight(), Count()), record=Record(folder))

    stopped(run, tmp_path / "broken", *updates)
    run(tmp_path / "broken")
    run(tmp_path / "unbroken")
    assert rows(tmp_path / "broken") == rows(tmp_path / "unbroken")
    assert len([row for row in rows(tmp_path / "broken") if row["kind"] == "weight"]) == 4


# --- how a stage begins and ends ---


class Diary(Tagging):
    def __init__(self, told: list[Any]) -> None:
        super().__init__()
        self.told = told

    def begin(self, learner: Any) -> None:
        self.told.append(("begin", learner))

    def end(self, learner: Any) -> None:
        self.told.append(("end", learner))


def test_objectives_are_told_of_the_beginning_and_the_end_and_of_a_resumption(build, news, tmp_path: Path) -> None:
    told: list[Any] = []

    def run(watcher: Any = None) -> Tagger:
        tagger = build()
        stage = Stage("only", {"tag": Diary(told)}, Batches({"source": news}, 60), TrainingSettings(**SETTINGS))
        run_stages(tagger, [stage], engine_for(tagger), LastUpdate(), 1, tmp_path, watcher)
        return tagger

    with pytest.raises(Stopped):
        run(StopAt(3))
    assert [name for name, _ in told] == ["begin", "end"]
    told.clear()
    tagger = run()
    assert told == [("begin", tagger), ("end", tagger)]
    told.clear()
    run()  # on disk already
    assert told == []


def test_an_objective_ends_after_the_best_state_is_back(build: Build, news: Corpus) -> None:
    ends: list[dict[str, torch.Tensor]] = []

    class Last(Tagging):
        def end(self, learner: Any) -> None:
            ends.append({name: value.clone() for name, value in learner.state_dict().items()})

    tagger = build()
    stage = Stage("only", {"tag": Last()}, Batches({"source": news}, 60), TrainingSettings(**SETTINGS))
    run_stages(tagger, [stage], engine_for(tagger), Scripted(0.9, 0.1, 0.1, 0.1), 1)
    assert all(torch.equal(value, ends[0][name]) for name, value in tagger.state_dict().items())

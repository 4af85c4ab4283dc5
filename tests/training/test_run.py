"""Running stages: the best state is kept, a tired run stops, a loss that is no number is said aloud."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

from acclimate.data.batches import Batches
from acclimate.data.corpus import Corpus
from acclimate.inference.predict import predict
from acclimate.methods.objective import Objective, Tagging
from acclimate.methods.perturbation.adversarial import AdversarialTraining
from acclimate.model.learner import View
from acclimate.model.tagger import Tagger
from acclimate.training.loop import Progress, build_engine
from acclimate.training.record import Record
from acclimate.training.run import Diverged, Nobody, run_stages
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import DevelopmentScore, LastUpdate, Selector, Stage


class Scripted:
    """A selector that gives the scores it was told to give, and remembers the states it saw."""

    name, is_blind, lowest = "a script", False, 0.0

    def __init__(self, *scores: float) -> None:
        self.scores, self.seen = list(scores), []

    def __call__(self, tagger: Tagger) -> float:
        self.seen.append({name: value.clone() for name, value in tagger.state_dict().items()})
        return self.scores[len(self.seen) - 1]

    def describe(self, score: float) -> str:
        return f"score {score}"


class Peeking(LastUpdate):
    """Tags a corpus at every look, and prefers nothing."""

    corpus: Corpus

    def __call__(self, tagger: Tagger) -> float:
        predict(tagger, self.corpus)
        return 0.0


class Breaks(Objective):
    """A loss that is no number from the second update on."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, source: View, target: View) -> Tensor:
        self.calls += 1
        return source.scores.sum() * (torch.nan if self.calls > 1 else 0.0)


def run(
    tagger: Tagger,
    corpus: Corpus,
    selector: Selector,
    objectives: Mapping[str, Objective] | None = None,
    record: Record | None = None,
    watcher: Any = None,
    **settings: Any,
) -> dict[str, Any]:
    training = TrainingSettings(**({"learning_rate": 0.01, "evaluate_every": 1} | settings))
    stage = Stage("only", objectives or {"tag": Tagging()}, Batches({"source": corpus}, 60), training)
    engine = build_engine(training, tagger)
    (summary,) = run_stages(tagger, [stage], engine, selector, seed=1, record=record, watcher=watcher)
    return summary


def same(tagger: Tagger, state: dict[str, Tensor]) -> bool:
    return all(torch.equal(value, state[name]) for name, value in tagger.state_dict().items())


def test_the_best_state_is_put_back_at_the_end(build: Callable[..., Tagger], news: Corpus) -> None:
    tagger, selector = build(), Scripted(0.1, 0.5, 0.3, 0.2)
    summary = run(tagger, news, selector, updates=4)
    assert (summary["updates"], summary["kept_update"], summary["score"]) == (4, 2, 0.5)
    assert same(tagger, selector.seen[1])
    assert not same(tagger, selector.seen[3])


def test_of_equal_scores_the_later_is_kept(build: Callable[..., Tagger], news: Corpus) -> None:
    assert run(build(), news, Scripted(0.5, 0.5, 0.5), updates=3)["kept_update"] == 3


def test_a_run_stops_after_as_many_looks_without_a_better_score_as_it_has_patience(
    build: Callable[..., Tagger], news: Corpus
) -> None:
    tagger, selector = build(), Scripted(0.1, 0.3, 0.2, 0.4, 0.4, 0.1, 0.9)
    summary = run(tagger, news, selector, updates=7, patience=2)
    assert (summary["updates"], summary["kept_update"]) == (6, 5)
    assert same(tagger, selector.seen[4])


def test_patience_waits_until_something_is_found(build: Callable[..., Tagger], news: Corpus) -> None:
    """Of a tagger that finds no entity yet, every look is 0: it has not stopped to learn, it has not begun."""
    told: list[tuple[int, bool]] = []

    class Watcher(Nobody):
        def judged(self, update: int, told_so: str, is_best: bool) -> None:
            told.append((update, is_best))

    script = Scripted(0.0, 0.0, 0.0, 0.2, 0.2, 0.0, 0.9)
    summary = run(build(), news, script, updates=7, patience=2, watcher=Watcher())
    assert (summary["updates"], summary["kept_update"]) == (6, 5)
    assert [update for update, is_best in told if is_best] == [4]  # an equal score is kept, and is no better one


def test_it_looks_when_told_and_always_at_the_end(build: Callable[..., Tagger], news: Corpus) -> None:
    record = Record()
    run(build(), news, Scripted(*range(9)), updates=8, evaluate_every=3, record=record)
    assert [row["update"] for row in record.rows if row["kind"] == "evaluation"] == [3, 6, 8]


def test_without_a_preference_the_last_state_is_kept_and_patience_has_no_say(
    build: Callable[..., Tagger], news: Corpus
) -> None:
    summary = run(build(), news, LastUpdate(), updates=5, patience=1)
    assert (summary["updates"], summary["kept_update"], summary["score"]) == (5, 5, None)


def test_looking_in_mid_training_changes_nothing_in_the_result(
    build, news: Corpus, tweets: Corpus, same_weights
) -> None:
    often, never = build(), build()
    peeking = Peeking()
    object.__setattr__(peeking, "corpus", tweets)
    run(often, news, peeking, updates=6)
    run(never, news, LastUpdate(), updates=6, evaluate_every=100)
    assert same_weights(often, never)


@pytest.mark.parametrize(("evaluate_every", "found_at"), [(1, 2), (5, 5), (100, 10)])
def test_a_loss_that_is_no_number_is_said_aloud_with_what_to_try(
    build: Callable[..., Tagger], news: Corpus, evaluate_every: int, found_at: int
) -> None:
    words = rf"Stage only, update {found_at}: the loss '(odd|tag)' is nan\. Try a lower training\.learning_rate"
    objectives = {"tag": Tagging(), "odd": Breaks()}
    with pytest.raises(Diverged, match=words):
        run(build(), news, LastUpdate(), objectives, updates=30, evaluate_every=evaluate_every)


class Stops(Nobody):
    """Somebody who presses Ctrl-C after the first update."""

    def advance(self, progress: Progress, losses: Mapping[str, float] | None) -> None:
        raise KeyboardInterrupt


def noisy() -> Objective:
    return AdversarialTraining(Tagging(), {"source": {"words": 0.1, "characters": 0.1}})


def test_an_interrupted_stage_leaves_the_encoder_as_it_was(build: Callable[..., Tagger], news: Corpus) -> None:
    tagger = build()
    with pytest.raises(KeyboardInterrupt):
        run(tagger, news, LastUpdate(), {"noisy": noisy()}, watcher=Stops(), updates=2)
    assert tagger.encoder.share_characters


def test_a_stage_that_cannot_begin_leaves_the_encoder_as_it_was(build: Callable[..., Tagger], news: Corpus) -> None:
    class Unready(Objective):
        def begin(self, learner: Any) -> None:
            raise ValueError("not today")

    tagger = build()
    with pytest.raises(ValueError, match="not today"):
        run(tagger, news, LastUpdate(), {"noisy": noisy(), "unready": Unready()}, updates=2)
    assert tagger.encoder.share_characters


def test_a_state_that_is_no_number_is_never_kept_as_the_best(build: Callable[..., Tagger], news: Corpus) -> None:
    objectives = {"tag": Tagging(), "odd": Breaks()}
    with pytest.raises(Diverged):
        run(build(), news, Scripted(*[0.5] * 9), objectives, updates=30, evaluate_every=3, patience=1)


def test_a_score_that_is_no_number_is_never_the_best(build: Callable[..., Tagger], news: Corpus) -> None:
    selector = Scripted(0.5, float("nan"), 0.2)
    summary = run(build(), news, selector, updates=6, evaluate_every=2)
    assert (summary["kept_update"], summary["score"]) == (2, 0.5)


def test_who_looks_on_is_told_everything(build: Callable[..., Tagger], news: Corpus) -> None:
    told: list[Any] = []

    class Watcher(Nobody):
        def begin(self, stage: str, update: int, updates: int) -> None:
            told.append((stage, update, updates))

        def advance(self, progress: Progress, losses: Mapping[str, float] | None) -> None:
            told.append(progress.update)

        def judged(self, update: int, told_so: str, is_best: bool) -> None:
            told.append((update, told_so, is_best))

        def end(self, stage: str) -> None:
            told.append(stage)

    run(build(), news, Scripted(0.5, 0.2), updates=4, evaluate_every=2, watcher=Watcher())
    assert told == [("only", 0, 4), 1, 2, (2, "score 0.5", True), 3, 4, (4, "score 0.2", False), "only"]


def test_the_record_holds_losses_rates_and_what_chose(build: Callable[..., Tagger], news: Corpus) -> None:
    record = Record()
    run(build(), news, DevelopmentScore(news, "source dev"), updates=12, evaluate_every=12, record=record)
    updates = [row for row in record.rows if row["kind"] == "update"]
    assert [row["update"] for row in updates] == [10, 12]
    assert all({"tag", "learning_rate"} <= row.keys() for row in updates)
    assert record.rows[-1]["selector"] == "span F1 on source dev (24 sentences)"


def test_a_development_score_is_span_f1_and_for_plain_tags_accuracy(
    build, news: Corpus, part_of_speech: Corpus
) -> None:
    assert DevelopmentScore(part_of_speech, "dev").name == "accuracy on dev (12 sentences)"
    tagger = build(text=part_of_speech)
    words = [
        (g == p)
        for gold, found in zip(part_of_speech, predict(tagger, part_of_speech), strict=True)
        for g, p in zip(gold.tags, found.tags, strict=True)
    ]
    assert DevelopmentScore(part_of_speech)(tagger) == pytest.approx(sum(words) / len(words))
    assert DevelopmentScore(news)(build()) == pytest.approx(_span_f1(news, predict(build(), news)))


def _span_f1(gold: Corpus, predicted: Corpus) -> float:
    both = [(set(g.spans), set(p.spans)) for g, p in zip(gold, predicted, strict=True)]
    right = sum(len(g & p) for g, p in both)
    return 2 * right / sum(len(g) + len(p) for g, p in both)


def test_a_device_that_is_not_there_is_refused_in_words(build: Callable[..., Tagger]) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has one")
    with pytest.raises(ValueError, match=r"training\.device is cuda, but torch sees no CUDA device"):
        build_engine(TrainingSettings(device="cuda"), build())

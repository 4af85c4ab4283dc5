"""Rounds of learning: what they learn, score, order and leave on the disk; and the process that makes them."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sessions import answer, ids, span

from acclimate.data.answers import Answer
from acclimate.data.corpus import Corpus, Sentence
from acclimate.evaluation.scores import score
from acclimate.inference.predict import predict
from acclimate.labelling import learning, rounds
from acclimate.labelling.forecast import forecast, slopes
from acclimate.labelling.learning import Learner
from acclimate.labelling.queue import Queue
from acclimate.labelling.rounds import finished_rounds, learn_round, prune, read_facts, read_order
from acclimate.labelling.session import Session
from acclimate.labelling.settings import SessionSettings
from acclimate.labelling.simulate import oracle, simulate
from acclimate.model.tagger import Tagger
from acclimate.settings import UsageError, complete

LABELS = ("LOC", "ORG", "PER")
QUICK = {"updates": 2, "every": 4, "words_per_batch": 60}
Make = Callable[..., Corpus]


@pytest.fixture
def gold(make_corpus: Make) -> Corpus:
    patterns = ["{PER} is in {LOC} " + letter * 3 for letter in "abcdefghijklmn"]
    return make_corpus(40, seed=3, patterns=patterns, name="tweets")


def begin(folder: Path, gold: Corpus, start: str, labels: tuple[str, ...] = LABELS, **changes: Any) -> Session:
    given = {"held_back": 0.3, "learning": QUICK, "acquisition": {"sample": 12}, **changes}
    return Session.begin(folder, gold, complete(SessionSettings, given), start=start, labels=labels)


def answer_all(session: Session, gold: Corpus, places: range) -> None:
    for place in places:
        identifier = ids(session)[place]
        session.answer(oracle(gold[place], identifier, session.version(identifier, "oracle"), LABELS))


def test_a_round_scores_what_is_held_back_orders_what_is_left_and_leaves_a_tagger(
    tmp_path: Path, gold: Corpus, start: str, same_weights: Callable[[Any, Any], bool]
) -> None:
    with begin(tmp_path / "s", gold, start) as session:
        answer_all(session, gold, range(20))
        session.answer(answer(session, 25, status="flagged"))
        session.answer(answer(session, 26, span(0, 1, "PER"), status="part"))
        found = learn_round(session.folder, 1)
        assert found.tagger is not None
        assert finished_rounds(session.folder) == [1]
        assert read_facts(session.folder, 1) == found.facts
        kept = Tagger.load(session.folder / "rounds" / "0001")
        assert same_weights(kept, found.tagger)
        assert not same_weights(kept, Tagger.load(start))
        held_back = session.corpus(held_back=True)
        assert found.facts.held_back is not None
        assert found.facts.held_back["f1"] == pytest.approx(score(held_back, predict(kept, held_back)).span.f1)
        assert found.facts.held_back["sentences"] == len(held_back)
        assert found.facts.learnt == len(session.corpus())
        assert found.facts.answered == 21
        through = set(ids(session)[:20]) | {ids(session)[25]}
        order = read_order(session.folder, 1)
        waiting = {one.id for one in session.sentences.values() if not one.held_back and one.like is None} - through
        assert len(order.first) == len(set(order.first)) == min(12, len(waiting))
        assert set(order.first) <= waiting
        assert set(order.suggestions) == set(order.first)
        for identifier, spans in order.suggestions.items():
            (predicted,) = predict(kept, Corpus((session.sentences[identifier].sentence,)))
            assert [(one.start, one.end, one.label) for one in spans] == [
                (one.start, one.end, one.label) for one in predicted.spans
            ]
            assert all(0 <= one.score <= 1 for one in spans)


def test_what_is_held_back_changes_no_weight_and_no_order(
    tmp_path: Path, gold: Corpus, start: str, same_weights: Callable[[Any, Any], bool]
) -> None:
    found = []
    for name in ("with", "without"):
        with begin(tmp_path / name, gold, start) as session:
            for place in range(20):
                if name == "with" or not session.sentences[ids(session)[place]].held_back:
                    answer_all(session, gold, range(place, place + 1))
            found.append(learn_round(session.folder, 1))
    assert found[0].facts.answered > found[1].facts.answered
    assert same_weights(found[0].tagger, found[1].tagger)
    assert found[0].order == found[1].order


def test_before_anything_is_labelled_a_round_only_orders(tmp_path: Path, gold: Corpus, start: str) -> None:
    with begin(tmp_path / "s", gold, start) as session:
        found = learn_round(session.folder, 1)
        assert found.facts.remark == "nothing is labelled yet"
        assert found.order.first
        assert not (session.folder / "rounds" / "0001" / "tagger.json").exists()
    with begin(tmp_path / "scratch", gold, "none") as session:
        answer_all(session, gold, range(1))
        session.undo("oracle")
        assert learn_round(session.folder, 1).tagger is None


def test_the_first_round_begins_with_the_start_and_each_other_where_the_last_one_ended(
    tmp_path: Path, gold: Corpus, start: str, same_weights: Callable[[Any, Any], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Any] = []
    teach = rounds.teach

    def spy(tagger: Tagger | None, *others: Any) -> Tagger:
        begun.append(tagger)
        return teach(tagger, *others)

    monkeypatch.setattr(rounds, "teach", spy)
    with begin(tmp_path / "s", gold, start) as session:
        answer_all(session, gold, range(8))
        first = learn_round(session.folder, 1)
        answer_all(session, gold, range(8, 12))
        learn_round(session.folder, 2)
    assert same_weights(begun[0], Tagger.load(start))
    assert same_weights(begun[1], first.tagger)


def test_a_type_that_the_start_does_not_know_is_learnt_and_suggested_labels_are_the_session_s(
    tmp_path: Path, gold: Corpus, start: str
) -> None:
    with begin(tmp_path / "s", gold, start, labels=("GAME", "LOC")) as session:
        for place in range(6):
            session.answer(answer(session, place, span(0, 1, "GAME")))
        found = learn_round(session.folder, 1)
        assert found.tagger is not None
        assert set(found.tagger.labels) == {"GAME", "LOC", "ORG", "PER"}
        assert session.corpus().annotates == ("GAME", "LOC")
        shown = Queue(session, found.order).item(found.order.first[0], "anna")
        assert {one.label for one in shown.suggestions} <= {"GAME", "LOC"}


def test_partial_labels_are_learnt_as_open_words(
    tmp_path: Path, gold: Corpus, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Corpus] = []
    monkeypatch.setattr(rounds, "teach", lambda tagger, taught, *others: given.append(taught) or Tagger.load(start))
    with begin(tmp_path / "s", gold, start, held_back=0.0) as session:
        session.answer(answer(session, 0, span(0, 1, "PER"), status="part"))
        learn_round(session.folder, 1)
    (tags,) = [sentence.tags for sentence in given[0]]
    assert tags is not None
    assert tags[0] == "B-PER"
    assert set(tags[1:]) == {"O|*"}


def test_old_rounds_are_removed_and_damage_in_one_is_told(tmp_path: Path, gold: Corpus, start: str) -> None:
    with begin(tmp_path / "s", gold, start) as session:
        answer_all(session, gold, range(6))
        for number in (1, 2, 3):
            learn_round(session.folder, number)
        prune(session.folder, 2)
        assert finished_rounds(session.folder) == [2, 3]
        weights = session.folder / "rounds" / "0003" / "weights.safetensors"
        weights.write_bytes(weights.read_bytes()[:-1])
        with pytest.raises(ValueError, match="0003"):
            learn_round(session.folder, 4)
        assert finished_rounds(session.folder) == [2, 3]


def test_a_tagger_of_plain_tags_cannot_be_the_start(
    tmp_path: Path, build: Callable[..., Tagger], part_of_speech: Corpus
) -> None:
    build(text=part_of_speech).save(tmp_path / "pos")
    with pytest.raises(UsageError, match="gives every word a tag"):
        rounds.start_tagger(str(tmp_path / "pos"))


class Quick:
    """A process that does its work when it starts."""

    def __init__(self, target: Callable[..., None], args: tuple[Any, ...], daemon: bool) -> None:
        self.target, self.args, self.exitcode, self.killed = target, args, None, False

    def start(self) -> None:
        try:
            self.target(*self.args)
            self.exitcode = 0
        except SystemExit as end:
            self.exitcode = int(end.code or 0)

    def is_alive(self) -> bool:
        return False

    def join(self, seconds: float | None = None) -> None:
        pass


class AtOnce:
    Process = Quick


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "CONTEXT", AtOnce)
    monkeypatch.setattr(learning.os, "nice", lambda increment: 0)


def test_a_round_begins_at_first_and_then_after_so_many_answers(
    tmp_path: Path, gold: Corpus, start: str, at_once: None
) -> None:
    with begin(tmp_path / "s", gold, start) as session:
        learner = Learner(session, Queue(session))
        assert learner.look().state == "learning"
        assert learner.look().state == "waiting"
        assert learner.queue.order.round == 1
        for number in range(4):
            assert learner.look().answers_left == 4 - number
            answer_all(session, gold, range(number, number + 1))
        assert learner.look().state == "learning"
        status = learner.look()
        assert (status.state, learner.queue.order.round) == ("waiting", 2)
        assert session.state.rounds[-1]["answered"] == 4
        assert [each["number"] for each in session.state.rounds] == [1, 2]


def test_a_round_that_fails_hurts_no_answer_is_told_and_the_next_answers_begin_another(
    tmp_path: Path, gold: Corpus, start: str, at_once: None
) -> None:
    own = tmp_path / "own"
    shutil.copytree(start, own)
    with begin(tmp_path / "s", gold, str(own)) as session:
        learner = Learner(session, Queue(session))
        learner.look(), learner.look()
        shutil.move(own, tmp_path / "away")
        answer_all(session, gold, range(4))
        learner.look()
        status = learner.look()
        assert status.state == "failed"
        assert "own" in status.problem
        assert learner.queue.order.round == 1
        assert learner.look().state == "failed", "it is not tried again and again"
        shutil.move(tmp_path / "away", own)
        answer_all(session, gold, range(4, 8))
        assert learner.look().state == "learning"
        assert learner.look().state == "waiting"
        assert session.progress().done == 8


def test_a_round_that_was_over_when_the_server_was_killed_is_taken_up_again(
    tmp_path: Path, gold: Corpus, start: str, at_once: None
) -> None:
    with begin(tmp_path / "s", gold, start) as session:
        answer_all(session, gold, range(4))
        learn_round(session.folder, 1)
    with Session.open(tmp_path / "s") as session:
        learner = Learner(session, Queue(session))
        assert learner.queue.order.round == 1
        assert [each["number"] for each in session.state.rounds] == [1]
        assert learner.look().answers_left == 4
    with Session.open(tmp_path / "s") as again:
        assert len(again.state.rounds) == 1


def test_undo_goes_across_a_round(tmp_path: Path, gold: Corpus, start: str, at_once: None) -> None:
    with begin(tmp_path / "s", gold, start) as session:
        learner = Learner(session, Queue(session))
        answer_all(session, gold, range(4))
        learner.look(), learner.look()
        for place in reversed(range(4)):
            assert session.undo("oracle") == [ids(session)[place]]
        assert session.progress().done == 0
        session.redo("oracle")
        assert session.progress().done == 1


def test_a_process_of_its_own_learns_and_one_that_is_killed_is_told(tmp_path: Path, gold: Corpus, start: str) -> None:
    with begin(tmp_path / "s", gold, start) as session:
        answer_all(session, gold, range(4))
        learner = Learner(session, Queue(session))
        assert learner.look().state == "learning"
        process = learner._process
        assert process is not None
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        status = learner.look()
        assert status.state == "failed"
        assert "ended from outside" in status.problem
        answer_all(session, gold, range(4, 8))
        assert learner.look().state == "learning"
        session.answer(answer(session, 9, by="bo"))  # nobody waits for it
        assert learner._process is not None
        learner._process.join(300)
        assert learner.look().state == "waiting"
        assert learner.queue.order.round == 1
        learner.stop()


def test_a_simulation_labels_as_many_as_asked_and_the_same_seed_gives_the_same(
    tmp_path: Path, gold: Corpus, start: str, tweets: Corpus
) -> None:
    def run(name: str, seed: int) -> tuple[list[Any], list[str]]:
        given = {"seed": seed, "held_back": 0.2, "learning": QUICK, "acquisition": {"name": "committee", "sample": 20}}
        points = simulate(
            tmp_path / name, gold, complete(SessionSettings, given), start=start, test=tweets, at=[3, 8, 10]
        )
        events = [json.loads(line)["event"] for line in (tmp_path / name / "answers.jsonl").read_text().splitlines()]
        shown = [one["sentence"] for each in events if each["kind"] == "answers" for one in each["answers"]]
        return [(one.sentences, one.words, one.spans, one.f1, one.held_back) for one in points], shown

    points, shown = run("a", 1)
    assert [one[0] for one in points] == [0, 3, 8, 10]
    assert points[0][3] == pytest.approx(score(tweets, predict(Tagger.load(start), tweets)).span.f1)
    assert len(shown) == len(set(shown)) == 10
    assert run("b", 1) == (points, shown)
    assert run("c", 2)[1] != shown
    with Session.open(tmp_path / "a") as session:
        own = {one.words: one.tags for one in gold}
        assert all(one.tags == own[one.words] for one in session.corpus())
        assert points[-1][1] == session.progress().words


def test_a_simulation_from_scratch_ends_where_no_sentence_is_left(tmp_path: Path, tweets: Corpus) -> None:
    told: list[str] = []
    given = {"held_back": 0.0, "learning": QUICK, "acquisition": {"name": "random"}}

    def quick(start: Tagger | None, labelled: Corpus, *others: Any) -> Tagger:
        from acclimate.model.tagger import Tagger as Built

        return Built.build("character-cnn-lstm", labels=labelled.labels, text=labelled, word_width=4, lstm_width=4)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "teach", quick)
        settings = complete(SessionSettings, given)
        points = simulate(tmp_path / "s", tweets, settings, test=tweets, at=[4, 500], tell=told.append)
    assert [one.sentences for one in points] == [0, 4]
    assert points[0].f1 == 0.0
    assert "no sentence is left" in told[-1]


def test_an_oracle_leaves_open_what_gold_leaves_open() -> None:
    sentence = Sentence(("Anna", "saw", "Oslo"), ("B-PER", "O", "O|LOC"))
    given: Answer = oracle(sentence, "x", 7, ("LOC", "PER"))
    assert given.seen == 7
    assert given.tags(3, ("LOC", "PER")) == ("B-PER", "O", "O|*")
    assert oracle(sentence, "x", 0, ("LOC",)).tags(3, ("LOC",)) == ("O", "O", "O|*")


def test_the_forecast_draws_the_line_of_least_squares_on(tweets: Corpus) -> None:
    dice = np.random.default_rng(0)
    steps, values = dice.random(5), dice.random((3, 5))
    fitted = [np.polyfit(steps, row, 1)[0] for row in values]
    assert slopes(steps, values).tolist() == pytest.approx(fitted)


def test_the_forecast_is_not_known_before_there_is_enough_to_know_it_from(make_corpus: Make) -> None:
    gold = make_corpus(60, seed=5, name="gold")
    empty = gold.with_tags([["O"] * len(one) for one in gold])
    half = gold.map(lambda one: one if gold.sentences.index(one) % 2 else one.with_tags(["O"] * len(one)))
    found = forecast(gold, [empty, half, gold], [0, 20, 60])
    assert found is not None
    assert found.low < found.gain < found.high
    assert found.gain > 0
    still = forecast(gold, [half, half, half], [0, 20, 60])
    assert still is not None
    assert still.gain == pytest.approx(0.0, abs=1e-9)
    assert forecast(gold, [empty, gold], [0, 20]) is None
    assert forecast(gold[:10], [empty[:10], half[:10], gold[:10]], [0, 20, 60]) is None

"""A committee on toy corpora: who its members are, what its student learns, and what nobody may see."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acclimate.comparison.committee import (
    COMMITTEE,
    STRIDE,
    Lesson,
    consult,
    expected_time,
    planned_members,
    read_answer,
    render_committee,
    require_committee,
    student_of,
    teach,
    write_answer,
)
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.inference.predict import guess, predict
from acclimate.model.storage import read_tensors
from acclimate.model.tagger import Tagger
from acclimate.runs.result import Outcome
from acclimate.runs.settings import CommitteeSettings, RunSettings
from acclimate.runs.task import Task
from acclimate.runs.train import train_run
from acclimate.settings import SettingsError, UsageError, complete
from acclimate.training.run import Nobody

LSTM = {"word_width": 6, "character_width": 4, "character_filters": 5, "lstm_width": 7, "dropout": 0.0}
UPDATES = 30
TRAINING = {"updates": UPDATES, "words_per_batch": 60, "learning_rate": 0.05, "checkpoint_every": 4}
TWO = CommitteeSettings(members=2)


def settings(**changes: Any) -> RunSettings:
    given = {"recipe": "source-only", "tagger": {"encoder": "character-cnn-lstm", "lstm": LSTM}, "training": TRAINING}
    return complete(RunSettings, {**given, **changes}, where="test")


@pytest.fixture(scope="module")
def task(news: Corpus, tweets: Corpus, make_corpus: Callable[..., Corpus]) -> Task:
    return Task(news, make_corpus(8, seed=5), None, tweets.unlabelled(), None, None, tweets)


def learnt(task: Task, folder: Path, options: CommitteeSettings = TWO, **changes: Any) -> tuple[Lesson, Outcome]:
    lesson = consult(task, settings(**changes), options, folder)
    return lesson, teach(lesson, options, task, settings(**changes), folder)


@pytest.fixture(scope="module")
def finished(task: Task, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Lesson, Outcome]:
    folder = tmp_path_factory.mktemp("committee")
    return folder, *learnt(task, folder)


def test_members_differ_in_their_seed_and_the_first_is_the_run_without_a_committee(
    finished: tuple[Path, Lesson, Outcome], task: Task, same_weights: Callable[[Any, Any], bool]
) -> None:
    folder, lesson, _ = finished
    assert [one.seed for one in lesson.members] == [1, 1 + STRIDE]
    one, two = (Tagger.load(folder / "members" / name) for name in ("1", "2"))
    assert same_weights(one, train_run(task, settings()).tagger)
    assert not same_weights(one, two)


def test_the_student_learns_the_source_and_what_the_members_agree_on(
    finished: tuple[Path, Lesson, Outcome], task: Task
) -> None:
    folder, lesson, outcome = finished
    assert task.target is not None
    answers = [predict(Tagger.load(folder / "members" / name), task.target) for name in ("1", "2")]
    for sentence, *both in zip(lesson.text, *answers, strict=True):
        assert sentence.spans == sorted(set(both[0].spans) & set(both[1].spans))
    own, plainly = student_of(task, settings(), lesson.text)
    assert own.source.sentences == task.source.sentences + lesson.text.sentences
    assert (own.gold_source.sentences, own.source_dev) == (task.source.sentences, task.source_dev)
    assert (plainly.recipe, outcome.recipe) == ("source-only", COMMITTEE)


def test_before_is_the_tagger_of_the_source_alone(
    finished: tuple[Path, Lesson, Outcome], task: Task, same_weights: Callable[[Any, Any], bool]
) -> None:
    _, lesson, outcome = finished
    assert outcome.tagger_before is not None
    assert same_weights(outcome.tagger_before, train_run(task, settings()).tagger)
    assert outcome.target is not None
    assert outcome.target.comparison is not None
    found = lesson.as_dict(outcome)
    assert found["student_f1"] == outcome.target.after.span.f1
    assert found["members"][0]["f1"] == outcome.target.before.span.f1
    told = render_committee(found)
    assert "committee of 2 members" in told
    assert f"{100 * found['student_f1']:.2f}" in told


def test_labels_of_a_committee_are_no_gold(finished: tuple[Path, Lesson, Outcome], task: Task) -> None:
    """The text holds the test's sentences. They were learnt, but not with their labels."""
    _, _, outcome = finished
    assert outcome.learnt is not None
    assert outcome.tagger is not None
    assert outcome.tagger.seen == train_run(task, settings()).tagger.seen  # type: ignore[union-attr]
    assert not any("in the source" in remark for remark in outcome.remarks)


class Cut:
    """Ends the work at the n-th update, counted over all taggers."""

    def __init__(self, update: int) -> None:
        self.left, self.made = update, 0

    def __call__(self, *_: Any) -> None:
        self.made += 1
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("update", [7, UPDATES + 11, 2 * UPDATES + 6])
def test_a_committee_that_was_cut_off_goes_on_and_ends_the_same(
    finished: tuple[Path, Lesson, Outcome],
    task: Task,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    same_weights: Callable[[Any, Any], bool],
    update: int,
) -> None:
    first, rest = Cut(update), Cut(0)
    monkeypatch.setattr(Nobody, "advance", first)
    with pytest.raises(KeyboardInterrupt):
        learnt(task, tmp_path)
    monkeypatch.setattr(Nobody, "advance", rest)
    lesson, outcome = learnt(task, tmp_path)
    assert same_weights(outcome.tagger, finished[2].tagger)
    assert lesson.text == finished[1].text
    assert first.made + rest.made < 3 * UPDATES + 4  # what lay behind the last checkpoint, and no more


def test_a_member_that_is_finished_but_has_not_answered_answers(
    finished: tuple[Path, Lesson, Outcome], task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("acclimate.comparison.committee.write_answer", cut_off)
        with pytest.raises(KeyboardInterrupt):
            consult(task, settings(), TWO, tmp_path)
    assert consult(task, settings(), TWO, tmp_path).text == finished[1].text


def test_a_damaged_answer_is_no_answer(build: Callable[..., Tagger], tweets: Corpus, tmp_path: Path) -> None:
    text = tweets.unlabelled()
    for soft, name in ((False, "text-tags.json"), (True, "text-marginals.safetensors")):
        assert read_answer(tmp_path, text, soft) is None
        write_answer(build(), tmp_path, text, soft)
        assert read_answer(tmp_path, text, soft) is not None
        found = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(found[:-9] + b"x" * 9)
        assert read_answer(tmp_path, text, soft) is None


def test_probabilities_are_kept_in_half_precision(build: Callable[..., Tagger], tweets: Corpus, tmp_path: Path) -> None:
    tagger, text = build(), tweets.unlabelled()
    write_answer(tagger, tmp_path, text, True)
    kept = read_tensors(tmp_path / "text-marginals.safetensors")["marginals"]
    assert str(kept.dtype) == "torch.float16"
    answer = read_answer(tmp_path, text, True)
    assert answer is not None
    for kept_sentence, sentence in zip(answer, guess(tagger, text), strict=True):
        for kept_row, row in zip(kept_sentence.probabilities or (), sentence.probabilities or (), strict=True):
            assert dict(kept_row) == pytest.approx(dict(row), abs=2e-3)


def test_a_student_of_probabilities_learns_soft_labels(task: Task, tmp_path: Path) -> None:
    lesson, outcome = learnt(task, tmp_path, CommitteeSettings(members=2, labels="marginals"))
    assert all(sentence.probabilities is not None for sentence in lesson.text)
    assert outcome.tagger is not None
    assert lesson.open_share == 0
    assert "mean of their probabilities" in render_committee(lesson.as_dict(outcome))


def test_members_work_side_by_side_on_an_executor(
    finished: tuple[Path, Lesson, Outcome], task: Task, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(2) as executor:
        lesson = consult(task, settings(), TWO, tmp_path, executor=executor)
    assert lesson.text == finished[1].text


def test_the_test_s_labels_change_no_weight(
    finished: tuple[Path, Lesson, Outcome], task: Task, tmp_path: Path, same_weights: Callable[[Any, Any], bool]
) -> None:
    assert task.target_test is not None
    test = Corpus.of(sentence.with_tags(["B-PER"] * len(sentence)) for sentence in task.target_test)
    tagged = replace(task, target=test, target_test=test)
    _, outcome = learnt(tagged, tmp_path)
    assert same_weights(outcome.tagger, finished[2].tagger)


def test_members_of_several_recipes_take_turns_beside_the_tagger_before(tmp_path: Path) -> None:
    options = CommitteeSettings(members=3, recipes=("self-training", "mat"))
    runs = planned_members(settings(options={}), options, tmp_path)
    assert [(run.folder.name, run.recipe, run.seed) for run in runs] == [
        ("before", "source-only", 1),
        ("1", "self-training", 1),
        ("2", "mat", 1 + STRIDE),
        ("3", "self-training", 1 + 2 * STRIDE),
    ]


def test_a_student_may_begin_as_the_first_member(task: Task, tmp_path: Path) -> None:
    lesson = consult(task, settings(), TWO, tmp_path)
    still = settings(training={**TRAINING, "learning_rate": 1e-12})
    warm = teach(lesson, CommitteeSettings(members=2, warm_start=True), task, still).tagger
    assert warm is not None
    for name, weight in Tagger.load(tmp_path / "members" / "1").state_dict().items():
        assert weight.allclose(warm.state_dict()[name])


def test_labelled_target_sentences_teach_members_and_student(
    task: Task, tmp_path: Path, make_corpus: Callable[..., Corpus]
) -> None:
    few = replace(task, target_labelled=make_corpus(6, seed=8))
    own, plainly = student_of(few, settings(), task.source)
    assert (plainly.recipe, plainly.options, own.target_labelled) == ("la-dtl", {"weight": 0}, few.target_labelled)
    _, outcome = learnt(few, tmp_path, CommitteeSettings(members=1), recipe="la-dtl")
    assert outcome.stages[-1]["stage"] == "la-dtl"


def test_without_dev_sentences_gold_ones_choose_the_student_s_state(task: Task, make_corpus: Any) -> None:
    source = make_corpus(60, seed=3)
    own, plainly = student_of(replace(task, source=source, source_dev=None), settings(), task.source)
    assert own.source_dev is not None
    assert plainly.select == "auto"
    assert set(own.source_dev.sentences) <= set(source.sentences)
    assert len(own.gold) + len(own.source_dev) == len(source)
    few = replace(task, source=source[:12], source_dev=None)
    assert student_of(few, settings(), task.source)[1].select == "last"


def test_the_time_is_told_for_members_and_student(task: Task, tmp_path: Path) -> None:
    told = expected_time(task, settings(), TWO, tmp_path)
    assert "expected time: about" in told
    assert "2 members" in told
    assert "the student" in told
    assert not list(tmp_path.iterdir())


def test_what_no_committee_can_be_made_of_is_refused(task: Task, make_corpus: Any, part_of_speech: Corpus) -> None:
    def refusal(task: Task, options: CommitteeSettings = TWO, **changes: Any) -> str:
        with pytest.raises(UsageError) as refused:
            require_committee(task, settings(**changes), options)
        return str(refused.value)

    assert "labels target text" in refusal(replace(task, target=None))
    assert "labelled source" in refusal(Task(target=task.target))
    assert "learns from labelled target sentences" in refusal(task, recipe="la-dtl")
    assert "the target's own" in refusal(replace(task, target_labelled=make_corpus(6)), recipe="target-only")
    assert "1,000 apart" in refusal(task, seed=2**32 - 1)
    plain = Task(part_of_speech, target=part_of_speech.unlabelled())
    assert "soft labels" in refusal(plain, CommitteeSettings(members=2, labels="marginals"))
    with pytest.raises(SettingsError, match="Unknown recipe"):
        complete(CommitteeSettings, {"recipes": "mat,none"}, where="committee")
    with pytest.raises(SettingsError):
        complete(CommitteeSettings, {"members": -1}, where="committee")


def test_a_member_that_cannot_be_trained_ends_the_committee(task: Task, tmp_path: Path) -> None:
    wrong = settings(recipe="mat", options={"second": str(tmp_path / "none.conll")})
    with pytest.raises(InputError, match=r"the committee is not complete: member 1 .mat, seed 1. failed"):
        consult(task, wrong, TWO, tmp_path)


def test_plain_tags_are_voted_on_word_by_word(part_of_speech: Corpus, tmp_path: Path) -> None:
    task = Task(part_of_speech, part_of_speech, target=part_of_speech.unlabelled(), target_test=part_of_speech)
    lesson, outcome = learnt(task, tmp_path, CommitteeSettings(members=3))
    assert lesson.text.kind == "plain"
    assert outcome.target is not None

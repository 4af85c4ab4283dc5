"""Masked adversarial training as a recipe: what an update adds up, what else it can learn from, what it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from acclimate.data.batches import SOURCE, TARGET
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.reading import read_corpus
from acclimate.inference.predict import evaluate, predict
from acclimate.model.encoders.encoder import Change
from acclimate.model.learner import View
from acclimate.model.siblings import Siblings
from acclimate.model.tagger import Tagger
from acclimate.recipes.mat import MatSettings, mat
from acclimate.recipes.recipe import Plan
from acclimate.runs.train import adapt
from acclimate.settings import UsageError, complete
from acclimate.training.loop import Progress
from acclimate.training.run import Nobody
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Stage, TrainingStep

QUICK = {"updates": 3, "words_per_batch": 60, "learning_rate": 0.02, "device": "cpu"}
NO_NOISE = {"words": 0, "characters": 0, "pieces": 0}
Build = Callable[..., Tagger]


class Losses(Nobody):
    """Writes down every loss of every stage."""

    def __init__(self) -> None:
        self.found: dict[str, list[float]] = {}

    def advance(self, progress: Progress, losses: Mapping[str, float] | None) -> None:
        for name, loss in progress.losses.items():
            self.found.setdefault(f"{progress.stage}/{name}", []).append(float(loss))


def learn(tagger: Tagger, source: Corpus, target: Corpus | None = None, **given: Any) -> Losses:
    watcher = Losses()
    adapt(tagger, source, target, "mat", watcher=watcher, **{"training": QUICK, "select": "last", **given})
    assert all(math.isfinite(loss) for row in watcher.found.values() for loss in row)
    assert watcher.found["mat/tag"]
    return watcher


def stage_of(tagger: Tagger, source: Corpus, target: Corpus | None = None, **options: Any) -> Stage:
    training = TrainingSettings(words_per_batch=40)
    plan = Plan(source, target or Corpus(()), training, complete(MatSettings, options), 1)
    torch.manual_seed(0)
    (stage,) = mat(tagger, plan)
    return stage


def loss_of(tagger: Tagger, stage: Stage, batch: Corpus) -> float:
    """Of one update, in training."""
    for objective in stage.objectives.values():
        objective.begin(tagger)
    return float(TrainingStep(tagger, stage.objectives).train()({SOURCE: list(batch)})["tag"].detach())


def plain_loss(tagger: Tagger, batch: Corpus) -> Tensor:
    view = tagger.view(list(batch))
    return view.losses.sum() / batch.word_count


@pytest.fixture
def still(build: Build) -> Tagger:
    """A tagger that leaves nothing to chance."""
    return build(dropout=0.0, forget_rare=0.0)


# what is added up


def test_without_masks_and_noise_the_clean_loss_counts_one_and_six_tenths_times(still: Tagger, news: Corpus) -> None:
    stage = stage_of(still, news, rate=0, radius=NO_NOISE)
    assert loss_of(still, stage, news[:4]) == pytest.approx(1.6 * plain_loss(still, news[:4]).item(), rel=1e-5)


def test_without_masks_it_is_adversarial_training(still: Tagger, news: Corpus) -> None:
    """Equations 3 to 5: each sentence's gradient, as long as the radius, words and letters apart."""
    stage = stage_of(still, news, rate=0, radius={"words": 0.7, "characters": 0.3}, weight=0.5)
    found = loss_of(still, stage, news[:3])
    view = still.view(list(news[:3]))
    clean = view.losses.sum() / news[:3].word_count
    words, letters = torch.autograd.grad(clean, [view.embeddings["words"], view.embeddings["characters"]])
    lengths = [len(sentence) for sentence in news[:3]]
    whose = torch.tensor([0] + [number for number, length in enumerate(lengths) for _ in range(length)])
    by_sentence = torch.stack([letters[1:][whose[1:] == number].norm() for number in range(3)])
    noise = {
        "words": 0.7 * words / words.flatten(1).norm(dim=1).view(-1, 1, 1),
        "characters": 0.3 * letters / by_sentence[whose].view(-1, 1, 1),
    }
    noisy = view.with_noise(noise).losses.sum() / news[:3].word_count
    assert noisy > clean
    assert found == pytest.approx((clean + 0.5 * noisy).item(), rel=1e-5)


def test_without_noise_it_is_masking(still: Tagger, news: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = stage_of(still, news, rate=1, hide=1, radius=NO_NOISE)
    drawn: list[Sequence[Change]] = []
    real = View.with_words
    monkeypatch.setattr(View, "with_words", lambda view, changes, *more: drawn.append(changes) or real(view, changes))
    found = loss_of(still, stage, news[:4])
    (changes,) = drawn
    assert [change.sentence for change in changes] == [0, 1, 2, 3]  # one word of each
    assert all(change.by is None for change in changes)
    masked = real(still.view(list(news[:4])), changes).losses.sum() / news[:4].word_count
    assert found == pytest.approx((plain_loss(still, news[:4]) + 0.6 * masked).item(), rel=1e-5)


def test_the_rates_are_those_of_the_options(still: Tagger, news: Corpus) -> None:
    usual = stage_of(still, news).objectives["tag"]
    assert (usual.changes.rate, usual.changes.hide, usual.weight) == (0.06, 0.9, 0.6)
    assert usual.radii[SOURCE] == {"words": 0.4, "characters": 0.2, "pieces": 0.4}
    assert set(usual.changes.words) == set(news.vocabulary)
    given = stage_of(still, news, rate=0.5, hide=0.1, weight=1, substitute="random", distribution="sum").objectives[
        "tag"
    ]
    assert (given.changes.rate, given.changes.hide, given.weight) == (0.5, 0.1, 1)
    assert (given.changes.substitutes.kind, given.changes.substitutes.normalise) == ("random", "sum")
    assert stage_of(still, news, rate=0).objectives["tag"].changes is None


def test_the_same_features_are_dropped_in_both_passes_on_request(build: Build, news: Corpus) -> None:
    options: dict[str, Any] = {"rate": 0, "radius": NO_NOISE}
    for same in (True, False):
        tagger = build(dropout=0.5, forget_rare=0.0)
        stage = stage_of(tagger, news, same_dropout=same, **options)
        loss_of(tagger, stage, news[:4])
        parts = {name: float(loss) for name, loss in stage.objectives["tag"].parts.items()}
        assert (parts["clean"] == parts["noisy"]) == same


@pytest.mark.parametrize("scope", ["sentence", "token", "batch"])
def test_each_scope_gives_another_noise(still: Tagger, news: Corpus, scope: str) -> None:
    options: dict[str, Any] = {"rate": 0, "radius": {"words": 1, "characters": 0}}
    losses = {
        each: loss_of(still, stage_of(still, news, scope=each, **options), news[:4]) for each in ("sentence", scope)
    }
    assert (losses["sentence"] == losses[scope]) == (scope == "sentence")
    # the same radius for each word is more noise, and one for the whole batch is less
    assert scope == "sentence" or (losses[scope] > losses["sentence"]) == (scope == "token")


def test_the_tables_are_normalised_unless_that_is_switched_off(build: Build, news: Corpus) -> None:
    for kind in ("weighted", "unweighted", "none"):
        tagger = build()
        stage_of(tagger, news, normalise=kind)
        assert tagger.encoder.settings.normalise == kind
        assert (tagger.encoder.word_table.shares is None) == (kind == "none")


# on every encoder


@pytest.mark.parametrize("head", ["crf", "softmax"])
@pytest.mark.parametrize("encoder", ["character-cnn-lstm", "bert", "roberta"])
def test_it_runs_on_every_encoder(build: Build, news: Corpus, encoder: str, head: str) -> None:
    losses = learn(build(encoder, head=head), news, rate=1, hide=0.5)
    assert set(losses.found) == {"source/tag", "mat/tag"}


@pytest.mark.parametrize("recompute", [False, True])
def test_contextual_features_stay_or_are_made_anew(build: Build, news: Corpus, bert: str, recompute: bool) -> None:
    """Left as they are, the hidden word shows through them (E1.8)."""
    tagger = build(dropout=0.0, forget_rare=0.0, contextual={"encoder": bert})
    stage = stage_of(tagger, news, rate=1, hide=1, radius=NO_NOISE, recompute_context=recompute)
    changed: list[View] = []
    real = View.with_noise
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(View, "with_noise", lambda view, noise: changed.append(view) or real(view, noise))
        loss_of(tagger, stage, news[:4])
    clean = tagger.view(list(news[:4])).embeddings
    same = torch.equal(changed[0].embeddings["context"], clean["context"])
    assert same == (not recompute)
    assert not torch.equal(changed[0].embeddings["words"], clean["words"])
    learn(tagger, news, rate=1, recompute_context=recompute)


def test_the_tagger_saved_is_the_tagger_trained(build: Build, news: Corpus, tmp_path: Path) -> None:
    tagger = build()
    learn(tagger, news, rate=0.5)
    tagger.save(tmp_path)
    assert predict(Tagger.load(tmp_path), news).sentences == predict(tagger, news).sentences
    with torch.no_grad():
        mine, loaded = (each.view(list(news)).scores for each in (tagger.eval(), Tagger.load(tmp_path)))
    torch.testing.assert_close(mine, loaded)


# the target


def test_target_text_has_no_part_in_it(build: Build, news, tweets, same_weights) -> None:
    taggers = [build() for _ in range(2)]
    learn(taggers[0], news)
    learn(taggers[1], news, tweets)
    assert same_weights(*taggers)


def test_labelled_target_sentences_are_pooled_with_the_source(build: Build, news, tweets, same_weights) -> None:
    apart, pooled = build(), build()
    learn(apart, news, target_labelled=tweets[:4])
    learn(pooled, news + tweets[:4])
    assert same_weights(apart, pooled)


# a second task


@pytest.fixture
def both_tasks(make_corpus: Callable[..., Corpus], tmp_path: Path) -> Path:
    """Words, chunks and names, as CoNLL-2003 has them: a chunk is whatever stands between two names."""
    rows = []
    for sentence in make_corpus(12, seed=7):
        assert sentence.tags is not None
        chunks = ["B-NP" if tag.startswith("B") else "I-NP" if tag.startswith("I") else "B-VP" for tag in sentence.tags]
        rows.append("\n".join(map("\t".join, zip(sentence.words, chunks, sentence.tags, strict=True))) + "\n")
    path = tmp_path / "both.conll"
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def test_a_second_task_is_learnt_on_the_same_encoder(build: Build, news: Corpus, both_tasks: Path) -> None:
    tagger = build()
    stage = stage_of(tagger, news, second=str(both_tasks), second_column=1)
    family = stage.learner
    assert isinstance(family, Siblings)
    assert family[SOURCE] is tagger
    assert family[TARGET].encoder is tagger.encoder
    assert list(family[TARGET].labels) == ["NP", "VP"]
    assert family[TARGET].head is not tagger.head
    assert list(stage_of(build(), news, second=str(both_tasks)).learner[TARGET].labels) == ["LOC", "ORG", "PER"]


def test_words_of_the_second_task_count_and_may_stand_in_for_others(build: Build, news: Corpus, tmp_path) -> None:
    chunks = tmp_path / "chunks.conll"
    chunks.write_text("Zebras\tB-NP\ngraze\tB-VP\n\nZebras\tB-NP\nrest\tB-VP\n", encoding="utf-8")
    tagger = build(text=news + read_corpus(chunks).unlabelled(), labels=news.labels)
    changes = stage_of(tagger, news, second=str(chunks)).objectives["tag"].changes
    assert set(changes.words) == {*news.vocabulary, "Zebras", "graze", "rest"}
    shares = tagger.encoder.word_table.shares
    row = tagger.encoder.vocabulary.number("zebras")
    assert float(shares[row]) == pytest.approx(2 / (news.word_count + 4))
    assert float(tagger.encoder.character_table.shares[tagger.encoder.alphabet.number("Z")]) > 0


def test_batches_of_the_two_tasks_come_in_proportion_to_their_size(
    build: Build, news: Corpus, both_tasks: Path
) -> None:
    stage = stage_of(build(), news, second=str(both_tasks), second_column=1)
    stream = stage.batches.starting_at(0)
    batches = [next(stream) for _ in range(stage.batches.epoch_length)]
    assert all(len(batch) == 1 for batch in batches)
    sentences = {name: sum(len(batch[name]) for batch in batches if name in batch) for name in (SOURCE, TARGET)}
    assert sentences == {SOURCE: 24, TARGET: 12}  # an epoch reads all of both
    names = [name for batch in batches for name in batch]
    assert names != sorted(names)  # in turns, not one after the other


def test_the_main_tagger_learns_and_is_what_is_kept(build: Build, news: Corpus, both_tasks: Path) -> None:
    tagger = build(dropout=0.1, lstm_width=12)
    training = QUICK | {"updates": 120}
    given: dict[str, Any] = {"training": training, "second": str(both_tasks), "second_column": 1, "weight": 0.3}
    learn(tagger, news, **given)
    assert evaluate(tagger, news).span.f1 > 0.8
    assert set(predict(tagger, news).labels) <= {"LOC", "ORG", "PER"}


def test_the_tagger_of_the_second_task_is_handed_over_and_scored(build: Build, news: Corpus, both_tasks: Path) -> None:
    tagger = build(dropout=0.1, lstm_width=12)
    given: dict[str, Any] = {"second": str(both_tasks), "second_column": 1, "second_test": str(both_tasks)}
    outcome = adapt(tagger, news, recipe="mat", training=QUICK | {"updates": 120}, select="last", **given)
    second, chunks = outcome.siblings["second"], read_corpus(both_tasks, column=1)
    assert second.tagger is not tagger
    assert second.tagger.encoder is tagger.encoder
    assert not second.tagger.training
    assert second.scores == evaluate(second.tagger, chunks)
    assert second.scores.span.f1 > 0.8
    told = f"Second task: {100 * second.scores.span.f1:.2f} on both.conll (12 sentences"
    assert any(remark.startswith(told) for remark in outcome.remarks)
    untested = adapt(build(), news, recipe="mat", training=QUICK, second=str(both_tasks))
    assert untested.siblings["second"].scores is None
    assert any("The second task has no score: give options.second_test" in remark for remark in untested.remarks)
    assert adapt(build(), news, recipe="mat", training=QUICK).siblings == {}


def test_a_test_that_the_second_task_cannot_be_scored_on_is_refused_at_once(
    build: Build, news: Corpus, both_tasks: Path
) -> None:
    watcher = Losses()
    given: dict[str, Any] = {"recipe": "mat", "training": QUICK, "watcher": watcher}
    with pytest.raises(UsageError, match="second_test is of no use without"):
        adapt(build(), news, **given, second_test=str(both_tasks))
    other = both_tasks.with_name("other.conll")
    other.write_text("Oslo\tB-XX\tO\n", encoding="utf-8")
    with pytest.raises(InputError, match="labels that the tagger does not know: XX"):
        adapt(build(), news, **given, second=str(both_tasks), second_column=1, second_test=str(other))
    assert not watcher.found


def test_the_second_task_changes_the_encoder(build: Build, news: Corpus, both_tasks: Path, same_weights) -> None:
    chunks, entities = build(), build()
    learn(chunks, news, second=str(both_tasks), second_column=1)
    learn(entities, news, second=str(both_tasks))
    assert not same_weights(chunks.encoder, entities.encoder)


class StopAt(Nobody):
    """Pulls the plug at the n-th update that it sees."""

    def __init__(self, update: int) -> None:
        self.left = update

    def advance(self, progress: Progress, losses: Mapping[str, float] | None) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("way", ["plain", "pieces", "second task"])
def test_a_run_that_was_stopped_ends_as_an_unbroken_one(
    build: Build, news, tweets, same_weights, both_tasks: Path, tmp_path: Path, way: str
) -> None:
    options = {"second": str(both_tasks), "second_column": 1} if way == "second task" else {}
    training = QUICK | {"updates": 7, "checkpoint_every": 2, "evaluate_every": 3}

    def run(out: Path | None = None, watcher: Any = None) -> Tagger:
        tagger = build("bert" if way == "pieces" else "character-cnn-lstm")
        torch.manual_seed(torch.seed() % 2**32)
        given = {"training": training, "select": "last", "out": out, "watcher": watcher, "rate": 0.5, "hide": 0.5}
        adapt(tagger, news, tweets.unlabelled(), "mat", **given, **options)
        return tagger

    for update in (10, 2):
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "a", StopAt(update))
    assert same_weights(run(tmp_path / "a"), run())


def test_a_run_does_not_go_on_with_another_second_file(build: Build, news, both_tasks: Path, tmp_path: Path) -> None:
    given: dict[str, Any] = {"second": str(both_tasks), "second_column": 1, "out": tmp_path / "run"}
    learn(build(), news, **given)
    both_tasks.write_text(both_tasks.read_text() + "\nAnna\tB-NP\tB-PER\n", encoding="utf-8")
    with pytest.raises(UsageError, match="begun with other settings or data"):
        learn(build(), news, **given)


# training on dev


def test_dev_sentences_can_be_learnt_from(build: Build, news: Corpus, make_corpus, same_weights) -> None:
    dev = make_corpus(8, seed=5)
    taggers = [build() for _ in range(3)]
    given: dict[str, Any] = {"training": QUICK, "source_test": news}
    outcome = adapt(taggers[0], news, recipe="mat", source_dev=dev, train_on_dev=True, **given)
    adapt(taggers[1], news + dev, recipe="mat", select="last", **given)
    adapt(taggers[2], news, recipe="mat", source_dev=dev, select="last", **given)
    assert outcome.selector == "last update"
    assert any("dev sentences were learnt from" in remark for remark in outcome.remarks)
    assert same_weights(taggers[0], taggers[1])
    assert not same_weights(taggers[0], taggers[2])


def test_what_was_learnt_from_is_no_test(build: Build, news: Corpus, make_corpus: Callable[..., Corpus]) -> None:
    outcome = adapt(build(), news, source_dev=make_corpus(8, seed=5), train_on_dev=True, training=QUICK)
    assert outcome.source is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "train_on_dev=True needs source_dev, the sentences to train on as well"),
        ({"source_dev": True, "select": "source-dev"}, "cannot choose the model"),
    ],
)
def test_training_on_dev_that_cannot_be_is_refused(
    build: Build, news: Corpus, given: dict[str, Any], words: str
) -> None:
    given = {name: news if value is True else value for name, value in given.items()}
    with pytest.raises(UsageError, match=words):
        adapt(build(), news, recipe="mat", training=QUICK, train_on_dev=True, **given)


# refused before any training


@pytest.mark.parametrize(
    ("encoder", "options", "words"),
    [
        ("character-cnn-lstm", {"second_column": 1}, "of no use without options.second"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_before_training(build: Build, news, tweets, encoder, options, words) -> None:
    watcher = Losses()
    options = dict(options)
    target = tweets.unlabelled() if options.pop("target", False) else None
    with pytest.raises(UsageError, match=words):
        adapt(build(encoder), news, target, "mat", training=QUICK, watcher=watcher, **options)
    assert not watcher.found


def test_a_second_file_that_cannot_be_read_is_refused_before_training(build: Build, news: Corpus, tmp_path) -> None:
    watcher = Losses()
    bare = tmp_path / "bare.txt"
    bare.write_text("Anna left .\n", encoding="utf-8")
    for file, words in ((tmp_path / "none.conll", "no such file of a second task"), (bare, "no tags to learn from")):
        with pytest.raises(InputError, match=words):
            adapt(build(), news, recipe="mat", training=QUICK, watcher=watcher, second=str(file))
    assert not watcher.found


def test_a_column_that_is_not_there_is_told_before_training(build: Build, news: Corpus, both_tasks: Path) -> None:
    watcher = Losses()
    with pytest.raises(InputError, match="column"):
        adapt(build(), news, recipe="mat", training=QUICK, watcher=watcher, second=str(both_tasks), second_column=7)
    assert not watcher.found

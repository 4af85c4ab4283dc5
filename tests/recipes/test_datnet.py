"""DATNet as a recipe: every form of it runs, the tagger is the target's own, and the report says so."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from acclimate.data.batches import SOURCE, TARGET
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.inference.predict import evaluate, predict
from acclimate.methods.alignment.domain_discriminator import DiscriminatorDiagnostics
from acclimate.model.siblings import Siblings
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import RECIPES
from acclimate.recipes.datnet import DatnetSettings
from acclimate.recipes.recipe import Plan
from acclimate.runs.result import Outcome
from acclimate.runs.train import adapt
from acclimate.settings import UsageError, complete
from acclimate.training.loop import Progress
from acclimate.training.run import Nobody
from acclimate.training.settings import TrainingSettings
from interruptions import StopAt, Stopped

QUICK = {"updates": 3, "words_per_batch": 60, "learning_rate": 0.02, "device": "cpu"}
Build = Callable[..., Tagger]


class Losses(Nobody):
    """Writes down every loss of every stage."""

    def __init__(self) -> None:
        self.found: dict[str, list[float]] = {}

    def advance(self, progress: Progress, losses: Mapping[str, float] | None) -> None:
        for name, loss in progress.losses.items():
            self.found.setdefault(f"{progress.stage}/{name}", []).append(float(loss))


@pytest.fixture
def clinical() -> Corpus:
    """Another label set than that of the news."""
    rows = [
        (("flu", "again"), ("B-DISEASE", "O")),
        (("took", "two", "aspirin"), ("O", "O", "B-DRUG")),
        (("ok",), ("O",)),
    ]
    return Corpus.of([Sentence(words, tags) for words, tags in rows] * 2, "clinical")


def learn(tagger: Tagger, source: Corpus, few: Corpus | None, target: Corpus | None = None, **given: Any) -> Losses:
    watcher = Losses()
    training = given.pop("training", QUICK)
    adapt(tagger, source, target, "datnet", target_labelled=few, training=training, watcher=watcher, **given)
    return watcher


def all_finite(losses: Losses) -> bool:
    return set(losses.found) >= {"datnet/tag"} and all(
        math.isfinite(loss) for row in losses.found.values() for loss in row
    )


# it runs


@pytest.mark.parametrize("encoder", ["character-cnn-lstm", "bert"])
@pytest.mark.parametrize("head", ["crf", "softmax"])
@pytest.mark.parametrize("form", ["F", "P"])
@pytest.mark.parametrize("schedule", ["joint", "alternate"])
def test_every_form_of_it_runs(build: Build, news, tweets, encoder: str, head: str, form: str, schedule: str) -> None:
    few = tweets[:4]
    tagger = build(encoder, text=few, labels=news.labels, head=head)
    losses = learn(tagger, news, few, form=form, schedule=schedule)
    assert all_finite(losses)
    assert len(losses.found["datnet/discriminator"]) == 3
    assert set(losses.found) == {"target/tag", "datnet/tag", "datnet/discriminator"}


@pytest.mark.parametrize(
    "options",
    [
        {"share_crf": True},
        {"discriminator": "plain", "ramp": True},
        {"discriminator": "none"},
        {"adversarial": False},
        {"direction": "full", "carry": False},
        {"scope": "token"},
        {"scope": "batch"},
        {"normalise": "none"},
        {"normalise": "unweighted"},
        {"schedule": "alternate", "balance": "square-root", "tail": 0.5, "mix_rate": 0.3},
    ],
    ids=str,
)
@pytest.mark.parametrize("encoder", ["character-cnn-lstm", "bert"])
def test_with_every_option_too(build: Build, news, tweets, encoder: str, options: dict[str, Any]) -> None:
    assert all_finite(learn(build(encoder, text=tweets[:4], labels=news.labels), news, tweets[:4], **options))


@pytest.mark.parametrize("encoder", ["character-cnn-lstm", "bert"])
@pytest.mark.parametrize("form", ["F", "P"])
def test_source_and_target_may_have_other_labels(build: Build, news, clinical, encoder: str, form: str) -> None:
    tagger = build(encoder, text=clinical)
    assert all_finite(learn(tagger, news, clinical, form=form))
    assert list(tagger.labels) == ["DISEASE", "DRUG"]
    assert set(predict(tagger, news).labels) <= {"DISEASE", "DRUG"}


@pytest.mark.parametrize("form", ["F", "P"])
def test_plain_tags_learn_from_spans(build: Build, news: Corpus, part_of_speech: Corpus, form: str) -> None:
    tagger = build(text=part_of_speech)
    outcome = adapt(
        tagger,
        news,
        recipe="datnet",
        target_labelled=part_of_speech,
        target_test=part_of_speech,
        training=QUICK,
        form=form,
    )
    assert tagger.labels.kind == predict(tagger, news).kind == "plain"
    assert 0 <= outcome.target.after.token.accuracy <= 1


@pytest.mark.parametrize("form", ["F", "P"])
def test_spans_learn_from_plain_tags(build: Build, tweets: Corpus, part_of_speech: Corpus, form: str) -> None:
    tagger = build("bert", text=tweets)
    assert all_finite(learn(tagger, part_of_speech, tweets[:4], tweets[4:].unlabelled(), form=form))
    assert predict(tagger, tweets).kind == "spans"


def test_one_labelled_sentence_is_enough(build: Build, news: Corpus, tweets: Corpus) -> None:
    assert all_finite(learn(build(text=tweets[:1], labels=news.labels), news, tweets[:1], form="P"))


def test_letters_that_only_the_source_has_are_learnt(build: Build, tweets: Corpus) -> None:
    source = Corpus.of([Sentence(("Łódź", "żółw"), ("B-LOC", "O"))] * 3)
    tagger = build(text=tweets[:4], labels=tweets.labels)
    assert "Ł" not in tagger.encoder.alphabet
    assert all_finite(learn(tagger, source, tweets[:4]))
    assert "Ł" in tagger.encoder.alphabet


# it teaches


ENDS = {"PER": "ov", "LOC": "burg", "ORG": "ix"}


def names(size: int, seed: int, before: tuple[str, ...], after: tuple[str, ...] = ()) -> Corpus:
    """Names that nobody has seen, each told by its last letters."""
    dice = random.Random(seed)
    rows = []
    for label in [*ENDS] * (size // 3):
        stem = "".join(dice.choice("aeioklmnrst") for _ in range(dice.randint(2, 5)))
        tags = (*["O"] * len(before), f"B-{label}", *["O"] * len(after))
        rows.append(Sentence((*before, stem + ENDS[label], *after), tags))
    return Corpus.of(rows, "names")


@pytest.mark.parametrize("form", ["F", "P"])
def test_the_target_learns_from_the_source_what_three_sentences_cannot_teach(build: Build, form: str) -> None:
    few = names(3, 2, ("rt",))
    tagger = build(text=few, dropout=0.1, lstm_width=12, character_filters=12)
    outcome = adapt(
        tagger,
        names(60, 1, ("said", "the"), ("today",)),
        recipe="datnet",
        target_labelled=few,
        target_test=names(30, 3, ("rt",)),
        training=QUICK | {"updates": 60},
        form=form,
        radius={"source_words": 0.5, "target_words": 0.5, "characters": 0.2},
    )
    assert outcome.target.after.span.f1 > outcome.target.before.span.f1 + 0.15


@pytest.mark.parametrize("encoder", ["character-cnn-lstm", "bert"])
@pytest.mark.parametrize("form", ["F", "P"])
def test_what_is_the_source_s_own_does_not_touch_the_target_s_tags(
    build: Build, news, tweets, form: str, encoder: str
) -> None:
    plan = Plan(news, tweets[:4], TrainingSettings(words_per_batch=60), complete(DatnetSettings, {"form": form}), 1)
    tagger = build(encoder, text=tweets[:4], labels=news.labels)
    (stage,) = RECIPES["datnet"].stages(tagger, plan)
    family = stage.learner
    assert isinstance(family, Siblings)
    scores = {domain: scores_of(family[domain], tweets) for domain in (SOURCE, TARGET)}
    shared = {id(parameter) for parameter in tagger.parameters()}
    own = [parameter for parameter in family[SOURCE].parameters() if id(parameter) not in shared]
    assert len(own) >= 3
    for parameter in own:
        torch.nn.init.normal_(parameter)
    assert torch.equal(scores_of(tagger, tweets), scores[TARGET])
    assert not torch.allclose(scores_of(family[SOURCE], tweets), scores[SOURCE])
    for parameter in tagger.encoder.lstm.parameters() if encoder != "bert" else tagger.encoder.model.parameters():
        torch.nn.init.normal_(parameter)  # and what is shared does touch both
    assert not torch.allclose(scores_of(tagger, tweets), scores[TARGET])


def scores_of(tagger: Tagger, corpus: Corpus) -> torch.Tensor:
    tagger.eval()
    with torch.no_grad():
        return tagger.view(list(corpus.unlabelled())).scores


# golden losses

GOLDEN_TRAINING = {
    "updates": 4,
    "words_per_batch": 12,
    "optimizer": "adamw",
    "learning_rate": 0.02,
    "weight_decay": 0.01,
    "warm_up": 0.25,
    "decay": "linear",
    "clip": 5.0,
    "device": "cpu",
}
_TARGET = [2.2279, 2.1086, 2.0222, 1.9446]  # tables normalised, as DATNet has them
GOLDEN: dict[str, dict[str, list[float]]] = {
    "F joint": {
        "target/tag": _TARGET,
        "datnet/tag": [26.9898, 38.9121, 25.6502, 36.2307],
        "datnet/discriminator": [0.0826, 0.0713, 0.0865, 0.0777],
    },
    "P joint": {
        "target/tag": [2.234, 2.3063, 2.2289, 2.048],  # with an LSTM of its own beside
        "datnet/tag": [26.1536, 38.5016, 26.5275, 36.0284],
        "datnet/discriminator": [0.091, 0.1099, 0.0574, 0.101],
    },
    "F alternate": {
        "target/tag": _TARGET,
        "datnet/tag": [15.3445, 27.4288, 11.3417, 15.3468],
        "datnet/discriminator": [0.0372, 0.0418, 0.1453, 0.0521],
    },
}


def corpus_of(*rows: str) -> Corpus:
    pairs = [[word.rsplit("/", 1) for word in row.split()] for row in rows]
    return Corpus.of(Sentence(tuple(w for w, _ in row), tuple(t for _, t in row)) for row in pairs)


@pytest.mark.parametrize(("form", "schedule"), [("F", "joint"), ("P", "joint"), ("F", "alternate")])
def test_its_first_losses_are_the_ones_they_have_always_been(build: Build, form: str, schedule: str) -> None:
    """With few labelled sentences of other labels, on the CPU. If a change is meant, put in the losses shown."""
    source = corpus_of(
        "Anna/B-PER flew/O to/O New/B-LOC York/I-LOC ./O",
        "It/O rained/O in/O Oslo/B-LOC ./O",
        "Bob/B-PER Stone/I-PER left/O Acme/B-ORG ./O",
        "ok/O",
    )
    few = corpus_of("anna/B-person luvs/O oslo/B-place", "so/O what/O")
    tagger = build(text=few, dropout=0.5, forget_rare=0.5, highways=0, lstm_layers=1, character_spans=(3,))
    options: dict[str, Any] = {
        "form": form,
        "schedule": schedule,
        "alpha": 0.25,
        "gamma": 2.0,
        "strength": 0.7,
        "radius": {"source_words": 5, "target_words": 3, "characters": 2},
    }
    found = learn(tagger, source, few, training=GOLDEN_TRAINING, **options).found
    shown = {name: [round(loss, 4) for loss in row] for name, row in found.items()}
    golden = GOLDEN[f"{form} {schedule}"]
    assert shown == {name: pytest.approx(row, abs=3e-4) for name, row in golden.items()}, shown


def test_the_noise_is_as_large_as_that_of_the_results_unless_told_otherwise() -> None:
    """docs/explanation/papers/datnet.md and docs/how-to/choose-a-recipe.md tell figures of a radius of 1."""
    assert set(DatnetSettings().radius.model_dump().values()) == {1.0}


# resumed, saved, and chosen


WAYS: dict[str, dict[str, Any]] = {
    "F": {},
    "P": {"form": "P"},
    "alternate": {"schedule": "alternate", "mix_rate": 0.4, "ramp": True},
    "shared CRF, chosen": {"share_crf": True, "select": "target-dev"},
    "bert P": {"form": "P", "encoder": "bert"},
    "no labels": {"few": False},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_was_stopped_ends_as_an_unbroken_one(
    build: Build, news, tweets, same_weights, tmp_path: Path, way: str
) -> None:
    options = dict(WAYS[way])
    encoder, few = options.pop("encoder", "character-cnn-lstm"), tweets[:5] if options.pop("few", True) else None
    options |= {"target_dev": tweets[5:]} if "select" in options else {"select": "last"}
    training = QUICK | {"updates": 7, "checkpoint_every": 2, "evaluate_every": 3}

    def run(out: Path | None = None, watcher: Any = None) -> Tagger:
        tagger = build(encoder, text=tweets[:5], labels=news.labels)
        torch.manual_seed(torch.seed() % 2**32)
        given = {"target_labelled": few, "training": training, "out": out, "watcher": watcher}
        adapt(tagger, news, tweets[5:].unlabelled(), "datnet", **given, **options)
        return tagger

    for update in (10, 2, 2):  # in the second stage, right after its first checkpoint, and once more
        with pytest.raises(Stopped):
            run(tmp_path / "a", StopAt(update))
    assert same_weights(run(tmp_path / "a"), run(tmp_path / "b"))
    assert rows_of(tmp_path / "a") == rows_of(tmp_path / "b")


def rows_of(out: Path, *kinds: str) -> list[dict[str, Any]]:
    """The record of a run, without the clock."""
    places = sorted((out / "training").glob("*/records.jsonl"))
    rows = [json.loads(line) for place in places for line in place.read_text().splitlines()]
    return [
        {name: value for name, value in row.items() if name != "time"}
        for row in rows
        if not kinds or row["kind"] in kinds
    ]


@pytest.mark.parametrize("encoder", ["character-cnn-lstm", "bert"])
@pytest.mark.parametrize("form", ["F", "P"])
def test_the_tagger_saved_is_the_tagger_trained(build: Build, news, tweets, tmp_path, encoder: str, form: str) -> None:
    tagger = build(encoder, text=tweets[:4], labels=news.labels)
    learn(tagger, news, tweets[:4], form=form, training=QUICK | {"updates": 12})
    tagger.save(tmp_path / "t")
    again = Tagger.load(tmp_path / "t")
    torch.testing.assert_close(scores_of(again, news + tweets), scores_of(tagger, news + tweets))
    assert predict(again, news).sentences == predict(tagger, news).sentences
    assert sum(p.numel() for p in again.parameters()) == sum(p.numel() for p in tagger.parameters())


def shuffled(corpus: Corpus) -> Corpus:
    """The same words under other tags."""
    dice = random.Random(0)
    return corpus.map(lambda s: s.with_tags([f"B-{dice.choice(['PER', 'LOC', 'ORG'])}" for _ in s.words]))


@pytest.mark.parametrize("few", [4, 0])
def test_labels_of_tests_and_of_target_text_have_no_part_in_it(build: Build, news, tweets, same_weights, few) -> None:
    taggers = []
    for target, test in ((tweets, tweets), (shuffled(tweets), shuffled(tweets)), (tweets.unlabelled(), None)):
        taggers.append(build(text=tweets[:4], labels=news.labels))
        learn(
            taggers[-1], news, tweets[:few] if few else None, target, target_test=test, target_dev=None, select="last"
        )
    assert same_weights(taggers[0], taggers[1])
    assert same_weights(taggers[0], taggers[2])


def test_the_labelled_target_sentences_do_have_a_part(build: Build, news, tweets, same_weights) -> None:
    taggers = []
    for few in (tweets[:4], shuffled(tweets[:4])):
        taggers.append(build(text=tweets[:4], labels=news.labels))
        learn(taggers[-1], news, few)
    assert not same_weights(*taggers)


@pytest.mark.parametrize(
    ("given", "selector"),
    [
        ({}, "last update"),
        ({"target_dev": True}, "span F1 on target dev (6 sentences)"),
        ({"target_dev": True, "select": "target-dev"}, "span F1 on target dev (6 sentences)"),
        ({"target_dev": True, "select": "last"}, "last update"),
        ({"source_dev": True}, "last update"),
    ],
    ids=str,
)
def test_what_chooses_the_state_is_the_target_s_or_nothing(build: Build, news, tweets, given, selector) -> None:
    given = {name: tweets[4:] if value is True else value for name, value in given.items()}
    assert ran(build, news, tweets, **given).selector == selector


def ran(build: Build, news: Corpus, tweets: Corpus, **given: Any) -> Outcome:
    tagger = build(text=tweets[:4], labels=news.labels)
    return adapt(tagger, news, recipe="datnet", target_labelled=tweets[:4], **{"training": QUICK, **given})


def test_the_source_cannot_choose_it(build: Build, news: Corpus, tweets: Corpus) -> None:
    with pytest.raises(UsageError, match="source sentences cannot choose its state"):
        ran(build, news, tweets, select="source-dev", source_dev=news)


def test_without_labelled_target_sentences_the_source_chooses(build: Build, news: Corpus, tweets: Corpus) -> None:
    outcome = adapt(build(), news, tweets, "datnet", training=QUICK, target_dev=tweets)
    assert outcome.selector == "span F1 on held-out source (2 sentences)"


# the report


def test_before_is_the_tagger_of_the_labelled_target_alone(build: Build, news: Corpus, tweets: Corpus) -> None:
    given: dict[str, Any] = {"target_labelled": tweets[:4], "target_test": tweets, "source_test": news}
    given |= {"training": QUICK | {"updates": 60, "learning_rate": 0.05}}
    tagger, plain = (build(text=tweets[:4], labels=news.labels, dropout=0.0) for _ in range(2))
    plain.encoder.normalise_by(tweets[:4], "weighted")  # as datnet does
    outcome = adapt(tagger, news, recipe="datnet", **given)
    alone = adapt(plain, news, recipe="target-only", **given)
    assert outcome.target.before == alone.target.before == alone.target.after == evaluate(plain, tweets)
    assert outcome.target.after == evaluate(tagger, tweets)
    assert outcome.target.before.span.f1 > 0
    assert outcome.target.comparison is not None
    assert outcome.source is None
    assert [stage["stage"] for stage in outcome.stages] == ["target", "datnet"]
    told = " ".join(outcome.remarks)
    assert "4 labelled target sentences were given to learn from" in told
    assert "trained on the labelled target sentences alone" in told
    assert "no source score" in told
    assert "source test" not in told


def test_words_count_as_seen_that_the_source_or_the_labelled_target_has(
    build: Build, news: Corpus, tweets: Corpus
) -> None:
    tagger = build(text=tweets[:4], labels=news.labels)
    learn(tagger, news, tweets[:4])
    assert set(tagger.seen.words) == {*news.vocabulary, *tweets[:4].vocabulary}


def test_without_labelled_target_sentences_both_scores_are_told(build: Build, news: Corpus, tweets: Corpus) -> None:
    outcome = adapt(build(), news, tweets, "datnet", training=QUICK, source_test=news, target_test=tweets)
    assert outcome.source is not None
    assert outcome.target is not None
    assert [stage["stage"] for stage in outcome.stages] == ["source", "datnet"]
    assert not any("target's own" in remark for remark in outcome.remarks)


# the game


def test_the_game_is_written_down_at_every_look(build: Build, news: Corpus, tweets: Corpus, tmp_path: Path) -> None:
    given: dict[str, Any] = {"training": QUICK | {"updates": 6, "evaluate_every": 2}, "out": tmp_path}
    learn(build(text=tweets[:4], labels=news.labels), news, tweets[:4], tweets[4:], source_dev=news[:7], **given)
    rows = rows_of(tmp_path, "game")
    assert [(row["stage"], row["update"]) for row in rows] == [("datnet", 2), ("datnet", 4), ("datnet", 6)]
    for row in rows:
        assert row["accuracy"] == pytest.approx((row["source_accuracy"] + row["target_accuracy"]) / 2)
        assert (7 * row["source_accuracy"]) == pytest.approx(round(7 * row["source_accuracy"]))
        assert (6 * row["target_accuracy"]) == pytest.approx(round(6 * row["target_accuracy"]))
        assert 0 < row["loss"] < 2
        assert row["sentences"] == round(4 / (1 / 7 + 1 / 6))


@pytest.mark.parametrize(("accuracy", "told"), [(0.98, "told the domains apart to the end"), (0.7, None)])
def test_a_game_that_went_wrong_becomes_a_remark(
    build: Build, news, tweets, monkeypatch: pytest.MonkeyPatch, accuracy: float, told: str | None
) -> None:
    monkeypatch.setattr(
        DiscriminatorDiagnostics, "__call__", lambda game, learner: {"accuracy": accuracy, "sentences": 200}
    )
    outcome = ran(build, news, tweets, training=QUICK | {"evaluate_every": 1})
    remarks = [remark for remark in outcome.remarks if remark.startswith("The discriminator")]
    assert len(remarks) == (told is not None)
    assert told is None or told in remarks[0]


def test_without_a_discriminator_there_is_no_game(build: Build, news, tweets, tmp_path: Path) -> None:
    ran(build, news, tweets, discriminator="none", out=tmp_path)
    assert rows_of(tmp_path, "game") == []


def test_sentences_that_nobody_learns_from_judge_the_game_where_there_are_any(build: Build, news, tweets) -> None:
    def judges(target: Corpus, aside: Mapping[str, Corpus] | None = None) -> dict[str, Sequence[Sentence]]:
        plan = Plan(news, target, TrainingSettings(), DatnetSettings(), 1, aside or {})
        (game,) = next(RECIPES["datnet"].stages(build(text=tweets[:4], labels=news.labels), plan)).watches
        assert isinstance(game, DiscriminatorDiagnostics)
        return dict(game.held_out)

    few, rest = tweets[:4], tweets[4:].unlabelled()
    none = judges(few)
    assert (len(none[SOURCE]), len(none[TARGET])) == (24, 4)
    assert judges(rest + few)[TARGET] == rest.sentences
    assert judges(rest)[TARGET] == rest.sentences  # all that there is, though it is learnt from
    given = judges(rest + few, {SOURCE: news[:5], TARGET: tweets[:3]})
    assert given == {SOURCE: news[:5].unlabelled().sentences, TARGET: tweets[:3].unlabelled().sentences}


def test_a_tenth_of_the_source_that_was_held_out_judges_the_game_too(build: Build, news, tweets, monkeypatch) -> None:
    seen: list[Plan] = []
    monkeypatch.setitem(
        RECIPES, "datnet", replace(RECIPES["datnet"], check=lambda tagger, plan: seen.append(plan) or ())
    )
    adapt(build(), news, tweets, "datnet", training=QUICK)
    aside = seen[0].aside[SOURCE]
    assert len(aside) == 2
    assert not {sentence.words for sentence in aside} & {sentence.words for sentence in seen[0].source}


# without labels


def test_without_labelled_target_sentences_one_tagger_learns_from_both_texts(build: Build, news, tweets, same_weights):
    taggers = []
    for target in (tweets, tweets[:3]):
        taggers.append(build())
        losses = learn(taggers[-1], news, None, target)
        assert set(losses.found) == {"source/tag", "datnet/tag", "datnet/discriminator"}
    assert not same_weights(*taggers)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"form": "P"}, "DATNet-P needs labelled target sentences.*options.form=F"),
        ({"schedule": "alternate"}, "alternate needs labelled target sentences; without any take joint"),
        ({"discriminator": "none"}, "nothing is learnt from the target"),
        ({"share_crf": True}, "share_crf has no effect without labelled target sentences"),
        ({"shared_width": 5}, "shared_width has no effect without labelled target sentences"),
        ({"source_vectors": "x.txt"}, "source_vectors has no effect without labelled target sentences"),
    ],
    ids=str,
)
def test_what_cannot_be_without_labels_is_refused_before_training(build: Build, news, tweets, options, words) -> None:
    watcher = Losses()
    with pytest.raises(UsageError, match=words):
        adapt(build(), news, tweets, "datnet", training=QUICK, watcher=watcher, **options)
    assert not watcher.found


# refused with labels, and before any training


@pytest.mark.parametrize(
    ("encoder", "options", "words"),
    [
        ("character-cnn-lstm", {"private_width": 4}, "private_width has no effect in form F"),
        ("character-cnn-lstm", {"balance": "square-root"}, "balance has no effect with schedule=joint"),
        ("character-cnn-lstm", {"training": {"optimizer": "muon"}, "rate": 3}, "set options.rate=1, or take adamw"),
        ("bert", {"training": {"optimizer": "muon"}}, "set options.rate=1, or take adamw"),
        ("bert", {"source_vectors": "x.txt"}, "a pre-trained one reads none"),
    ],
    ids=str,
)
def test_options_that_do_nothing_or_cannot_be_are_refused(build: Build, news, tweets, encoder, options, words) -> None:
    watcher = Losses()
    options = dict(options)
    training = QUICK | options.pop("training", {})
    tagger = build(encoder, text=tweets[:4], labels=news.labels)
    with pytest.raises(UsageError, match=words):
        adapt(tagger, news, recipe="datnet", target_labelled=tweets[:4], training=training, watcher=watcher, **options)
    assert not watcher.found


def test_muon_is_fine_at_one_rate(build: Build, news: Corpus, tweets: Corpus) -> None:
    tagger = build("bert", labels=news.labels)
    assert all_finite(learn(tagger, news, tweets[:4], training=QUICK | {"optimizer": "muon"}, rate=1))


def test_one_crf_for_other_labels_is_refused_before_training(build: Build, news: Corpus, clinical: Corpus) -> None:
    watcher = Losses()
    with pytest.raises(UsageError, match="share_crf needs the same labels in both domains, not LOC, ORG, PER"):
        adapt(
            build(text=clinical),
            news,
            recipe="datnet",
            target_labelled=clinical,
            training=QUICK,
            share_crf=True,
            watcher=watcher,
        )
    assert not watcher.found


@pytest.mark.parametrize("bare", ["no tags", "no entity"])
def test_a_source_without_labels_is_refused_before_training(build: Build, news, tweets, bare: str) -> None:
    source = news.unlabelled() if bare == "no tags" else news.map(lambda s: s.with_tags(["O"] * len(s)))
    watcher = Losses()
    with pytest.raises(InputError, match="the source news has no labels to learn from"):
        learn_with(watcher, build(text=tweets[:4], labels=news.labels), source, tweets[:4])
    assert not watcher.found


def learn_with(watcher: Losses, tagger: Tagger, source: Corpus, few: Corpus, **options: Any) -> None:
    adapt(tagger, source, recipe="datnet", target_labelled=few, training=QUICK, watcher=watcher, **options)


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.txt"
    path.write_text("anna 1 2 3 4 5 6\noslo 6 5 4 3 2 1\nfell 0 1 0 1 0 1\n", encoding="utf-8")
    return path


def test_the_source_may_have_vectors_of_its_own(build: Build, news: Corpus, tweets: Corpus, vectors: Path) -> None:
    tagger = build(text=tweets[:4], labels=news.labels)
    plan = Plan(news, tweets[:4], TrainingSettings(), DatnetSettings(source_vectors=str(vectors)), 1)
    stage = next(RECIPES["datnet"].stages(tagger, plan))
    other = stage.learner[SOURCE].encoder
    row = other.word_table.weight[other.vocabulary.number("oslo")]
    assert row.tolist() == [6, 5, 4, 3, 2, 1]


def test_vectors_of_another_size_are_refused_before_training(build: Build, news, tweets, vectors: Path) -> None:
    watcher = Losses()
    with pytest.raises(UsageError, match="6 numbers a word, but 8 in the target"):
        learn_with(
            watcher,
            build(text=tweets[:4], labels=news.labels, word_width=8),
            news,
            tweets[:4],
            source_vectors=str(vectors),
        )
    assert not watcher.found


def test_a_run_does_not_go_on_with_other_vectors(build: Build, news, tweets, vectors: Path, tmp_path: Path) -> None:
    given: dict[str, Any] = {"target_labelled": tweets[:4], "training": QUICK, "out": tmp_path / "run"}
    given |= {"source_vectors": str(vectors)}
    adapt(build(text=tweets[:4], labels=news.labels), news, recipe="datnet", **given)
    vectors.write_text(vectors.read_text() + "bob 1 1 1 1 1 1\n")
    with pytest.raises(UsageError, match="begun with other settings or data"):
        adapt(build(text=tweets[:4], labels=news.labels), news, recipe="datnet", **given)

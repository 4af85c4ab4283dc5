"""`acclimate compress`, and `acclimate.compress`: a student with fewer layers learns a tagger's answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import Files, acclimate, ctrl_c_after

from acclimate import Tagger, compress, predict
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.methods.teachers import cross_entropy, log_probabilities
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.learner import View, eval_mode
from acclimate.runs.compress import student_of
from acclimate.settings import SettingsError, UsageError

SHORT = {"updates": 4, "words_per_batch": 60, "device": "cpu"}
QUICK = [word for name, value in SHORT.items() for word in ("--set", f"training.{name}={value}")]


@pytest.fixture(scope="module")
def teacher(build: Callable[..., Tagger]) -> Tagger:
    tagger = build("bert", feed_forward=8)
    with torch.no_grad():  # untrained, a tagger has the same tag for all words
        tagger.scores.weight.mul_(30)
        tagger.head.transitions.normal_(0, 1)
    return tagger.eval()


@pytest.fixture
def folder(teacher: Tagger, tmp_path: Path) -> Path:
    teacher.save(tmp_path / "a")
    return tmp_path / "a"


def distance(teacher: Tagger, student: Tagger, text: Corpus) -> float:
    """Mean cross-entropy of the student's scores under the teacher's."""
    with torch.no_grad(), eval_mode(student), eval_mode(teacher):
        one, other = (View(tagger, tagger.tensorize(list(text))) for tagger in (teacher, student))
        logs = (log_probabilities(view, "softmax") for view in (one, other))
        return float(cross_entropy(*logs, one.sentences.mask))


def weights_of(tagger: Tagger) -> list[torch.Tensor]:
    return [weight.detach().clone() for weight in tagger.parameters()]


@pytest.mark.parametrize(("layers", "kept"), [(1, (0,)), (2, (0, 6)), (3, (0, 3, 6)), (4, (0, 2, 4, 6))])
def test_the_layers_that_stay_are_evenly_spaced(layers: int, kept: tuple[int, ...]) -> None:
    student, found, of = student_of(Tagger.load("general"), layers)
    assert (found, of) == (kept, 7)
    assert isinstance(student.encoder, Transformer)
    assert student.encoder.layer_count == layers


def test_a_student_begins_with_the_teacher_s_own_layers_and_heads(teacher: Tagger) -> None:
    student, kept, _ = student_of(teacher, 1)
    mine, theirs = student.state_dict(), teacher.state_dict()
    same = {name for name in mine if torch.equal(mine[name], theirs[name])}
    assert kept == (0,)
    assert same == mine.keys() < theirs.keys()
    assert all(".layer.1." in name for name in theirs.keys() - mine.keys())


def test_it_comes_nearer_to_the_teacher_whose_weights_stay(teacher: Tagger, news: Corpus, tweets: Corpus) -> None:
    before = weights_of(teacher)
    far = distance(teacher, student_of(teacher, 1)[0], tweets)
    done = compress(teacher, news + tweets, 1, training={**SHORT, "updates": 60, "learning_rate": 0.01})
    assert distance(teacher, done.tagger, tweets) < 0.7 * far
    assert all(map(torch.equal, before, weights_of(teacher)))
    assert done.parameters[0] > done.parameters[1] == sum(map(torch.numel, done.tagger.parameters()))


def test_tags_of_the_text_are_not_looked_at(teacher: Tagger, tweets: Corpus) -> None:
    one, other = (compress(teacher, text, 1, training=SHORT).tagger for text in (tweets, tweets.unlabelled()))
    assert all(map(torch.equal, weights_of(one), weights_of(other)))


def test_the_seed_decides(teacher: Tagger, tweets: Corpus) -> None:
    one, same, other = (compress(teacher, tweets, 1, training=SHORT, seed=seed).tagger for seed in (1, 1, 2))
    assert all(map(torch.equal, weights_of(one), weights_of(same)))
    assert not all(map(torch.equal, weights_of(one), weights_of(other)))


def test_agreement_and_f1_are_those_of_its_answers(teacher: Tagger, tweets: Corpus) -> None:
    """Too little text to hold any out: the agreement is that on the text itself."""
    taught = predict(teacher, tweets)
    done = compress(teacher, tweets, 1, test=taught, training=SHORT)
    assert done.agreement_on == len(tweets)
    assert done.f1_before == 1.0
    assert done.f1_after == pytest.approx(done.agreement)


@pytest.mark.parametrize("layers", [0, 2, 3])
def test_a_student_needs_fewer_layers_than_the_teacher(teacher: Tagger, tweets: Corpus, layers: int) -> None:
    with pytest.raises(UsageError, match="encoder has 2 layers, and a student has fewer"):
        compress(teacher, tweets, layers)


def test_an_lstm_is_refused(build: Callable[..., Tagger], tweets: Corpus) -> None:
    with pytest.raises(InputError, match="only a tagger on a pre-trained encoder can be compressed"):
        compress(build(), tweets, 1)


def test_a_text_without_sentences_is_refused(teacher: Tagger) -> None:
    with pytest.raises(InputError, match="no sentences to learn on"):
        compress(teacher, Corpus((), "nothing"), 1)


def test_an_encoder_that_lists_something_by_layer_is_refused(teacher: Tagger) -> None:
    assert isinstance(teacher.encoder, Transformer)
    config: Any = teacher.encoder.model.config
    config.layer_types = ["a", "b"]
    try:
        with pytest.raises(InputError, match="cannot be taken out one by one"):
            student_of(teacher, 1)
    finally:
        del config.layer_types


def test_settings_are_checked(teacher: Tagger, tweets: Corpus) -> None:
    with pytest.raises(SettingsError, match="updates"):
        compress(teacher, tweets, 1, training={"update": 3})


def test_the_command_leaves_a_tagger_with_a_card(folder: Path, files: Files) -> None:
    out = folder.with_name("small")
    words = ["compress", folder, "--layers", 1, "--text", files.tweets, files.dev, "--test", files.gold, "--out", out]
    answer = acclimate(*words, *QUICK)
    assert "1 of 2 layers" in answer.out
    assert "agreement with the tagger: " in answer.out
    assert f"{files.gold}: " in answer.out
    assert "18 sentences to learn on" in answer.err
    facts = json.loads((out / "compression.json").read_text())
    assert facts["layers"] == [0]
    assert facts["f1_after"] is not None
    card = (out / "README.md").read_text()
    assert "1 of 2 layers" in card
    assert "agreement with the tagger" in card.lower()
    student = Tagger.load(out)
    assert isinstance(student.encoder, Transformer)
    assert student.encoder.layer_count == 1
    assert acclimate("predict", out, files.tweets).out
    assert "already holds a finished run" in acclimate(*words, *QUICK, code=2).err
    acclimate(*words, *QUICK, "--overwrite", "--quiet")


def test_a_student_can_be_compressed_and_exported_by_its_own_text(folder: Path, files: Files) -> None:
    pytest.importorskip("onnxscript")
    out = folder.with_name("small")
    acclimate("compress", folder, "--layers", 1, "--text", files.tweets, "--out", out, *QUICK)
    shown = acclimate("export", out).out
    assert "100.00 % of tags equal" in shown
    assert "tweets.txt" in shown
    assert (out / "compact" / "compact.json").is_file()
    acclimate("compress", folder, "--layers", 1, "--text", files.tweets, "--out", out, *QUICK, "--overwrite")
    assert not (out / "compact").exists()
    assert Tagger.load(out).labels == Tagger.load(folder).labels


def test_an_interrupted_run_goes_on_and_ends_as_the_unbroken_one(folder: Path, files: Files) -> None:
    words = ["compress", folder, "--layers", 1, "--text", files.tweets, *QUICK, "--set", "training.checkpoint_every=2"]
    unbroken, broken = folder.with_name("unbroken"), folder.with_name("broken")
    acclimate(*words, "--out", unbroken)
    with ctrl_c_after(3):
        acclimate(*words, "--out", broken, code=130)
    assert "other settings or data" in acclimate(*words, "--set", "seed=2", "--out", broken, code=2).err
    assert "going on from update 2" in acclimate(*words, "--out", broken).err
    weights = [(place / "weights.safetensors").read_bytes() for place in (unbroken, broken)]
    assert weights[0] == weights[1]


def test_without_text_it_is_asked_for(folder: Path) -> None:
    assert "Name some: --text CORPUS" in acclimate("compress", folder, code=2).err


def test_only_so_many_sentences_are_drawn(folder: Path, files: Files) -> None:
    words = ["compress", folder, "--layers", 1, "--text", files.tweets, "--set", "sentences=4", *QUICK]
    assert "4 sentences to learn on of 10" in acclimate(*words, "--out", folder.with_name("b")).err

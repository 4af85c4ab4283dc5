"""Teaching without labels: harder readings, trust, balance, types the teacher does not know, and the way back."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from acclimate.data.corpus import Corpus
from acclimate.methods.teachers import HarderReading, NearStart, Teaching, balance, lower_cased, trust
from acclimate.model.learner import NoView
from acclimate.model.tagger import Tagger

ENCODERS = ["character-cnn-lstm", "bert"]
AS_WRITTEN = HarderReading(0.0, 0.0)
Build = Callable[..., Tagger]


def slow_loss(tagger: Tagger, teacher: Tagger, corpus: Corpus, strength: float) -> float:
    """Word by word, with both readings as written: trust is 1 everywhere."""
    guesses, answers = [], []
    for sentence in corpus:
        guesses += teacher.view([sentence]).marginals[0].tolist()
        answers += tagger.view([sentence]).marginals[0].tolist()
    types = [tag.partition("-")[2] or "O" for tag in tagger.tags]
    sizes = {
        kind: max(1.0, sum(p for row in guesses for p, t in zip(row, types, strict=True) if t == kind))
        for kind in types
    }
    total = weight = 0.0
    for guess, answer in zip(guesses, answers, strict=True):
        own = sum(p * max(1.0, sizes[kind]) ** -strength for p, kind in zip(guess, types, strict=True))
        total -= own * sum(p * math.log(q) for p, q in zip(guess, answer, strict=True))
        weight += own
    return total / weight


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
def test_the_loss_is_the_weighted_mean_counted_word_by_word(
    build: Build, tweets: Corpus, encoder: str, strength: float
) -> None:
    tagger = build(encoder).eval()
    teaching = Teaching(tagger, AS_WRITTEN, strength=strength)
    tagger.scores.weight.data += 0.3 * torch.randn_like(tagger.scores.weight)
    text = tweets[:4].unlabelled()
    found = teaching(NoView("source"), tagger.view(text.sentences)).detach()
    assert float(found) == pytest.approx(slow_loss(tagger, teaching.teacher, text, strength), rel=1e-4)


def test_trust_is_what_two_answers_have_in_common() -> None:
    one, other = torch.tensor([[0.7, 0.2, 0.1], [1.0, 0.0, 0.0]]), torch.tensor([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]])
    assert trust(one, other).tolist() == pytest.approx([0.7, 0.0])
    assert trust(one, one).tolist() == pytest.approx([1.0, 1.0])


def test_with_full_balance_types_weigh_alike_and_without_words_do() -> None:
    guesses = torch.eye(2)[torch.tensor([[0, 0, 0, 0, 0, 0, 1, 1]])]  # six words are O
    counted = torch.ones(1, 8)
    even = balance(guesses, torch.eye(2), counted, 1.0)[0]
    assert float(even[:6].sum()) == pytest.approx(float(even[6:].sum()))
    assert balance(guesses, torch.eye(2), counted, 0.0)[0].tolist() == pytest.approx([1.0] * 8)


def test_a_type_that_hardly_occurs_gets_no_large_weight() -> None:
    guesses = torch.tensor([[[0.99, 0.01]] * 3])
    assert float(balance(guesses, torch.eye(2), torch.ones(1, 3), 1.0).max()) < 1


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_harder_reading_hides_words_and_takes_capitals_and_keeps_every_place(
    build: Build, news: Corpus, encoder: str
) -> None:
    tagger = build(encoder).eval()
    view = tagger.view(news[:5].sentences)
    hard = HarderReading(0.5, 1.0)(view)
    assert [sentence.words for sentence in hard.originals] == [lower_cased(each).words for each in news[:5]]
    assert torch.equal(hard.sentences.mask, view.sentences.mask)
    assert torch.equal(hard.sentences.tags, view.sentences.tags)
    assert not torch.equal(hard.scores, view.scores)
    assert torch.equal(HarderReading(0.0, 0.0)(view).scores, view.scores)


def test_where_the_teacher_contradicts_itself_it_is_not_believed(build: Build, tweets: Corpus) -> None:
    tagger = build("bert").eval()
    teaching = Teaching(tagger, HarderReading(0.5, 0.0), strength=0.0)
    answers = iter([torch.tensor([[[1.0, 0.0]], [[1.0, 0.0]]]), torch.tensor([[[0.0, 1.0]], [[1.0, 0.0]]])])
    student = torch.tensor([[[0.01, 0.99]], [[0.5, 0.5]]])
    teaching.types = torch.eye(2)
    teaching.probabilities_of = lambda view: next(answers, student)  # type: ignore[method-assign]
    word = tweets.map(lambda sentence: sentence.with_words(sentence.words[:1], None))
    loss = teaching(NoView("source"), tagger.view(word[:2].sentences))
    assert float(loss) == pytest.approx(-math.log(0.5))  # of the second sentence alone


@pytest.mark.parametrize("head", ["crf", "softmax"])
def test_a_type_that_the_teacher_does_not_know_is_not_taught_as_o(build: Build, tweets: Corpus, head: str) -> None:
    """Whatever a word's O is divided into, O and new types, the loss is the same."""
    tagger = build("bert", head=head).eval().with_labels(["GENE"])
    teaching = Teaching(tagger, AS_WRITTEN, new_labels=["GENE"])
    assert teaching.merging.shape == (len(tagger.tags), len(tagger.tags) - 2)
    view = tagger.view(tweets[:3].unlabelled().sentences)
    found = teaching.probabilities_of(view)
    new = [number for number, tag in enumerate(tagger.tags) if "GENE" in tag]
    known = [number for number in range(len(tagger.tags)) if number not in new]
    wanted = view.marginals[..., known].clone()
    wanted[..., 0] += view.marginals[..., new].sum(-1)
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_its_gradient_reaches_the_student_and_not_the_teacher(build: Build, tweets: Corpus, encoder: str) -> None:
    tagger = build(encoder)
    teaching = Teaching(tagger, HarderReading())
    teaching(NoView("source"), tagger.view(tweets.unlabelled().sentences)).backward()
    assert tagger.scores.weight.grad is not None
    assert tagger.scores.weight.grad.abs().sum() > 0
    assert all(weight.grad is None for weight in teaching.teacher.parameters())


def test_near_the_start_is_half_the_squared_distance_of_all_weights(build: Build, tweets: Corpus) -> None:
    tagger = build()
    near = NearStart(tagger)
    view = tagger.view(tweets[:1].sentences)
    assert near(NoView("source"), view) == 0
    with torch.no_grad():
        tagger.scores.bias += 2.0
    loss = near(view, NoView("target"))
    assert float(loss.detach()) == pytest.approx(0.5 * 4 * len(tagger.tags))
    loss.backward()
    torch.testing.assert_close(tagger.scores.bias.grad, torch.full_like(tagger.scores.bias, 2.0))

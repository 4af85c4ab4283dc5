"""Supervised tagging: the mean negative log-likelihood of the gold tags, and of nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from acclimate.data.corpus import Corpus, Sentence
from acclimate.methods.objective import Objective, Tagging, TaggingOfAll
from acclimate.model.learner import NoView, View
from acclimate.model.tagger import Tagger

NOBODY = NoView("target")


@pytest.fixture(scope="module", params=["crf", "softmax"])
def tagger(request: pytest.FixtureRequest, build: Callable[..., Tagger]) -> Tagger:
    return build(head=request.param, labels=["PER"], text=_text(), scheme="IOB2").double().eval()


def _text() -> Corpus:
    return Corpus.of(
        [Sentence(("Anna", "met", "Bob", "Stone"), ("B-PER", "O", "B-PER", "I-PER")), Sentence(("ok",), ("O",))]
    )


def view_of(tagger: Tagger, *sentences: Sentence) -> View:
    return View(tagger, tagger.tensorize(sentences))


def slow_loss(tagger: Tagger, sentence: Sentence) -> Tensor:
    """Minus the log of the gold path's share among all paths, every one of them written out."""
    view = view_of(tagger, sentence)
    scores, gold = view.scores[0], view.sentences.tags[0].tolist()
    moves = getattr(tagger.head, "transitions", torch.zeros(len(tagger.tags), len(tagger.tags)))

    def worth(path: tuple[int, ...]) -> Tensor:
        return sum((scores[place, tag] for place, tag in enumerate(path)), torch.tensor(0.0)) + sum(
            (moves[left, right] for left, right in itertools.pairwise(path)), torch.tensor(0.0)
        )

    paths = itertools.product(range(len(tagger.tags)), repeat=len(sentence))
    return torch.stack([worth(path) for path in paths]).logsumexp(0) - worth(tuple(gold))


@pytest.mark.parametrize("average", ["word", "sentence"])
def test_it_equals_a_slow_loop_over_all_paths_in_value_and_gradient(tagger: Tagger, average: str) -> None:
    text = _text()
    found = Tagging(average=average)(view_of(tagger, *text), NOBODY)
    size = text.word_count if average == "word" else len(text)
    expected = sum((slow_loss(tagger, sentence) for sentence in text), torch.tensor(0.0)) / size
    torch.testing.assert_close(found, expected)
    weights = [weight for weight in tagger.parameters() if weight.requires_grad]
    slopes = torch.autograd.grad(found, weights)
    torch.testing.assert_close(slopes, torch.autograd.grad(expected, weights))


def test_its_slope_is_the_slope_of_the_loss(tagger: Tagger) -> None:
    view = view_of(tagger, *_text())
    words = view.embeddings["words"].detach().requires_grad_()

    def loss(words: Tensor) -> Tensor:
        moved = View(tagger, view.sentences, {**view.embeddings, "words": words})
        result: Tensor = Tagging()(moved, NOBODY)
        return result

    assert torch.autograd.gradcheck(loss, (words,))


@pytest.mark.parametrize("average", ["word", "sentence"])
def test_rows_without_tags_count_nothing(tagger: Tagger, average: str) -> None:
    text, raw = _text(), Sentence(("an", "unlabelled", "row", "of", "words"))
    alone = Tagging(average=average)(view_of(tagger, *text), NOBODY)
    torch.testing.assert_close(Tagging(average=average)(view_of(tagger, *text, raw), NOBODY), alone)


def test_a_batch_without_any_tags_costs_nothing_and_moves_nothing(tagger: Tagger) -> None:
    loss = Tagging()(view_of(tagger, Sentence(("Anna",))), NOBODY)
    assert loss.item() == 0
    slopes = torch.autograd.grad(loss, [w for w in tagger.parameters() if w.requires_grad], allow_unused=True)
    assert not any(slope is not None and slope.any() for slope in slopes)


def test_a_sentence_given_twice_costs_as_much_as_once(tagger: Tagger) -> None:
    text = _text()
    torch.testing.assert_close(
        Tagging()(view_of(tagger, *text, *text), NOBODY), Tagging()(view_of(tagger, *text), NOBODY)
    )


def test_the_named_domain_is_the_one_that_counts(tagger: Tagger) -> None:
    one, other = (view_of(tagger, sentence) for sentence in _text())
    torch.testing.assert_close(Tagging("target")(one, other), Tagging("source")(other, one))
    with pytest.raises(ValueError, match="needs target sentences"):
        Tagging("target")(one, NOBODY)


def test_an_objective_that_says_nothing_cannot_be_used() -> None:
    with pytest.raises(NotImplementedError):
        Objective()(NOBODY, NOBODY)


@pytest.mark.parametrize("average", ["word", "sentence"])
def test_tagging_of_all_is_the_sum_of_the_domains_each_averaged_by_itself(tagger: Tagger, average: str) -> None:
    one, other = (view_of(tagger, sentence) for sentence in _text())
    both = TaggingOfAll(average)(one, other)
    torch.testing.assert_close(both, Tagging("source", average)(one, other) + Tagging("target", average)(one, other))
    torch.testing.assert_close(TaggingOfAll(average)(one, NOBODY), Tagging("source", average)(one, NOBODY))
    alone = TaggingOfAll(average)(NoView("source"), other)
    torch.testing.assert_close(alone, Tagging("target", average)(NOBODY, other))


def test_tagging_of_all_needs_somebody(tagger: Tagger) -> None:
    with pytest.raises(ValueError, match="needs source sentences"):
        TaggingOfAll()(NoView("source"), NOBODY)

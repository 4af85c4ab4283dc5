"""How sure a tagger is: the probability of what it decoded."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from acclimate.data.corpus import Corpus
from acclimate.inference.predict import sentence_confidences, word_confidences
from acclimate.model.learner import View
from acclimate.model.tagger import Tagger


@pytest.fixture(scope="module", params=["crf", "softmax"])
def tagger(request: pytest.FixtureRequest, build: Callable[..., Tagger]) -> Tagger:
    return build(head=request.param)


@pytest.mark.parametrize("words_per_batch", [1, 50, 8192])
def test_each_word_has_the_probability_of_its_decoded_tag(tagger: Tagger, news: Corpus, words_per_batch: int) -> None:
    found = word_confidences(tagger, news, words_per_batch)
    tagger.eval()
    for sentence, row in zip(news, found, strict=True):
        view = View(tagger, tagger.tensorize([sentence]))
        decoded = tagger.head.decode(view.scores, view.sentences.mask)[0]
        expected = [view.marginals[0, place, tag].item() for place, tag in enumerate(decoded)]
        assert row == pytest.approx(expected, abs=1e-5)


def test_the_least_sure_word_speaks_for_its_sentence(tagger: Tagger, news: Corpus) -> None:
    assert sentence_confidences(tagger, news) == [min(row) for row in word_confidences(tagger, news)]


def test_gold_tags_and_random_numbers_are_left_alone(tagger: Tagger, news: Corpus) -> None:
    tagger.train()
    dice = torch.get_rng_state()
    assert word_confidences(tagger, news) == word_confidences(tagger, news.unlabelled())
    assert torch.equal(torch.get_rng_state(), dice)
    assert tagger.training

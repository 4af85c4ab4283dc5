"""What a tagger takes a term for: the mean over its words of the marginals of each class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from acclimate.data.corpus import Corpus
from acclimate.data.schemes import split_tag
from acclimate.inference.predict import guess_terms
from acclimate.model.learner import View
from acclimate.model.tagger import Tagger


@pytest.fixture(scope="module", params=["crf", "softmax", "bert"])
def tagger(request: pytest.FixtureRequest, build: Callable[..., Tagger]) -> Tagger:
    return build("bert") if request.param == "bert" else build(head=request.param)


@pytest.mark.parametrize("words_per_batch", [1, 8192])
def test_the_probability_is_that_of_the_likeliest_class(tagger: Tagger, news: Corpus, words_per_batch: int) -> None:
    found = iter(guess_terms(tagger, news, words_per_batch))
    tagger.eval()
    for number, sentence in enumerate(news):
        marginals = View(tagger, tagger.tensorize([sentence])).marginals[0]
        for span in sentence.spans:
            shares: dict[str, float] = {}
            for tag, place in zip(tagger.tags, range(len(tagger.tags)), strict=True):
                share = sum(marginals[word, place].item() for word in range(span.start, span.end))
                name = split_tag(tag)[1] or "O"
                shares[name] = shares.get(name, 0.0) + share / (span.end - span.start)
            guess = next(found)
            assert (guess.sentence, guess.span) == (number, span)
            assert guess.probability == pytest.approx(max(shares.values()), abs=1e-5)
            assert shares[guess.predicted] == pytest.approx(guess.probability, abs=1e-5)
            assert sum(shares.values()) == pytest.approx(1, abs=1e-4)
    assert next(found, None) is None


def test_the_labels_say_where_terms_are_and_nothing_else(tagger: Tagger, news: Corpus) -> None:
    """The leak test: other gold labels at the same places change no guess."""
    turned = {"PER": "LOC", "LOC": "ORG", "ORG": "PER"}
    other = news.map(
        lambda sentence: sentence.with_spans(replace(span, label=turned[span.label]) for span in sentence.spans)
    )
    mine, theirs = guess_terms(tagger, news), guess_terms(tagger, other)
    assert [(one.predicted, one.probability) for one in mine] == [(one.predicted, one.probability) for one in theirs]


def test_a_text_without_terms_has_no_guesses(tagger: Tagger, news: Corpus) -> None:
    assert guess_terms(tagger, news.unlabelled()) == []


def test_it_tells_how_far_it_is(tagger: Tagger, news: Corpus) -> None:
    heard: list[int] = []
    guess_terms(tagger, news, progress=heard.append)
    assert sum(heard) == len(news)

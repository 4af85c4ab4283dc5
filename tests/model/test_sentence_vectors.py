"""One vector for a whole sentence: [CLS] of a transformer, the mean of the LSTM's words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from acclimate.data.corpus import Corpus, Sentence
from acclimate.model.tagger import Tagger


@pytest.fixture(params=["character-cnn-lstm", "bert", "roberta"])
def tagger(request: pytest.FixtureRequest, build: Callable[..., Tagger]) -> Tagger:
    return build(request.param).eval()


def test_they_have_the_width_that_the_encoder_tells(tagger: Tagger, tweets: Corpus) -> None:
    assert tagger.view(tweets.sentences).sentence_vectors.shape == (len(tweets), tagger.encoder.sentence_width)


def test_batch_mates_do_not_matter(tagger: Tagger, tweets: Corpus) -> None:
    together = tagger.view(tweets.sentences).sentence_vectors
    for number in (0, 3):
        alone = tagger.view([tweets[number]]).sentence_vectors
        torch.testing.assert_close(alone[0], together[number], atol=1e-5, rtol=1e-4)


def test_the_lstm_s_is_the_mean_of_its_words(build: Callable[..., Tagger], tweets: Corpus) -> None:
    view = build().eval().view(tweets.sentences)
    for row, features, sentence in zip(view.sentence_vectors, view.features, tweets, strict=True):
        torch.testing.assert_close(row, features[: len(sentence)].mean(0))


@pytest.mark.parametrize("encoder", ["bert", "roberta"])
def test_a_transformer_s_is_its_last_layer_at_the_first_piece(
    build: Callable[..., Tagger], tweets: Corpus, encoder: str
) -> None:
    tagger = build(encoder, feed_forward=5).eval()
    view = tagger.view(tweets.sentences)
    states = tagger.encoder.states(view.inputs["pieces"], view.inputs["attention"])
    assert (view.inputs["pieces"][:, 0] == view.inputs["pieces"][0, 0]).all()
    torch.testing.assert_close(view.sentence_vectors, states[:, 0])


def test_a_long_sentence_has_the_mean_of_its_windows(build: Callable[..., Tagger], tweets: Corpus) -> None:
    tagger = build("bert").eval()
    long = Sentence(("omg",) * 300)
    view = tagger.view([tweets[0], long, tweets[1]])
    owners = view.inputs["sentences"]
    assert len(owners) > 3
    torch.testing.assert_close(view.sentence_vectors[1], view.last_layer[owners == 1, 0].mean(0))
    torch.testing.assert_close(view.sentence_vectors[2], view.last_layer[owners == 2, 0][0])


def test_where_nothing_stands_before_the_words_it_is_the_mean_of_the_row(
    build: Callable[..., Tagger], tweets: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    tagger = build("bert").eval()
    monkeypatch.setattr(tagger.encoder.pieces, "before", [])
    view = tagger.view(tweets.sentences)
    inside = view.inputs["attention"].bool()
    for row, states, where in zip(view.sentence_vectors, view.last_layer, inside, strict=True):
        torch.testing.assert_close(row, states[where].mean(0), atol=1e-5, rtol=1e-4)


def test_features_and_sentence_vectors_come_from_one_reading(
    tagger: Tagger, tweets: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings: list[int] = []
    read = tagger.encoder.last_layer
    monkeypatch.setattr(tagger.encoder, "last_layer", lambda *given: (readings.append(1), read(*given))[1])
    view = tagger.view(tweets.sentences)
    _ = view.features, view.sentence_vectors, view.scores
    assert len(readings) == 1

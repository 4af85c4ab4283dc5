"""Encoders with a part of their own beside the one that they share: each learns from its own losses only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from acclimate.data.corpus import Corpus
from acclimate.inference.predict import predict
from acclimate.model.encoders.encoder import Encoder
from acclimate.model.learner import View
from acclimate.model.tagger import Tagger

Build = Callable[..., Tagger]
encoders = pytest.mark.parametrize("encoder", ["character-cnn-lstm", "bert"])
WIDTHS = {"character-cnn-lstm": (2 * 3, 2 * 4), "bert": (3, 4)}  # private 3 and shared 4, twice for two directions


def split_tagger(build: Build, encoder: str) -> Tagger:
    tagger = build(encoder)
    tagger.split(shared=4, private=3)
    return tagger.eval()


def view_of(tagger: Tagger, corpus: Corpus) -> View:
    return View(tagger, tagger.tensorize(corpus.sentences))


def private(tagger: Tagger) -> dict[str, Tensor]:
    return {name: value for name, value in tagger.named_parameters() if "private" in name}


@encoders
def test_the_features_are_the_private_ones_and_the_shared_ones_side_by_side(build, news, encoder: str) -> None:
    tagger = split_tagger(build, encoder)
    own, common = WIDTHS[encoder]
    view = view_of(tagger, news[:4])
    assert view.features.size(-1) == tagger.encoder.width == own + common
    assert view.shared_features.size(-1) == common
    assert torch.equal(view.shared_features, view.features[..., own:])
    assert tagger.scores.in_features == own + common
    assert len(predict(tagger, news)) == len(news)


@encoders
def test_the_shared_features_neither_see_nor_teach_the_private_part(build, news: Corpus, encoder: str) -> None:
    tagger = split_tagger(build, encoder)
    before = view_of(tagger, news[:4])
    before.shared_features.square().sum().backward()
    assert private(tagger)
    assert all(weight.grad is None or not weight.grad.any() for weight in private(tagger).values())
    assert any(weight.grad is not None and weight.grad.any() for weight in tagger.encoder.parameters())
    with torch.no_grad():
        for weight in private(tagger).values():
            weight += 1.0
    after = view_of(tagger, news[:4])
    assert torch.equal(after.shared_features, before.shared_features)
    assert not torch.allclose(after.features, before.features)


@encoders
def test_both_parts_learn_from_the_tags(build: Build, news: Corpus, encoder: str) -> None:
    tagger = split_tagger(build, encoder)
    view_of(tagger, news).losses.sum().backward()
    silent = [n for n, p in tagger.named_parameters() if p.requires_grad and (p.grad is None or not p.grad.any())]
    assert [name for name in silent if not name.endswith("key.bias")] == []


@encoders
def test_without_a_private_part_all_features_are_shared(build: Build, news: Corpus, encoder: str) -> None:
    view = view_of(build(encoder).eval(), news[:4])
    assert view.shared_features.shape == view.features.shape
    assert torch.equal(view.shared_features, view.features)


@encoders
def test_sizes_that_are_not_given_are_halves(build: Build, encoder: str) -> None:
    tagger = build(encoder)
    tagger.split()
    settings = tagger.encoder.settings
    if encoder == "bert":
        assert (settings.feed_forward, settings.private_width, tagger.encoder.width) == (8, 8, 16)
    else:
        assert (settings.lstm_width, settings.private_width, tagger.encoder.width) == (3, 3, 12)


def test_an_encoder_may_be_built_with_a_private_part(build: Build, news: Corpus) -> None:
    built, split = build(lstm_width=4, private_width=3), split_tagger(build, "character-cnn-lstm")
    assert {n: p.shape for n, p in built.named_parameters()} == {n: p.shape for n, p in split.named_parameters()}
    assert build("bert", private_width=3).encoder.width == 16 + 3


@encoders
@pytest.mark.parametrize("head", ["crf", "softmax"])
def test_a_split_tagger_can_be_saved_and_loaded(build, news, tmp_path: Path, same_weights, encoder, head: str) -> None:
    tagger = build(encoder, head=head)
    tagger.split(4, 3)
    tagger.eval().save(tmp_path / "tagger")
    again = Tagger.load(tmp_path / "tagger")
    assert same_weights(again, tagger)
    numbered = tagger.tensorize(news.sentences)
    assert torch.equal(View(again, numbered).scores, View(tagger, numbered).scores)
    assert torch.equal(View(again, numbered).shared_features, View(tagger, numbered).shared_features)


@encoders
def test_features_of_a_split_tagger_are_the_same_alone_or_in_a_batch(build, news: Corpus, encoder: str) -> None:
    tagger = split_tagger(build, encoder)
    together = view_of(tagger, news).shared_features
    for place, sentence in enumerate(news):
        alone = view_of(tagger, Corpus.of([sentence])).shared_features[0]
        torch.testing.assert_close(together[place, : len(sentence)], alone, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    "ask",
    [
        lambda encoder: encoder.split(),
        lambda encoder: encoder.sibling([]),
        lambda encoder: encoder.last_layer({}, {}),
        lambda encoder: encoder.embedding_rows({}),
        lambda encoder: encoder.replaced({}, []),
        lambda encoder: encoder.vectors_of([]),
        lambda encoder: encoder.rows_of([]),
    ],
)
def test_an_encoder_that_cannot_do_it_says_so(ask: Callable[[Encoder], object]) -> None:
    with pytest.raises(NotImplementedError):
        ask(Encoder())


def test_what_an_encoder_does_unless_it_knows_better() -> None:
    encoder, inputs = Encoder(), {"words": torch.zeros(1)}
    assert encoder.drawn(inputs) is inputs
    assert encoder.sizes_of(["a", "bb"]) == [1, 1]
    assert encoder.features_of(inputs["words"], inputs) is inputs["words"]
    encoder.stand_alone()

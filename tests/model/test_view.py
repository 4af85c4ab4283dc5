"""The view: each thing computed once, and a missing domain that says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from acclimate.data.corpus import Corpus
from acclimate.model.learner import NoView, View
from acclimate.model.tagger import Tagger


@pytest.fixture(scope="module", params=["character-cnn-lstm", "bert"])
def tagger(request: pytest.FixtureRequest, build: Callable[..., Tagger]) -> Tagger:
    return build(request.param).eval()


@pytest.fixture
def view(tagger: Tagger, news: Corpus) -> View:
    return View(tagger, tagger.tensorize(news[:4].sentences))


def counting(tagger: Tagger, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    calls: list[str] = []
    for name in ("embed", "last_layer"):
        real = getattr(tagger.encoder, name)
        monkeypatch.setattr(tagger.encoder, name, lambda *a, name=name, real=real: calls.append(name) or real(*a))
    return calls


def test_each_thing_is_computed_once_however_often_it_is_asked_for(view: View, monkeypatch) -> None:
    calls = counting(view.tagger, monkeypatch)
    for name in ("losses", "marginals", "scores", "features", "sentence_vectors", "embeddings") * 2:
        getattr(view, name)
    assert calls == ["embed", "last_layer"]
    assert view.losses is view.losses


def test_nothing_is_computed_before_somebody_asks(view: View, monkeypatch) -> None:
    calls = counting(view.tagger, monkeypatch)
    assert calls == []
    assert view.embeddings
    assert calls == ["embed"]


def test_all_features_are_shared_where_an_encoder_has_no_private_parts(view: View) -> None:
    assert view.shared_features is view.features


def test_noise_of_zeros_changes_nothing(view: View) -> None:
    silence = {name: torch.zeros_like(value) for name, value in view.embeddings.items()}
    assert torch.equal(view.with_noise(silence).scores, view.scores)


def test_noise_reaches_only_the_embeddings_that_it_names(view: View) -> None:
    name, value = next(iter(view.embeddings.items()))
    noise = torch.randn_like(value)  # not a constant: the layer norm behind a table of pieces takes that away
    noisy = view.with_noise({name: noise})
    torch.testing.assert_close(noisy.embeddings[name], value + noise)
    assert all(noisy.embeddings[other] is view.embeddings[other] for other in view.embeddings if other != name)
    assert not torch.allclose(noisy.scores, view.scores)


def test_noise_leaves_the_clean_view_as_it_was(view: View) -> None:
    before = view.scores.clone()
    view.with_noise({name: torch.randn_like(value) for name, value in view.embeddings.items()}).scores.sum()
    assert torch.equal(view.scores, before)


def test_marginals_are_probabilities_on_words_and_nothing_on_padding(view: View) -> None:
    sums = view.marginals.sum(-1)
    torch.testing.assert_close(sums, view.sentences.mask.float())


@pytest.mark.parametrize(
    "use", ["sentences", "embeddings", "shared_features", "scores", "losses", "with_noise", "tagger"]
)
def test_a_domain_that_is_not_there_refuses_with_words(use: str) -> None:
    with pytest.raises(ValueError, match="needs target sentences, but the stage's batches have none"):
        getattr(NoView("target"), use)


def test_lengths_stay_behind_when_sentences_travel(view: View) -> None:
    moved = view.sentences.to("meta")
    assert {tensor.device.type for name, tensor in moved.inputs.items() if name != "lengths"} == {"meta"}
    assert moved.mask.device.type == moved.tags.device.type == moved.labelled.device.type == "meta"
    assert "lengths" not in moved.inputs or moved.inputs["lengths"].device.type == "cpu"

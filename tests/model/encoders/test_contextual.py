"""Frozen contextual features: mixed as asked, never trained, never awake."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from acclimate.data.corpus import Corpus, Sentence
from acclimate.inference.predict import predict
from acclimate.model.encoders import shipped
from acclimate.model.encoders.contextual import ContextualSettings, FrozenContext
from acclimate.model.encoders.shipped import EncoderNotFound
from acclimate.model.learner import View
from acclimate.model.parts import planned
from acclimate.model.storage import StorageError
from acclimate.model.tagger import Tagger

SENTENCES = [Sentence(("Anna", "flew", "to", "New", "York")), Sentence(("ok",))]


def context_of(bert: str, **options: object) -> FrozenContext:
    return FrozenContext.load(ContextualSettings(encoder=bert, **options))


def layers_of(context: FrozenContext, sentence: Sentence) -> Tensor:
    """Every layer's state at each word's first piece, (layer, word, size), straight from `transformers`."""
    encoded = context.pieces.tokenizer([list(sentence.words)], is_split_into_words=True, return_tensors="pt")
    firsts = [encoded.word_ids(0).index(word) for word in range(len(sentence))]
    with torch.no_grad():
        states = context.model(**encoded, output_hidden_states=True).hidden_states
    return torch.stack(states)[:, 0, firsts]


@pytest.mark.parametrize("mix", ["fixed", "learned"])
@pytest.mark.parametrize("weights", [None, (0.5, 0.3, 0.2)])
def test_layers_are_mixed_with_the_given_shares(bert: str, mix: str, weights: tuple[float, ...] | None) -> None:
    context = context_of(bert, mix=mix, weights=weights)
    found = context(context.tensorize(SENTENCES))
    shares = torch.tensor(weights or (1 / 3, 1 / 3, 1 / 3))
    for place, sentence in enumerate(SENTENCES):
        expected = (shares[:, None, None] * layers_of(context, sentence)).sum(0)
        torch.testing.assert_close(found[place, : len(sentence)], expected, atol=1e-5, rtol=1e-5)


def test_the_wrong_number_of_shares_is_refused(bert: str) -> None:
    with pytest.raises(ValueError, match=r"has 3 layers \(embeddings included\), not 2"):
        context_of(bert, weights=(0.5, 0.5))


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_the_first_layers_alone_say_what_they_say_in_the_whole(bert: str, layers: int) -> None:
    whole = context_of(bert)
    context = context_of(bert, layers=layers, weights=(0.0,) * layers + (1.0,))
    found = context(context.tensorize(SENTENCES))
    assert len(context.model.encoder.layer) == layers
    for place, sentence in enumerate(SENTENCES):
        expected = layers_of(whole, sentence)[layers]
        torch.testing.assert_close(found[place, : len(sentence)], expected, atol=1e-5, rtol=1e-5)


def test_a_word_can_be_read_at_both_its_ends(bert: str) -> None:
    context, plain = context_of(bert, pieces="ends"), context_of(bert)
    found, firsts = (one(one.tensorize(SENTENCES)) for one in (context, plain))
    assert (found.shape[-1], context.width) == (32, 32)
    torch.testing.assert_close(found[..., :16], firsts, atol=1e-5, rtol=1e-5)
    encoded = context.pieces.tokenizer([list(SENTENCES[0].words)], is_split_into_words=True, return_tensors="pt")
    places = encoded.word_ids(0)
    lasts = [len(places) - 1 - places[::-1].index(word) for word in range(len(SENTENCES[0]))]
    assert lasts != [places.index(word) for word in range(len(SENTENCES[0]))]
    with torch.no_grad():
        states = torch.stack(context.model(**encoded, output_hidden_states=True).hidden_states).mean(0)
    torch.testing.assert_close(found[0, : len(SENTENCES[0]), 16:], states[0, lasts], atol=1e-5, rtol=1e-5)


def test_the_last_piece_of_a_word_stands_in_the_row_of_its_first(bert: str) -> None:
    context = context_of(bert, pieces="ends")
    sentence = Sentence(("Unfathomably", "a", "rainedrained") * 30)
    numbered = context.tensorize([SENTENCES[1], sentence])
    pieces = numbered["context_pieces"].flatten()
    for place, (word, spelled) in enumerate(zip(sentence.words, context.pieces.of_words(sentence.words), strict=True)):
        first, last = (int(numbered[f"context_{end}"][1, place]) for end in ("first", "last"))
        assert pieces[first : last + 1].tolist() == spelled, word


def test_the_vectors_can_be_squeezed(build: Callable[..., Tagger], bert: str, news: Corpus, tmp_path: Path) -> None:
    tagger = build(contextual={"encoder": bert, "width": 5, "pieces": "ends"}).train()
    assert tagger.encoder.context.width == 5
    View(tagger, tagger.tensorize(news[:4].sentences)).losses.sum().backward()
    assert tagger.encoder.context.squeeze.weight.grad is not None
    tagger.save(tmp_path / "tagger")
    assert predict(Tagger.load(tmp_path / "tagger"), news) == predict(tagger, news)


def test_more_layers_than_there_are_are_refused(bert: str) -> None:
    with pytest.raises(EncoderNotFound, match="it has 2 layers, so the first 3 cannot be read"):
        context_of(bert, layers=3)


def test_sentences_of_like_many_pieces_are_read_together(build: Callable[..., Tagger], bert: str) -> None:
    tagger = build(contextual={"encoder": bert})
    short, long = Sentence((".",) * 4), Sentence(("rainedrained",) * 4)  # as many words
    size = 3 * tagger.encoder.count_pieces([long])[0]
    assert planned(tagger.encoder.pieces, Corpus.of([short, long] * 3), size) == [[0, 2, 4], [1, 3, 5]]


@pytest.mark.parametrize("mix", ["fixed", "learned"])
def test_only_the_mix_learns_and_the_frozen_encoder_gets_no_gradient(
    build: Callable[..., Tagger], bert: str, news: Corpus, mix: str
) -> None:
    tagger = build(contextual={"encoder": bert, "mix": mix}).train()
    View(tagger, tagger.tensorize(news[:4].sentences)).losses.sum().backward()
    context = tagger.encoder.context
    assert all(weight.grad is None and not weight.requires_grad for weight in context.model.parameters())
    learnt = {name for name, weight in context.named_parameters() if weight.grad is not None}
    assert learnt == ({"mixing", "scale"} if mix == "learned" else set())


def test_the_frozen_encoder_stays_asleep_while_the_tagger_trains(build: Callable[..., Tagger], bert: str) -> None:
    context = build(contextual={"encoder": bert}).train().encoder.context
    assert context.training
    assert not any(module.training for module in context.model.modules())
    first, second = (context(context.tensorize(SENTENCES)) for _ in range(2))
    assert torch.equal(first, second)


def test_a_long_sentence_is_read_through_windows_and_does_not_disturb_a_short_one(bert: str) -> None:
    context = context_of(bert)
    long = Sentence(SENTENCES[0].words * 60)
    found = context(context.tensorize([long, SENTENCES[0]]))
    assert found.shape[1] == len(long)
    alone = context(context.tensorize([SENTENCES[0]]))[0]
    torch.testing.assert_close(found[1, : len(alone)], alone, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("layers", [1, None])
def test_a_copy_of_what_is_read_travels_with_the_tagger(
    build: Callable[..., Tagger], bert: str, news: Corpus, tmp_path: Path, layers: int | None
) -> None:
    tagger = build(contextual={"encoder": bert, "layers": layers})
    tagger.save(tmp_path / "tagger")
    again = Tagger.load(tmp_path / "tagger")
    assert len(again.encoder.context.model.encoder.layer) == (layers or 2)
    assert predict(again, news) == predict(tagger, news)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bert: str) -> Path:
    """A tiny encoder in the place of the shipped one."""
    shutil.copytree(bert, tmp_path / "package" / "acclimate-mini")
    monkeypatch.setattr(shipped, "HOME", tmp_path / "package")
    return tmp_path / "package" / "acclimate-mini"


def test_an_encoder_of_the_package_is_not_copied(
    package: Path, build: Callable[..., Tagger], news: Corpus, tmp_path: Path
) -> None:
    tagger = build(contextual={"encoder": "acclimate-mini", "layers": 1})
    tagger.save(tmp_path / "tagger")
    assert not (tmp_path / "tagger" / "contextual").exists()
    assert predict(Tagger.load(tmp_path / "tagger"), news) == predict(tagger, news)


def test_a_tagger_is_not_read_on_another_encoder_of_the_same_name(
    package: Path, build: Callable[..., Tagger], tmp_path: Path
) -> None:
    build(contextual={"encoder": "acclimate-mini"}).save(tmp_path / "tagger")
    weights = package / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    with pytest.raises(StorageError, match=r"tagger: trained on another acclimate-mini than .* or train it again"):
        Tagger.load(tmp_path / "tagger")

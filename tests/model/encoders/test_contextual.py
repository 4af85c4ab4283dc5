"""Frozen contextual features: mixed as asked, never trained, never awake."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from acclimate.data.corpus import Corpus, Sentence
from acclimate.model.encoders.contextual import ContextualSettings, FrozenContext
from acclimate.model.tagger import Tagger
from acclimate.model.view import View

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
    found = context(context.number(SENTENCES))
    shares = torch.tensor(weights or (1 / 3, 1 / 3, 1 / 3))
    for place, sentence in enumerate(SENTENCES):
        expected = (shares[:, None, None] * layers_of(context, sentence)).sum(0)
        torch.testing.assert_close(found[place, : len(sentence)], expected, atol=1e-5, rtol=1e-5)


def test_the_wrong_number_of_shares_is_refused(bert: str) -> None:
    with pytest.raises(ValueError, match=r"has 3 layers \(embeddings included\), not 2"):
        context_of(bert, weights=(0.5, 0.5))


@pytest.mark.parametrize("mix", ["fixed", "learned"])
def test_only_the_mix_learns_and_the_frozen_encoder_gets_no_gradient(
    build: Callable[..., Tagger], bert: str, news: Corpus, mix: str
) -> None:
    tagger = build(contextual={"encoder": bert, "mix": mix}).train()
    View(tagger, tagger.number(news[:4].sentences)).losses.sum().backward()
    context = tagger.encoder.context
    assert all(weight.grad is None and not weight.requires_grad for weight in context.model.parameters())
    learnt = {name for name, weight in context.named_parameters() if weight.grad is not None}
    assert learnt == ({"mixing", "scale"} if mix == "learned" else set())


def test_the_frozen_encoder_stays_asleep_while_the_tagger_trains(build: Callable[..., Tagger], bert: str) -> None:
    context = build(contextual={"encoder": bert}).train().encoder.context
    assert context.training
    assert not any(module.training for module in context.model.modules())
    first, second = (context(context.number(SENTENCES)) for _ in range(2))
    assert torch.equal(first, second)


def test_a_long_sentence_is_read_through_windows_and_does_not_disturb_a_short_one(bert: str) -> None:
    context = context_of(bert)
    long = Sentence(SENTENCES[0].words * 60)
    found = context(context.number([long, SENTENCES[0]]))
    assert found.shape[1] == len(long)
    alone = context(context.number([SENTENCES[0]]))[0]
    torch.testing.assert_close(found[1, : len(alone)], alone, atol=1e-5, rtol=1e-5)

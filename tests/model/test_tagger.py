"""The tagger: words in = tags out, batch-mates do not matter, everything learns, nothing illegal is decoded."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acclimate.data.corpus import Corpus, LabelSet, Sentence
from acclimate.data.problems import InputError, Place
from acclimate.data.schemes import SCHEMES, faults
from acclimate.inference.predict import predict
from acclimate.model.learner import View
from acclimate.model.tagger import Tagger
from acclimate.settings import SettingsError

ENCODERS = ["character-cnn-lstm", "bert", "roberta"]
Build = Callable[..., Tagger]

any_words = st.lists(st.text(st.characters(), max_size=10), min_size=1, max_size=9)  # surrogates and empty words too


@pytest.fixture(
    scope="module", params=[(encoder, head) for encoder in ENCODERS for head in ("crf", "softmax")], ids="-".join
)
def tagger(request: pytest.FixtureRequest, build: Build) -> Tagger:
    encoder, head = request.param
    return build(encoder, head=head).eval()


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(any_words, min_size=1, max_size=5))
def test_words_in_is_tags_out_for_any_text(tagger: Tagger, rows: list[list[str]]) -> None:
    predicted = predict(tagger, Corpus.of(Sentence(tuple(words)) for words in rows))
    assert [sentence.words for sentence in predicted] == [tuple(words) for words in rows]
    for sentence in predicted:
        assert sentence.tags is not None
        assert len(sentence.tags) == len(sentence.words)
        assert faults(sentence.tags, "IOB2") == []


@pytest.mark.parametrize("words", [["a" * 10_000], ["Anna", "flew"] * 1_500], ids=["endless-word", "endless-sentence"])
def test_length_is_no_obstacle(tagger: Tagger, words: list[str]) -> None:
    (sentence,) = predict(tagger, Corpus.of([Sentence(tuple(words))]))
    assert len(sentence.tags or ()) == len(words)


@pytest.mark.parametrize("gradients", [True, False])
def test_features_are_the_same_alone_or_in_a_batch(tagger: Tagger, news: Corpus, gradients: bool) -> None:
    with torch.set_grad_enabled(gradients):
        together = View(tagger, tagger.tensorize(news.sentences)).features
        for place, sentence in enumerate(news):
            alone = View(tagger, tagger.tensorize([sentence])).features[0]
            torch.testing.assert_close(together[place, : len(sentence)], alone, atol=1e-5, rtol=1e-5)


def test_features_are_the_same_with_and_without_gradients(tagger: Tagger, news: Corpus) -> None:
    numbered = tagger.tensorize(news.sentences)
    with_gradients = View(tagger, numbered).features[numbered.mask]
    with torch.inference_mode():
        torch.testing.assert_close(View(tagger, numbered).features[numbered.mask], with_gradients.detach())


def test_every_trainable_parameter_gets_a_gradient_from_the_tagging_loss(tagger: Tagger, news: Corpus) -> None:
    tagger.zero_grad()
    View(tagger, tagger.tensorize(news.sentences)).losses.sum().backward()
    silent = [n for n, p in tagger.named_parameters() if p.requires_grad and (p.grad is None or not p.grad.any())]
    assert [name for name in silent if not _idle(name)] == []
    tagger.zero_grad()


def _idle(name: str) -> bool:
    """A softmax over keys does not notice a bias that all of them share: its gradient is zero up to rounding."""
    return name.endswith("key.bias")


@pytest.mark.parametrize("head", ["crf", "softmax"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_illegal_tag_is_ever_decoded(build: Build, head: str, scheme: str) -> None:
    tagger = build(head=head, scheme=scheme)
    scores, lengths = 5 * torch.randn(64, 9, len(tagger.tags)), torch.randint(1, 10, (64,))
    decoded = tagger.head.decode(scores, torch.arange(9) < lengths.unsqueeze(1))
    for row, length in zip(decoded.tolist(), lengths.tolist(), strict=True):
        assert faults([tagger.tags[number] for number in row[:length]], scheme) == []


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "BIOES"])
def test_tags_survive_being_numbered_and_spelled_again(build: Build, news: Corpus, scheme: str) -> None:
    tagger = build(scheme=scheme)
    numbered = tagger.tensorize(news.sentences)
    for sentence, row in zip(news, numbered.tags.tolist(), strict=True):
        assert tuple(tagger.spell(row[: len(sentence)])) == sentence.tags


def test_plain_tags_are_taken_as_they_are(build: Build, part_of_speech: Corpus) -> None:
    tagger = build(text=part_of_speech)
    assert tagger.tags == ("DET", "NOUN", "PUNCT", "VERB")
    assert tagger.tensorize(part_of_speech[:1].sentences).tags.tolist() == [[0, 1, 3]]


def test_rows_without_tags_are_marked(build: Build, news: Corpus) -> None:
    numbered = build().tensorize([news[0], news[1].with_tags(None)])
    assert numbered.labelled.tolist() == [True, False]
    assert not numbered.tags[1].any()
    assert numbered.mask.sum(1).tolist() == [len(news[0]), len(news[1])]


def test_a_label_that_the_tagger_does_not_know_is_refused_with_its_place(build: Build) -> None:
    stranger = Sentence(("Aspirin",), ("B-DRUG",), place=Place("notes.conll", 7))
    with pytest.raises(InputError, match=r"notes\.conll, line 7: tag 'S-DRUG' is not among .*LOC, ORG, PER.*Map"):
        build().tensorize([stranger])


def test_a_tagger_without_labels_is_refused(build: Build) -> None:
    with pytest.raises(InputError, match="at least one label"):
        build(labels=LabelSet(()))


def test_an_unknown_head_is_refused(build: Build) -> None:
    with pytest.raises(ValueError, match="Unknown head 'cfr': expected crf or softmax"):
        build(head="cfr")


def test_the_own_encoder_asks_for_text_to_learn_its_vocabulary_from() -> None:
    with pytest.raises(ValueError, match="needs text="):
        Tagger.build("character-cnn-lstm", labels=["PER"])


def test_an_option_of_the_own_encoder_alone_is_told_from_a_mistyped_one(build: Build) -> None:
    with pytest.raises(SettingsError, match=r"has no lstm_width; character-cnn-lstm has\. Name it"):
        build("bert", lstm_width=7)


def test_tags_are_numbered_alike_when_they_come_again(
    build: Build, news: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acclimate.model.learner._REMEMBERED", 3)
    tagger = build()
    for sentence in news.sentences * 2:
        assert tuple(tagger.spell(tagger.tensorize([sentence]).tags[0].tolist())) == sentence.tags


def test_the_labels_order_does_not_matter(build: Build) -> None:
    assert build(labels=["PER", "LOC"]).tags == build(labels=["LOC", "PER", "LOC"]).tags

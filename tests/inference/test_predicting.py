"""Tagging a corpus: the same sentences in the same order, and no trace left behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError, Place
from acclimate.inference.predict import predict
from acclimate.model.learner import View
from acclimate.model.parts import planned
from acclimate.model.tagger import Tagger, answers


@pytest.fixture(scope="module", params=["character-cnn-lstm", "bert"])
def tagger(request: pytest.FixtureRequest, build: Callable[..., Tagger]) -> Tagger:
    return build(request.param)


def slowly(tagger: Tagger, corpus: Corpus) -> list[tuple[str, ...]]:
    """One sentence at a time, straight through the view."""
    tagger.eval()
    found = []
    for sentence in corpus:
        view = View(tagger, tagger.tensorize([sentence]))
        found.append(tuple(tagger.spell(tagger.head.decode(view.scores, view.sentences.mask)[0].tolist())))
    return found


@pytest.mark.parametrize("words_per_batch", [1, 30, 8192])
def test_the_size_of_the_batches_does_not_matter(tagger: Tagger, news: Corpus, words_per_batch: int) -> None:
    predicted = predict(tagger, news, words_per_batch)
    assert [sentence.tags for sentence in predicted] == slowly(tagger, news)
    assert [sentence.words for sentence in predicted] == [sentence.words for sentence in news]


def test_an_encoder_reads_sentences_of_like_many_pieces_together(build: Callable[..., Tagger]) -> None:
    tagger = build("bert")
    short, long = Sentence((".",) * 4), Sentence(("rainedrained",) * 4)  # as many words
    corpus = Corpus.of([short, long] * 3)
    size = 3 * tagger.encoder.count_pieces([long])[0]
    assert planned(tagger.encoder.pieces, corpus, size) == [[0, 2, 4], [1, 3, 5]]


def test_the_answer_is_never_looked_at(tagger: Tagger, news: Corpus) -> None:
    others = news.map(lambda sentence: sentence.with_tags(["B-PER"] * len(sentence)))
    assert predict(tagger, others) == predict(tagger, news) == predict(tagger, news.unlabelled())


def test_every_sentence_is_seen_once_and_without_its_tags(tagger: Tagger, news: Corpus) -> None:
    seen = []

    def ask(view: View) -> Tensor:
        assert not view.sentences.labelled.any()
        assert not view.features.requires_grad
        seen.extend(view.originals)
        return view.features

    found = dict(answers(tagger, news, ask, 30))
    assert Counter(sentence.words for sentence in seen) == Counter(sentence.words for sentence in news)
    assert {number: len(row) for number, row in found.items()} == dict(enumerate(map(len, news)))


def test_what_is_known_of_a_sentence_stays_with_it(tagger: Tagger) -> None:
    sentence = Sentence(("Hi", "Anna"), None, "Hi Anna", ((0, 2), (3, 7)), Place("a.txt", 3), "document")
    (found,) = predict(tagger, Corpus.of([sentence]))
    assert found.with_tags(None) == sentence


def test_a_corpus_without_sentences_has_nothing_to_tag(tagger: Tagger) -> None:
    assert len(predict(tagger, Corpus((), "empty"))) == 0


def test_every_sentence_is_reported_to_who_waits(tagger: Tagger, news: Corpus) -> None:
    seen: list[int] = []
    predict(tagger, news, 40, seen.append)
    assert sum(seen) == len(news)
    assert len(seen) > 1


@pytest.mark.parametrize("training", [True, False])
def test_tagging_leaves_no_trace_in_the_tagger(tagger: Tagger, news: Corpus, training: bool) -> None:
    tagger.train(training)
    View(tagger, tagger.tensorize(news[:2].sentences)).losses.sum().backward()
    gradients = [weight.grad.clone() for weight in tagger.parameters() if weight.grad is not None]
    modes, dice = [module.training for module in tagger.modules()], torch.get_rng_state()
    predict(tagger, news)
    assert [module.training for module in tagger.modules()] == modes
    assert torch.equal(torch.get_rng_state(), dice)
    left = [weight.grad for weight in tagger.parameters() if weight.grad is not None]
    assert all(map(torch.equal, left, gradients))
    tagger.zero_grad()


def test_a_tagger_that_fails_is_given_back_as_it_was(tagger: Tagger, news: Corpus) -> None:
    def refuse(count: int) -> None:
        raise KeyboardInterrupt

    tagger.train()
    with pytest.raises(KeyboardInterrupt):
        predict(tagger, news, progress=refuse)
    assert tagger.training


def test_a_tagger_can_train_on_after_tagging(tagger: Tagger, news: Corpus) -> None:
    predict(tagger, news)
    View(tagger, tagger.tensorize(news[:2].sentences)).losses.sum().backward()
    tagger.zero_grad()


def test_plain_tags_come_out_plain(build: Callable[..., Tagger], part_of_speech: Corpus) -> None:
    predicted = predict(build(text=part_of_speech), part_of_speech)
    assert predicted.kind == "plain"
    assert set(predicted.label_counts) <= set(part_of_speech.labels)


def test_raw_strings_are_tagged_and_keep_their_places(tagger: Tagger) -> None:
    texts = ["Anna flew to  New York, didn't she?", " Oslo"]
    predicted = predict(tagger, texts)
    assert [sentence.text for sentence in predicted] == texts
    for sentence in predicted:
        assert tuple(sentence.text[start:end] for start, end in sentence.offsets or ()) == sentence.words
        assert len(sentence.tags or ()) == len(sentence.words)
    assert predicted[0].words[-4:] == ("did", "n't", "she", "?")
    assert predict(tagger, texts[0]) == predict(tagger, texts[:1])
    assert predict(tagger, (text for text in texts)) == predicted


def test_words_are_taken_as_they_are(tagger: Tagger) -> None:
    predicted = predict(tagger, [["Anna", "didn't"], ("New York",)])
    assert [sentence.words for sentence in predicted] == [("Anna", "didn't"), ("New York",)]


@pytest.mark.parametrize("empty", ["", " \n", ()])
def test_a_text_without_a_word_is_named(tagger: Tagger, empty: str) -> None:
    with pytest.raises(InputError, match=r"text number 1 \(counted from 0\) holds no word"):
        predict(tagger, ["Anna", empty])

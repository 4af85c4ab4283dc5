"""The encoder of characters and words: batch-mates do not matter, rare words are forgotten while training only."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.words import PADDING, UNKNOWN
from acclimate.inference.predict import predict
from acclimate.model.encoders.character_cnn_lstm import CharacterCnnLstm
from acclimate.model.learner import TextView, View
from acclimate.model.tagger import Tagger


def encoder_of(build: Callable[..., Tagger], **options: object) -> CharacterCnnLstm:
    encoder = build(**options).eval().encoder
    assert isinstance(encoder, CharacterCnnLstm)
    return encoder


def slow_letters(encoder: CharacterCnnLstm, word: str) -> Tensor:
    """The CNN over one word by hand: every filter at every place where it touches a character, then the maximum."""
    rows = encoder.character_table.weight[[encoder.alphabet.number(letter) for letter in word]]
    found = []
    for conv in encoder.filters:
        span = conv.kernel_size[0]
        border = torch.zeros(span - 1, rows.size(1))
        padded = torch.cat([border, rows, border])
        answers = [
            (conv.weight * padded[place : place + span].T).sum((1, 2)) + conv.bias
            for place in range(len(word) + span - 1)
        ]
        found.append(torch.stack(answers).amax(0))
    return torch.cat(found)


@pytest.mark.parametrize("spans", [(3,), (1, 2, 5)])
def test_the_letters_equal_a_slow_loop_over_filters_and_places(build, spans: tuple[int, ...]) -> None:
    encoder = encoder_of(build, character_spans=spans)
    words = ("Paris", "a", "New", "Unfathomably")
    inputs = encoder.tensorize([Sentence(words)])
    found = encoder.letters(encoder.embed(inputs)["characters"], inputs["characters"] != PADDING)[inputs["spelling"][0]]
    torch.testing.assert_close(found, torch.stack([slow_letters(encoder, word) for word in words]))


@pytest.mark.parametrize("options", [{}, {"character_spans": (1, 4), "highways": 1}])
def test_without_gradients_the_shorter_way_gives_the_same_letters(build, options: dict[str, object]) -> None:
    encoder = encoder_of(build, **options)
    words = ["".join("abc"[(n + k) % 3] for k in range(n % 40)) + str(n) for n in range(600)]
    inputs = encoder.tensorize([Sentence(("", *words))])
    given = encoder.embed(inputs)["characters"], inputs["characters"] != PADDING
    expected = encoder.letters(*given).detach()
    with torch.inference_mode():
        torch.testing.assert_close(encoder.letters(*given), expected)


def test_a_word_without_letters_has_empty_letters(build) -> None:
    encoder = encoder_of(build)
    inputs = encoder.tensorize([Sentence(("", "a"))])
    found = encoder.letters(encoder.embed(inputs)["characters"], inputs["characters"] != PADDING)
    assert found[inputs["spelling"][0, 0]].eq(0).all()
    assert found[inputs["spelling"][0, 1]].ne(0).any()


def test_spelling_each_distinct_word_once_changes_nothing(build, news: Corpus) -> None:
    tagger = build().eval()
    shared = View(tagger, tagger.tensorize(news[:5].sentences)).features
    tagger.encoder.share_characters = False
    alone = tagger.tensorize(news[:5].sentences)
    assert len(alone.inputs["characters"]) == news[:5].word_count + 1
    torch.testing.assert_close(View(tagger, alone).features, shared)


def test_highways_pass_the_letters_on_when_their_gates_are_shut(build) -> None:
    plain, carried = encoder_of(build), encoder_of(build, highways=2)
    carried.load_state_dict(plain.state_dict(), strict=False)
    for highway in carried.highways:
        highway.weight.data.zero_()
        highway.bias.data.copy_(torch.tensor([-1e9] * 5 + [1.0] * 5))
    inputs = plain.tensorize([Sentence(("Paris", "rained"))])
    torch.testing.assert_close(TextView(carried, inputs).features, TextView(plain, inputs).features)


def test_words_seen_once_are_read_as_unknown_now_and_then_while_training_only(build) -> None:
    text = Corpus.of([Sentence(("once", "twice", "twice"), ("B-X", "O", "O"))])
    encoder = encoder_of(build, text=text, forget_rare=0.5)
    inputs = encoder.tensorize([Sentence(("once", "twice"))] * 400)
    unknown = encoder.word_table.weight[UNKNOWN]
    for training, low, high in ((True, 150, 250), (False, 0, 0)):
        words = encoder.embed(encoder.drawn(inputs) if training else inputs)["words"]
        forgotten = (words == unknown).all(-1).sum(0).tolist()
        assert low <= forgotten[0] <= high
        assert forgotten[1] == 0


def test_case_and_digits_are_left_to_the_characters(build, news: Corpus) -> None:
    encoder = encoder_of(build)
    inputs = encoder.tensorize([Sentence(("PARIS", "paris", "9.9", "3.5"))])
    assert inputs["words"][0].unique().numel() == 2
    assert UNKNOWN not in inputs["words"]
    assert inputs["spelling"][0].unique().numel() == 4


def test_case_is_kept_in_the_table_when_asked_for(build) -> None:
    inputs = encoder_of(build, lower_case_words=False).tensorize([Sentence(("PARIS", "Paris"))])
    assert inputs["words"][0, 0] == UNKNOWN != inputs["words"][0, 1]


def test_an_endless_word_is_read_by_its_beginning_and_end(build) -> None:
    inputs = encoder_of(build).tensorize([Sentence(("a" * 10_000 + "s",))])
    assert inputs["characters"].size(1) == 64
    assert inputs["characters"][1, 0] != inputs["characters"][1, -1]


def test_the_vocabulary_does_not_depend_on_the_order_of_the_sentences(build, news: Corpus) -> None:
    turned = Corpus.of(news.sentences[::-1])
    assert encoder_of(build, text=turned).description() == encoder_of(build).description()


def test_without_a_word_table_letters_alone_tell_words_apart(build, news: Corpus, tmp_path) -> None:
    tagger = build(word_width=0)
    assert (len(tagger.encoder.vocabulary.items), tagger.encoder.word_table.weight.numel()) == (0, 0)
    View(tagger, tagger.tensorize(news[:4].sentences)).losses.sum().backward()
    tagger.save(tmp_path / "tagger")
    assert predict(Tagger.load(tmp_path / "tagger"), news) == predict(tagger, news)


def test_words_seen_too_rarely_stay_out_of_the_word_table(build) -> None:
    text = Corpus.of([Sentence(("to", "go", "to", "Oslo", "go"), ("O",) * 3 + ("B-LOC", "O"))])
    encoder = encoder_of(build, text=text, least_seen=2)
    assert encoder.vocabulary.items == ("go", "to")
    assert encoder.tensorize([Sentence(("go", "oslo"))])["words"].tolist() == [
        [encoder.vocabulary.number("go"), UNKNOWN]
    ]
    assert encoder.rare_words == []

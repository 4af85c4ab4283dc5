"""Words hidden or read as others: as if the sentence had been written so, and all else as it was, bit for bit."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.words import HIDDEN, PADDING
from acclimate.model.encoders.encoder import Change
from acclimate.model.learner import View, fitted
from acclimate.model.tagger import Tagger

Build = Callable[..., Tagger]
TEXT = (Sentence(("Anna", "flew", "to", "Paris", ".")), Sentence(("Paris", "rained")), Sentence(("flew",)))
FLEW = (0, 1, 1)  # sentence, place in it, place in the batch
alone_or_shared = pytest.mark.parametrize("alone", [True, False])


@pytest.fixture
def lstm(build: Build) -> Tagger:
    return build().eval()


def view_of(tagger: Tagger, *sentences: Sentence) -> View:
    return View(tagger, tagger.tensorize(sentences))


def letters_at(view: View, sentence: int, word: int) -> list[int]:
    row = view.inputs["characters"][view.inputs["spelling"][sentence, word]]
    return [letter for letter in row.tolist() if letter != PADDING]


def written(sentence: Sentence, place: int, word: str) -> Sentence:
    return Sentence((*sentence.words[:place], word, *sentence.words[place + 1 :]))


# --- letters and a table of words ---


@alone_or_shared
def test_a_hidden_word_shows_nothing_but_that_it_is_hidden(lstm: Tagger, alone: bool) -> None:
    lstm.encoder.stand_alone(alone)
    changed = view_of(lstm, *TEXT).with_words([Change(*FLEW, None)])
    assert changed.inputs["words"][0, 1] == HIDDEN
    assert letters_at(changed, 0, 1) == [HIDDEN]


@alone_or_shared
def test_all_hidden_words_look_alike(lstm: Tagger, alone: bool) -> None:
    lstm.encoder.stand_alone(alone)
    hidden = [
        view_of(lstm, written(TEXT[0], 1, word)).with_words([Change(*FLEW, None)]).scores
        for word in ("flew", "a", "Unfathomably", "")
    ]
    assert all(torch.allclose(other, hidden[0], atol=1e-6) for other in hidden)


@alone_or_shared
@pytest.mark.parametrize("word", ["rained", "a", "Unfathomable-incomprehensibilities", "PARIS", "flew", "Ω"])
def test_a_substitute_is_read_as_if_it_had_been_written(lstm: Tagger, alone: bool, word: str) -> None:
    lstm.encoder.stand_alone(alone)
    changed = view_of(lstm, *TEXT).with_words([Change(*FLEW, word)])
    expected = view_of(lstm, written(TEXT[0], 1, word), *TEXT[1:])
    assert letters_at(changed, 0, 1) == letters_at(expected, 0, 1)
    assert torch.equal(changed.inputs["words"], expected.inputs["words"])
    for features in ("features", "scores"):
        torch.testing.assert_close(getattr(changed, features), getattr(expected, features))


@alone_or_shared
def test_several_sentences_may_change_at_once(lstm: Tagger, alone: bool) -> None:
    lstm.encoder.stand_alone(alone)
    changes = [Change(0, 3, 3, "it"), Change(1, 0, 5, "Unfathomable-incomprehensibilities"), Change(2, 0, 7, "rained")]
    rewritten = [written(TEXT[c.sentence], c.word, c.by) for c in changes]
    torch.testing.assert_close(view_of(lstm, *TEXT).with_words(changes).scores, view_of(lstm, *rewritten).scores)


@alone_or_shared
def test_the_same_word_in_other_sentences_is_read_as_before(lstm: Tagger, alone: bool) -> None:
    lstm.encoder.stand_alone(alone)
    view = view_of(lstm, *TEXT)
    changed = view.with_words([Change(*FLEW, None)])
    assert letters_at(changed, 2, 0) == letters_at(view, 2, 0)
    torch.testing.assert_close(changed.scores[1:], view.scores[1:])


@alone_or_shared
def test_the_clean_view_keeps_its_inputs(lstm: Tagger, alone: bool) -> None:
    lstm.encoder.stand_alone(alone)
    view = view_of(lstm, *TEXT)
    before = {name: tensor.clone() for name, tensor in view.inputs.items()}
    view.with_words([Change(*FLEW, "Unfathomable-incomprehensibilities")])
    assert all(torch.equal(view.inputs[name], before[name]) for name in before)


@pytest.mark.parametrize("by", [None, "rained", "Unfathomable-incomprehensibilities"])
def test_all_other_embeddings_are_the_same_even_where_rare_words_are_forgotten(build: Build, by: str | None) -> None:
    tagger = build(text=Corpus.of(TEXT), labels=["X"], forget_rare=0.5, dropout=0.5).train()
    tagger.encoder.stand_alone()
    assert len(tagger.encoder.rare_words) >= 4
    view = tagger.view(TEXT * 20)
    changed = view.with_words([Change(*FLEW, by)])
    words = torch.ones_like(view.sentences.mask)
    words[0, 1] = False
    assert torch.equal(changed.embeddings["words"][words], view.embeddings["words"][words])
    width = view.embeddings["characters"].size(1)
    rows = [row for row in range(len(view.embeddings["characters"])) if row != 2]
    assert torch.equal(changed.embeddings["characters"][rows, :width], view.embeddings["characters"][rows])
    forgotten = view.inputs["words"] != tagger.tensorize(TEXT * 20).inputs["words"]
    assert forgotten.any()


@alone_or_shared
def test_every_embedding_keeps_its_rows_where_words_stand_alone(lstm: Tagger, alone: bool) -> None:
    lstm.encoder.stand_alone(alone)
    view = view_of(lstm, *TEXT)
    changed = view.with_words([Change(*FLEW, None)])
    more = len(changed.inputs["characters"]) - len(view.inputs["characters"])
    assert more == (0 if alone else 1)


def test_noise_fits_a_longer_word_and_is_not_felt_behind_a_shorter_one(lstm: Tagger) -> None:
    lstm.encoder.stand_alone()
    view = view_of(lstm, *TEXT)
    noise = {name: torch.randn_like(value) for name, value in view.embeddings.items()}
    for by in ("Unfathomable-incomprehensibilities", "a", None):
        changed = view.with_words([Change(*FLEW, by)])
        noisy = changed.with_noise(noise)
        letters = noisy.embeddings["characters"] - changed.embeddings["characters"]
        torch.testing.assert_close(letters[:, : noise["characters"].size(1)], noise["characters"])
        assert letters[:, noise["characters"].size(1) :].eq(0).all()
    louder = {**noise, "characters": noise["characters"].clone()}
    louder["characters"][2, 1:] += 100.0  # behind the one sign of a hidden word
    torch.testing.assert_close(changed.with_noise(louder).scores, noisy.scores)


def test_noise_is_cut_or_followed_by_nothing() -> None:
    noise = torch.randn(2, 3, 4)
    assert fitted(noise, torch.zeros(2, 3, 1)) is noise
    assert torch.equal(fitted(noise, torch.zeros(2, 2, 4)), noise[:, :2])
    assert torch.equal(fitted(noise, torch.zeros(2, 5, 4)), torch.cat([noise, torch.zeros(2, 2, 4)], 1))


def test_no_change_is_no_change(lstm: Tagger) -> None:
    inputs = lstm.tensorize(TEXT).inputs
    assert lstm.encoder.replaced(inputs, []) is inputs


# --- pieces ---


@pytest.fixture(params=["bert", "roberta"])
def transformer(request: pytest.FixtureRequest, build: Build) -> Tagger:
    return build(request.param).eval()


def pieces_of(view: View, number: int) -> list[Tensor]:
    """The pieces of one word, in each row that holds it."""
    rows = [row[words == number] for row, words in zip(view.inputs["pieces"], view.inputs["words"], strict=True)]
    return [row for row in rows if len(row)]


def test_every_piece_of_a_hidden_word_is_masked_and_no_other(transformer: Tagger) -> None:
    view = view_of(transformer, *TEXT, Sentence(("a", "Unfathomably", "b")))
    changed = view.with_words([Change(0, 3, 3, None), Change(3, 1, 9, None)])
    mask = transformer.encoder.pieces.tokenizer.mask_token_id
    touched = (view.inputs["words"] == 3) | (view.inputs["words"] == 9)
    assert touched.sum() > 2
    assert changed.inputs["pieces"][touched].eq(mask).all()
    assert torch.equal(changed.inputs["pieces"][~touched], view.inputs["pieces"][~touched])


def pairs_that_fit(tagger: Tagger) -> list[tuple[str, str]]:
    """Pairs of different words of as many pieces, two at least."""
    words = ["flew", "Paris", "3.5", "Oslo", "Bob", "office", "shares", "rainy", "percent", "Lake"]
    sizes = tagger.encoder.sizes_of(words)
    found = [
        (a, b) for a, size in zip(words, sizes, strict=True) for b, n in zip(words, sizes, strict=True) if size == n > 1
    ]
    return [(one, other) for one, other in found if one != other]


def test_a_substitute_of_as_many_pieces_is_read_as_if_it_had_been_written(transformer: Tagger) -> None:
    pairs = pairs_that_fit(transformer)
    assert pairs
    for word, other in pairs:
        changed = view_of(transformer, written(TEXT[0], 1, word), TEXT[1]).with_words([Change(*FLEW, other)])
        expected = view_of(transformer, written(TEXT[0], 1, other), TEXT[1])
        assert torch.equal(changed.inputs["pieces"], expected.inputs["pieces"])
        torch.testing.assert_close(changed.scores, expected.scores)


@pytest.mark.parametrize("hidden", [True, False])
def test_a_word_that_two_windows_hold_changes_in_both(transformer: Tagger, hidden: bool) -> None:
    word, other = pairs_that_fit(transformer)[0]
    view = view_of(transformer, TEXT[1], Sentence((word,) * 60))
    number = next(number for number in range(2, 62) if len(pieces_of(view, number)) == 2)
    changed = view.with_words([Change(1, number - 2, number, None if hidden else other)])
    before, after = transformer.encoder.pieces.of_words([word, other])
    expected = [transformer.encoder.pieces.tokenizer.mask_token_id] * len(before) if hidden else after
    assert expected != before
    assert [row.tolist() for row in pieces_of(changed, number)] == [expected] * 2
    others = view.inputs["words"] != number
    assert torch.equal(changed.inputs["pieces"][others], view.inputs["pieces"][others])


def test_all_other_embeddings_of_pieces_are_the_same(transformer: Tagger) -> None:
    transformer.train()
    view = transformer.view(TEXT)
    changed = view.with_words([Change(*FLEW, None)])
    others = view.inputs["words"] != 1
    assert torch.equal(changed.embeddings["pieces"][others], view.embeddings["pieces"][others])
    assert not torch.equal(changed.embeddings["pieces"][~others], view.embeddings["pieces"][~others])


def test_a_word_s_vector_is_the_mean_of_its_pieces(transformer: Tagger) -> None:
    encoder, words = transformer.encoder, ["Anna", "Unfathomably", "", "office"]
    table = encoder.model.get_input_embeddings().weight
    expected = [table[row].mean(0) for row in encoder.pieces.of_words(words)]
    torch.testing.assert_close(encoder.vectors_of(words), torch.stack(expected))
    assert encoder.sizes_of(words) == [len(row) for row in encoder.pieces.of_words(words)]


def test_a_word_s_vector_is_its_row_in_the_table_before_it_is_normalised(build: Build) -> None:
    encoder = build(normalise="weighted").encoder
    found = encoder.vectors_of(["PARIS", "unheard-of"])
    table = encoder.word_table.weight
    assert torch.equal(found, table[[encoder.vocabulary.number("paris"), 1]])


# --- frozen features of the context ---


@pytest.mark.parametrize("pieces", ["first", "ends"])
@pytest.mark.parametrize("by", [None, "rained"])
def test_the_context_stays_unless_it_is_asked_for_anew(build: Build, bert: str, by: str | None, pieces: str) -> None:
    tagger = build(contextual={"encoder": bert, "pieces": pieces}).eval()
    view, changes = view_of(tagger, *TEXT), [Change(*FLEW, by)]
    kept, anew = view.with_words(changes), view.with_words(changes, context=True)
    assert kept.embeddings["context"] is view.embeddings["context"]
    hidden = tagger.encoder.context.hidden_word if by is None else by
    expected = view_of(tagger, written(TEXT[0], 1, hidden), *TEXT[1:])
    mask = view.sentences.mask
    torch.testing.assert_close(anew.embeddings["context"][mask], expected.embeddings["context"][mask])
    assert not torch.allclose(anew.embeddings["context"][0], view.embeddings["context"][0])
    for name in ("words", "characters"):
        assert torch.equal(anew.embeddings[name], kept.embeddings[name])
    if by is not None:
        torch.testing.assert_close(anew.scores[mask], expected.scores[mask])


def test_a_hidden_word_of_the_context_is_the_mask_of_its_encoder(build: Build, bert: str) -> None:
    tagger = build(contextual={"encoder": bert}).eval()
    anew = view_of(tagger, *TEXT).with_words([Change(*FLEW, None)], context=True)
    context = tagger.encoder.context
    assert anew.inputs["context_pieces"].eq(context.pieces.tokenizer.mask_token_id).sum() == 1


def test_without_a_context_there_is_none_to_make_anew(lstm: Tagger) -> None:
    view, changes = view_of(lstm, *TEXT), [Change(*FLEW, None)]
    assert torch.equal(view.with_words(changes, context=True).scores, view.with_words(changes).scores)

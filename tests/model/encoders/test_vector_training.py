"""Word vectors learnt from text: the gradients are those of the loss, neighbours come out near, seeds decide all."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
import torch
from torch import Tensor

from acclimate.data.problems import InputError
from acclimate.model.encoders.vector_files import write_vectors
from acclimate.model.encoders.vector_text import NumberedText, read_paragraphs
from acclimate.model.encoders.vector_training import VectorSettings, VectorTraining, cbow, skip_gram
from acclimate.model.encoders.vectors import read_vectors

METHODS = {"skip-gram": skip_gram, "cbow": cbow}
GROUPS = [["oslo", "paris", "rome", "cairo"], ["cat", "dog", "horse", "cow"], ["red", "blue", "green", "white"]]
PATTERNS = [
    "we flew to {} by night and the hotel in {} was full",
    "the {} ate its grass while a {} slept in the barn",
    "she painted a wall {} after years of {} paper on it",
]


def lines(number: int = 3000, seed: int = 0) -> list[list[str]]:
    """Sentences in which the words of a group stand in the same places."""
    dice = random.Random(seed)
    chosen = [dice.randrange(len(GROUPS)) for _ in range(number)]
    return [PATTERNS[group].format(*dice.choices(GROUPS[group], k=2)).split() for group in chosen]


def trained(text: NumberedText, **settings: object) -> Tensor:
    training = VectorTraining(text, VectorSettings.model_validate(settings))
    for done in training:
        assert 0 <= done <= training.total
    assert done == training.total
    return training.vectors


def slow_loss(method: str, near: Tensor, contexts: Tensor, centres: Tensor, noise: Tensor, weight: float) -> Tensor:
    """The loss as the papers write it, pair by pair."""
    loss = torch.zeros((), dtype=contexts.dtype)
    for block in range(len(near)):
        for centre, row in zip(centres[block], near[block], strict=True):
            neighbours = [contexts[block, place] for place in row.nonzero().flatten()]
            if method == "cbow" and neighbours:
                neighbours = [torch.stack(neighbours).mean(0)]
            for hint in neighbours:
                loss = loss - torch.nn.functional.logsigmoid(hint @ centre)
                loss = loss - weight * sum(torch.nn.functional.logsigmoid(-(hint @ sample)) for sample in noise[block])
    return loss


@pytest.mark.parametrize("method", METHODS)
def test_each_step_goes_down_the_slope_of_the_loss(method: str) -> None:
    near = (torch.rand(2, 3, 5) < 0.5).double()
    near[0, 1] = 0  # a word without neighbours
    tables = [torch.randn(2, size, 4, dtype=torch.float64, requires_grad=True) for size in (5, 3, 6)]
    slopes = torch.autograd.grad(slow_loss(method, near, *tables, 0.3), tables)
    with torch.no_grad():
        steps = METHODS[method](near, *tables, 0.3)
    for step, slope in zip(steps, slopes, strict=True):
        torch.testing.assert_close(step, -slope)


@pytest.mark.parametrize("method", METHODS)
def test_words_that_share_their_neighbours_come_out_near_each_other(method: str) -> None:
    text = NumberedText.of(lines())
    vectors = dict(zip(text.words, trained(text, method=method, width=12, frequent=1.0), strict=True))
    names = [word for group in GROUPS for word in group]
    for group in GROUPS:
        for word in group:
            similar = sorted(names, key=lambda name: -torch.cosine_similarity(vectors[word], vectors[name], dim=0))
            assert set(similar[:4]) == set(group)


def test_the_same_seed_gives_the_same_vectors_and_another_seed_others() -> None:
    text = NumberedText.of(lines(200))
    first = trained(text, seed=3, epochs=2)
    assert torch.equal(first, trained(text, seed=3, epochs=2))
    assert not torch.equal(first, trained(text, seed=4, epochs=2))


def test_words_of_two_paragraphs_are_no_neighbours() -> None:
    training = VectorTraining(NumberedText.of([["a", "b"], ["c", "d"]] * 5), VectorSettings(window=3, frequent=1e9))
    words, places = training._read(0)
    near = training._near(places)[0]  # (centre, place)
    shown = [training.text.words[number] for number in words[0]]
    pairs = {(shown[3 + centre], shown[place]) for centre, place in near.nonzero().tolist()}
    assert pairs == {("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")}


def test_near_words_are_neighbours_more_often_than_far_ones() -> None:
    training = VectorTraining(NumberedText.of([["a", "b"] * 400]), VectorSettings(window=4, frequent=1e9))
    near = training._near(training._read(0)[1])
    by_distance = [torch.diagonal(near, 4 + distance, 1, 2).sum().item() for distance in (0, 1, 2, 3, 4)]
    assert by_distance[0] == 0
    assert by_distance[1:] == sorted(by_distance[1:], reverse=True)


def test_every_running_word_is_a_centre_once_and_blocks_meet_without_a_gap() -> None:
    words = [chr(ord("Ā") + number) for number in range(200)]
    training = VectorTraining(NumberedText.of([words * 5]), VectorSettings(window=2, frequent=1e9))
    blocks, places = training._read(0)
    centres = blocks[:, 2:-2][places[:, 2:-2] >= 0]
    assert centres.tolist() == training.text.numbers.tolist()


def test_frequent_words_are_passed_over_now_and_then() -> None:
    text = NumberedText.of([["the", "the", "the", "the", chr(ord("a") + number % 26)] for number in range(2000)])
    training = VectorTraining(text, VectorSettings(frequent=2e-2))
    blocks, places = training._read(0)
    read = blocks[:, 5:-5][places[:, 5:-5] >= 0]
    assert (read == 0).sum() < 2000
    assert (read > 0).sum() > 1900


@pytest.mark.parametrize("method", METHODS)
def test_a_text_of_three_words_and_one_of_lonely_words_are_no_trouble(method: str) -> None:
    for text in ([["a", "b", "a"]], [["a"], ["b"]], [["a", "b"], ["a"] * 70_000]):
        vectors = trained(NumberedText.of(text, least_count=1), method=method, width=3, window=7)
        assert torch.isfinite(vectors).all()


def test_words_are_spelled_as_the_table_spells_them_and_sorted_by_frequency() -> None:
    text = NumberedText.of([["In", "1996", "in", "2001", "Oslo", "rare", "IN"], ["oslo"]], least_count=2)
    assert text.words == ("in", "0000", "oslo")
    assert text.counts.tolist() == [3, 2, 2]
    assert text.numbers.tolist() == [0, 1, 0, 1, 2, 0, 2]
    assert text.paragraphs.tolist() == [0, 0, 0, 0, 0, 0, 1]
    assert (text.running_words, text.different_words) == (8, 4)
    assert NumberedText.of([["In", "in", "In", "in"]], lower_case=False, least_count=2).words == ("In", "in")


def test_too_little_text_says_what_there_is() -> None:
    with pytest.raises(InputError, match="no words"):
        NumberedText.of([])
    with pytest.raises(InputError, match=r"occur 5 times; the commonest, 'a', comes 2 times.*--least-count"):
        NumberedText.of([["a", "b", "a"]])


def test_a_word_that_no_file_of_vectors_can_hold_is_refused_before_the_training() -> None:
    with pytest.raises(InputError, match="line end"):
        NumberedText.of([["a\nb", "c"]], least_count=1)


def test_vectors_come_back_from_the_file_as_they_were(tmp_path: Path) -> None:
    words, vectors = ["a", ". . .", "é", "0000"], torch.randn(4, 5)
    write_vectors(words, vectors, tmp_path / "v.txt.xz")
    again = read_vectors(tmp_path / "v.txt.xz")
    assert list(again) == words
    torch.testing.assert_close(torch.stack(list(again.values())), vectors, atol=1e-5, rtol=1e-5)


def test_raw_text_is_split_by_the_tokenizer_of_the_house(tmp_path: Path) -> None:
    path = tmp_path / "text.txt.gz"
    path.write_bytes(gzip.compress(b"Don't go.\n\nIt's 5mg, q.i.d.\n"))
    assert list(read_paragraphs(path)) == [["Do", "n't", "go", "."], ["It", "'s", "5mg", ",", "q.i.d."]]


def test_a_corpus_gives_its_own_words(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"  # columns, whatever the name says
    path.write_text("Anna\tB-PER\nsleeps\tO\n\n" * 8, encoding="utf-8")
    assert list(read_paragraphs(path)) == [["Anna", "sleeps"]] * 8
    assert next(read_paragraphs(path, "text")) == ["Anna", "B-PER"]


def test_a_folder_of_texts_is_read_in_order(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("two words\n", encoding="utf-8")
    (tmp_path / "a.txt").write_text("one\n", encoding="utf-8")
    assert list(read_paragraphs(tmp_path)) == [["one"], ["two", "words"]]

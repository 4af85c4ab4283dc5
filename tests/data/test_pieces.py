"""Words and pieces: words in = first pieces out, whatever the words, the tokenizer and the length."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from acclimate.data.pieces import Pieces, windows

any_word = st.text(st.characters(), max_size=12)  # surrogates and empty words too
ODD_WORDS = [
    "",
    " ",
    "\u200b",
    "\ufeff",
    "\x00",
    "\x07\x1b",
    "\u2028",
    "😀",
    "👩‍👩‍👧",
    "e\u0301",
    "ﷺ",
    "\ud800",
    "[PAD]",
    "<s>",
]
TOKENIZERS = ["word_piece", "byte_level", "unigram"]

piece_counts = st.lists(st.integers(1, 9), min_size=1, max_size=80)


@pytest.fixture(scope="module", params=TOKENIZERS)
def tokenizer(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@given(piece_counts, st.integers(1, 40))
def test_windows_keep_each_word_exactly_once_and_in_order(counts: list[int], room: int) -> None:
    kept = [word for window in windows(counts, room) for word in range(window.keep_from, window.keep_to)]
    assert kept == list(range(len(counts)))


@given(piece_counts, st.integers(1, 40))
def test_a_window_reads_what_it_keeps_and_no_more_than_its_room(counts: list[int], room: int) -> None:
    for window in windows(counts, room):
        assert window.start <= window.keep_from <= window.keep_to <= window.end
        assert sum(counts[window.start : window.end]) <= room or window.end - window.start == 1


@given(st.lists(st.integers(1, 3), min_size=30, max_size=200), st.integers(24, 40))
def test_neighbouring_windows_overlap_so_that_every_kept_word_has_context(counts: list[int], room: int) -> None:
    found = windows(counts, room)
    for left, right in pairwise(found):
        assert left.end - left.keep_to >= 2
        assert right.keep_from - right.start >= 2


def test_a_sentence_that_fits_has_one_window() -> None:
    (window,) = windows([2, 3, 1], room=6)
    assert (window.start, window.end, window.keep_from, window.keep_to) == (0, 3, 0, 3)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(any_word, min_size=1, max_size=8), min_size=1, max_size=4))
def test_every_word_of_any_text_has_its_own_first_piece(tokenizer: Any, sentences: list[list[str]]) -> None:
    assert_words_in_is_firsts_out(Pieces(tokenizer, 16), sentences)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(any_word, min_size=1, max_size=30), min_size=1, max_size=5), st.integers(5, 40))
def test_rows_are_those_of_a_slow_loop(tokenizer: Any, sentences: list[list[str]], longest_row: int) -> None:
    pieces = Pieces(tokenizer, longest_row)
    found, expected = pieces.tensorize(sentences), numbered_slowly(pieces, sentences)
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)


@pytest.mark.parametrize("word", ODD_WORDS, ids=ascii)
def test_an_odd_word_is_not_lost_between_its_neighbours(tokenizer: Any, word: str) -> None:
    assert_words_in_is_firsts_out(Pieces(tokenizer, 32), [["Anna", word, "flew"], [word], ["Anna"]])


def test_a_word_that_the_tokenizer_drops_becomes_the_unknown_piece(word_piece: Any) -> None:
    assert word_piece([["\u200b"]], is_split_into_words=True, add_special_tokens=False)["input_ids"] == [[]]
    assert Pieces(word_piece, 16).of_words(["\u200b"]) == [[word_piece.unk_token_id]]


def test_a_word_of_ten_thousand_characters_is_read_by_its_beginning(tokenizer: Any) -> None:
    pieces = Pieces(tokenizer, 16)
    assert len(pieces.of_words(["a" * 10_000])[0]) <= pieces.room
    assert_words_in_is_firsts_out(pieces, [["Anna", "a" * 10_000, "flew"]])


def test_a_sentence_of_three_thousand_words_is_read_whole(tokenizer: Any) -> None:
    assert_words_in_is_firsts_out(Pieces(tokenizer, 64), [["Anna", "flew", "to", "Paris", "."] * 600, ["ok"]])


def test_a_short_sentence_is_one_row_as_the_tokenizer_itself_would_make_it(word_piece: Any) -> None:
    words = ["Anna", "flew", "to", "New", "York", "."]
    numbered = Pieces(word_piece, 64).tensorize([words])
    assert numbered["pieces"].tolist() == word_piece([words], is_split_into_words=True)["input_ids"]


def test_padding_is_marked_and_holds_the_padding_piece(byte_level: Any) -> None:
    numbered = Pieces(byte_level, 64).tensorize([["Anna"] * 5, ["ok"]])
    assert (numbered["pieces"][~numbered["attention"]] == byte_level.pad_token_id).all()
    assert numbered["attention"].sum(1).tolist() == [
        len(row) for row in byte_level([["Anna"] * 5, ["ok"]], is_split_into_words=True)["input_ids"]
    ]


def test_pieces_do_not_depend_on_what_was_asked_before(tokenizer: Any) -> None:
    used = Pieces(tokenizer, 32)
    used.of_words(["to", "Anna", "\u200b"])
    assert used.of_words(["Paris", "Anna"]) == Pieces(tokenizer, 32).of_words(["Paris", "Anna"])


def test_a_slow_tokenizer_is_refused() -> None:
    with pytest.raises(ValueError, match="not a fast tokenizer"):
        Pieces(object(), 16)


def test_rows_without_room_for_a_word_are_refused(word_piece: Any) -> None:
    with pytest.raises(ValueError, match="Rows of 2 pieces leave no room"):
        Pieces(word_piece, 2)


def numbered_slowly(pieces: Pieces, sentences: list[list[str]]) -> dict[str, Tensor]:
    """Row by row and word by word."""
    rows: list[list[int]] = []
    owners: list[list[int]] = []  # of each piece of each row: the number of its word in the batch
    whose: list[int] = []  # of each row: the number of its sentence
    places: list[list[tuple[int, int]]] = []
    before = 0
    for number, words in enumerate(sentences):
        spelled = pieces.of_words(words)
        places.append([])
        for window in windows([len(row) for row in spelled], pieces.room):
            row = list(pieces.before)
            owner = [-1] * len(row)
            for position in range(window.start, window.end):
                if window.keep_from <= position < window.keep_to:
                    places[-1].append((len(rows), len(row)))
                row.extend(spelled[position])
                owner.extend([before + position] * len(spelled[position]))
            rows.append(row + pieces.after)
            owners.append(owner)
            whose.append(number)
        before += len(words)
    width, longest = max(map(len, rows)), max(map(len, sentences))
    table = [row + [pieces.padding] * (width - len(row)) for row in rows]
    attention = [[True] * len(row) + [False] * (width - len(row)) for row in rows]
    first = [[row * width + column for row, column in kept] + [0] * (longest - len(kept)) for kept in places]
    numbers = [owner + [-1] * (width - len(owner)) for owner in owners]
    found = {"pieces": table, "attention": attention, "words": numbers, "first": first, "sentences": whose}
    return {name: torch.tensor(rows) for name, rows in found.items()}


def assert_words_in_is_firsts_out(pieces: Pieces, sentences: list[list[str]]) -> None:
    """Each word's place must hold the first of its own pieces, on a real piece, and no two words may share one."""
    numbered = pieces.tensorize(sentences)
    flat, real = numbered["pieces"].flatten(), numbered["attention"].flatten()
    assert numbered["pieces"].size(1) <= pieces.room + len(pieces.before) + len(pieces.after)
    assert numbered["first"].shape == (len(sentences), max(map(len, sentences)))
    taken: set[int] = set()
    for words, places in zip(sentences, numbered["first"], strict=True):
        places = places[: len(words)]
        assert torch.equal(flat[places], torch.tensor([row[0] for row in pieces.of_words(words)]))
        assert real[places].all()
        assert taken.isdisjoint(places.tolist())
        taken.update(places.tolist())
        assert len(set(places.tolist())) == len(words)

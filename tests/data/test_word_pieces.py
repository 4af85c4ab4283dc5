"""A tokenizer of one's own."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from acclimate.data.running_text import SPECIAL, train_word_pieces

TEXT = ["The quick brown Fox jumps over the lazy Dog .", "Münchner Straße, naïve café!"] * 20


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return train_word_pieces(lambda: TEXT, 200, 32)


def test_special_pieces_come_first(tokenizer: Any) -> None:
    assert tokenizer.convert_ids_to_tokens(range(5)) == list(SPECIAL)


def test_case_and_accents_are_kept(tokenizer: Any) -> None:
    for word in ("Fox", "Münchner", "naïve"):
        assert tokenizer.decode(tokenizer(word, add_special_tokens=False)["input_ids"]) == word


def test_a_sentence_stands_between_its_marks(tokenizer: Any) -> None:
    pieces = tokenizer.convert_ids_to_tokens(tokenizer("the Fox")["input_ids"])
    assert (pieces[0], pieces[-1]) == ("[CLS]", "[SEP]")


def test_a_character_never_seen_is_unknown(tokenizer: Any) -> None:
    assert tokenizer.convert_ids_to_tokens(tokenizer("ж", add_special_tokens=False)["input_ids"]) == ["[UNK]"]


def test_a_pair_of_texts_is_told_apart(tokenizer: Any) -> None:
    found = tokenizer("the Fox", "the Dog")
    assert set(found["token_type_ids"]) == {0, 1}


def test_saved_and_opened_by_plain_transformers_it_is_the_same(tokenizer: Any, tmp_path: Path) -> None:
    tokenizer.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert again(TEXT[0])["input_ids"] == tokenizer(TEXT[0])["input_ids"]
    assert (again.mask_token, again.model_max_length, len(again)) == ("[MASK]", 32, len(tokenizer))


def test_the_same_text_gives_the_same_pieces() -> None:
    """The trainer of the library does not keep that by itself: it numbers letters in the order of a hash."""
    words = ["".join(letters) + "s" for letters in product("abcde", repeat=4)]
    first, *others = (train_word_pieces(lambda: words, 60, 32).get_vocab() for _ in range(6))
    assert all(other == first for other in others)

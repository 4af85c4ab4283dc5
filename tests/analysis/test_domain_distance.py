"""Vocabulary overlap and density ratio, against oracles and slow references."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mask_rows import corpus

from acclimate.analysis.text_comparison import (
    DensityRatio,
    Overlap,
    frequent_words,
)
from acclimate.data.words import STOP_WORDS

# Oracle 8_density_ratio
SOURCE = {"the": 50, "match": 20, "bank": 20, "goal": 10}
TARGET = {"the": 40, "bank": 30, "loan": 25, "goal": 5}

COUNTS = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 9), min_size=1)


def test_the_oracle_overlap_is_reproduced() -> None:
    words = {"a": ["bank", "credit", "loan", "rate"], "b": ["bank", "goal", "rate"]}
    assert Overlap.of(words).percents[0][1] == 40.0


def test_the_matrix_holds_every_pair() -> None:
    overlap = Overlap.of({"a": "xy", "b": "yz", "c": ""})
    assert overlap.percents == ((100.0, pytest.approx(100 / 3), 0.0), (pytest.approx(100 / 3), 100.0, 0.0), (0.0,) * 3)
    assert overlap.words == (2, 2, 0)


def test_words_of_too_few_sentences_are_left_out_however_often_they_occur_there() -> None:
    text = corpus("cat cat cat dog", "dog bird", "dog")
    assert frequent_words(text) == {"dog"}
    assert frequent_words(text, least_sentences=1) == {"cat", "dog", "bird"}


def test_case_and_stop_words_do_not_count() -> None:
    assert frequent_words(corpus("The Cat the cat"), least_sentences=1) == {"cat"}


def test_stop_words_are_plain_lower_case_words() -> None:
    assert {"the", "of", "n't", "he's", "don’t"} <= STOP_WORDS
    assert all(word == word.strip().lower() for word in STOP_WORDS)


def test_the_overlap_can_be_stored_by_name() -> None:
    overlap = Overlap.of({"a": "xy", "b": "yz"})
    assert json.loads(json.dumps(overlap.as_dict()))["percents"]["a"]["b"] == pytest.approx(100 / 3)


def test_the_oracle_ratios_are_reproduced() -> None:
    ratio = DensityRatio.of(SOURCE, TARGET)
    expected = {"bank": 1 / 3, "goal": 0.0, "loan": 1.0, "match": 0.0, "the": 0.0}
    assert {word: ratio(word) for word in expected} == pytest.approx(expected)


def test_a_word_that_the_target_lacks_has_ratio_0() -> None:
    ratio = DensityRatio.of(SOURCE, TARGET)
    assert (ratio("match"), ratio("nowhere")) == (0.0, 0.0)


def test_an_empty_source_makes_every_word_the_target_s_and_an_empty_target_none() -> None:
    assert DensityRatio.of({}, TARGET)("the") == 1.0
    assert DensityRatio.of(SOURCE, {}).distance == 0.0


def test_capitals_count_only_when_asked_for() -> None:
    source, target = corpus("Bank"), corpus("bank")
    assert DensityRatio.of(source, target)("BANK") == 0.0
    assert DensityRatio.of(source, target, lower_case=False)("bank") == 1.0


@given(COUNTS, COUNTS)
def test_the_ratio_is_the_formula(source: dict[str, int], target: dict[str, int]) -> None:
    ratio = DensityRatio.of(source, target)
    for word in target:
        of_source, of_target = source.get(word, 0) / sum(source.values()), target[word] / sum(target.values())
        assert ratio(word) == pytest.approx(max(1 - of_source / of_target, 0))


@given(COUNTS, COUNTS)
def test_the_mean_over_the_target_is_the_total_variation(source: dict[str, int], target: dict[str, int]) -> None:
    ratio = DensityRatio.of(source, target)
    words = list(Counter(target).elements())
    of_source, of_target = sum(source.values()), sum(target.values())
    gaps = [abs(source.get(word, 0) / of_source - target.get(word, 0) / of_target) for word in {*source, *target}]
    assert ratio.distance == pytest.approx(sum(gaps) / 2) == pytest.approx(fmean(map(ratio, words)))


def test_top_words_are_ranked_by_ratio_then_frequency_then_spelling() -> None:
    ratio = DensityRatio.of({"a": 1}, {"a": 1, "b": 2, "d": 1, "c": 1})
    assert [item.word for item in ratio.top_words()] == ["b", "c", "d", "a"]
    assert [asdict(item) for item in ratio.top_words(1, among={"c"})] == [
        {"word": "c", "density_ratio": 1.0, "in_source": 0, "in_target": 1}
    ]

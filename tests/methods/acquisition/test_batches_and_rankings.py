"""Batches of unlike sentences, near-duplicates, and what the catalogue does where an acquisition lacks something."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.corpus import Corpus
from acclimate.methods.acquisition.candidates import Candidates
from acclimate.methods.acquisition.catalogue import ACQUISITIONS, diverse_batch, ranking, suited
from acclimate.methods.acquisition.near_duplicates import ALIKE, first_alike, jaccard, shingles
from acclimate.methods.acquisition.settings import AcquisitionName, AcquisitionSettings
from acclimate.model.tagger import Tagger
from acclimate.settings import SettingsError, complete

Build = Callable[..., Tagger]


def slow_batch(scores: list[float], features: np.ndarray, size: int, weight: float, known: np.ndarray) -> list[int]:
    """Every sentence is weighed anew against every one taken, in every step."""
    distinct = sorted(set(scores))
    ranks = [distinct.index(score) / max(1, len(distinct) - 1) for score in scores]
    taken: list[int] = []
    while len(taken) < min(size, len(scores)):
        best, worth = -1, -np.inf
        for number in range(len(scores)):
            near = [float(features[number] @ features[other]) for other in taken]
            near += [float(features[number] @ other) for other in known]
            own = (1 - weight) * ranks[number] - weight * max([*near, 0.0] if not len(known) else near)
            if number not in taken and own > worth + 1e-12:
                best, worth = number, own
        taken.append(best)
    return taken


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("known", [0, 3])
def test_a_diverse_batch_is_the_one_found_by_comparing_all_with_all(weight: float, known: int) -> None:
    dice = np.random.default_rng(7)
    rows = np.abs(dice.normal(size=(30 + known, 6)))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    scores = dice.integers(0, 9, 30).astype(float)
    found = diverse_batch(scores, rows[:30], 12, weight, rows[30:])
    assert found == slow_batch(scores.tolist(), rows[:30], 12, weight, rows[30:])


def test_of_two_equal_sentences_the_second_waits() -> None:
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert diverse_batch(np.array([3.0, 2.0, 1.0]), rows, 3, 0.6, rows[:0]) == [0, 2, 1]
    assert diverse_batch(np.array([3.0, 2.0, 1.0]), rows, 3, 0.0, rows[:0]) == [0, 1, 2]


WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "7", "@x", "http://y"]), min_size=1, max_size=9)


@given(st.lists(WORDS, max_size=12))
def test_what_is_called_nearly_the_same_is_and_first_ones_are_their_own(sentences: list[list[str]]) -> None:
    firsts = first_alike(sentences)
    for number, first in enumerate(firsts):
        assert first <= number
        assert firsts[first] == first
        assert first == number or jaccard(shingles(sentences[number]), shingles(sentences[first])) >= ALIKE
        if sentences[number] in sentences[:number]:
            assert first != number


def test_nearly_all_pairs_that_a_slow_comparison_finds_are_found() -> None:
    dice = np.random.default_rng(0)
    words = [f"{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(400)]
    originals = [[words[place] for place in dice.integers(0, 400, 20)] for _ in range(150)]
    changed = [[*one[:-1], "otherwise"] for one in originals]
    sentences = originals + changed
    alike = [jaccard(shingles(one), shingles(other)) for one, other in zip(originals, changed, strict=True)]
    assert min(alike) >= ALIKE
    firsts = first_alike(sentences)
    assert firsts[:150] == list(range(150))
    assert sum(firsts[150 + number] == number for number in range(150)) >= 149


def test_numbers_addresses_and_mentions_do_not_make_a_post_another_one() -> None:
    one = ["RT", "@anna", ":", "12", "people", "at", "http://a.b/c", "came", "to", "see", "the", "great", "show", "!"]
    other = ["rt", "@bob", ":", "999", "people", "at", "http://x.y/z", "came", "to", "see", "the", "great", "show", "."]
    assert first_alike([one, ["quite", "another"], other]) == [0, 1, 0]


def test_a_sentence_without_letters_is_like_its_equal_alone() -> None:
    assert first_alike([["!"], ["?"], ["!"]]) == [0, 1, 0]


TEXT = Corpus.of_texts([["Anna", "left"], ["It", "rained", "."], ["Bob", "saw", "Oslo"], ["ok"], ["Rome", "fell"]])


@pytest.mark.parametrize("name", ACQUISITIONS)
def test_every_acquisition_ranks_every_sentence_once_and_always_alike(build: Build, news: Corpus, name: str) -> None:
    tagger, other = build().eval(), build().eval()
    settings = complete(AcquisitionSettings, {"name": name})
    found, again = (ranking(Candidates(TEXT, tagger, [other], news[:3], news, 4, settings), 2) for _ in range(2))
    assert sorted(found) == list(range(len(TEXT)))
    assert found == again


def test_before_anything_is_labelled_nothing_goes_by_doubt(build: Build, news: Corpus) -> None:
    tagger = build().eval()
    for name in ACQUISITIONS:
        first = suited(name, Candidates(TEXT, tagger, [tagger]))
        assert first == (name if name in ("random", "typical") else "entities")
        assert suited(name, Candidates(TEXT, tagger, [tagger], known=news)) == name
        assert suited(name, Candidates(TEXT)) == ("random" if name == "random" else "typical")
    assert suited("committee", Candidates(TEXT, tagger, known=news)) == "entities"


def test_the_settings_name_what_the_catalogue_has() -> None:
    assert get_args(AcquisitionName) == tuple(ACQUISITIONS)
    with pytest.raises(SettingsError, match="random"):
        complete(AcquisitionSettings, {"name": "best"})

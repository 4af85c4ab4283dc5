"""Features as a tagger sees them: the right ones, balanced, the same every time, and a flat map of them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from acclimate.analysis.features import FEW, FeaturePoints, domain_separability, feature_points, project
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.model.tagger import Tagger

Build = Callable[..., Tagger]


@pytest.fixture(scope="module", params=["character-cnn-lstm", "bert"])
def tagger(request: pytest.FixtureRequest, build: Build) -> Tagger:
    return build(request.param)


def corpus(*lines: str) -> Corpus:
    return Corpus.of([Sentence(tuple(line.split())) for line in lines])


def slow_feature(tagger: Tagger, words: tuple[str, ...]) -> np.ndarray:
    """(word, feature), a sentence alone."""
    return tagger.eval().view([Sentence(words)]).features[0].detach().numpy()


def test_every_point_is_the_feature_of_its_word(tagger: Tagger, news: Corpus, tweets: Corpus) -> None:
    found = feature_points(tagger, {"news": news, "tweets": tweets}, most=7)
    texts = list(dict.fromkeys(sentence.words for part in (news, tweets) for sentence in part))
    for point, label in zip(found.points, found.labels, strict=True):
        near = [
            np.abs(slow_feature(tagger, words) - point).max(-1)[[word == label for word in words]].min()
            for words in texts
            if label in words
        ]
        assert min(near) < 1e-5


def test_a_sentence_is_the_mean_of_its_words(tagger: Tagger, news: Corpus, tweets: Corpus) -> None:
    found = feature_points(tagger, {"news": news, "tweets": tweets}, "sentence", most=4)
    assert len(found) == 8
    for point, label in zip(found.points, found.labels, strict=True):
        np.testing.assert_allclose(point, slow_feature(tagger, tuple(label.split())).mean(0), atol=1e-5)


def test_all_words_in_their_order_when_there_are_few(tagger: Tagger) -> None:
    found = feature_points(tagger, {"a": corpus("x y", "z x y"), "b": corpus("u v w", "u v")})
    assert found.labels == ("x", "y", "z", "x", "y", "u", "v", "w", "u", "v")
    assert found.domains == ("a",) * 5 + ("b",) * 5
    assert found.sentences == (0, 0, 1, 1, 1, 2, 2, 2, 3, 3)


def test_sentences_that_read_the_same_have_one_number(tagger: Tagger) -> None:
    found = feature_points(tagger, {"a": corpus("x y", "z"), "b": corpus("z", "x y")}, "sentence")
    assert found.sentences == (0, 1, 1, 0)


def test_every_corpus_gives_as_many_points(tagger: Tagger, news: Corpus, tweets: Corpus) -> None:
    for unit, most, each in (("word", 9, 9), ("word", 2000, tweets.word_count), ("sentence", 2000, len(tweets))):
        found = feature_points(tagger, {"news": news, "tweets": tweets}, unit, most)  # type: ignore[arg-type]
        assert Counter(found.domains) == {"news": each, "tweets": each}


def test_the_seed_decides_and_a_smaller_choice_lies_in_a_larger_one(tagger: Tagger, news: Corpus) -> None:
    few, again, other, more = (
        feature_points(tagger, {"news": news}, most=most, seed=seed)
        for most, seed in ((10, 3), (10, 3), (10, 4), (30, 3))
    )
    assert few.labels == again.labels
    assert np.array_equal(few.points, again.points)
    assert few.labels != other.labels
    assert not Counter(few.labels) - Counter(more.labels)


def test_of_an_encoder_in_parts_only_the_shared_one_is_taken(build: Build, news: Corpus) -> None:
    tagger = build()
    tagger.split(shared=4, private=3)
    whole = tagger.view(news[:1].sentences).features.size(-1)
    assert feature_points(tagger, {"news": news}, most=5).points.shape[1] < whole


def test_each_corpus_may_have_its_own_reader(build: Build, news: Corpus, tweets: Corpus) -> None:
    one, other = build(), build(text=tweets)
    both = feature_points({"news": one, "tweets": other}, {"tweets": tweets, "news": news}, most=9)
    for name, tagger in (("news", one), ("tweets", other)):
        alone = feature_points(tagger, {"tweets": tweets, "news": news}, most=9)
        assert np.array_equal(both.of(name).points, alone.of(name).points)


def test_a_tagger_in_training_is_read_without_dropout_and_left_in_training(build: Build, news: Corpus) -> None:
    tagger = build(dropout=0.5).train()
    one, other = (feature_points(tagger, {"news": news}, most=20).points for _ in range(2))
    assert np.array_equal(one, other)
    assert tagger.training


def test_a_corpus_cannot_be_told_from_itself(tagger: Tagger, news: Corpus) -> None:
    found = feature_points(tagger, {"a": news, "b": news}, most=100)
    assert domain_separability(found).accuracy == 0.5


def test_the_reader_is_told_how_far_it_is(tagger: Tagger, news: Corpus) -> None:
    heard: list[int] = []
    feature_points(tagger, {"news": news}, "sentence", progress=heard.append)
    assert sum(heard) == len(news)


def test_rows_hold_everything() -> None:
    found = FeaturePoints(np.array([[1.0, 2.0]], np.float32), ("a",), ("cat",), (7,))
    assert found.as_rows() == [{"corpus": "a", "sentence": 7, "word": "cat", "feature_1": 1.0, "feature_2": 2.0}]
    placed = found.as_rows(np.array([[3.0, 4.0]], np.float32))
    assert list(placed[0].values()) == ["a", 7, "cat", 3.0, 4.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("corpora", "options", "words"),
    [
        ({}, {}, "there is no corpus"),
        ({"a": corpus()}, {}, "a has no sentences"),
        ({"a": corpus("x")}, {"most": 0}, "one point of each corpus at least, not 0"),
        ({"a": corpus("x")}, {"unit": "letter"}, "'letter' is no unit of a map: expected word or sentence"),
    ],
)
def test_nothing_to_show_is_said(
    build: Build, corpora: dict[str, Corpus], options: dict[str, object], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        feature_points(build(), corpora, **options)  # type: ignore[arg-type]


def test_a_broken_tagger_is_refused(build: Build, news: Corpus) -> None:
    tagger = build()
    next(tagger.encoder.parameters()).data.fill_(float("nan"))
    with pytest.raises(InputError, match="features are not all numbers"):
        feature_points(tagger, {"news": news})


def two_groups(each: int) -> np.ndarray:
    drawn = np.random.default_rng(0).normal(size=(2 * each, 8))
    drawn[each:, 0] += 30
    return drawn.astype(np.float32)


@pytest.mark.parametrize("each", [4, 40, FEW // 2 + 1])
def test_neighbours_stay_neighbours_on_the_map(each: int) -> None:
    pytest.importorskip("sklearn")
    places = project(two_groups(each))
    assert places.shape == (2 * each, 2)
    distances = np.linalg.norm(places[:, None] - places[None], axis=-1) + 1e9 * np.eye(2 * each)
    is_second = np.arange(2 * each) >= each
    assert (is_second[distances.argmin(1)] == is_second).mean() > 0.95


def test_the_same_points_give_the_same_map() -> None:
    pytest.importorskip("sklearn")
    assert np.array_equal(project(two_groups(20), seed=1), project(two_groups(20), seed=1))


def test_points_all_in_one_place_stay_there() -> None:
    pytest.importorskip("sklearn")
    assert not project(np.ones((9, 3), np.float32)).any()


def test_three_points_are_no_map() -> None:
    pytest.importorskip("sklearn")
    with pytest.raises(InputError, match="four points or more, not 3"):
        project(two_groups(2)[:3])


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    with pytest.raises(InputError, match=r"needs scikit-learn: pip install 'acclimate\[maps\]'"):
        project(two_groups(10))

"""Scoring a tagger on a labelled corpus, and what it refuses to score."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError, Place
from acclimate.evaluation.scores import score
from acclimate.evaluation.seen import Vocabulary as SeenWords
from acclimate.inference.predict import evaluate, predict
from acclimate.model.tagger import Tagger


@pytest.fixture(scope="module")
def tagger(build: Callable[..., Tagger]) -> Tagger:
    return build()


def test_it_is_the_score_of_the_prediction(tagger: Tagger, news: Corpus) -> None:
    assert evaluate(tagger, news) == score(news, predict(tagger, news))


def test_seen_words_are_told_apart_once_the_tagger_knows_them(build: Callable[..., Tagger], news: Corpus) -> None:
    tagger = build()
    assert evaluate(tagger, news).unseen is None
    tagger.seen = SeenWords.of(news[:3])
    assert evaluate(tagger, news).unseen is not None


def test_a_corpus_without_tags_is_refused(tagger: Tagger, news: Corpus) -> None:
    with pytest.raises(InputError, match="news has no tags to compare with"):
        evaluate(tagger, news.unlabelled())


def test_a_corpus_with_some_tags_only_is_refused_at_the_first_bare_sentence(tagger: Tagger, news: Corpus) -> None:
    bare = Sentence(("ok",), place=Place("news.conll", 41))
    with pytest.raises(InputError, match=r"news\.conll, line 41: news has sentences without tags"):
        evaluate(tagger, Corpus.of([*news, bare], "news"))


def test_labels_that_the_tagger_does_not_know_are_refused_by_name(tagger: Tagger) -> None:
    clinical = Corpus.of([Sentence(("flu",), ("B-DISEASE",))], "clinical")
    with pytest.raises(InputError, match=r"does not know: DISEASE \(it knows LOC, ORG, PER\).*--map.*reading.typeless"):
        evaluate(tagger, clinical)


def test_another_kind_of_tags_is_refused(tagger: Tagger, part_of_speech: Corpus) -> None:
    with pytest.raises(InputError, match="pos has plain tags, but the tagger was trained on span tags"):
        evaluate(tagger, part_of_speech)

"""Corpora side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mask_rows import corpus

from acclimate.analysis.text_comparison import compare_text
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.writers.shared import write_csv

NEWS, POSTS = corpus("the [bank] rose", "the bank"), corpus("lol the bank", "lol").unlabelled()


def test_the_last_corpus_is_set_against_the_first() -> None:
    found = compare_text({"news": NEWS, "between": NEWS, "posts": POSTS}, least_sentences=2)
    assert (found.source, found.target, [item.word for item in found.top_words]) == ("news", "posts", ["lol"])
    assert found.distance == pytest.approx(1 / 2)
    assert found.overlap.words == (1, 1, 1)


@pytest.mark.parametrize(("given", "told"), [({}, "none"), ({"news": NEWS}, "news")])
def test_less_than_two_corpora_are_refused(given: dict[str, Corpus], told: str) -> None:
    with pytest.raises(InputError, match=f"compared with other text; corpora given: {told}"):
        compare_text(given)


def test_the_page_says_which_words_were_compared() -> None:
    found = compare_text({"news": NEWS, "posts": POSTS})
    assert found.words_compared == "in lower case, in 3 sentences or more, without stop words"


def test_figures_are_given_and_what_is_not_known() -> None:
    news, posts = compare_text({"news": NEWS, "posts": POSTS}).statistics
    assert (news.sentences, news.words, news.distinct_words, news.mean_length, news.spans) == (2, 5, 3, 2.5, 1)
    assert (news.spans_per_sentence, news.share_in_spans, news.unseen_words, news.unseen_types) == (0.5, 0.2, 0, 0)
    assert (posts.sentences, posts.words, posts.distinct_words, posts.mean_length) == (2, 4, 3, 2.0)
    assert (posts.spans, posts.spans_per_sentence, posts.share_in_spans) == (None, None, None)
    assert (posts.unseen_words, posts.unseen_types) == (0.5, pytest.approx(1 / 3))
    assert news.labels == {"X": 1}


def test_words_that_set_the_target_apart_are_shown() -> None:
    lines = compare_text({"news": NEWS, "posts": POSTS}, least_sentences=1).render_top_words()
    assert lines[0] == "words that set posts apart from news"
    assert lines[2].split()[0] == "lol"
    assert lines[-1].startswith("mean density ratio over all its words: 0.500")


def test_all_of_it_can_be_stored() -> None:
    found = compare_text({"news": NEWS, "posts": POSTS}, least_sentences=1)
    assert json.loads(json.dumps(found.as_dict()))["density_ratio"]["top_words"][0]["word"] == "lol"


def test_a_table_without_rows_is_an_empty_file(tmp_path: Path) -> None:
    write_csv([], tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text(encoding="utf-8").strip() == ""

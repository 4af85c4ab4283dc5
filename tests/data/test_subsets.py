"""Subsets: seeded, nested, in order, disjoint."""

import os
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.subsets import few_shot, few_shot_split, split, take_sentences, take_share_of_words
from acclimate.data.words import bare_text

SHARES = {"train": 0.8, "dev": 0.1, "test": 0.1}
SEEDS = st.integers(0, 1000)


def numbered(count: int, documents: int | None = None) -> Corpus:
    """Sentences of one to three words, all different; `documents`: how many share one document."""
    rows = (
        Sentence(
            (f"w{number}",) * (1 + number % 3),
            ("O",) * (1 + number % 3),
            document=documents and f"d{number // documents}",
        )
        for number in range(count)
    )
    return Corpus.of(rows, "news")


def labelled_as(*rows: str) -> Corpus:
    tags = [tuple(row.split()) for row in rows]
    sentences = (Sentence(tuple(f"{n}.{place}" for place in range(len(row))), row) for n, row in enumerate(tags))
    return Corpus.of(sentences, "news")


def positions(part: Corpus, whole: Corpus) -> list[int]:
    return [whole.sentences.index(sentence) for sentence in part]


@st.composite
def tagged_corpora(draw) -> Corpus:
    tag = st.sampled_from(["O", "O", "B-PER", "B-LOC", "B-ORG"])
    return labelled_as(
        *draw(st.lists(st.lists(tag, min_size=1, max_size=5).map(" ".join), min_size=1, max_size=30)), "B-PER"
    )


@st.composite
def repetitive_corpora(draw) -> Corpus:
    words = st.lists(st.sampled_from(["a", "B", "b", ",", "."]), min_size=1, max_size=3).map(tuple)
    rows = draw(st.lists(words, min_size=40, max_size=80))
    fillers = [(f"filler{number}",) for number in range(200)]
    return Corpus.of((Sentence(row, ("O",) * len(row)) for row in rows + fillers), "news")


# Numbers of sentences and shares of words


@given(st.integers(1, 30), st.integers(1, 30), SEEDS)
def test_fewer_sentences_lie_within_more(few, many, seed):
    few, many = sorted((few, many))
    whole = numbered(30)
    assert set(take_sentences(whole, few, seed)) <= set(take_sentences(whole, many, seed))
    assert len(take_sentences(whole, few, seed)) == few


@given(SEEDS)
def test_the_order_of_the_corpus_is_kept(seed):
    whole = numbered(30)
    chosen = positions(take_sentences(whole, 12, seed), whole)
    assert chosen == sorted(chosen)


def test_another_seed_gives_other_sentences():
    assert take_sentences(numbered(100), 10, seed=1) != take_sentences(numbered(100), 10, seed=2)


def test_the_choice_is_pinned_for_every_machine_and_version():
    whole = numbered(20)
    assert positions(take_sentences(whole, 5), whole) == [3, 5, 7, 12, 15]
    assert positions(split(whole, SHARES)["test"], whole) == [2, 5]


@pytest.mark.parametrize("count", [0, -1, 31])
def test_a_number_that_cannot_be_taken_is_refused(count):
    with pytest.raises(InputError, match=f"news has 30 sentences; {count} cannot be taken"):
        take_sentences(numbered(30), count)


@given(st.floats(0.01, 1), st.floats(0.01, 1), SEEDS)
def test_a_smaller_share_of_words_lies_within_a_larger(small, large, seed):
    small, large = sorted((small, large))
    whole = numbered(40)
    assert set(take_share_of_words(whole, small, seed)) <= set(take_share_of_words(whole, large, seed))


@given(st.floats(0.01, 1), SEEDS)
def test_the_share_of_words_is_reached_and_passed_by_less_than_a_sentence(share, seed):
    whole = numbered(40)
    part = take_share_of_words(whole, share, seed)
    assert share * whole.word_count - 1e-6 <= part.word_count < share * whole.word_count + 3


def test_binary_fractions_do_not_cost_a_sentence():
    single_words = Corpus.of(Sentence((str(number),)) for number in range(100))
    assert len(take_share_of_words(single_words, 0.07)) == 7  # 0.07 * 100 is a little more than 7
    assert take_share_of_words(single_words, 1.0).sentences == single_words.sentences


@pytest.mark.parametrize("share", [0, -0.1, 1.01, float("nan")])
def test_a_share_outside_zero_to_one_is_refused(share):
    with pytest.raises(InputError, match="above 0 and at most 1"):
        take_share_of_words(numbered(5), share)


def test_names_say_how_a_subset_was_made():
    assert take_sentences(numbered(9), 3, seed=4).name == "news[3 sentences, seed 4]"
    assert take_share_of_words(numbered(9), 0.05).name == "news[0.05 of words, seed 0]"
    assert few_shot(labelled_as("B-PER"), 1)[0].name == "news[1-shot, seed 0]"
    assert split(numbered(10), SHARES)["train"].name == "news[train, 8 sentences, seed 0]"


# A few examples of each label


@given(tagged_corpora(), st.integers(1, 6), SEEDS)
def test_each_label_has_k_spans_or_all_it_has(corpus, k, seed):
    result, short = few_shot(corpus, k, seed)
    wanted = {label: min(k, count) for label, count in corpus.label_counts.items()}
    assert all(result.label_counts[label] >= count for label, count in wanted.items())
    assert short == {label: count for label, count in corpus.label_counts.items() if count < k}


@given(tagged_corpora(), st.integers(1, 6), SEEDS)
def test_fewer_shots_lie_within_more(corpus, k, seed):
    assert set(few_shot(corpus, k, seed)[0]) <= set(few_shot(corpus, k + 1, seed)[0])


@given(tagged_corpora(), SEEDS)
def test_sentences_without_a_span_are_never_shots(corpus, seed):
    assert all(sentence.spans for sentence in few_shot(corpus, 3, seed)[0])


def test_one_shot_of_separate_labels_takes_one_sentence_each():
    result, _ = few_shot(labelled_as(*["B-PER"] * 9, *["B-LOC O"] * 9, *["O"] * 9), 1)
    assert result.label_counts == Counter(PER=1, LOC=1)


def test_plain_tags_are_counted_by_word():
    corpus = Corpus.of([Sentence(("a", "b"), ("NN", "VB")), Sentence(("c",), ("NN",))], kind="plain")
    assert few_shot(corpus, 2)[1] == {"VB": 1}


def test_few_shots_need_labels_and_at_least_one():
    with pytest.raises(InputError, match="news has no labels"):
        few_shot(numbered(3), 1)
    with pytest.raises(InputError, match="at least 1, not 0"):
        few_shot(labelled_as("B-PER"), 0)


# Splits


@given(st.integers(10, 60), SEEDS)
def test_parts_are_disjoint_and_make_the_whole(count, seed):
    whole = numbered(count)
    parts = split(whole, SHARES, seed)
    assert sorted(place for part in parts.values() for place in positions(part, whole)) == list(range(count))


@given(repetitive_corpora(), SEEDS)
def test_equal_sentences_go_to_the_same_part(corpus, seed):
    parts = split(corpus, {"a": 0.5, "b": 0.5}, seed)
    texts = [{bare_text(sentence.words) for sentence in part} for part in parts.values()]
    assert not texts[0] & texts[1]


@given(SEEDS)
def test_a_document_stays_whole(seed):
    parts = split(numbered(200, documents=4), SHARES, seed)
    documents = [sentence.document for part in parts.values() for sentence in dict.fromkeys(part)]
    assert all(count == 4 for count in Counter(documents).values())
    assert sum(len({sentence.document for sentence in part}) for part in parts.values()) == 50


def test_shares_give_exact_sizes_of_single_sentences():
    assert {part: len(corpus) for part, corpus in split(numbered(105), SHARES).items()} == {
        "train": 84,
        "dev": 10,
        "test": 11,
    }


def test_numbers_give_exact_sizes_and_leave_the_others_out():
    parts = split(numbered(100), {"train": 20, "dev": 5})
    assert [len(part) for part in parts.values()] == [20, 5]


def test_one_part_may_be_the_rest():
    parts = split(numbered(100), {"dev": 10, "train": "rest"})
    assert [(name, len(part)) for name, part in parts.items()] == [("dev", 10), ("train", 90)]


def test_every_sentence_can_fall_into_every_part():
    falls = Counter(
        place for seed in range(60) for place in positions(split(numbered(20), SHARES, seed)["test"], numbered(20))
    )
    assert len(falls) == 20
    assert max(falls.values()) < 20  # 6 are expected of each


def test_by_document_false_may_cut_documents():
    parts = split(numbered(100, documents=50), {"a": 0.9, "b": 0.1}, by_document=False)
    assert len(parts["b"]) == 10


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"train": 0.8, "dev": 0.3}, r"10 sentences; .*train 8, dev 3"),
        ({"train": 8, "dev": 3}, r"train 8, dev 3\. Each part needs one at least"),
        ({"train": 10, "dev": "rest"}, "dev 0"),
        ({"train": 0.99, "dev": 0.01}, "dev 0"),
        ({"train": -3, "dev": 3}, "train -3"),
        ({"train": 5, "dev": 0.5}, "either shares"),
        ({"a": "rest", "b": "rest"}, 'one at most may be "rest"'),
        ({"a": "half"}, 'one at most may be "rest"'),
        ({}, "need a name and a share"),
    ],
)
def test_an_impossible_split_is_refused_with_its_numbers(parts, message):
    with pytest.raises(InputError, match=message):
        split(numbered(10), parts)


def test_documents_that_cannot_be_cut_to_size_are_refused_with_the_numbers():
    with pytest.raises(InputError, match=r"of 100 sentences and would have[\s\S]*groups .* has 50 sentences"):
        split(numbered(100, documents=50), SHARES)


def test_equal_headlines_need_not_tie_documents_together():
    headline = [Sentence(("Sports",), document=f"d{number // 4}") for number in range(0, 200, 4)]
    corpus = Corpus.of((*numbered(200, documents=4), *headline))
    with pytest.raises(InputError, match="tied_from=6"):
        split(corpus, SHARES)
    assert len(split(corpus, SHARES, tied_from=6)["dev"]) in range(22, 29)


# Labelled, dev, unlabelled, test


@given(st.integers(1, 40), SEEDS)
def test_the_four_parts_are_disjoint_and_make_the_whole(labelled, seed):
    whole = numbered(100)
    parts = few_shot_split(whole, labelled, dev=10, seed=seed)
    words = [sentence.words for part in parts.values() for sentence in part]
    assert sorted(words) == sorted(sentence.words for sentence in whole)
    assert [len(part) for part in parts.values()] == [labelled, 10, 45 - labelled, 45]


@given(st.integers(1, 39), SEEDS)
def test_more_labelled_sentences_leave_dev_and_test_alone(labelled, seed):
    fewer, more = (few_shot_split(numbered(100), count, dev=10, seed=seed) for count in (labelled, labelled + 1))
    assert (fewer["dev"], fewer["test"]) == (more["dev"], more["test"])
    assert set(fewer["labelled"]) <= set(more["labelled"])


def test_the_unlabelled_part_has_lost_its_tags():
    parts = few_shot_split(numbered(50), 10, 10)
    assert {name: part.is_labelled for name, part in parts.items()} == {
        "labelled": True,
        "dev": True,
        "unlabelled": False,
        "test": True,
    }


@given(repetitive_corpora(), SEEDS)
def test_nothing_of_dev_or_test_stands_in_another_part(corpus, seed):
    parts = few_shot_split(corpus, 20, 30, seed=seed)
    texts = {name: {bare_text(sentence.words) for sentence in part} for name, part in parts.items()}
    assert not texts["test"] & (texts["labelled"] | texts["dev"] | texts["unlabelled"])
    assert not texts["dev"] & (texts["labelled"] | texts["unlabelled"])


def test_too_small_a_corpus_is_refused_with_its_numbers():
    with pytest.raises(InputError, match="news has 200 sentences: 100 labelled, 100 dev and 50 test leave -50"):
        few_shot_split(numbered(200))


def test_a_corpus_without_tags_cannot_be_split_for_few_shots():
    with pytest.raises(InputError, match=r"5 of news's 5 sentences have no tags; use corpus\.labelled"):
        few_shot_split(numbered(5).unlabelled())


# What the same means


def test_texts_are_compared_by_letters_and_digits():
    assert bare_text(("IL-2", "(", "Alpha", ")")) == bare_text(("il", "-", "2", "alpha")) == "il2alpha"
    assert bare_text(("--",)) != bare_text(("...",))


def test_the_hash_seed_of_python_changes_nothing():
    code = (
        "from test_subsets import *\n"
        "corpus = labelled_as(*['B-PER O', 'B-LOC', 'O B-ORG', 'O'] * 9)\n"
        "print(split(corpus, SHARES), few_shot(corpus, 2), [p.fingerprint for p in split(corpus, SHARES).values()],"
        " few_shot(corpus, 2)[0].fingerprint)"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path]),
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1

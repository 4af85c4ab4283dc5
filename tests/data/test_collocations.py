"""Collocations: counted within sentences, measured at their weakest seam, ranked by length, kept in a plain file."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.collocations import (
    Collocation,
    Collocations,
    build_collocations,
    count_ngrams,
    number_words,
)
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError

# Oracle 7_pmi.
TEXT = [
    row.split()
    for row in (
        "new york city is big",
        "new york city is old",
        "new york is far",
        "york city hall",
        "new car",
        "city is big",
        "new york",
        "old city",
    )
]
ORACLE_TOTALS = {1: 26, 2: 18, 3: 10, 4: 5}
ORACLE_COUNTS = {
    "new york": 4,
    "york city": 3,
    "city is": 3,
    "is big": 2,
    "new york city": 2,
    "york city is": 2,
    "city is big": 2,
}
ORACLE_LEVINE = {
    "new york": 1.793239854398489,
    "york city": 1.5055577819467083,
    "city is": 1.728701333260918,
    "new york city": 1.5432981099295555,
    "york city is": 1.8309801823813363,
    "city is big": 2.2364452904895007,
    "new york city is": 2.3418058061473266,
}
ORACLE_SQUARED = {
    "new york": 0.28916245762221493,
    "york city": -0.28620168728134665,
    "city is": -0.06305813596713694,
    "new york city": -0.06613980250454476,
    "york city is": 0.22154226994723603,
    "city is big": 0.6270073780554004,
}
ORACLE_UNIGRAMS = {
    "new york": 1.793239854398489,
    "york city": 1.5055577819467083,
    "city is": 1.728701333260918,
    "new york city": 3.336537964328044,
    "york city is": 3.5596815156422545,
    "city is big": 4.475972247516409,
}
NOT_NLTK = 3.4350951516200974  # bits, "new york city"

ROWS = st.lists(st.lists(st.sampled_from("abcB"), max_size=7), max_size=8)


def scores(text: Sequence[Sequence[str]], **options: object) -> dict[str, float]:
    found = build_collocations(text, **{"at_least": 1, **options})  # type: ignore[arg-type]
    return {" ".join(entry.words): entry.score for entry in found.entries}


def vocabulary(*rows: str, lower_case: bool = False) -> Collocations:
    return Collocations(tuple(Collocation(tuple(row.split()), 5, 1.0) for row in rows), lower_case)


# The slow way: every n-gram by nested loops, every segmentation by its cuts.


def slow_counts(text: Sequence[Sequence[str]], length: int) -> Counter[tuple[str, ...]]:
    counts: Counter[tuple[str, ...]] = Counter()
    for words in text:
        for start in range(len(words) - length + 1):
            counts[tuple(words[start : start + length])] += 1
    return counts


def segmentations(words: tuple[str, ...]) -> Iterator[list[tuple[str, ...]]]:
    for number in range(1, len(words)):
        for cuts in combinations(range(1, len(words)), number):
            yield [words[start:end] for start, end in pairwise((0, *cuts, len(words)))]


def slow_scores(text: Sequence[Sequence[str]], longest: int, relative_to: str, power: int) -> dict[str, float]:
    counts = {length: slow_counts(text, length) for length in range(1, longest + 1)}

    def share(words: tuple[str, ...]) -> float:
        return counts[len(words)][words] / counts[len(words) if relative_to == "length" else 1].total()

    return {
        " ".join(words): min(
            math.log(share(words) ** power / math.prod(map(share, parts))) for parts in segmentations(words)
        )
        for length in range(2, longest + 1)
        for words in counts[length]
    }


# Counting


def test_the_oracle_s_totals_come_out() -> None:
    assert {length: found.total for length, found in count_ngrams(number_words(TEXT), 4).items()} == ORACLE_TOTALS


def test_the_oracle_s_counts_come_out() -> None:
    counts = {" ".join(entry.words): entry.count for entry in build_collocations(TEXT, at_least=2).entries}
    assert {words: counts[words] for words in ORACLE_COUNTS} == ORACLE_COUNTS


@given(ROWS, st.integers(1, 4))
def test_counts_are_those_of_nested_loops_and_keep_sentences_apart(text: list[list[str]], at_least: int) -> None:
    found = {entry.words: entry.count for entry in build_collocations(text, at_least).entries}
    slow = slow_counts(text, 2) + slow_counts(text, 3) + slow_counts(text, 4)
    assert found == {words: count for words, count in slow.items() if count >= at_least}


def test_words_on_both_sides_of_a_sentence_s_end_are_no_collocation() -> None:
    assert list(build_collocations([["a", "b"], ["c", "d"]] * 5)) == [("a", "b"), ("c", "d")]


def test_less_than_five_times_is_too_rare() -> None:
    assert list(build_collocations([["a", "b"]] * 4 + [["c", "d"]] * 5)) == [("c", "d")]


@pytest.mark.parametrize("text", [[], [[]], [["a"]], [["a"], [], ["b"]]])
def test_a_text_without_neighbours_has_no_collocations(text: list[list[str]]) -> None:
    assert len(build_collocations(text, at_least=1)) == 0


def test_a_corpus_is_read_as_its_words() -> None:
    corpus = Corpus.of(Sentence(tuple(words)) for words in TEXT)
    assert build_collocations(corpus, at_least=2) == build_collocations(TEXT, at_least=2)


def test_sentences_may_come_one_by_one() -> None:
    assert build_collocations(iter(TEXT), at_least=2) == build_collocations(TEXT, at_least=2)


def test_upper_and_lower_case_are_joined_only_on_request() -> None:
    text = [["New", "York"], ["new", "york"]]
    assert len(build_collocations(text, at_least=1)) == 2
    joined = build_collocations(text, at_least=2, lower_case=True)
    assert list(joined) == [("new", "york")]
    assert joined.entries[0].count == 2


# The measure


@pytest.mark.parametrize(
    ("measure", "oracle"),
    [("levine", ORACLE_LEVINE), ("squared", ORACLE_SQUARED), ("unigrams", ORACLE_UNIGRAMS)],
)
def test_the_oracle_s_scores_come_out(measure: str, oracle: dict[str, float]) -> None:
    found = scores(TEXT, measure=measure)
    assert {words: found[words] for words in oracle} == pytest.approx(oracle, abs=1e-8)


@pytest.mark.parametrize("relative_to", ["length", "words"])
def test_it_is_not_the_measure_that_cuts_into_single_words_only(relative_to: str) -> None:
    """NLTK's, and so that of the released code."""
    assert math.log2(2 * 26**2 / (5 * 5 * 5)) == pytest.approx(NOT_NLTK)
    assert scores(TEXT, relative_to=relative_to)["new york city"] / math.log(2) < NOT_NLTK - 1


@given(ROWS, st.sampled_from(["length", "words"]), st.sampled_from([("levine", 1), ("squared", 2)]))
def test_scores_are_the_smallest_over_all_segmentations(
    text: list[list[str]], relative_to: str, measure: tuple[str, int]
) -> None:
    name, power = measure
    found = scores(text, relative_to=relative_to, measure=name, lengths=[2, 3, 4, 5])
    assert found == pytest.approx(slow_scores(text, 5, relative_to, power), abs=1e-8)


@given(ROWS, st.sampled_from(["length", "words"]))
def test_the_weakest_seam_is_never_stronger_than_all_seams_and_the_same_for_two_words(
    text: list[list[str]], relative_to: str
) -> None:
    weakest, plain = (scores(text, relative_to=relative_to, measure=name) for name in ("levine", "unigrams"))
    assert weakest.keys() == plain.keys()
    for words, score in weakest.items():
        assert score <= plain[words] + 1e-8
        if words.count(" ") == 1:
            assert score == pytest.approx(plain[words])


@given(ROWS, st.integers(1, 3))
def test_counting_in_many_small_passes_changes_nothing(text: list[list[str]], at_least: int) -> None:
    expected = build_collocations(text, at_least)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("acclimate.data.collocations._SHARE", 5)
        assert build_collocations(text, at_least) == expected


def test_a_sentence_of_many_hundred_words_is_counted_to_its_end() -> None:
    words = [f"w{number}" for number in range(700)]
    text = number_words([words, ["a", "b"]])
    assert text.left.tolist() == [*(255 for _ in range(445)), *range(255, 0, -1), 2, 1]
    assert (text.sentences, count_ngrams(text, 3)[3].total) == (2, 698)


def test_ngrams_that_are_longer_than_can_be_told_are_refused() -> None:
    with pytest.raises(ValueError, match="only shorter ones than 255"):
        count_ngrams(number_words(TEXT), 255)


@given(ROWS)
def test_rare_ngrams_count_in_the_totals_even_if_they_are_left_out(text: list[list[str]]) -> None:
    everything = scores(text)
    assert all(everything[words] == score for words, score in scores(text, at_least=3).items())


@given(ROWS)
def test_a_text_read_twice_has_the_same_scores(text: list[list[str]]) -> None:
    assert scores(text * 2) == pytest.approx(scores(text), abs=1e-8)


# The ranking


@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_the_sentences_does_not_matter(text: list[list[str]], random: object) -> None:
    shuffled = list(text)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert build_collocations(shuffled, at_least=1) == build_collocations(text, at_least=1)


@given(ROWS)
def test_within_a_length_the_strongest_come_first_then_the_frequent_then_by_spelling(text: list[list[str]]) -> None:
    entries = build_collocations(text, at_least=1).entries
    for length in (2, 3, 4):
        keys = [(-entry.score, -entry.count, entry.words) for entry in entries if len(entry.words) == length]
        assert keys == sorted(keys)


LONG_ROW = [[f"w{number}" for number in range(200)]]


@pytest.mark.parametrize("size", [4, 8, 20, 100])
def test_half_are_pairs_and_a_quarter_each_have_three_and_four_words(size: int) -> None:
    lengths = Counter(map(len, build_collocations(LONG_ROW, at_least=1, size=size)))
    assert lengths == {2: size // 2, 3: size // 4, 4: size // 4}


@given(st.integers(1, 120), st.integers(1, 120))
def test_a_smaller_vocabulary_is_the_beginning_of_a_larger(few: int, many: int) -> None:
    few, many = sorted((few, many))
    smaller, larger = (build_collocations(LONG_ROW, at_least=1, size=size) for size in (few, many))
    assert smaller.entries == larger.entries[:few]


@given(ROWS, st.integers(1, 12))
def test_what_is_cut_off_is_the_end_of_the_whole_ranking(text: list[list[str]], size: int) -> None:
    assert (
        build_collocations(text, at_least=1, size=size).entries == build_collocations(text, at_least=1).entries[:size]
    )


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([5, 2, 4, 3], {2: 32, 3: 16, 4: 8, 5: 8}),
        ([3], {3: 64}),
        ([2, 2, 4], {2: 32, 4: 32}),
    ],
)
def test_each_length_has_half_of_what_is_left(lengths: list[int], expected: dict[int, int]) -> None:
    found = build_collocations(LONG_ROW, at_least=1, size=64, lengths=lengths)
    assert Counter(map(len, found)) == expected


def test_the_lengths_can_be_chosen() -> None:
    only_threes = build_collocations(TEXT, at_least=2, lengths=[3])
    assert [" ".join(words) for words in only_threes] == ["city is big", "york city is", "new york city"]


def test_where_a_length_runs_out_the_others_take_its_room() -> None:
    pairs = [[f"a{number}", f"b{number}"] for number in range(9)]
    assert len(build_collocations(pairs, at_least=1, size=8)) == 8


@pytest.mark.parametrize(
    "options",
    [
        {"at_least": 0},
        {"size": 0},
        {"lengths": []},
        {"lengths": [1, 2]},
        {"measure": "square"},
        {"relative_to": "word"},
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"must be 1 or more|two words or more|is none of 'le"):
        scores(TEXT, **options)


# The vocabulary


def test_it_knows_what_it_holds() -> None:
    collocations = vocabulary("new york")
    assert ("new", "york") in collocations
    assert ("york", "new") not in collocations
    assert ("New", "York") not in collocations
    assert ("New", "York") in vocabulary("new york", lower_case=True)


def test_the_longest_is_found_first_then_the_best_ranked_then_the_leftmost() -> None:
    collocations = vocabulary("is big", "new york", "new york city")
    sentence = ["new", "york", "city", "is", "big", ",", "new", "york"]
    assert collocations.find(sentence) == [(0, 3, 2), (3, 5, 0), (0, 2, 1), (6, 8, 1)]


def test_words_that_do_not_stand_side_by_side_are_not_found() -> None:
    assert vocabulary("new york", "old city hall").find(["new", "old", "york", "city", "hall"]) == []


def test_a_collocation_that_the_sentence_breaks_off_is_not_found() -> None:
    assert vocabulary("new york city", "new york").find(["in", "new", "york"]) == [(1, 3, 1)]


def test_a_repeated_word_is_found_at_each_place() -> None:
    assert vocabulary("a a").find(["a", "a", "a"]) == [(0, 2, 0), (1, 3, 0)]


@pytest.mark.parametrize("words", [[], ["new"]])
def test_nothing_is_found_in_less_than_two_words(words: list[str]) -> None:
    assert vocabulary("new york").find(words) == []


@given(ROWS, st.lists(st.sampled_from("abcB"), max_size=12))
def test_what_is_found_is_what_a_slow_search_finds(text: list[list[str]], words: list[str]) -> None:
    collocations = build_collocations(text, at_least=1, size=6)
    slow = {
        (start, end, rank)
        for start in range(len(words))
        for end in range(start, len(words) + 1)
        for rank, known in enumerate(collocations)
        if list(known) == words[start:end]
    }
    found = collocations.find(words)
    assert set(found) == slow
    assert len(found) == len(slow)


def test_a_collocation_listed_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        vocabulary("new york", "new york")


@pytest.mark.parametrize(
    ("words", "count", "score"),
    [(("new",), 1, 1.0), (("new", ""), 1, 1.0), (("a", "b"), 0, 1), (("a", "b"), 1, math.nan)],
)
def test_an_impossible_collocation_is_refused(words: tuple[str, ...], count: int, score: float) -> None:
    with pytest.raises(ValueError, match=r"two or more words|score finite"):
        Collocation(words, count, score)


# The file


@pytest.mark.parametrize("name", ["collocations.jsonl", "collocations.jsonl.gz"])
@pytest.mark.parametrize("lower_case", [True, False])
def test_a_saved_vocabulary_is_loaded_as_it_was(tmp_path: Path, name: str, lower_case: bool) -> None:
    collocations = build_collocations([*TEXT, ["1 000", 'a "b"\t', "é\u2028\x85"]], at_least=1, lower_case=lower_case)
    collocations.save(tmp_path / name)
    assert Collocations.load(tmp_path / name) == collocations


def test_an_empty_vocabulary_can_be_saved(tmp_path: Path) -> None:
    Collocations(()).save(tmp_path / "none.jsonl")
    assert len(Collocations.load(tmp_path / "none.jsonl")) == 0


HEAD = {"format": "acclimate collocations", "version": 1, "lower_case": True, "collocations": 2}
GOOD = {"words": ["new", "york"], "count": 5, "score": 1.5}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"words": ["old", "ci', "no JSON"),
        (["old", "city"], "should be an object"),
        ({"count": 5, "score": 1.5}, "no 'words'"),
        ({**GOOD, "words": "old city"}, "should be a list"),
        ({**GOOD, "words": ["old", 5]}, "should be a string"),
        ({**GOOD, "words": ["old"]}, "two or more words"),
        ({**GOOD, "words": ["Old", "city"]}, "in lower case"),
        ({**GOOD, "words": ["old", "city"], "count": 0}, "count must be 1"),
        ({**GOOD, "words": ["old", "city"], "count": "5"}, "should be a whole number"),
        ({**GOOD, "words": ["old", "city"], "score": None}, "'score' should be a number"),
        ({**GOOD, "words": ["old", "city"], "score": math.inf}, "score finite"),
        (GOOD, "stand on an earlier line already"),
    ],
)
def test_a_damaged_line_is_pointed_at(tmp_path: Path, line: object, problem: str) -> None:
    file = tmp_path / "damaged.jsonl"
    rows = [json.dumps(HEAD), json.dumps(GOOD), line if isinstance(line, str) else json.dumps(line)]
    file.write_text("\n".join(rows), encoding="utf-8")
    with pytest.raises(InputError, match=rf"damaged\.jsonl, line 3: .*{problem}"):
        Collocations.load(file)


@pytest.mark.parametrize("head", ["", '{"words": ["new", "york"]}', json.dumps({**HEAD, "version": 2})])
def test_another_file_is_not_taken_for_one(tmp_path: Path, head: str) -> None:
    (tmp_path / "other.jsonl").write_text(head, encoding="utf-8")
    with pytest.raises(InputError, match=r"line 1: .*Write one with `acclimate data collocations`"):
        Collocations.load(tmp_path / "other.jsonl")


def test_a_damaged_first_line_is_pointed_at(tmp_path: Path) -> None:
    (tmp_path / "damaged.jsonl").write_text(json.dumps({**HEAD, "lower_case": "yes"}), encoding="utf-8")
    with pytest.raises(InputError, match="line 1: 'lower_case' should be true or false"):
        Collocations.load(tmp_path / "damaged.jsonl")


def test_a_file_that_lost_its_end_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "cut.jsonl").write_text(f"{json.dumps(HEAD)}\n{json.dumps(GOOD)}\n", encoding="utf-8")
    with pytest.raises(InputError, match="promises 2 collocations, and there are 1"):
        Collocations.load(tmp_path / "cut.jsonl")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.jsonl: there is no such file"):
        Collocations.load(tmp_path / "nowhere.jsonl")

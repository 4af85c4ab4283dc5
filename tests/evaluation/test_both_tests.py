"""A change is claimed when both tests agree: the bootstrap alone is too sure of a handful of sentences."""

import pytest
from tag_sequences import corpus_of

from acclimate.evaluation.both_tests import both_tests, larger_p
from acclimate.evaluation.significance import paired_bootstrap, permutation_test


@pytest.mark.parametrize("count", [1, 2, 4])
def test_sentences_that_all_change_alike_are_no_proof_if_they_are_few(count: int) -> None:
    gold, before = corpus_of(*["B-PER O"] * count), corpus_of(*["O O"] * count)
    found = both_tests(gold, before, gold, "span f1")
    assert found.p_value < 0.05 < found.permutation_p == found.larger_p


def test_many_sentences_that_change_alike_are() -> None:
    gold, before = corpus_of(*["B-PER O"] * 12), corpus_of(*["O O"] * 12)
    assert both_tests(gold, before, gold, "span f1").larger_p < 0.01


def test_both_are_the_tests_that_there_are() -> None:
    gold = corpus_of("B-PER O", "B-LOC O", "O B-PER", "B-PER I-PER")
    before = corpus_of("B-PER O", "O O", "O B-LOC", "B-PER O")
    after = corpus_of("B-PER O", "B-LOC O", "O B-PER", "O O")
    found = both_tests(gold, before, after, "span f1")
    drawn = paired_bootstrap(gold, before, after).as_dict()
    assert found.as_dict() == {**drawn, "permutation_p": permutation_test(gold, before, after).p_value}


def test_a_comparison_written_down_with_one_test_has_that_one() -> None:
    assert larger_p({"p_value": 0.01, "permutation_p": 0.2}) == 0.2
    assert larger_p({"p_value": 0.01}) == 0.01

"""Table 5: accuracy on seen and unseen words, for several taggers."""

from __future__ import annotations

import pytest
from mask_rows import corpus

from acclimate.analysis.seen_accuracy import compare_seen_accuracy
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.evaluation.scores import Scores, score
from acclimate.evaluation.unseen import Vocabulary

SOURCE, GOLD = corpus("anna left"), corpus("[Anna] met [Bob] and [Anna]")


def scored(*tags: str, lower_cased: bool = True) -> Scores:
    predicted: Corpus = GOLD.with_tags([tags])
    return score(GOLD, predicted, seen=Vocabulary.of(SOURCE, lower_cased=lower_cased))


HALF = scored("B-X", "O", "B-X", "B-X", "O")  # finds one Anna of two, and Bob
ALL = scored("B-X", "O", "B-X", "O", "B-X")


def test_accuracy_is_over_words_with_a_gold_tag() -> None:
    half, all_right = compare_seen_accuracy({"half": HALF, "all": ALL})
    assert (half.all.mean, half.seen.mean, half.unseen.mean) == (pytest.approx(2 / 3), 0.5, 1.0)
    assert (all_right.all.mean, all_right.seen.words, all_right.unseen.words) == (1.0, 2, 1)


def test_runs_under_one_name_are_averaged() -> None:
    (found,) = compare_seen_accuracy({"both": [HALF, ALL]})
    assert (found.runs, found.seen.mean, found.unseen.deviation) == (2, 0.75, 0.0)
    assert found.seen.deviation == pytest.approx(0.3535533906)
    assert found.as_dict()["seen"]["mean"] == found.as_row()["seen_mean"] == 0.75


def test_one_run_has_no_deviation() -> None:
    (found,) = compare_seen_accuracy({"half": HALF})
    assert found.all.deviation is None


def test_scores_without_training_text_are_refused() -> None:
    with pytest.raises(InputError, match="plain: not scored with the training text"):
        compare_seen_accuracy({"half": HALF, "plain": score(GOLD, GOLD)})


def test_scores_counted_in_two_ways_are_refused() -> None:
    with pytest.raises(InputError, match="score all of them alike"):
        compare_seen_accuracy({"half": HALF, "cased": scored("O", "O", "O", "O", "O", lower_cased=False)})

"""Words and mentions that training had, apart from those it had not."""

import json

import pytest
from hypothesis import given, settings
from tag_sequences import corpus_of, gold_and_predicted

from acclimate.data.corpus import Corpus, Sentence
from acclimate.evaluation.counts import Tally
from acclimate.evaluation.scores import score
from acclimate.evaluation.seen import Vocabulary


def tagged(words: str, tags: str) -> Corpus:
    return Corpus.of([Sentence(tuple(words.split()), tuple(tags.split()))])


TRAINING = tagged("Anna lives in Berlin", "B-PER O O B-LOC")
GOLD = tagged("anna left Berlin for New Berlin", "B-PER O B-LOC O B-LOC I-LOC")
PREDICTED = tagged("anna left Berlin for New Berlin", "O B-PER B-LOC O B-LOC I-LOC")


def test_without_training_text_nothing_is_said_of_unseen_words():
    assert score(GOLD, PREDICTED).as_dict()["unseen"] is None


def test_an_unseen_word_is_one_that_training_does_not_write_so():
    words = score(GOLD, PREDICTED, seen=TRAINING).unseen.words
    assert words == {"seen": Tally(2, 2, 2), "unseen": Tally(2, 2, 1)}


def test_words_may_be_compared_in_lower_case():
    words = score(GOLD, PREDICTED, seen=Vocabulary.of(TRAINING, lower_cased=True)).unseen.words
    assert words == {"seen": Tally(3, 2, 2), "unseen": Tally(1, 2, 1)}


def test_accuracy_counts_the_words_whose_gold_tag_is_not_outside():
    unseen = score(GOLD, PREDICTED, seen=TRAINING).as_dict()["unseen"]
    assert unseen["words"]["unseen"]["accuracy"] == pytest.approx(1 / 2)  # of anna, New; not of left, for


def test_an_unseen_mention_is_a_string_that_training_never_labelled():
    mentions = score(GOLD, PREDICTED, seen=TRAINING).unseen.mentions
    assert mentions == {"seen": Tally(1, 1, 1), "unseen": Tally(2, 2, 1)}


def test_a_word_that_training_had_without_a_label_is_an_unseen_mention():
    training, test = tagged("Berlin sleeps", "O O"), tagged("Berlin", "B-LOC")
    unseen = score(test, test, seen=training).unseen
    assert (unseen.words["seen"].gold, unseen.mentions["unseen"].gold) == (1, 1)


def test_a_mention_seen_under_another_label_is_seen():
    training, test = tagged("Berlin", "B-PER"), tagged("Berlin", "B-LOC")
    assert score(test, test, seen=training).unseen.mentions["seen"].gold == 1


def test_raw_training_text_says_nothing_of_mentions():
    unseen = score(GOLD, PREDICTED, seen=TRAINING.unlabelled()).unseen
    assert unseen.mentions is None
    assert unseen.as_dict()["mentions"] is None


def test_plain_tags_have_unseen_words_but_no_mentions():
    training, test = corpus_of("DET NOUN", kind="plain"), corpus_of("DET NOUN VERB", kind="plain")
    unseen = score(test, test, seen=training).unseen
    assert unseen.words == {"seen": Tally(2, 2, 2), "unseen": Tally(1, 1, 1)}
    assert unseen.mentions is None


def test_several_corpora_are_one_vocabulary_whatever_their_tags():
    words = tagged("Berlin sleeps", "B-LOC O")
    found = Vocabulary.of(words, corpus_of("DET NOUN", kind="plain"))
    assert found.words == {"Berlin", "sleeps", "w0", "w1"}
    assert found.mentions == {"Berlin"}


def test_a_vocabulary_can_be_stored():
    vocabulary = Vocabulary.of(TRAINING, lower_cased=True)
    assert Vocabulary.from_dict(json.loads(json.dumps(vocabulary.as_dict()))) == vocabulary


@settings(max_examples=60, deadline=None)
@given(gold_and_predicted(legal=False))
def test_seen_and_unseen_add_up_to_the_whole(tags):
    gold, predicted = (corpus_of(*rows) for rows in tags)
    scores = score(gold, predicted, seen=gold[:1])
    words = sum(scores.unseen.words.values(), Tally())
    assert words.as_dict().items() <= scores.token.as_dict().items()
    assert sum(scores.unseen.mentions.values(), Tally()) == scores.span

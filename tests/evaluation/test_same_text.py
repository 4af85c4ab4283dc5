"""A prediction of another text is refused, in words that end the search."""

import pytest
from tag_sequences import corpus_of

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError, Place
from acclimate.evaluation.errors import report_errors
from acclimate.evaluation.scores import score


def untagged(*rows: str) -> Corpus:
    return Corpus.of(Sentence(tuple(row.split())) for row in rows)


def tagged(*rows: str) -> Corpus:
    return untagged(*rows).map(lambda sentence: sentence.with_tags(["O"] * len(sentence)))


def test_another_word_is_named_with_its_sentence():
    with pytest.raises(InputError, match="sentence 2: word 2 is 'd' in the gold corpus and 'x' in the prediction"):
        score(tagged("a b", "c d"), tagged("a b", "c x"))


def test_a_shorter_sentence_is_named_with_the_words_where_it_ends():
    with pytest.raises(InputError, match="sentence 1: the prediction ends after 'a', the gold corpus goes on with 'b'"):
        score(tagged("a b"), tagged("a"))


def test_a_longer_sentence_is_named_with_the_words_where_it_should_end():
    with pytest.raises(InputError, match="the gold corpus ends after 'a', the prediction goes on with 'b'"):
        score(tagged("a"), tagged("a b"))


def test_missing_sentences_are_counted():
    with pytest.raises(InputError, match=r"has 2 sentences and the prediction .* 1; they agree up to sentence 1"):
        score(tagged("a", "b"), tagged("a"))


def test_the_place_of_the_stray_sentence_is_told():
    stray = Corpus.of([Sentence(("x",), ("O",), place=Place("guess.txt", 7))])
    with pytest.raises(InputError, match=r"guess\.txt, line 7"):
        score(tagged("a"), stray)


def test_gold_without_tags_is_refused():
    with pytest.raises(InputError, match=r"sentence 1 of the gold .* carries no tags"):
        score(untagged("a"), tagged("a"))


def test_a_prediction_without_tags_is_refused():
    with pytest.raises(InputError, match=r"sentence 1 of the prediction .* carries no tags"):
        score(tagged("a"), untagged("a"))


def test_plain_tags_and_spans_are_not_compared():
    with pytest.raises(InputError, match="plain tags and the prediction span tags"):
        score(corpus_of("NOUN", kind="plain"), corpus_of("O"))


def test_a_tag_that_fits_no_scheme_is_named_with_its_sentence():
    with pytest.raises(InputError, match="sentence 2 of the prediction: tag 'NOUN' fits no span scheme"):
        score(corpus_of("O", "O"), corpus_of("O", "NOUN"))


def test_an_unknown_reading_is_refused():
    with pytest.raises(InputError, match="expected one of lenient, strict"):
        score(tagged("a"), tagged("a"), reading="loose")


def test_errors_are_looked_for_in_the_same_text_only():
    with pytest.raises(InputError, match="sentence 1"):
        report_errors(tagged("a"), tagged("b"))

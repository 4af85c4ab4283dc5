"""The corpora that the general tagger learns: what is mended in them, and that nothing of it is measured on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from acclimate import Corpus
from acclimate.data.corpus import Sentence

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import open_corpora  # noqa: E402


def sentence(words: str, tags: str) -> Sentence:
    return Sentence(tuple(words.split()), tuple(tags.split()))


def test_no_sentence_of_a_dev_or_test_set_was_learnt_by_the_general_tagger() -> None:
    learnt = open_corpora.read_hashes(BENCHMARKS / "learnt_by_general.bin")
    evaluated = open_corpora.read_hashes(BENCHMARKS / "evaluated.bin")
    assert len(learnt) > 70_000
    assert len(evaluated) > 50_000
    assert not learnt & evaluated


def test_a_sentence_is_found_again_whatever_its_case_spaces_and_punctuation(tmp_path: Path) -> None:
    one, other = ["Anna", "flew", "to", "Oslo", "."], ["ANNA", "flew", "to", "Oslo", "!"]
    assert open_corpora.hashes([open_corpora.spelling_of(one)]) == open_corpora.hashes(
        [open_corpora.spelling_of(other)]
    )
    several = open_corpora.hashes(["annaflewtooslo", "shestayed", "ø"])
    open_corpora.write_hashes(several, tmp_path / "hashes")
    assert open_corpora.read_hashes(tmp_path / "hashes") == several


def test_what_is_measured_on_is_left_out_but_for_very_short_sentences() -> None:
    corpus = Corpus.of(
        [sentence("Anna flew to Oslo", "B-PER O O B-LOC"), sentence("Oslo", "B-LOC"), sentence("a b c d", "O O O O")]
    )
    left = open_corpora.without(corpus, {"annaflewtooslo", "oslo"})
    assert [one.words for one in left] == [("Oslo",), ("a", "b", "c", "d")]


@pytest.mark.parametrize(
    ("mend", "words", "tags", "mended"),
    [
        ("like_conll", "Mr. John Smith left the Alps", "B-PER I-PER I-PER O B-LOC I-LOC", "O B-PER I-PER O O B-LOC"),
        (
            "like_conll",
            "Bank of Oslo ( BO ) closed",
            "B-ORG I-ORG I-ORG I-ORG I-ORG I-ORG O",
            "B-ORG I-ORG I-ORG O|* O|* O|* O",
        ),
        ("nations_are_misc", "the French in France", "O B-LOC O B-LOC", "O B-MISC O B-LOC"),
        ("only_names", "Iraq and both countries", "B-LOC O B-LOC I-LOC", "B-LOC O O|* O|*"),
    ],
)
def test_what_other_corpora_annotate_otherwise_is_made_like_conll(
    mend: str, words: str, tags: str, mended: str
) -> None:
    assert getattr(open_corpora, mend)(sentence(words, tags)).tags == tuple(mended.split())


def test_the_marks_of_tweets_join_the_words_behind_and_are_no_names() -> None:
    found = open_corpora.marks_joined(sentence("@ bob saw # Oslo and Rome", "B-PER I-PER O O B-LOC O B-LOC"))
    assert found.words == ("@bob", "saw", "#Oslo", "and", "Rome")
    assert found.tags == ("O", "O", "O", "O", "B-LOC")


def test_careless_copies_have_their_sentence_s_names() -> None:
    corpus = Corpus.of([sentence("Anna , flew to Oslo .", "B-PER O O O B-LOC O")] * 200)
    noisy = open_corpora.with_noise(corpus, 0.5, seed=1)
    assert noisy[:200].sentences == corpus.sentences
    copies = {one.words: one.tags for one in noisy[200:]}
    assert copies == {
        ("anna", ",", "flew", "to", "oslo", "."): ("B-PER", "O", "O", "O", "B-LOC", "O"),
        ("ANNA", ",", "FLEW", "TO", "OSLO", "."): ("B-PER", "O", "O", "O", "B-LOC", "O"),
        ("Anna", "flew", "to", "Oslo"): ("B-PER", "O", "O", "B-LOC"),
    }
    assert 60 < len(noisy) - 200 < 140

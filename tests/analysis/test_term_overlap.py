"""Collocations against the terms of a corpus: counted by hand, and against sets."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acclimate.analysis.terms import term_overlap
from acclimate.data.collocations import Collocation, Collocations
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.schemes import Span


def vocabulary(*rows: str, lower_case: bool = False) -> Collocations:
    return Collocations(tuple(Collocation(tuple(row.split()), 5, 1.0) for row in rows), lower_case)


def corpus(*terms: str) -> Corpus:
    """A sentence for each term, which stands between two other words."""
    rows = [Sentence(("x", *term.split(), "y")) for term in terms]
    return Corpus.of([row.with_spans([Span(1, len(row) - 1, "GENE")]) for row in rows], "genes")


KNOWN = vocabulary("kappa B", "in vitro", "NF kappa B", "of the gene")
GENES = corpus("NF kappa B", "NF kappa B", "p53", "heat shock", "a b c d e f")


def test_every_figure_is_counted() -> None:
    two, three = term_overlap(KNOWN, [GENES]).by_length
    assert (two.words, two.collocations, two.terms, two.mentions, two.shared) == (2, 2, 1, 1, 0)
    assert (three.words, three.collocations, three.terms, three.mentions, three.shared) == (3, 2, 1, 2, 1)
    assert (three.share_of_mentions, three.share_of_collocations) == (1, 0.5)


def test_overall_terms_of_all_lengths_count() -> None:
    overall = term_overlap(KNOWN, [GENES]).overall
    assert (overall.words, overall.collocations, overall.terms, overall.mentions) == (None, 4, 4, 5)
    assert (overall.share_of_terms, overall.share_of_mentions) == (0.25, 0.4)


def test_case_is_compared_as_the_vocabulary_does() -> None:
    assert term_overlap(vocabulary("HEAT shock"), [GENES]).overall.shared == 0
    assert term_overlap(vocabulary("heat shock", lower_case=True), [corpus("Heat SHOCK")]).overall.shared == 1


WORDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(" ".join)


@given(st.lists(WORDS.filter(lambda row: " " in row), unique=True, min_size=1), st.lists(WORDS, min_size=1))
def test_figures_are_those_of_sets(rows: list[str], terms: list[str]) -> None:
    found = term_overlap(vocabulary(*rows), [corpus(*terms)])
    counts, shared = Counter(terms), set(rows) & set(terms)
    overall = found.overall
    assert (overall.terms, overall.mentions, overall.shared) == (len(counts), len(terms), len(shared))
    assert overall.share_of_mentions == sum(counts[term] for term in shared) / len(terms)
    assert sum(part.shared for part in found.by_length) == overall.shared


def test_several_corpora_are_taken_together() -> None:
    found = term_overlap(KNOWN, [corpus("kappa B"), corpus("in vitro")])
    assert (found.corpus, found.overall.shared) == ("genes, genes", 2)


def test_without_collocations_nothing_is_shared() -> None:
    found = term_overlap(Collocations(()), [GENES])
    assert (found.by_length, found.overall.share_of_collocations) == ((), 0.0)


@pytest.mark.parametrize("text", [GENES.unlabelled(), Corpus(())])
def test_a_text_without_terms_is_refused(text: Corpus) -> None:
    with pytest.raises(InputError, match="no sentence has a labelled span"):
        term_overlap(KNOWN, [text])


def test_plain_tags_are_refused(part_of_speech: Corpus) -> None:
    with pytest.raises(InputError, match="pos has plain tags"):
        term_overlap(KNOWN, [part_of_speech])


def test_it_is_told_in_json_rows_and_words() -> None:
    found = term_overlap(KNOWN, [GENES])
    assert json.loads(json.dumps(found.as_dict()))["overall"]["share_of_terms"] == 0.25
    assert [part["words"] for part in found.as_dict()["by_length"]] == [2, 3]
    assert found.render().splitlines()[3].split()[:5] == ["3", "words", "2", "1", "2"]

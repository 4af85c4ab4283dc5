"""What is written comes back, from every format into every other, whatever characters the words are made of."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.reading import read_corpus
from acclimate.data.schemes import Span
from acclimate.data.writing import write_corpus

NEEDS = {"parquet": "pyarrow", "docbin": "spacy"}
FORMATS = ["conll", "conllu", "jsonl", "doccano", "label_studio", "prodigy", "brat", "csv", "tsv", "parquet", "docbin"]
SEPARATORS = " \t\r\n\0"

characters = st.characters(blacklist_categories=["Cs"], blacklist_characters=SEPARATORS)
odd = st.sampled_from(
    [
        "\ufeff",
        "#x",
        "# y",
        "-DOCSTART",
        '"',
        "[",
        "{}",
        ",",
        "\\n",
        "\u2028",
        "\x85x",
        "😀",
        "é\u0301",
        "O",
        "|",
        "B-X",
        "x\u00a0y",
        "'",
    ]
)
words = (st.text(characters, min_size=1, max_size=6) | odd).map(lambda word: word.replace(" ", "_"))


@st.composite
def sentences(draw: st.DrawFn, labelled: bool = True) -> Sentence:
    """Words of any characters, with neighbouring spans of one label among the spans."""
    made = draw(st.lists(words.filter(lambda word: not word.isspace()), min_size=1, max_size=7))
    if not labelled:
        return Sentence(tuple(made))
    spans = []
    position = draw(st.integers(0, 2))
    while position < len(made):
        end = min(len(made), position + draw(st.integers(1, 3)))
        spans.append(Span(position, end, draw(st.sampled_from(["PER", "geo-loc", "É_1"]))))
        position = end + draw(st.integers(0, 2))
    return Sentence(tuple(made)).with_spans(spans)


def corpora(labelled: bool = True) -> st.SearchStrategy[Corpus]:
    return st.lists(sentences(labelled), min_size=1, max_size=4).map(Corpus.of)


def through(corpus: Corpus, format: str, **options: str) -> Corpus:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("pair.ann" if format == "brat" else "file")
        write_corpus(corpus, path, format, **options)
        return read_corpus(path, format, tokenize="blanks", labels="spans")


def pairs(corpus: Corpus) -> list[tuple[tuple[str, ...], tuple[str, ...] | None]]:
    return [(sentence.words, sentence.tags) for sentence in corpus]


def need(*formats: str) -> None:
    for format in formats:
        if format in NEEDS:
            pytest.importorskip(NEEDS[format])


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=60)
@given(corpus=corpora())
def test_a_labelled_corpus_comes_back(format, corpus):
    need(format)
    assert pairs(through(corpus, format)) == pairs(corpus)


@pytest.mark.parametrize("format", [*(one for one in FORMATS if one != "brat"), "text"])
@settings(max_examples=40)
@given(corpus=corpora(labelled=False))
def test_an_unlabelled_corpus_comes_back(format, corpus):
    need(format)
    assert pairs(through(corpus, format)) == pairs(corpus)


@pytest.mark.parametrize("second", FORMATS)
@pytest.mark.parametrize("first", FORMATS)
@settings(max_examples=3)
@given(corpus=corpora())
def test_a_corpus_survives_any_pair_of_formats(first, second, corpus):
    need(first, second)
    assert pairs(through(through(corpus, first), second)) == pairs(corpus)


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "BIOES"])
@pytest.mark.parametrize("format", ["conll", "conllu", "jsonl", "csv", "tsv", "parquet"])
@settings(max_examples=10)
@given(corpus=corpora())
def test_a_corpus_survives_any_scheme(format, scheme, corpus):
    need(format)
    assert pairs(through(corpus, format, scheme=scheme)) == pairs(corpus)


@pytest.mark.parametrize("format", ["jsonl", "parquet", "doccano", "label_studio", "prodigy", "brat"])
@settings(max_examples=20)
@given(corpus=corpora())
def test_text_and_offsets_come_back(format, corpus):
    need(format)
    known = through(corpus, "doccano")  # gives every sentence a text and offsets
    back = through(known, format)
    for sentence in back:
        assert sentence.text is not None
        assert [sentence.text[start:end] for start, end in sentence.offsets or ()] == list(sentence.words)

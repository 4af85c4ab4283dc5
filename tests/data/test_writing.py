"""Writing a corpus: whole or not at all, and nothing lost in silence."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pytest

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError, Place
from acclimate.data.reading import FORMATS, read_corpus
from acclimate.data.writing import WRITERS, format_to_write, write_corpus

ANNA = Sentence(("Anna", "Lund", "ran"), ("B-PER", "I-PER", "O"), place=Place("in.conll", 7))
TWINS = Sentence(("Bob", "Eve"), ("B-PER", "B-PER"))
CORPUS = Corpus.of([ANNA, TWINS])
TEXT = "Anna ran. Bob  too.\nOslo!"
DOCUMENT = [
    Sentence(("Anna", "ran", "."), ("B-PER", "O", "O"), TEXT, ((0, 4), (5, 8), (8, 9)), document="d1"),
    Sentence(("Bob", "too", "."), ("B-PER", "O", "O"), TEXT, ((10, 13), (15, 18), (18, 19)), document="d1"),
    Sentence(("Oslo", "!"), ("B-LOC", "O"), TEXT, ((20, 24), (24, 25)), document="d1"),
]


def of_words(*words, tags=None):
    return Corpus.of([Sentence(words, tags, place=Place("in.jsonl", 3))])


def test_conll_is_word_tab_tag_and_a_blank_line(tmp_path):
    write_corpus(CORPUS, tmp_path / "a.conll")
    assert (tmp_path / "a.conll").read_text() == "Anna\tB-PER\nLund\tI-PER\nran\tO\n\nBob\tB-PER\nEve\tB-PER\n\n"


@pytest.mark.parametrize(
    ("scheme", "tags"),
    [
        ("BIOES", "B-PER E-PER O S-PER S-PER"),
        ("IOB1", "I-PER I-PER O I-PER B-PER"),
        ("iob2", "B-PER I-PER O B-PER B-PER"),
    ],
)
def test_tags_are_spelled_in_any_scheme(tmp_path, scheme, tags):
    write_corpus(CORPUS, tmp_path / "a.conll", scheme=scheme)
    assert [line.split("\t")[1] for line in (tmp_path / "a.conll").read_text().split("\n") if line] == tags.split()


def test_io_refuses_neighbours_that_it_cannot_keep_apart(tmp_path):
    with pytest.raises(InputError, match=r"IO cannot keep two neighbours.*'Bob Eve'"):
        write_corpus(CORPUS, tmp_path / "a.conll", scheme="IO")


@pytest.mark.parametrize("bad", ["a\tb", "a\nb", "a\rb", "", "-DOCSTART-", " a"])
def test_a_word_that_conll_cannot_hold_is_named(tmp_path, bad):
    with pytest.raises(InputError, match=r"in\.jsonl, line 3: the word '.*'") as caught:
        write_corpus(of_words("ok", bad, tags=("O", "O")), tmp_path / "a.conll")
    assert repr(bad) in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_an_unlabelled_word_may_not_hold_a_blank(tmp_path):
    with pytest.raises(InputError, match="'10 000'"):
        write_corpus(of_words("10 000"), tmp_path / "a.conll")


@pytest.mark.parametrize("format", ["conll", "jsonl", "doccano", "csv"])
@pytest.mark.parametrize("bad", ["a\0b", "\ud83d"])
def test_characters_that_no_file_can_hold_are_refused(tmp_path, format, bad):
    with pytest.raises(InputError, match=r"in\.jsonl, line 3: (a NUL|half of a surrogate)"):
        write_corpus(of_words(bad), tmp_path / "a", format)


def test_a_failed_write_leaves_the_old_file_alone(tmp_path):
    (tmp_path / "a.conll").write_text("old")
    with pytest.raises(InputError):
        write_corpus(of_words("a\tb"), tmp_path / "a.conll")
    assert (tmp_path / "a.conll").read_text() == "old"


def test_nothing_is_left_beside_the_file(tmp_path):
    write_corpus(CORPUS, tmp_path / "new" / "a.jsonl.gz")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.jsonl.gz"]


def test_a_place_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"a\.conll: the file cannot be written"):
        write_corpus(CORPUS, tmp_path / "file" / "a.conll")


def test_a_minus_is_standard_output(capsysbinary):
    write_corpus(of_words("é"), "-")
    assert capsysbinary.readouterr().out == "é\n\n".encode()


def test_the_same_corpus_gives_the_same_bytes(tmp_path):
    for name in ("a.conll.gz", "b.conll.gz"):
        write_corpus(CORPUS, tmp_path / name)
    assert (tmp_path / "a.conll.gz").read_bytes() == (tmp_path / "b.conll.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.conll.gz").read_bytes()).startswith(b"Anna\tB-PER")


@pytest.mark.parametrize(
    ("name", "format"),
    [("a.conll", "conll"), ("a.jsonl", "jsonl"), ("a.json", "label_studio"), ("a.csv", "csv"), ("a.tsv", "tsv"),
     ("a.conllu", "conllu"), ("a", "conll"), ("a.iob2", "conll"),
     ("a.ann", "brat"), ("folder/", "brat"), ("a.jsonl.xz", "jsonl")],
)  # fmt: skip
def test_the_format_goes_by_the_name_and_is_found_again(tmp_path, name, format):
    write_corpus(CORPUS, f"{tmp_path}/{name}")
    corpus = read_corpus(f"{tmp_path}/{name}", tokenize="blanks")
    assert corpus.notes.format == format
    assert [(one.words, one.tags) for one in corpus] == [(one.words, one.tags) for one in CORPUS]


def test_a_docbin_goes_by_both_of_its_endings():
    assert [format_to_write(name) for name in ("a.spacy", "a.docbin")] == ["docbin", "docbin"]


def test_an_ending_of_no_format_is_not_taken_for_conll(tmp_path):
    with pytest.raises(InputError, match=r"a\.doccano: the ending \.doccano is of no format that we write"):
        write_corpus(CORPUS, tmp_path / "a.doccano")


def test_the_files_that_were_written_are_named(tmp_path):
    assert write_corpus(CORPUS, tmp_path / "a.conll") == [tmp_path / "a.conll"]
    assert write_corpus(CORPUS, tmp_path / "a.ann.gz") == [tmp_path / "a.txt.gz", tmp_path / "a.ann.gz"]
    assert len(write_corpus(CORPUS, tmp_path / "folder", "brat")) == 2 * len(CORPUS)


def test_every_format_but_the_hub_can_be_written():
    assert {*WRITERS, "brat"} == FORMATS.keys() - {"hub", "labelling"}


def test_an_unknown_format_is_answered_with_the_known_ones(tmp_path):
    with pytest.raises(InputError, match=r"Did you mean 'conll'\? The formats are conll, .*brat"):
        write_corpus(CORPUS, tmp_path / "a", "connl")


def test_tags_are_not_dropped_because_a_file_is_called_txt(tmp_path):
    with pytest.raises(InputError, match=r'pass write_corpus\(format="text"\) to leave them out'):
        write_corpus(CORPUS, tmp_path / "a.txt")
    write_corpus(CORPUS, tmp_path / "a.txt", "text")
    assert (tmp_path / "a.txt").read_text() == "Anna Lund ran\nBob Eve\n"


@pytest.mark.parametrize("format", ["doccano", "label_studio", "prodigy"])
def test_sentences_of_one_text_become_one_record(tmp_path, format):
    write_corpus(Corpus.of(DOCUMENT), tmp_path / "a.json", format)
    corpus = read_corpus(tmp_path / "a.json", paragraphs=True)
    assert [(one.words, one.tags, one.text, one.document) for one in corpus] == [
        (one.words, one.tags, one.text, "d1") for one in DOCUMENT
    ]


def test_a_subset_of_a_document_does_not_bring_the_rest_along(tmp_path):
    write_corpus(Corpus.of([DOCUMENT[0], DOCUMENT[2]]), tmp_path / "a.json", "doccano")
    records = [json.loads(line) for line in (tmp_path / "a.json").read_text().splitlines()]
    assert [(one["text"], one["label"]) for one in records] == [
        ("Anna ran.", [[0, 4, "PER"]]),
        ("Oslo!", [[0, 4, "LOC"]]),
    ]


def test_equal_texts_that_follow_each_other_are_two_records(tmp_path):
    again = Sentence(("ok",), None, "ok", ((0, 2),))
    write_corpus(Corpus.of([again, again]), tmp_path / "a.json", "doccano")
    assert len((tmp_path / "a.json").read_text().splitlines()) == 2


def test_exchanged_words_are_written_and_not_the_old_text(tmp_path):
    changed = replace(DOCUMENT[0], words=("Clara", "ran", "."))
    write_corpus(Corpus.of([changed]), tmp_path / "a.jsonl", "doccano")
    assert json.loads((tmp_path / "a.jsonl").read_text())["text"] == "Clara ran ."


def test_brat_names_its_files_after_the_documents(tmp_path):
    write_corpus(Corpus.of([*DOCUMENT, ANNA]), tmp_path / "out", "brat")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "000002.ann",
        "000002.txt",
        "d1.ann",
        "d1.txt",
    ]
    assert (tmp_path / "out" / "d1.ann").read_text() == "T1\tPER 0 4\tAnna\nT2\tPER 10 13\tBob\nT3\tLOC 20 24\tOslo\n"


def test_document_names_cannot_leave_the_folder(tmp_path):
    write_corpus(Corpus.of([replace(ANNA, document="../evil")]), tmp_path / "out", "brat")
    assert sorted(path.name for path in tmp_path.rglob("*.txt")) == ["000001.txt"]


def test_plain_tags_are_refused_by_formats_of_spans(tmp_path):
    nouns = Corpus.of([Sentence(("cats",), ("NOUN",))], kind="plain")
    for format in ("doccano", "label_studio", "prodigy", "brat"):
        with pytest.raises(InputError, match="has plain tags"):
            write_corpus(nouns, tmp_path / "a", format)


@pytest.mark.parametrize("format", ["conll", "conllu", "jsonl", "csv", "tsv", "parquet"])
def test_plain_tags_come_back_where_there_is_room_for_them(tmp_path, format):
    if format == "parquet":
        pytest.importorskip("pyarrow")
    nouns = Corpus.of([Sentence(("cats", "sleep"), ("NOUN", "VERB"))], kind="plain")
    write_corpus(nouns, tmp_path / "a", format)
    corpus = read_corpus(tmp_path / "a", format)
    assert (corpus[0].tags, corpus.kind) == (("NOUN", "VERB"), "plain")


@pytest.mark.parametrize("format", ["conll", "conllu", "doccano", "csv", "tsv", "brat"])
def test_half_a_labelled_corpus_is_refused_where_it_cannot_be_told(tmp_path, format):
    with pytest.raises(InputError, match="this sentence has no tags, but others have"):
        write_corpus(Corpus.of([ANNA, TWINS.with_tags(None)]), tmp_path / "a", format)


@pytest.mark.parametrize("format", ["jsonl", "parquet", "label_studio", "prodigy"])
def test_half_a_labelled_corpus_comes_back_where_it_can_be_told(tmp_path, format):
    if format == "parquet":
        pytest.importorskip("pyarrow")
    write_corpus(Corpus.of([ANNA, TWINS.with_tags(None)]), tmp_path / "a", format)
    assert [one.tags for one in read_corpus(tmp_path / "a", format)] == [ANNA.tags, None]


@pytest.mark.parametrize(("format", "label"), [("conll", "a\tb"), ("conllu", "a|b"), ("brat", "a b")])
def test_labels_that_a_format_cannot_hold_are_named(tmp_path, format, label):
    with pytest.raises(InputError, match=r"the label '.*' holds"):
        write_corpus(of_words("a", tags=(f"B-{label}",)), tmp_path / "a", format)

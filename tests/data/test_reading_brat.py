"""brat stand-off."""

from __future__ import annotations

import gzip

import pytest

from acclimate.data.problems import InputError
from acclimate.data.reading import read_corpus

TEXT = "Anna met Bob.\nThey left Oslo.\n"
ANNOTATION = "T1\tPER 0 4\tAnna\nT2\tPER 9 12\tBob\nT3\tLOC 24 28\tOslo\nR1\tknows Arg1:T1 Arg2:T2\n#1\tNote T1\tx\n"


@pytest.fixture
def read(tmp_path):
    def reader(annotation=ANNOTATION, text=TEXT, **options):
        (tmp_path / "a.txt").write_text(text, encoding="utf-8", newline="")
        (tmp_path / "a.ann").write_text(annotation, encoding="utf-8")
        return read_corpus(tmp_path / "a.ann", **options)

    return reader


def test_lines_are_sentences_with_their_spans(read):
    corpus = read()
    assert [one.tags for one in corpus] == [("B-PER", "O", "B-PER", "O"), ("O", "O", "B-LOC", "O")]
    assert [(one.place.line, one.document) for one in corpus] == [(1, "a"), (2, "a")]


def test_what_is_no_span_is_counted(read):
    assert read().notes.remarks == ("2 brat relations, events, attributes and notes were passed over",)


def test_a_folder_is_read_in_order_and_compressed_files_too(tmp_path, read):
    read()
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"Eve"))
    (tmp_path / "b.ann.gz").write_bytes(gzip.compress(b"T1\tPER 0 3\tEve\n"))
    assert [one.document for one in read_corpus(tmp_path)] == ["a", "a", "b"]


@pytest.mark.parametrize("missing", ["a.txt", "a.ann"])
def test_a_missing_partner_is_named(tmp_path, read, missing):
    read()
    (tmp_path / "b.txt").write_text("x")
    (tmp_path / "b.ann").write_text("")
    (tmp_path / missing).unlink()
    with pytest.raises(InputError, match=rf"{missing}: the file is missing"):
        read_corpus(tmp_path)
    assert [one.document for one in read_corpus(tmp_path, skip_bad=True)] == ["b"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("T1\tPER 0 99\tAnna", "does not fit into the text"),
        ("T1\tPER 4 0\tAnna", "does not fit into the text"),
        ("T1\tPER 0 x\tAnna", "no text-bound annotation"),
        ("T1 PER 0 4 Anna", "no text-bound annotation"),
        ("T1\tPER 0 " + "9" * 5000, "no text-bound annotation"),
        ("T1\tPER 1 5\tAnna", "text and annotation do not belong together"),
        ("hello", "no brat annotation"),
        ("T1\tPER 0 4\tAnna\nT2\tORG 0 8\tAnna met", "overlap"),
        ("T1\tPER 0 3\tAnn", "misses word borders: it cuts 'Anna'"),
        ("T1\tPER 0 4;9 12\tAnna Bob", "has gaps"),
    ],
)
def test_bad_annotations_are_named_by_line_and_text(read, line, said):
    with pytest.raises(InputError, match=rf"a\.ann, line \d+: .*{said}.*The text there: "):
        read(line, borders="error")


@pytest.mark.parametrize(("policy", "tags"), [("expand", ("B-X", "I-X", "I-X", "O")), ("drop", ("O",) * 4)])
def test_a_span_with_gaps_follows_the_policy(read, policy, tags):
    corpus = read("T1\tX 0 4;9 12\tAnna Bob\n", borders=policy)
    assert corpus[0].tags == tags
    assert len(corpus.notes.border_misses) == 1


def test_pieces_that_touch_are_one_span(read):
    assert read("T1\tX 0 4;4 8\tAnna met\n")[0].tags[:2] == ("B-X", "I-X")


def test_a_span_over_a_line_end_joins_the_lines(read):
    corpus = read("T1\tX 9 18\tBob. They\n")
    assert [len(one) for one in corpus] == [8]


def test_line_ends_of_windows_count_as_two_characters(read):
    text = TEXT.replace("\n", "\r\n")
    assert read("T1\tLOC 25 29\tOslo\n", text)[1].tags == ("O", "O", "B-LOC", "O")


def test_standard_input_cannot_hold_two_files():
    with pytest.raises(InputError, match="two files"):
        read_corpus("-", "brat")

"""spaCy's DocBin and Hugging Face data sets: both are extras, and say so when they are missing."""

from __future__ import annotations

import sys

import pytest

from acclimate.data.problems import InputError
from acclimate.data.readers.tables import split_name
from acclimate.data.reading import read_corpus


@pytest.fixture
def without(monkeypatch):
    def forbid(library):
        monkeypatch.setitem(sys.modules, library, None)

    return forbid


@pytest.mark.parametrize(
    ("library", "path", "extra"),
    [("spacy", "a.spacy", "spacy"), ("datasets", "hf:conll2003", "datasets"), ("pyarrow", "a.parquet", "parquet")],
)
def test_a_missing_extra_is_answered_with_the_command(tmp_path, without, library, path, extra):
    without(library)
    (tmp_path / path).write_bytes(b"x")
    with pytest.raises(InputError, match=rf"pip install 'acclimate\[{extra}\]'"):
        read_corpus(path if path.startswith("hf:") else tmp_path / path)


@pytest.fixture
def docbin(tmp_path):
    spacy = pytest.importorskip("spacy")
    from spacy.tokens import DocBin

    def write(*docs):
        DocBin(docs=docs).to_disk(tmp_path / "a.spacy")
        return tmp_path / "a.spacy"

    return write, spacy.blank("en")


def test_a_docbin_gives_its_tokens_and_entities(docbin):
    write, nlp = docbin
    doc = nlp("Anna Lund  met\nBob.")
    doc.ents = [doc.char_span(0, 9, "PER"), doc.char_span(15, 18, "PER")]
    corpus = read_corpus(write(doc))
    assert [(one.words, one.tags) for one in corpus] == [
        (("Anna", "Lund", "met", "Bob", "."), ("B-PER", "I-PER", "O", "B-PER", "O"))
    ]
    assert corpus[0].text[slice(*corpus[0].offsets[3])] == "Bob"


def test_neighbouring_entities_of_a_docbin_stay_apart(docbin):
    write, nlp = docbin
    doc = nlp("Anna Bob")
    doc.ents = [doc.char_span(0, 4, "PER"), doc.char_span(5, 8, "PER")]
    assert read_corpus(write(doc))[0].tags == ("B-PER", "B-PER")


def test_sentences_of_a_docbin_are_kept(docbin):
    write, nlp = docbin
    nlp.add_pipe("sentencizer")
    assert [len(one) for one in read_corpus(write(nlp("Go. Stay here.")))] == [2, 3]


def test_a_docbin_without_annotation_is_unlabelled(docbin):
    write, nlp = docbin
    assert not read_corpus(write(nlp("Go there"))).is_labelled


@pytest.mark.parametrize("length", [0, 1, 30, -1])
def test_a_damaged_docbin_is_a_clear_error(docbin, length):
    write, nlp = docbin
    path = write(nlp("Go there now"))
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(InputError, match=r"a\.spacy: this is no whole DocBin"):
        read_corpus(path)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("hf:conll2003", ("conll2003", None, "train")),
        ("hf:owner/name", ("owner/name", None, "train")),
        ("hf:owner/name/en:test", ("owner/name", "en", "test")),
    ],
)
def test_names_of_the_hub_are_taken_apart(name, parts):
    assert split_name(name) == parts


@pytest.mark.parametrize("name", ["hf:", "hf:a//b", "hf:a/b/c/d"])
def test_names_that_name_nothing_are_refused(name):
    with pytest.raises(InputError, match="names no data set"):
        split_name(name)


@pytest.fixture
def dataset():
    datasets = pytest.importorskip("datasets")
    tags = datasets.Sequence(datasets.ClassLabel(names=["O", "B-PER"]))
    features = datasets.Features({"tokens": datasets.Sequence(datasets.Value("string")), "ner_tags": tags})
    rows = {"tokens": [["Anna", "ran"], ["ok"]], "ner_tags": [[1, 0], [0]]}
    return datasets.Dataset.from_dict(rows, features=features)


def test_a_saved_data_set_is_read_with_its_label_names(tmp_path, dataset):
    dataset.save_to_disk(tmp_path / "saved")
    corpus = read_corpus(tmp_path / "saved")
    assert [(one.words, one.tags) for one in corpus] == [(("Anna", "ran"), ("B-PER", "O")), (("ok",), ("O",))]
    assert corpus.notes.format == "hub"


def test_of_several_splits_one_must_be_named(tmp_path, dataset):
    datasets = pytest.importorskip("datasets")
    datasets.DatasetDict({"train": dataset, "test": dataset}).save_to_disk(tmp_path / "saved")
    with pytest.raises(InputError, match=r"name one of them: .*saved/train"):
        read_corpus(tmp_path / "saved")
    assert len(read_corpus(tmp_path / "saved" / "train")) == 2


def test_a_name_is_loaded_as_it_says(monkeypatch, dataset):
    datasets = pytest.importorskip("datasets")
    asked = []
    monkeypatch.setattr(datasets, "load_dataset", lambda *names, split: asked.append((*names, split)) or dataset)
    assert len(read_corpus("hf:owner/name/en:test")) == 2
    assert asked == [("owner/name", "en", "test")]


def test_a_data_set_that_cannot_be_loaded_is_a_clear_error(monkeypatch):
    datasets = pytest.importorskip("datasets")

    def fail(*names, split):
        raise ConnectionError("offline")

    monkeypatch.setattr(datasets, "load_dataset", fail)
    with pytest.raises(
        InputError, match=r"hf:owner/name: the data set could not be loaded \(ConnectionError: offline\)"
    ):
        read_corpus("hf:owner/name")

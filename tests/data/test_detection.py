"""Formats are found out from the name and the first lines."""

from __future__ import annotations

import json

import pytest

from acclimate.data.problems import InputError
from acclimate.data.reading import read_corpus

LABEL_STUDIO = {"data": {"text": "Anna"}, "annotations": []}
CONLLU_ROW = "1\tcats\tcat\tNOUN\t_\t_\t0\troot\t_\t_\n"


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("a.conll", "Anna B-PER\n", "conll"),
        ("a.txt", "Anna B-PER\nran O\n", "conll"),
        ("a.txt", "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\n", "conll"),
        ("a.tsv", "Anna\tB-PER\nran\tO\n", "conll"),
        ("a", "Anna\tNOUN\n" * 12, "conll"),
        ("a.txt", "Anna ran home .\nBob slept .\n", "text"),
        ("a.txt", "Anna ran\nBob slept\n", "text"),
        ("a.txt", "東京は\n大阪は\n", "text"),
        ("a.txt", "[laughs] hello there\nok\n", "text"),
        ("a.conllu", CONLLU_ROW, "conllu"),
        ("a.txt", f"# text = cats\n{CONLLU_ROW}", "conllu"),
        ("a.jsonl", '{"words": ["a"], "tags": ["O"]}\n', "jsonl"),
        ("a.jsonl", '{"tokens": ["a"], "ner_tags": ["O"]}\n', "jsonl"),
        ("a.jsonl", '{"text": "Anna", "label": [[0, 4, "PER"]]}\n', "doccano"),
        ("a.jsonl", '{"text": "Anna", "entities": []}\n', "doccano"),
        ("a.jsonl", 'garbage\n{"text": "Anna", "label": []}\n', "doccano"),
        ("a.jsonl", '{"text": "Anna", "tokens": [{"start": 0, "end": 4}], "spans": []}\n', "prodigy"),
        ("a.json", json.dumps([LABEL_STUDIO], indent=2), "label_studio"),
        ("a.jsonl", json.dumps(LABEL_STUDIO), "label_studio"),
        ("a.txt", json.dumps(LABEL_STUDIO), "label_studio"),
        ("a.csv", "sentence_id,word,tag\n1,Anna,B-PER\n", "csv"),
        ("a.tsv", "word\ttag\nAnna\tB-PER\n", "tsv"),
        ("a.tsv", "id\ttext\n7\tAnna ran.\n", "tsv"),
    ],
)
def test_the_format_is_detected(tmp_path, name, content, format):
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert read_corpus(tmp_path / name, skip_bad=True).notes.format == format


@pytest.mark.parametrize(
    "text",
    [
        "Anna bought a Tesla Model S\n",
        "She takes Vitamin B\nHe takes Vitamin E\n",
        "Blood group O\n",
        "They took the I-95\nNobody wants an S-Class\n",
        "\n".join(f"{name} {letter}" for name in ("Vitamin", "Hepatitis", "Plan", "Team") for letter in "BEISLUM"),
        "\n".join(["all is well .", "so it goes !", "not today ."] * 5),
        "one\tword\nanother\tB\n",
    ],
)
def test_raw_text_that_ends_in_what_looks_like_a_tag_is_text(tmp_path, text):
    (tmp_path / "a.txt").write_text(text)
    corpus = read_corpus(tmp_path / "a.txt")
    assert (corpus.notes.format, corpus.notes.remarks) == ("text", ())


@pytest.mark.parametrize(
    "content",
    ["Anna B-PER\nran O\n", "Anna\tO\nran\tO\n", "Anna O\nran B\nhome O\n" * 4],
)
def test_whatever_is_guessed_from_the_lines_is_told(tmp_path, content):
    for name, guessed in (("a.txt", True), ("a", True), ("a.conll", False)):
        (tmp_path / name).write_text(content)
        corpus = read_corpus(tmp_path / name)
        assert corpus.notes.format == "conll"
        assert ("read as conll, by the look of its first lines" in " ".join(corpus.notes.remarks)) == guessed


def test_a_text_with_annotation_beside_it_is_brat(tmp_path):
    (tmp_path / "a.txt").write_text("Anna ran.")
    (tmp_path / "a.ann").write_text("T1\tPER 0 4\tAnna\n")
    assert {read_corpus(tmp_path / name).notes.format for name in ("a.txt", "a.ann", ".")} == {"brat"}


def test_a_folder_of_texts_is_text_with_a_document_each(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text("One line.\nAnother.\n")
    assert [sentence.document for sentence in read_corpus(tmp_path)] == ["a", "a", "b", "b"]


def test_a_folder_of_nothing_known_says_what_was_expected(tmp_path):
    with pytest.raises(InputError, match=r"expected brat's \.ann"):
        read_corpus(tmp_path)


def test_an_explicit_format_wins(tmp_path):
    (tmp_path / "a.conll").write_text("Anna B-PER\n")
    assert read_corpus(tmp_path / "a.conll", "text")[0].words == ("Anna", "B-PER")


@pytest.mark.parametrize("content", ['{"what": 1}\n', "{\n", "[1]"])
def test_unknown_json_is_refused_with_a_line(tmp_path, content):
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(InputError, match="line 1: this JSON is of no known kind"):
        read_corpus(tmp_path / "a.json")


def test_a_corpus_is_named_after_its_file(tmp_path):
    (tmp_path / "train.conll").write_text("a O\n")
    assert read_corpus(tmp_path / "train.conll").name == "train"
    assert read_corpus(tmp_path / "train.conll", name="news").name == "news"


def test_lines_of_equally_many_words_are_still_text(tmp_path):
    lines = ["good morning", "hello there", "so tired", "love this", "what now", "not again", "two words"] * 2
    (tmp_path / "posts.txt").write_text("\n".join(f"{line}{number}" for number, line in enumerate(lines)))
    assert read_corpus(tmp_path / "posts.txt").notes.format == "text"

"""`acclimate data convert`: from any format into any other, with nothing lost on the way."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from command_line import Files, acclimate

from acclimate.data.reading import read_corpus


@pytest.mark.parametrize(
    "name", ["a.conll", "a.conll.gz", "a.conll.xz", "a.conllu", "a.jsonl", "a.json", "a.csv", "a.tsv.gz", "a.parquet"]
)
def test_there_and_back_is_the_same_corpus(files: Files, tmp_path: Path, name: str) -> None:
    acclimate("data", "convert", files.gold, tmp_path / name)
    acclimate("data", "convert", tmp_path / name, tmp_path / "back.conll")
    assert (tmp_path / "back.conll").read_bytes() == files.gold.read_bytes()


@pytest.mark.parametrize("format", ["doccano", "prodigy", "label_studio"])
def test_exports_of_annotation_tools_come_back(files: Files, tmp_path: Path, format: str) -> None:
    acclimate("data", "convert", files.gold, tmp_path / "a", "--to", format)
    answer = acclimate("data", "convert", tmp_path / "a", "-", "--set", f"reading.format={format}")
    spans = [
        [(span.label, sentence.words[span.start : span.end]) for span in sentence.spans]
        for sentence in _read(answer.out, tmp_path)
    ]
    assert spans == [
        [(span.label, sentence.words[span.start : span.end]) for span in sentence.spans]
        for sentence in read_corpus(files.gold)
    ]


def _read(text: str, folder: Path):
    (folder / "read.conll").write_text(text, encoding="utf-8")
    return read_corpus(folder / "read.conll")


def test_a_folder_becomes_brat(files: Files, tmp_path: Path) -> None:
    acclimate("data", "convert", files.gold, f"{tmp_path}/brat/")
    assert list((tmp_path / "brat").glob("*.ann"))
    assert "(brat) → -: 10 sentences" in acclimate("data", "convert", tmp_path / "brat", "-").err


def test_standard_output_holds_the_corpus_alone(files: Files) -> None:
    answer = acclimate("data", "convert", files.gold, "-")
    assert answer.out == files.gold.read_text(encoding="utf-8")
    assert answer.err == f"{files.gold} (conll) → -: 10 sentences, {read_corpus(files.gold).word_count} words\n"


def test_standard_input_is_read(files: Files) -> None:
    given = files.gold.read_bytes()
    assert acclimate("data", "convert", "-", "-", stdin=given).out.encode() == given


def test_the_tags_can_be_spelled_in_another_scheme(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("New\tB-LOC\nYork\tI-LOC\nand\tO\nOslo\tB-LOC\n", encoding="utf-8")
    answer = acclimate("data", "convert", path, tmp_path / "b.conll.gz", "--scheme", "BIOES")
    assert answer.out == ""
    spelled = gzip.decompress((tmp_path / "b.conll.gz").read_bytes()).decode()
    assert spelled == "New\tB-LOC\nYork\tE-LOC\nand\tO\nOslo\tS-LOC\n\n"
    assert acclimate("data", "convert", tmp_path / "b.conll.gz", "-").out.split("\n")[1] == "York\tI-LOC"


def test_an_unknown_scheme_is_wrong_usage(files: Files) -> None:
    assert "BIOES" in acclimate("data", "convert", files.gold, "-", "--scheme", "BILOU9", code=2).err


def test_another_column_becomes_the_tag(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n", encoding="utf-8")
    assert acclimate("data", "convert", path, "-").out == "EU\tB-ORG\nrejects\tO\n\n"
    assert acclimate("data", "convert", path, "-", "--set", "reading.column=1").out == "EU\tNNP\nrejects\tVBZ\n\n"
    assert acclimate("data", "convert", path, "-", "--set", "reading.column=-2").out == "EU\tB-NP\nrejects\tB-VP\n\n"


def test_a_named_column_becomes_the_tag(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("sentence,form,pos,ner\n1,Anna,PROPN,B-PER\n1,left,VERB,O\n", encoding="utf-8")
    answer = acclimate(
        "data", "convert", path, "-", "--set", "reading.words_column=form", "--set", "reading.column=pos"
    )
    assert answer.out == "Anna\tPROPN\nleft\tVERB\n\n"


def test_labels_are_renamed_or_made_one(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("Anna\tB-person\nin\tO\nOslo\tB-geo-loc\n", encoding="utf-8")
    assert "Oslo\tB-LOC" in acclimate("data", "convert", path, "-", "--map", "wnut16-to-conll").out
    tags = [
        line.split("\t")[1]
        for line in acclimate("data", "convert", path, "-", "--set", "reading.typeless=true").out.split("\n")
        if line
    ]
    assert tags[0] == tags[2] != "O"


def test_spans_that_miss_words_stop_or_are_moved_and_listed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "Annabel left .", "label": [[0, 4, "PER"]]}) + "\n", encoding="utf-8")
    assert (
        "pass --set reading.borders=split"
        in acclimate("data", "convert", path, "-", "--set", "reading.borders=error", code=1).err
    )
    answer = acclimate("data", "convert", path, "-", "--set", "reading.borders=expand")
    assert answer.out == "Annabel\tB-PER\nleft\tO\n.\tO\n\n"
    assert f"{path}: 1 span missed word borders." in answer.err


def test_tags_are_not_lost_by_the_name_of_a_file(files: Files, tmp_path: Path) -> None:
    answer = acclimate("data", "convert", files.gold, tmp_path / "a.txt", code=1)
    assert "plain text holds no tags" in answer.err
    acclimate("data", "convert", files.gold, tmp_path / "a.txt", "--to", "text")
    assert (tmp_path / "a.txt").read_bytes() == files.tweets.read_bytes()


def test_text_is_split_into_sentences_on_request(tmp_path: Path) -> None:
    answer = acclimate(
        "data", "convert", "-", "-", "--set", "reading.paragraphs=true", "--to", "text", stdin="One. Two.\n"
    )
    assert answer.out == "One.\nTwo.\n"


def test_a_file_that_cannot_be_written_is_named(files: Files) -> None:
    answer = acclimate("data", "convert", files.gold, files.news / "below.conll", code=2)
    assert f"nothing can be written in {files.news}, which is a file" in answer.err


@pytest.mark.parametrize("ending", ["doccano", "xyz", "xyz.gz"])
def test_an_ending_of_no_format_is_refused_with_those_that_there_are(files: Files, here: Path, ending: str) -> None:
    answer = acclimate("data", "convert", files.gold, f"a.{ending}", code=1)
    assert f"the ending .{ending.removesuffix('.gz')} is of no format that we write. Name the file" in answer.err
    assert ".conll, .conllu, .csv, .docbin" in answer.err
    assert answer.err.endswith("; or pass --to FORMAT.\n")
    assert acclimate("data", "subset", files.gold, f"a.{ending}", "--sentences", 2, code=1).err.endswith(
        "; or pass --to FORMAT (acclimate data convert).\n"
    )
    assert list(here.iterdir()) == []
    acclimate("data", "convert", files.gold, f"a.{ending}", "--to", "doccano")


def test_formats_that_do_not_exist_are_wrong_usage(files: Files) -> None:
    assert (
        "Did you mean 'jsonl'?"
        in acclimate("data", "convert", files.gold, "-", "--set", "reading.format=jsnl", code=2).err
    )


def test_partly_annotated_files_say_how_much_is_annotated_and_how_to_go_on(tmp_path: Path) -> None:
    path = tmp_path / "project.json"
    marks = [{"result": [{"type": "labels", "value": {"start": 0, "end": 4, "labels": ["PER"]}}]}]
    tasks = [
        {"data": {"text": f"Anna left {number}"}, "annotations": marks if number < 2 else []} for number in range(5)
    ]
    path.write_text(json.dumps(tasks), encoding="utf-8")
    answer = acclimate("data", "convert", path, tmp_path / "a.conll", code=1)
    assert f"{path}: 2 of 5 sentences are annotated" in answer.err
    assert "acclimate data convert --labelled-only" in answer.err
    assert "corpus.labelled" not in answer.err
    assert acclimate("data", "convert", path, "-", "--labelled-only").out.count("B-PER") == 2

"""`acclimate data weak-label` as a user types it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from command_line import acclimate

from acclimate.data.reading import load_bundled, read_corpus
from acclimate.evaluation.scores import score

CONCEPTS = "name,synonyms,type\nasthma,,T047\nheart failure,CHF,T047\naspirin,,Antibiotic\nrat,,Mammal\n"


@pytest.fixture
def concepts(here: Path) -> Path:
    (here / "concepts.csv").write_text(CONCEPTS, encoding="utf-8")
    (here / "notes.txt").write_text("Asthma and CHF.\nchf: give aspirin\nfine\n", encoding="utf-8")
    return here


def test_the_bundled_concepts_on_the_bundled_text_are_judged_by_its_labels(here: Path) -> None:
    answer = acclimate("data", "weak-label", "--concepts", "clinical", "--text", "clinical/test", "--out", "weak.conll")
    assert "weak.conll: 205 sentences" in answer.out
    assert "exact spans" in answer.out
    assert "overlapping, any label" in answer.out
    weak, gold = read_corpus("weak.conll"), load_bundled("clinical").test
    assert [one.words for one in weak] == [one.words for one in gold]
    assert set(weak.labels) == {"DISEASE", "SYMPTOM", "TREATMENT"}
    scores = score(gold, weak).span
    assert scores.precision > 0.7
    assert scores.recall > 0.3
    assert f"{scores.predicted:,} spans" in answer.out


def test_raw_text_is_labelled_and_nothing_is_lost(concepts: Path) -> None:
    words = ["data", "weak-label", "--concepts", "concepts.csv", "--text", "notes.txt"]
    answer = acclimate(*words, "--out", "weak.conll.gz")
    lines = gzip.decompress(Path("weak.conll.gz").read_bytes()).decode().splitlines()
    assert lines[:5] == ["Asthma\tB-DISEASE", "and\tO", "CHF\tB-DISEASE", ".\tO", ""]
    assert "chf\tO" in lines
    assert "100 % read" in answer.err
    assert "dropped, as the map table-12 does not label their types: 1 (Mammal 1)" in answer.out
    assert "against the true labels" not in answer.out
    acclimate(*words, "--set", "case=lower", "--out", "weak.jsonl", "-q")
    records = [json.loads(line) for line in Path("weak.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [span["text"] for span in records[1]["spans"]] == ["chf", "aspirin"]
    acclimate(*words, "--out", "weak.csv", "-q")  # a format that is not written as it comes
    assert len(read_corpus("weak.csv")) == 3


@pytest.mark.parametrize("column", ["label", "type"])
def test_a_list_with_labels_of_its_own_needs_no_map(concepts: Path, column: str) -> None:
    Path("names.csv").write_text(f"name,{column}\nAnna Kern,PER\nAcme,ORG\ndisease X,Disease\n", encoding="utf-8")
    Path("text.txt").write_text("Anna Kern left Acme .\nDisease X .\n", encoding="utf-8")
    answer = acclimate("data", "weak-label", "--concepts", "names.csv", "--text", "text.txt", "--out", "weak.conll")
    assert "labels: the types as they are" in answer.out
    assert read_corpus("weak.conll").label_counts == {"PER": 1, "ORG": 1, "Disease": 1}
    told = acclimate("data", "weak-label", "--concepts", "concepts.csv", "--text", "notes.txt", "--out", "b.conll").out
    assert "types to labels: table-12" in told


def test_labels_under_other_names_are_told(concepts: Path) -> None:
    Path("gold.conll").write_text(
        "Asthma\tB-ill\nand\tO\nCHF\tB-ill\n.\tO\n\nchf\tB-ill\n:\tO\ngive\tO\naspirin\tO\n\nfine\tO\n",
        encoding="utf-8",
    )
    words = ["data", "weak-label", "--concepts", "concepts.csv", "--text", "gold.conll", "-q"]
    answer = acclimate(*words, "--out", "a.conll")
    assert "are they the same under other names?" in answer.err
    words += ["--set", "label=ill", "--set", "case=lower", "--out", "b.conll"]
    acclimate(*words)
    found = score(read_corpus("gold.conll"), read_corpus("b.conll")).span
    assert (found.gold, found.predicted, found.correct) == (3, 4, 3)


def test_a_split_of_the_labels_keeps_all_sentences_and_the_records_together(concepts: Path) -> None:
    notes = "".join(f"Patient {number} has asthma. Visit {number} was fine.\n" for number in range(40))
    Path("notes.txt").write_text(notes, encoding="utf-8")
    words = ["data", "weak-label", "--concepts", "concepts.csv", "--text", "notes.txt"]
    acclimate(*words, "--set", "reading.paragraphs=true", "--out", "weak.jsonl", "-q")
    acclimate("data", "split", "weak.jsonl", "--out", "parts")
    parts = [read_corpus(f"parts/{part}.conll") for part in ("train", "dev", "test")]
    assert [len(part) for part in parts] == [64, 8, 8]
    numbers = [{word for one in part for word in one.words if word.isdigit()} for part in parts]
    assert [len(part) for part in numbers] == [32, 4, 4]
    assert not numbers[0] & numbers[1]


def test_what_is_printed_is_the_sentences_alone(concepts: Path) -> None:
    words = ["data", "weak-label", "--concepts", "concepts.csv", "--text", "notes.txt", "--out", "-"]
    answer = acclimate(*words)
    assert answer.out.startswith("Asthma\tB-DISEASE\n")
    assert " met: " in answer.err


def test_several_sources_conflicts_and_names_left_out(concepts: Path) -> None:
    Path("more.jsonl").write_text('{"name": "fit", "synonyms": ["asthma"], "type": "T184"}\n', encoding="utf-8")
    Path("not.txt").write_text("Aspirin\n", encoding="utf-8")
    answer = acclimate(
        *("data", "weak-label", "--concepts", "concepts.csv", "more.jsonl", "--text", "notes.txt", "news/test"),
        *("--out", "weak.conll", "--set", "leave_out=not.txt", "-q"),
    )
    assert "1 name with two labels (a main name before a synonym, then the first): asthma (DISEASE, not SYMPTOM)" in (
        answer.out
    )
    assert "not taken: 1 left out as asked" in answer.out
    assert "aspirin\tO" in Path("weak.conll").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (["--text", "notes.txt"], 2, "--concepts FILE"),
        (["--text", "notes.txt", "--concepts", "nowhere.csv"], 1, "no such file"),
        (
            ["--text", "notes.txt", "--concepts", "clincal"],
            1,
            "no such concepts. Name a file, or bundled ones: clinical.",
        ),
        (["--text", "nowhere.txt", "--concepts", "concepts.csv"], 1, "no such file"),
        (["--text", "notes.txt", "--concepts", "concepts.csv", "--groups", "x"], 1, "no such map of types"),
        (["--text", "notes.txt", "--concepts", "names.txt"], 1, "Pass --set label=LABEL"),
        (["--text", "empty.txt", "--concepts", "concepts.csv"], 1, "no sentences"),
    ],
)
def test_what_cannot_be_done_is_told_at_once(concepts: Path, words: list[str], code: int, hint: str) -> None:
    Path("names.txt").write_text("asthma\n", encoding="utf-8")
    Path("empty.txt").write_text("\n\n", encoding="utf-8")
    assert hint in acclimate("data", "weak-label", *words, "--out", "weak.conll", code=code).err
    assert not Path("weak.conll").exists()


def test_a_file_that_is_there_is_replaced_only_when_asked(concepts: Path) -> None:
    words = ["data", "weak-label", "--text", "notes.txt", "--concepts", "concepts.csv", "--out", "weak.conll", "-q"]
    Path("weak.conll").write_text("before", encoding="utf-8")
    assert "is there already" in acclimate(*words, code=2).err
    acclimate(*words, "--overwrite")
    assert Path("weak.conll").read_text(encoding="utf-8") != "before"

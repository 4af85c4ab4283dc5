"""`acclimate label --simulate`, `acclimate data suggest`, and the folder of a session as a corpus."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import Files, acclimate

from acclimate.cli.label import opens_browser
from acclimate.data.answers import Answer
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.reading import read_corpus
from acclimate.data.schemes import Span
from acclimate.data.soft_labels import ScoredSpan
from acclimate.data.writers.suggestions import write_suggestions
from acclimate.labelling.session import Session
from acclimate.model.tagger import Tagger

QUICK = [
    *("--set", "learning.updates=2", "--set", "learning.every=4", "--set", "learning.words_per_batch=60"),
    *("--set", "acquisition.sample=20"),
]


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory, build: Callable[..., Tagger]) -> Path:
    folder = tmp_path_factory.mktemp("tagger") / "toy"
    build(labels=["PER", "LOC", "ORG"]).save(folder)
    return folder


@pytest.fixture
def gold(tmp_path: Path, make_corpus: Callable[..., Corpus]) -> Path:
    patterns = ["{PER} is in {LOC} " + letter * 3 for letter in "abcdefghijklmn"]
    lines = []
    for sentence in make_corpus(30, seed=3, patterns=patterns):
        lines += [f"{word}\t{tag}\n" for word, tag in zip(sentence.words, sentence.tags or (), strict=True)] + ["\n"]
    (tmp_path / "gold.conll").write_text("".join(lines))
    return tmp_path / "gold.conll"


def test_without_a_text_there_is_no_page(tmp_path: Path) -> None:
    told = acclimate("label", "--out", tmp_path / "s", "--port", "0", code=2).err
    assert "name the TEXT to label" in told
    assert not (tmp_path / "s").exists()


def test_a_page_in_a_file_is_written_and_what_comes_back_is_taken(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("Anna saw Oslo\nRome fell\n")
    begun = ("label", tmp_path / "text.txt", "--start", "none", "--labels", "LOC,PER", "--out", tmp_path / "s")
    page = tmp_path / "page.html"
    told = acclimate(*begun, "--set", "held_back=0", "--export", page, "--set", "sentences=1").out
    assert "1 sentence to label" in told
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert "is there already" in acclimate("label", "--out", tmp_path / "s", "--export", page, code=2).err
    with Session.open(tmp_path / "s") as session:
        identifier, stored = next(iter(session.sentences.items()))
    answer = {"sentence": identifier, "status": "done", "spans": [[0, 1, "PER"]], "seen": 0}
    line = {"words": stored.sentence.words, "tags": [], "annotator": "zoe", "answer": answer}
    (tmp_path / "back.jsonl").write_text(json.dumps(line))
    take = ("label", "--out", tmp_path / "s", "--set", f"take={tmp_path / 'back.jsonl'}")
    assert "1 answer by zoe taken" in acclimate(*take).out
    assert "1 answer stood here already" in acclimate(*take).err
    assert [sentence.tags for sentence in read_corpus(tmp_path / "s")] == [("B-PER", "O", "O")]
    refused = acclimate("label", "--simulate", tmp_path / "text.txt", "--out", tmp_path / "t", "--export", page, code=2)
    assert "--simulate goes without" in refused.err


@pytest.mark.parametrize(
    ("wish", "local", "terminal", "opens"),
    [
        ("auto", True, True, True),
        ("auto", True, False, False),
        ("auto", False, True, False),
        ("always", False, False, True),
        ("never", True, True, False),
    ],
)
def test_a_browser_is_opened_where_somebody_sits(
    wish: str, local: bool, terminal: bool, opens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(f"sys.{stream}", SimpleNamespace(isatty=lambda: terminal))
    assert opens_browser(wish, local) == opens


def test_an_oracle_labels_and_the_folder_is_a_corpus_for_every_command(
    tmp_path: Path, gold: Path, tagger: Path
) -> None:
    out = tmp_path / "s"
    given = ("label", "--simulate", gold, "--start", tagger, "--out", out, *QUICK, "--set", "answers=12")
    answer = acclimate(*given, "--set", f"test={gold}", "--set", "held_back=0.4", "--set", "acquisition.name=entities")
    lines = answer.out.splitlines()
    assert [line.split()[0] for line in lines[:5]] == ["sentences", "0", "4", "8", "12"]
    assert "12 sentences labelled" in lines[5]
    assert f"--target-labelled {out} --target-test {out / 'held-back'}" in lines[6]
    with Session.open(out) as session:
        learnt, held_back = len(session.corpus()), len(session.corpus(held_back=True))
    assert learnt + held_back == 12
    acclimate("data", "convert", out, tmp_path / "learnt.conll")
    assert len(read_corpus(tmp_path / "learnt.conll")) == learnt
    scores = acclimate("evaluate", tagger, out / "held-back", "--json").json
    assert scores["sentences"] == held_back
    assert "0 errors" in acclimate("data", "check", out).out
    assert "holds a session already" in acclimate(*given, code=2).err


def test_points_and_labels_can_be_chosen(tmp_path: Path, gold: Path, tagger: Path) -> None:
    given = ("label", "--simulate", gold, "--start", tagger, "--out", tmp_path / "s", *QUICK, "--set", "at=[2,5]")
    rows = [line.split() for line in acclimate(*given, "--labels", "PER").out.splitlines()[1:4]]
    assert [row[0] for row in rows] == ["0", "2", "5"]
    assert rows[-1][2] == "5"
    with Session.open(tmp_path / "s") as session:
        assert session.guide.labels == ("PER",)


def test_open_words_of_a_session_are_learnt_as_such(
    tmp_path: Path, gold: Path, tagger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Session.begin(tmp_path / "s", read_corpus(gold), start=str(tagger), labels=["LOC", "PER"]) as session:
        for identifier, one in session.sentences.items():
            if not one.held_back:
                session.answer(Answer(identifier, "anna", "part", (Span(0, 1, "PER"),)))
    from acclimate.cli.settings import AdaptSettings
    from acclimate.cli.task import read_task, with_start
    from acclimate.settings import complete

    values = with_start({"target_labelled": str(tmp_path / "s"), "tagger": {"start": str(tagger)}})
    task = read_task(complete(AdaptSettings, values), lambda line: None)
    assert task.target_labelled is not None
    assert task.target_labelled.annotates == ("LOC", "PER")
    assert all(sentence.is_open for sentence in task.target_labelled)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--set", "acquisition.name=best"), "acquisition.name"),
        (("--start", "nowhere"), "nowhere"),
        (("--labels", "A|B"), "A|B"),
        (("--start", "part-of-speech"), "gives every word a tag"),
        (("text.txt",), "leave TEXT out"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, gold: Path, words: tuple[str, ...], problem: str) -> None:
    given = ("label", "--simulate", gold, "--out", tmp_path / "s", *QUICK, *words)
    code = 1 if words[0] == "--labels" or words[-1] == "nowhere" else 2
    assert problem in acclimate(*given, code=code).err


def test_sentences_without_labels_can_answer_nothing(tmp_path: Path, files: Files, tagger: Path) -> None:
    given = ("label", "--simulate", files.tweets, "--start", tagger, "--out", tmp_path / "s")
    assert "whose spans are all labelled" in acclimate(*given, code=1).err


@pytest.mark.parametrize("format", ["label_studio", "prodigy", "doccano", "jsonl", "conll"])
def test_chosen_sentences_are_written_and_read_again_in_each_format(
    tmp_path: Path, gold: Path, tagger: Path, format: str
) -> None:
    out = tmp_path / "chosen.out"
    given = ("data", "suggest", gold, "--start", tagger, "--top", "5", "--to", format, "--out", out)
    assert "5 sentences of 30" in acclimate(*given).err
    found = read_corpus(out, format)
    assert len(found) == 5
    texts = {sentence.words for sentence in read_corpus(gold)}
    assert {sentence.words for sentence in found} <= texts
    assert "is there already" in acclimate(*given, code=2).err
    acclimate(*given, "--overwrite")


def test_what_is_labelled_is_not_chosen_again_and_all_is_taken_where_there_is_less(
    tmp_path: Path, gold: Path, tagger: Path
) -> None:
    acclimate("data", "subset", gold, tmp_path / "few.conll", "--sentences", "12")
    given = ("data", "suggest", gold, "--start", tagger, "--top", "100", "--out", tmp_path / "out.conll")
    told = acclimate(*given, "--set", f"labelled={tmp_path / 'few.conll'}").err
    assert "is more than there is" in told
    few = {sentence.words for sentence in read_corpus(tmp_path / "few.conll")}
    chosen = [sentence.words for sentence in read_corpus(tmp_path / "out.conll")]
    assert len(chosen) == len(set(chosen))
    assert few.isdisjoint(chosen)


def test_suggestions_are_predictions_where_a_tool_knows_them_apart_from_answers(tmp_path: Path) -> None:
    text = "So: Anna left. Oslo"
    offsets = ((4, 8), (9, 13), (13, 14))
    sentences = Corpus((Sentence(("Anna", "left", "."), None, text, offsets), Sentence(("ok",))))
    spans = [[ScoredSpan(0, 1, "PER", 0.25)], []]
    write_suggestions(sentences, spans, tmp_path / "a.json", None, "toy")
    first, second = json.loads((tmp_path / "a.json").read_text())
    assert first["data"]["text"] == "Anna left."
    (prediction,) = first["predictions"]
    assert (prediction["model_version"], prediction["score"]) == ("toy", 0.25)
    (result,) = prediction["result"]
    assert result["value"] == {"start": 0, "end": 4, "text": "Anna", "labels": ["PER"]}
    assert result["score"] == 0.25
    assert second["predictions"][0]["result"] == []
    assert not first.get("annotations")
    assert not read_corpus(tmp_path / "a.json").is_labelled
    write_suggestions(sentences, spans, tmp_path / "b.jsonl", "prodigy", "toy")
    task = json.loads((tmp_path / "b.jsonl").read_text().splitlines()[0])
    assert "answer" not in task
    assert task["spans"] == [{"start": 0, "end": 4, "label": "PER", "token_start": 0, "token_end": 0, "score": 0.25}]
    write_suggestions(sentences, spans, tmp_path / "c.jsonl", "jsonl", "toy")
    assert dict((read_corpus(tmp_path / "c.jsonl")[0].probabilities or ())[0]) == {"B-PER": 0.25, "O": 0.75}
    write_suggestions(sentences, spans, tmp_path / "d.jsonl", "doccano", "toy")
    assert json.loads((tmp_path / "d.jsonl").read_text().splitlines()[0])["label"] == [[0, 4, "PER"]]

"""Several sources, and corpora that do not annotate everything, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import QUICK, Answer, Files, acclimate

from acclimate.data.corpus import Corpus
from acclimate.data.reading import read_corpus
from acclimate.data.writing import write_corpus

UNSAID = "people does not annotate LOC, ORG: its other words may hide such a name, and are learnt as O with doubt"


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory, make_corpus: object) -> Path:
    """Persons alone were marked."""
    assert callable(make_corpus)
    corpus: Corpus = make_corpus(20, seed=7)
    marked = corpus.map(
        lambda each: each.with_tags(None).with_spans(span for span in each.spans if span.label == "PER")
    )
    file = tmp_path_factory.mktemp("people") / "people.conll"
    write_corpus(marked, file)
    return file


def both(files: Files, people: Path) -> list[object]:
    given = ["--source", files.news, "--source", f"{people},weight=2", "--target", files.tweets]
    return [*given, "--source-dev", files.dev, "--source-dev", files.dev.with_name("people-dev.conll")]


@pytest.fixture(scope="module")
def compared(files: Files, people: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Answer]:
    write_corpus(read_corpus(people)[:6], files.dev.with_name("people-dev.conll"))
    folder = tmp_path_factory.mktemp("compared") / "c"
    recipes = ["--recipes", "source-only,self-training", "--seeds", "1", "--set", "selectors=none"]
    given = [*both(files, people), "--target-test", files.gold, *recipes, *QUICK, "--set", "sources.heads=true"]
    return folder, acclimate("compare", *given, "--out", folder)


def test_compare_shows_each_source(compared: tuple[Path, Answer], files: Files, people: Path) -> None:
    folder, answer = compared
    assert UNSAID in answer.err
    assert "(2 sources: news (24 sentences), people (20 sentences))" in answer.err
    (head,) = [line for line in answer.out.splitlines() if line.startswith("source after")]
    assert head.split() == ["source", "after", "news", "people"]
    assert "## Source by source" in (folder / "comparison.md").read_text(encoding="utf-8")
    found = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))
    assert [set(row["sources_after"]) for row in found["recipes"]] == [{"news", "people"}] * 2


def test_a_report_of_a_comparison_shows_each_source(compared: tuple[Path, Answer]) -> None:
    folder, _ = compared
    acclimate("report", folder, "--set", "quick=true")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert '>source after</th><th scope="col" class="figure">news</th><th scope="col" class="figure">people<' in page


def test_a_report_of_a_run_shows_each_source(
    files: Files, people: Path, compared: tuple[Path, Answer], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    answer = acclimate("adapt", *both(files, people), "--recipe", "self-training", *QUICK, "--out", out)
    assert UNSAID in answer.err
    assert "Learnt as O with doubt, because not every word was searched for them: LOC, ORG in people." in answer.out
    rows = [line.split()[0] for line in answer.out.splitlines() if line.startswith("          ")]
    assert {"news", "people"} <= set(rows)
    acclimate("report", out, "--set", "quick=true")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert f"{files.news} + {people},weight=2 → {files.tweets}" in page
    assert "All figures of the source news" in page
    assert "All figures of the source people" in page


def test_files_that_differ_in_their_endings_alone_are_two_sources(people: Path, files: Files, bert: str) -> None:
    other = people.with_name("people.v2.conll")
    other.write_bytes(files.news.read_bytes())
    words = ["data", "inspect", people, other, files.tweets, "--encoder", bert, "--json"]
    assert [each["name"] for each in acclimate(*words).json["sources"]] == ["people.conll", "people.v2.conll"]


def test_one_file_under_two_spellings_is_refused(people: Path, files: Files) -> None:
    again = people.parent / ".." / people.parent.name / people.name
    answer = acclimate("adapt", "--source", people, "--source", again, "--target", files.tweets, code=2)
    assert "is given twice. To see it more often, give it a weight" in answer.err


def test_a_slip_in_annotates_is_refused(people: Path, files: Files) -> None:
    given = ["--source", files.news, "--source", f"{people},annotates=PRE", "--target", files.tweets]
    answer = acclimate("adapt", *given, code=2)
    assert "annotates names PRE, which occurs in no source. Did you mean 'PER'? Labels: LOC, ORG, PER." in answer.err


def test_inspect_takes_the_sources_first_and_the_target_last(files: Files, people: Path, bert: str) -> None:
    words = ["data", "inspect", files.news, f"{people},annotates=PER", files.tweets, "--encoder", bert]
    answer = acclimate(*words)
    assert UNSAID in answer.err
    assert f"--source {files.news} --source {people},annotates=PER --target {files.tweets}" in answer.out
    assert "people: 20 sentences" in answer.out
    assert "not looked for everywhere, so words may hide it: LOC at" in answer.out
    found = acclimate(*words, "--json").json
    assert found["given"]["sources"] == [str(files.news), f"{people},annotates=PER"]
    assert [each["name"] for each in found["sources"]] == ["news", "people"]
    assert found["sources"][0]["hidden"] == {}
    assert set(found["sources"][1]["hidden"]) == {"LOC", "ORG"}


def test_without_types_words_that_may_hide_an_entity_stay_open(files: Files, people: Path, bert: str) -> None:
    words = ["data", "inspect", files.news, people, files.tweets, "--encoder", bert, "--json"]
    news, others = acclimate(*words, "--set", "reading.typeless=true").json["sources"]
    assert (set(news["counts"]), news["hidden"]) == ({"ENTITY"}, {})
    assert set(others["hidden"]) == {"ENTITY"}


def test_evaluate_says_which_words_it_does_not_judge(tagger: Path, people: Path, tmp_path: Path) -> None:
    names = tmp_path / "names.yaml"
    names.write_text("labels:\n  PER: PER\nannotates: [PER]\n", encoding="utf-8")
    answer = acclimate("evaluate", tagger, people, "--map", names, "--json")
    assert "some may hide a label that nobody looked for: LOC" in answer.err
    assert set(answer.json["by_label"]) == {"PER"}
    plain = acclimate("evaluate", tagger, people, "--json").json
    assert plain["span"]["predicted"] >= answer.json["span"]["predicted"]


def test_what_a_file_cannot_say_is_told(people: Path, tmp_path: Path) -> None:
    names = tmp_path / "names.yaml"
    names.write_text("labels:\n  PER: PER\nannotates: [PER]\n", encoding="utf-8")
    told = "only PER were looked for in"
    assert told in acclimate("data", "convert", people, tmp_path / "a.conll", "--map", names).err
    reading = ["--set", f"reading.map={names}"]
    assert told in acclimate("data", "subset", people, tmp_path / "b.conll", "--sentences", 3, *reading).err
    assert told in acclimate("data", "split", people, "--out", tmp_path / "parts", *reading).err
    assert told not in acclimate("data", "convert", people, tmp_path / "c.conll").err


def test_augment_keeps_words_open_to_what_nobody_looked_for(files: Files, people: Path, tmp_path: Path) -> None:
    names = tmp_path / "names.yaml"
    names.write_text("labels:\n  PER: PER\nannotates: [PER]\n", encoding="utf-8")
    out = tmp_path / "augmented.conll"
    acclimate(
        *("data", "augment", "--source", people, "--target", files.gold, "--out", out),
        *("--set", f"reading.map_source={names}"),
    )
    made = read_corpus(out)
    assert made.open_words
    assert made.hidden_labels.names == ("LOC", "ORG")

"""The page of a run and of a comparison: whole, safe, the same every time, and honest about what is missing."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page_reading import Page
from report_folders import EVIL_LABEL, EVIL_WORD, QUICK_SETTINGS, Folders

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.writing import write_corpus
from acclimate.layout import PREDICTIONS
from acclimate.model.storage import MANIFEST, seal, write_checksums
from acclimate.reporting.report import QUICK, Look, report_page
from acclimate.runs.run import DOMAINS, FEATURES

OF_RUN = [
    "scores",
    "labels",
    "confusion",
    "gallery",
    "curves",
    "adversary",
    "masks",
    "distance",
    "feature-map",
    "settings",
]
WITHOUT_GAME = [name for name in OF_RUN if name != "adversary"]  # of recipes without a discriminator
OF_COMPARISON = ["recipes", "seeds", "costs", "selectors", "distance", "runs", "settings"]


def put(file: Path, content: Any) -> None:
    """As if the run had written it so."""
    file.write_text(json.dumps(content), encoding="utf-8")
    if (file.parent / MANIFEST).is_file():
        seal(file.parent)
    else:
        write_checksums(file.parent, file.name)


@pytest.fixture(scope="module")
def run_page(folders: Folders) -> str:
    return report_page(folders.run)


@pytest.fixture(scope="module")
def comparison_page(folders: Folders) -> str:
    return report_page(folders.comparison)


@pytest.fixture(scope="module", params=["run", "comparison"])
def page(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_page"))


def test_what_is_opened_is_closed(page: str) -> None:
    assert page.startswith("<!DOCTYPE html>\n")
    Page(page)


def test_words_labels_and_names_cannot_become_elements(page: str) -> None:
    found = Page(page)
    names = {tag for tag, _ in found.elements}
    assert "script" not in names, "the page has no script, and a word cannot bring one"
    assert names.isdisjoint({"i", "u"}), "those are in names of files and folders only"
    assert EVIL_WORD in found.text
    assert not [name for _, attributes in found.elements for name in attributes if name.startswith("on")]


def test_an_evil_label_is_shown_as_it_is(run_page: str) -> None:
    assert EVIL_LABEL in Page(run_page).text


def test_nothing_comes_from_outside(page: str) -> None:
    found = Page(page)
    assert all(address.startswith("#") for address in found.addresses)
    assert "url(" not in page
    assert "@import" not in page
    assert "http-equiv" not in page


def test_every_link_leads_somewhere_and_no_anchor_is_there_twice(page: str) -> None:
    found = Page(page)
    assert len(found.ids) == len(set(found.ids))
    assert {address[1:] for address in found.addresses} <= set(found.ids)


def test_the_page_of_a_run_has_all_its_parts(run_page: str) -> None:
    found = Page(run_page)
    assert list(found.sections) == OF_RUN
    assert all(len(words) > 60 for words in found.sections.values())
    assert "95 % interval" in found.text
    assert "chance" in found.sections["adversary"]
    assert "proxy A-distance" in found.sections["distance"]
    assert run_page.count('class="place target"') > 2, "the map has points"


def test_the_page_of_a_comparison_has_all_its_parts(comparison_page: str) -> None:
    found = Page(comparison_page)
    assert list(found.sections) == OF_COMPARISON
    assert "/runs/RECIPE/seed-N" in found.text
    assert "regret" in found.sections["selectors"]
    assert "±" in found.sections["costs"]


def test_one_run_of_a_comparison_has_a_page_of_its_own(folders: Folders) -> None:
    found = Page(report_page(folders.comparison / "runs" / "self-training" / "seed-2", Look(quick=True)))
    assert list(found.sections) == WITHOUT_GAME
    assert "the run of source-only with the same seed" in found.text


@pytest.mark.parametrize("which", ["run", "comparison"])
def test_the_same_folder_gives_the_same_bytes(folders: Folders, which: str, request: pytest.FixtureRequest) -> None:
    assert report_page(getattr(folders, which)) == request.getfixturevalue(f"{which}_page")


def test_scores_on_the_page_are_those_of_the_run(folders: Folders, run_page: str) -> None:
    report = json.loads((folders.run / "report.json").read_text(encoding="utf-8"))
    for when in ("before", "after"):
        assert f"{100 * report['target'][when]['span']['f1']:.1f}" in Page(run_page).sections["scores"]


def test_before_and_after_are_what_the_run_predicted(folders: Folders) -> None:
    kept = json.loads((folders.run / PREDICTIONS).read_text(encoding="utf-8"))
    report = json.loads((folders.run / "report.json").read_text(encoding="utf-8"))
    for domain in ("source", "target"):
        rows = kept[domain]
        right = sum(
            own == gold
            for tags, golds in zip(rows["after"], rows["gold"], strict=True)
            for own, gold in zip(tags, golds, strict=True)
        )
        assert right / sum(map(len, rows["words"])) == pytest.approx(report[domain]["after"]["token"]["accuracy"])


def test_without_what_takes_long_two_parts_say_so(folders: Folders) -> None:
    found = Page(report_page(folders.run, Look(quick=True)))
    assert list(found.sections) == OF_RUN
    assert QUICK in found.sections["distance"]
    assert QUICK in found.sections["feature-map"]


@pytest.mark.parametrize(
    ("file", "part", "sentence"),
    [
        (PREDICTIONS, "gallery", "has kept no predictions"),
        (DOMAINS, "distance", "make it again"),
        (FEATURES, "feature-map", "make it again"),
        ("settings.yaml", "settings", "are not in this folder"),
    ],
)
def test_a_part_whose_file_is_gone_says_why(run: Path, file: str, part: str, sentence: str) -> None:
    (run / file).unlink()
    found = Page(report_page(run))
    assert list(found.sections) == OF_RUN
    assert sentence in found.sections[part]


def test_without_scikit_learn_page_and_command_say_why_there_is_no_map(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    told: list[str] = []
    found = Page(report_page(run, Look(tell=told.append)))
    why = "a map of features needs scikit-learn: pip install 'acclimate[maps]'."
    assert why in found.sections["feature-map"]
    assert f"The report has no map of the features: {why}" in told


def test_a_run_without_records_says_so(run: Path) -> None:
    for file in run.glob("training/*/records.jsonl"):
        file.unlink()
    found = Page(report_page(run, Look(quick=True)))
    assert "Nothing of the training is recorded" in found.sections["curves"]
    assert "not known whether a discriminator played" in found.sections["adversary"]


def test_a_run_without_any_test_says_so(run: Path) -> None:
    report = json.loads((run / "report.json").read_text(encoding="utf-8"))
    put(run / "report.json", {**report, "source": None, "target": None})
    put(run / PREDICTIONS, {"source": None, "target": None})
    found = Page(report_page(run, Look(quick=True)))
    assert list(found.sections) == OF_RUN
    assert "cannot be said" in found.text
    assert "No labelled test sentences" in found.sections["scores"]


def test_a_baseline_that_has_learnt_nothing_is_no_baseline(run: Path) -> None:
    report = json.loads((run / "report.json").read_text(encoding="utf-8"))
    assert "learnt nothing" not in Page(report_page(run, Look(quick=True))).text
    for domain in ("source", "target"):
        for measure in ("span", "typeless"):
            report[domain]["before"][measure] |= dict.fromkeys(("f1", "precision", "recall"), 0.0)
    put(run / "report.json", report)
    assert "the baseline has learnt nothing" in Page(report_page(run, Look(quick=True))).text


def test_a_comparison_without_its_text_says_so(comparison: Path) -> None:
    (comparison / "material.json").unlink()
    found = Page(report_page(comparison, Look(quick=True)))
    assert "give its `acclimate compare` command again" in found.sections["distance"]
    assert "self-training" in found.sections["recipes"]


def test_a_comparison_without_gold_tags_says_so(comparison: Path) -> None:
    found = json.loads((comparison / "comparison.json").read_text(encoding="utf-8"))
    for row in (*found["recipes"], *found["runs"]):
        row |= {name: None for name in row if name.startswith(("target_", "seen", "unseen"))}
    for row in found["recipes"]:
        row["against"] = None
    for row in found["selectors"]:
        row |= {"target_f1": None, "regret": None}
    found |= {"best": None, "remarks": ["tweets has no gold tags: nothing can be scored on the target."]}
    put(comparison / "comparison.json", found)
    page = Page(report_page(comparison, Look(quick=True)))
    assert "has no gold tags" in page.sections["recipes"]
    assert "cannot be said" in page.text


def test_recipes_with_the_same_mean_are_both_starred(comparison: Path) -> None:
    found = json.loads((comparison / "comparison.json").read_text(encoding="utf-8"))
    names = [row["recipe"] for row in found["recipes"]]
    for row in found["recipes"]:
        row["target_f1"] = {"mean": 0.5, "std": 0.0}
    put(comparison / "comparison.json", found | {"leaders": names, "best": names[0]})
    page = Page(report_page(comparison, Look(quick=True)))
    assert all(f"{name} ★" in page.sections["recipes"] for name in names)
    assert "★ the best means, equal as far as they are printed" in page.sections["recipes"]


def test_the_gallery_is_capped_and_says_how_to_get_all(folders: Folders) -> None:
    few, every = (report_page(folders.run, Look(quick=True, sentences=most)) for most in (1, 0))
    assert "--set sentences=0" in few
    assert "--set sentences=0" not in every
    assert few.count("<article>") < every.count("<article>")


def test_plain_tags_have_accuracy_and_show_only_words_that_differ(
    part_of_speech: Corpus, tmp_path: Path, acclimate: Callable[..., None]
) -> None:
    write_corpus(part_of_speech, tmp_path / "pos.conll")
    corpus = tmp_path / "pos.conll"
    words = ["--source", corpus, "--source-dev", corpus, "--target", corpus, "--target-test", corpus]
    words += ["--set", "reading.labels=plain", "--set", "training.updates=3", "--out", tmp_path / "run"]
    acclimate("adapt", "--recipe", "self-training", *words, *QUICK_SETTINGS)
    page = report_page(tmp_path / "run", Look(quick=True, sentences=0))
    found = Page(page)
    assert "accuracy" in found.sections["scores"]
    assert "borders only" not in found.sections["scores"]
    report = json.loads((tmp_path / "run" / "report.json").read_text(encoding="utf-8"))
    wrong = round((1 - report["target"]["after"]["token"]["accuracy"]) * part_of_speech.word_count)
    assert wrong <= page.count("<mark") <= 3 * part_of_speech.word_count
    assert page.count("<mark") % 3 == 0, "gold, before and after have the same words marked"


def test_a_title_of_one_s_own_is_escaped(folders: Folders) -> None:
    page = report_page(folders.run, Look(quick=True, title="<em>mine</em>"))
    assert "<title>&lt;em&gt;mine&lt;/em&gt;</title>" in page
    assert "<em>" not in page


@pytest.mark.parametrize("name", ["report.json", PREDICTIONS, DOMAINS])
def test_a_damaged_file_is_named(run: Path, name: str) -> None:
    (run / name).write_text("{", encoding="utf-8")
    seal(run)
    with pytest.raises(InputError, match=f"{name}: this file is damaged"):
        report_page(run)


@pytest.mark.parametrize(("predicted", "tile"), [(0, False), (1, True)])
def test_names_that_are_not_in_the_test_have_no_score(run: Path, predicted: int, tile: bool) -> None:
    report = json.loads((run / "report.json").read_text(encoding="utf-8"))
    nothing = {"precision": 0.0, "recall": 0.0, "f1": 0.0, "gold": 0, "predicted": predicted, "correct": 0}
    for when in ("before", "after"):
        report["target"][when]["unseen"]["mentions"]["unseen"] = nothing
    put(run / "report.json", report)
    found = Page(report_page(run, Look(quick=True)))
    assert ("unseen names" in found.text) == tile
    assert ("mentions not seen0.0" in found.sections["scores"]) == tile


@pytest.mark.parametrize("source", [None, 0.0, 0.5])
def test_a_comparison_with_a_baseline_that_knows_nothing_claims_nothing(comparison: Path, source: float | None) -> None:
    found = json.loads((comparison / "comparison.json").read_text(encoding="utf-8"))
    base, other = found["recipes"]
    base |= {"target_f1": {"mean": 0.0, "std": 0.0}, "source_after": source and {"mean": source, "std": 0.0}}
    base |= {"source_after": {"mean": 0.0, "std": 0.0}} if source == 0 else {}
    other["against"] |= {"difference": 0.5, "low": 0.4, "high": 0.6}
    other["against"] |= {"bootstrap_p_holm": 0.001, "permutation_p_holm": 0.001}
    found |= {"best": "self-training", "leaders": ["self-training"]}
    put(comparison / "comparison.json", found)
    page = Page(report_page(comparison, Look(quick=True)))
    assert ("self-training is best, and it helps" in page.text) == (source == 0.5)
    assert ("Shown to help" in page.text) == (source == 0.5)
    assert ("There is nothing to compare with" in page.text) == (source != 0.5)
    assert ("▲ helps" in page.sections["recipes"]) == (source == 0.5)


def test_a_baseline_that_knows_the_source_is_one_although_it_gets_nothing_right_on_the_target(run: Path) -> None:
    report = json.loads((run / "report.json").read_text(encoding="utf-8"))
    for measure in ("span", "typeless"):
        report["target"]["before"][measure] |= dict.fromkeys(("f1", "precision", "recall"), 0.0)
    report["source"]["before"]["span"] |= {"f1": 0.5}
    put(run / "report.json", report)
    assert "There is nothing to compare with" not in Page(report_page(run, Look(quick=True))).text


def leak(file: Path, sentences: int) -> None:
    found = json.loads(file.read_text(encoding="utf-8"))
    found["target_test_learnt"] = {"sentences": sentences, "of": 10, "least_words": 0}
    put(file, found)


@pytest.mark.parametrize(("sentences", "told", "is_reserved"), [(10, True, True), (2, True, False), (0, False, False)])
def test_a_run_that_learnt_its_test_claims_nothing(run: Path, sentences: int, told: bool, is_reserved: bool) -> None:
    leak(run / "report.json", sentences)
    found = Page(report_page(run, Look(quick=True)))
    assert (f"{sentences} of 10 target test sentences were learnt with their labels" in found.text) == told
    assert ("Nothing can be claimed: the target test sentences were learnt from" in found.text) == is_reserved
    assert ("not claimed" in found.sections["scores"]) == is_reserved


def test_a_comparison_that_learnt_its_test_claims_nothing_on_any_page(comparison: Path) -> None:
    leak(comparison / "comparison.json", 10)
    for folder in (comparison, comparison / "runs" / "self-training" / "seed-1"):
        found = Page(report_page(folder, Look(quick=True)))
        assert "Nothing can be claimed: the target test sentences were learnt from" in found.text
        assert "Shown to help" not in found.text
        assert not any(f"{sign} {word}" in found.text for sign, word in (("▲", "helps"), ("▼", "hurts")))


def test_a_run_of_an_earlier_version_that_did_not_look_is_read_all_the_same(run: Path) -> None:
    report = json.loads((run / "report.json").read_text(encoding="utf-8"))
    assert report.pop("target_test_learnt") == {"sentences": 0, "of": 6, "least_words": 6}
    put(run / "report.json", report)
    assert "were learnt with their labels" not in Page(report_page(run, Look(quick=True))).text


def test_a_committee_is_told_with_members_and_student(run: Path) -> None:
    members = [{"recipe": "mat", "seed": 1001, "f1": 0.4125, "seconds": 3.21}]
    found = {"labels": "vote", "sentences": 1200, "open_share": 0.031, "members": members}
    found |= {"committee_f1": None, "student_f1": 0.4375}
    report = json.loads((run / "report.json").read_text(encoding="utf-8"))
    put(run / "report.json", {**report, "committee": found})
    page = Page(report_page(run, Look(quick=True)))
    assert list(page.sections) == [*OF_RUN[:-1], "committee", OF_RUN[-1]]
    for words in ("member, mat", "1001", "41.2", "1,200", "3.1 %", "43.8", "student"):
        assert words in page.sections["committee"]

"""More text of the target, a pool to select from, and a time to keep to, as a user types them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from command_line import Files, acclimate, ctrl_c_after

from acclimate.cli.adapt_run import with_text
from acclimate.cli.settings import AdaptSettings


@pytest.fixture
def words(files: Files, bert: str) -> list[object]:
    given = ["--source", files.news, "--source-dev", files.dev, "--target", files.tweets, "--encoder", bert]
    quick = ["--set", "training.updates=3", "--set", "training.device=cpu", "--set", "training.checkpoint_every=1"]
    tuning = ["--set", "options.updates=4", "--set", "options.rows_per_batch=2", "--set", "options.masking=random"]
    return ["adapt", *given, "--recipe", "adversarial-masking", *quick, *tuning]


@pytest.fixture
def texts(tmp_path: Path) -> list[Path]:
    places = [tmp_path / "more one.txt", tmp_path / "more.txt.gz"]
    lines = [f"Anna saw {number} cats in Oslo today ." for number in range(80)]
    places[0].write_text("\n".join(lines[:40]), encoding="utf-8")
    places[1].write_bytes(gzip.compress("\n".join(lines[40:]).encode()))
    return places


def stages_of(folder: Path) -> dict[str, int]:
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return {stage["stage"]: stage["updates"] for stage in report["stages"]}


def test_more_text_is_tuned_on_and_the_run_can_be_given_again(
    words: list[object], texts: list[Path], tmp_path: Path
) -> None:
    answer = acclimate(*words, "--target-text", *texts, "--out", tmp_path / "a")
    assert "held-out loss" in answer.err  # the target alone is too small to hold any of it out
    settings = tmp_path / "a" / "settings.yaml"
    acclimate("adapt", "--config", settings, "--out", tmp_path / "b", "-q")
    both = [(tmp_path / name / "weights.safetensors").read_bytes() for name in "ab"]
    assert both[0] == both[1]


def test_files_that_are_told_twice_are_read_once() -> None:
    settings = AdaptSettings(recipe="acclimate", target_text=("a", "b"))
    once = with_text(settings, settings.target_text)
    assert with_text(once, once.target_text).options == once.options
    assert once.options["domain_tuning"]["extra"] == ["a", "b"]


def test_a_pool_is_selected_from_by_sentence_and_the_run_goes_on_with_it(words: list[object], tmp_path: Path) -> None:
    pool = tmp_path / "pool.txt"
    pool.write_text("It rained . Nobody came . Anna went to Oslo . " * 2 + "\nA cat sat . Bob flew home .\n", "utf-8")
    given = [*words, "--pool", pool, "--set", "pool.sentences=3", "--out"]
    answer = acclimate(*given, tmp_path / "a")
    assert "3 selected from" in answer.err
    with ctrl_c_after(5):
        acclimate(*given, tmp_path / "b", code=130)
    again = acclimate(*given, tmp_path / "b")
    assert "selected from" not in again.err
    both = [(tmp_path / name / "weights.safetensors").read_bytes() for name in "ab"]
    assert both[0] == both[1]
    with ctrl_c_after(5):
        acclimate(*given, tmp_path / "c", code=130)
    pool.write_text("Other text .\n", encoding="utf-8")
    assert "pool" in acclimate(*given, tmp_path / "c", code=2).err


@pytest.mark.parametrize(
    ("options", "code", "complaint"),
    [
        (["--recipe", "mat", "--target-text", "TEXT"], 2, "Recipe mat does not tune the encoder to text"),
        (["--pool", "no.txt"], 1, "no.txt: there is no such text file"),
        (["--minutes", "0"], 2, "minutes"),
        (["--recipe", "acclimate", "--target-text", "TEXT", "--set", "options.tuning=false"], 2, "no domain tuning"),
    ],
)
def test_what_nobody_would_read_is_refused(
    files: Files, bert: str, texts: list[Path], tmp_path: Path, options: list[str], code: int, complaint: str
) -> None:
    given = [str(texts[0]) if option == "TEXT" else option for option in options]
    start = ["adapt", "--source", files.news, "--target", files.tweets, "--encoder", bert, "--out", tmp_path / "a"]
    assert complaint in acclimate(*start, *given, code=code).err


def test_a_run_that_has_no_time_shortens_tuning_most_and_says_so(words: list[object], tmp_path: Path) -> None:
    longer = [*words, "--set", "options.updates=4000", "--set", "training.updates=40", "--set", "options.patience=null"]
    answer = acclimate(*longer, "--minutes", "0.01", "--out", tmp_path / "a")
    stages = stages_of(tmp_path / "a")
    assert stages["domain-tuning"] == 400
    assert 2 <= stages["source"] == stages["task-tuning"] < 40
    assert "For 0.01 min, shortened: domain tuning to 10% of its updates" in answer.err
    assert "For 0.01 min, shortened" in (tmp_path / "a" / "report.md").read_text(encoding="utf-8")


def test_a_shortened_run_goes_on_as_it_was_begun(
    words: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    longer = [*words, "--set", "options.updates=100", "--minutes", "0.001", "--out", tmp_path / "a"]
    with ctrl_c_after(6):
        acclimate(*longer, code=130)
    monkeypatch.setattr("acclimate.runs.budget.expected_cost", lambda *words: pytest.fail("timed again"))
    acclimate(*longer)
    assert stages_of(tmp_path / "a")["domain-tuning"] == 10

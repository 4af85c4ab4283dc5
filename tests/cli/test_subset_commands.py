"""`acclimate data subset` and `acclimate data split`."""

from pathlib import Path

import pytest
from command_line import acclimate

from acclimate.data.reading import read_corpus


def words_of(path: Path) -> list[tuple[str, ...]]:
    return [sentence.words for sentence in read_corpus(path)]


def test_a_smaller_subset_lies_within_a_larger_one(tmp_path: Path) -> None:
    for count in (5, 20):
        acclimate("data", "subset", "news", tmp_path / f"{count}.conll", "--sentences", count)
    few, more = words_of(tmp_path / "5.conll"), words_of(tmp_path / "20.conll")
    assert (len(few), len(more)) == (5, 20)
    assert set(few) <= set(more)


def test_one_sentence_is_told_in_the_singular(tmp_path: Path) -> None:
    answer = acclimate("data", "subset", "news", tmp_path / "one.conll", "--sentences", 1)
    assert answer.err.startswith("news train[1 sentence, seed 0]: 1 sentence, ")


def test_another_seed_takes_other_sentences(tmp_path: Path) -> None:
    for seed in (0, 1):
        acclimate("data", "subset", "news", tmp_path / f"{seed}.conll", "--words-share", 0.02, "--seed", seed)
    assert words_of(tmp_path / "0.conll") != words_of(tmp_path / "1.conll")


def test_a_few_shots_of_each_label_are_there(tmp_path: Path) -> None:
    answer = acclimate("data", "subset", "news", tmp_path / "shots.conll", "--few-shot", 3)
    assert min(read_corpus(tmp_path / "shots.conll").label_counts.values()) >= 3
    assert "3-shot, seed 0" in answer.err


def test_a_corpus_is_divided_without_loss(tmp_path: Path) -> None:
    acclimate("data", "split", "clinical", "--out", tmp_path, "--part", "few=100", "--part", "more=rest")
    assert [len(words_of(tmp_path / f"{name}.conll")) for name in ("few", "more")] == [100, 199]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["few.conll", "more.conll"]


def test_few_labels_are_split_off_and_the_other_sentences_lose_theirs(tmp_path: Path) -> None:
    parts = {}
    for count in (10, 30):
        acclimate("data", "split", "social", "--out", tmp_path / str(count), "--few-labels", count)
        parts[count] = {path.stem: read_corpus(path) for path in (tmp_path / str(count)).iterdir()}
        assert {name: part.is_labelled for name, part in parts[count].items()} == {
            **dict.fromkeys(("labelled", "dev", "test"), True),
            "unlabelled": False,
        }
        assert len(parts[count]["labelled"]) == count
        assert sum(map(len, parts[count].values())) == 311
    assert parts[10]["test"].fingerprint == parts[30]["test"].fingerprint
    assert set(words_of(tmp_path / "10" / "labelled.conll")) <= set(words_of(tmp_path / "30" / "labelled.conll"))


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["data", "split", "news", "--out", "parts", "--part", "dev=0.1", "--few-labels", "9"], "give one of them"),
        (["data", "subset", "news", "out.conll"], "--sentences"),
        (["data", "subset", "news", "out.conll", "--sentences", "3", "--few-shot", "1"], "one of"),
        (["data", "split", "news", "--out", "parts", "--part", "dev"], "NAME=SIZE"),
        (["data", "split", "news", "--out", "parts", "--part", "dev=many"], "NAME=SIZE"),
    ],
)
def test_an_unclear_size_is_refused(
    words: list[str], hint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from acclimate.cli.main import main

    monkeypatch.setattr("sys.argv", ["acclimate", *words])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert hint in capsys.readouterr().err

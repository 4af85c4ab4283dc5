"""`acclimate subset` and `acclimate split`."""

from pathlib import Path

import pytest
from command_line import acclimate

from acclimate.data.reading import read_corpus


def words_of(path: Path) -> list[tuple[str, ...]]:
    return [sentence.words for sentence in read_corpus(path)]


def test_a_smaller_subset_lies_within_a_larger_one(tmp_path: Path) -> None:
    for count in (5, 20):
        acclimate("subset", "news", tmp_path / f"{count}.conll", "--sentences", count)
    few, more = words_of(tmp_path / "5.conll"), words_of(tmp_path / "20.conll")
    assert (len(few), len(more)) == (5, 20)
    assert set(few) <= set(more)


def test_another_seed_takes_other_sentences(tmp_path: Path) -> None:
    for seed in (0, 1):
        acclimate("subset", "news", tmp_path / f"{seed}.conll", "--words-share", 0.02, "--seed", seed)
    assert words_of(tmp_path / "0.conll") != words_of(tmp_path / "1.conll")


def test_a_few_shots_of_each_label_are_there(tmp_path: Path) -> None:
    answer = acclimate("subset", "news", tmp_path / "shots.conll", "--few-shot", 3)
    assert min(read_corpus(tmp_path / "shots.conll").label_counts.values()) >= 3
    assert "3-shot, seed 0" in answer.err


def test_a_corpus_is_divided_without_loss(tmp_path: Path) -> None:
    answer = acclimate("split", "clinical", "--out", tmp_path, "--part", "few=100", "--part", "more=rest", "--json")
    assert answer.json == {"few": 100, "more": 199}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["few.conll", "more.conll"]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["subset", "news", "out.conll"], "--sentences"),
        (["subset", "news", "out.conll", "--sentences", "3", "--few-shot", "1"], "one of"),
        (["split", "news", "--out", "parts", "--part", "dev"], "NAME=SIZE"),
        (["split", "news", "--out", "parts", "--part", "dev=many"], "NAME=SIZE"),
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

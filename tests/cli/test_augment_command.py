"""`acclimate data augment`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from command_line import Files, acclimate

from acclimate.data.reading import load_bundled, read_corpus


def test_bundled_corpora_end_to_end(tmp_path: Path) -> None:
    out = tmp_path / "new.conll"
    answer = acclimate("data", "augment", "--source", "news", "--target", "social", "--out", out)
    new = read_corpus(out)
    news, social = load_bundled("news").train, load_bundled("social").train
    with_entities = sum(bool(sentence.spans) for sentence in social)
    assert len(new) == with_entities * 4 + 500 * 2
    assert new.notes.repaired == 0
    assert not {sentence.words for sentence in new} & {sentence.words for sentence in news + social}
    assert len({sentence.words for sentence in new}) == len(new)
    assert f"{out}: {len(new):,} new sentences, seed 1" in answer.out
    assert f"target: {with_entities * 4:,} from {with_entities:,} of {len(social):,} sentences" in answer.out
    assert answer.out.count(" → ") >= 6
    assert f"target: {with_entities:,} of {len(social):,} sentences can be used" in answer.err


def test_a_seed_gives_a_file_and_another_gives_another(files: Files, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        out = tmp_path / f"{name}.conll"
        acclimate(
            "data", "augment", "--source", files.news, "--target", files.gold, "--out", out, "--set", f"seed={seed}"
        )
    a, b, c = ((tmp_path / f"{name}.conll").read_bytes() for name in "abc")
    assert a == b != c


def test_variants_and_ratio_are_as_asked_for(files: Files, tmp_path: Path) -> None:
    given = ["data", "augment", "--source", files.news, "--target", files.gold]
    options = [
        "--set",
        "target_variants=1",
        "--set",
        "source_variants=3",
        "--set",
        "ratio=0.5",
        "--set",
        "all_entities=true",
    ]
    answer = acclimate(*given, *options, "--out", tmp_path / "new.conll")
    assert "sentences, 1 variants each" in answer.out
    assert " from 5 of 24 sentences, 3 variants each" in answer.out
    assert len(read_corpus(tmp_path / "new.conll")) == int(answer.out.split(": ")[1].split()[0])


def test_the_sentences_can_be_printed_in_another_scheme(files: Files) -> None:
    answer = acclimate(
        "data",
        "augment",
        "--source",
        files.news,
        "--target",
        files.gold,
        "--out",
        "-",
        "--set",
        "scheme=BIOES",
    )
    letters = Counter(line.split("\t")[1][0] for line in answer.out.splitlines() if line)
    assert set(letters) >= {"S", "E"}
    assert " → " not in answer.out


def test_labels_of_either_side_can_be_renamed(tmp_path: Path) -> None:
    (tmp_path / "tweets.conll").write_text("in\tO\nOslo\tB-geo-loc\n\n")
    (tmp_path / "news.conll").write_text("Rome\tB-LOC\nfell\tO\n\n")
    given = ["data", "augment", "--source", tmp_path / "news.conll", "--target", tmp_path / "tweets.conll"]
    acclimate(*given, "--set", "reading.map=wnut16-to-conll", "--out", tmp_path / "new.conll")
    assert [s.words for s in read_corpus(tmp_path / "new.conll")] == [("in", "Rome"), ("Oslo", "fell")]
    answer = acclimate(*given, "--out", tmp_path / "other.conll", code=1)
    assert "no type of entity in common" in answer.err
    assert "--set reading.map=MAP" in answer.err


def test_a_file_that_is_there_is_not_replaced_unasked(files: Files, tmp_path: Path) -> None:
    out = tmp_path / "new.conll"
    out.write_text("mine")
    given = ["data", "augment", "--source", files.news, "--target", files.gold, "--out", out]
    assert "there already" in acclimate(*given, code=2).err
    assert out.read_text() == "mine"
    acclimate(*given, "--overwrite")
    assert len(read_corpus(out)) > 10


def test_options_that_contradict_are_refused(files: Files, tmp_path: Path) -> None:
    given = ["data", "augment", "--source", files.news, "--target", files.gold, "--out", tmp_path / "new.conll"]
    assert "give one of them" in acclimate(*given, "--set", "ratio=2", "--set", "source_sentences=3", code=2).err


def test_text_without_tags_is_refused(files: Files, tmp_path: Path) -> None:
    given = ["data", "augment", "--source", files.news, "--target", files.tweets, "--out", tmp_path / "new.conll"]
    assert "has no entities" in acclimate(*given, code=1).err
    assert not (tmp_path / "new.conll").exists()

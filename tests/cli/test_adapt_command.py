"""`acclimate adapt`: one object or one table on stdout, all else on stderr, and a tagger in the folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from command_line import QUICK, TINY, Answer, Files, acclimate

from acclimate.model.tagger import Tagger
from acclimate.settings import load_yaml


def test_json_is_one_object_and_nothing_else(run: tuple[Path, Answer]) -> None:
    folder, answer = run
    assert answer.out.count("\n") == 1
    found = json.loads(answer.out)
    assert found["run"] == str(folder)
    assert (found["recipe"], found["selector"]) == ("self-training", "span F1 on source dev (8 sentences)")
    for domain in ("source", "target"):
        for moment in ("before", "after"):
            assert 0 <= found[domain][moment]["span"]["f1"] <= 1


def test_progress_goes_to_stderr(run: tuple[Path, Answer], files: Files) -> None:
    _, answer = run
    assert f"self-training: 24 labelled source sentences ({files.news}), 10 target sentences" in answer.err
    assert "stage source: 80 updates" in answer.err
    assert "stage round-2: done" in answer.err


def test_the_folder_holds_the_tagger_the_report_and_the_settings(run: tuple[Path, Answer]) -> None:
    folder, answer = run
    assert list(Tagger.load(folder).labels) == ["LOC", "ORG", "PER"]
    assert json.loads((folder / "report.json").read_text(encoding="utf-8")) == answer.json
    report = (folder / "report.md").read_text(encoding="utf-8")
    assert "model chosen by span F1 on source dev" in report
    assert "| round-1 |" in report


def test_the_settings_kept_are_complete(run: tuple[Path, Answer]) -> None:
    settings = yaml.safe_load((run[0] / "settings.yaml").read_text(encoding="utf-8"))
    assert settings["training"]["updates"] == 80
    assert settings["training"]["optimizer"] == "adamw"
    assert settings["options"] == {"rounds": 2, "keep": 0.5, "weight": 0.5, "share": 0.25}


def test_the_settings_of_a_run_run_it_again(run: tuple[Path, Answer], tmp_path: Path) -> None:
    folder, first = run
    again = acclimate("adapt", "--config", folder / "settings.yaml", "--out", tmp_path / "b", "--json", "--quiet")
    assert again.json["target"] == first.json["target"]
    assert again.json["data"] == first.json["data"]
    assert _weights(tmp_path / "b") == _weights(folder)


def test_the_table_says_how_good_compared_with_what_how_sure_and_where(adapt_words, tmp_path) -> None:
    longer = ["--set", "training.updates=80", "--set", "training.learning_rate=0.05", "--set", "tagger.lstm.dropout=0"]
    answer = acclimate(*adapt_words, *longer, "--out", tmp_path / "a")
    assert "before after change" in " ".join(answer.out.split())
    assert "10 sentences" in answer.out
    assert "acclimate span F1, lenient reading" in answer.out
    assert "paired bootstrap over target sentences, one seed" in answer.out
    assert f"acclimate predict {tmp_path / 'a'} TEXT" in answer.out


def test_quiet_says_nothing_but_the_result(files: Files, tmp_path: Path) -> None:
    answer = acclimate("adapt", "--source", files.news, *QUICK, "--out", tmp_path / "a", "--quiet")
    assert answer.err == ""


def test_a_source_of_one_s_own_alone_is_trained_without_adapting(files: Files, here: Path) -> None:
    answer = acclimate("adapt", "--source", files.news, *QUICK, "--json")
    assert answer.json["recipe"] == "source-only"
    assert answer.json["run"] == "runs/news-source-only-seed-1"
    assert answer.json["target"] is None
    assert (here / "runs/news-source-only-seed-1/tagger.json").is_file()
    assert "No --target was given: there is nothing to adapt to" in answer.err


def test_a_folder_with_a_blank_is_quoted_in_what_can_be_typed_next(files: Files, tmp_path: Path) -> None:
    folder = tmp_path / "my run"
    answer = acclimate("adapt", "--source", files.news, *QUICK, "--out", folder)
    assert f"acclimate predict '{folder}' TEXT\n" in answer.out
    assert f"acclimate report '{folder}'\n" in answer.out


def test_a_forgotten_target_is_named_at_the_end_and_in_the_help(files: Files, tmp_path: Path) -> None:
    words = ["adapt", "--source", files.news, *QUICK, "--out", tmp_path / "a"]
    told = "There was nothing to adapt to: no --target was given."
    assert f"\n{told}\n" in acclimate(*words).out
    assert told in (tmp_path / "a" / "report.md").read_text(encoding="utf-8")
    assert "social, with a recipe or an encoder" in " ".join(acclimate("adapt", "--help").out.replace("│", " ").split())


def test_a_source_from_a_file_or_from_set_is_not_adapted_to_bundled_posts_either(files: Files, tmp_path: Path) -> None:
    config = tmp_path / "mine.yaml"
    config.write_text(f"source: {files.news}\n", encoding="utf-8")
    for number, given in enumerate((["--config", config], ["--set", f"source={files.news}"])):
        found = acclimate("adapt", *given, *QUICK, "--out", tmp_path / str(number), "--json", "--quiet").json
        assert found["recipe"] == "source-only"
        assert found["target"] is None


def test_a_file_may_have_any_letters_in_its_name(files: Files, tmp_path: Path) -> None:
    news = tmp_path / "news 😀 𝒩.conll"
    news.write_bytes(files.news.read_bytes())
    first, second = tmp_path / "a", tmp_path / "b"
    acclimate("adapt", "--source", news, *QUICK, "--out", first, "--quiet")
    acclimate("adapt", "--config", first / "settings.yaml", "--out", second, "--quiet")
    assert load_yaml(second / "settings.yaml")["source"] == str(news)


def test_without_out_a_finished_run_is_not_touched(files: Files, here: Path) -> None:
    words = ["adapt", "--source", files.news, *QUICK, "--json", "--quiet"]
    folders = [acclimate(*words).json["run"] for _ in range(2)]
    assert folders == ["runs/news-source-only-seed-1", "runs/news-source-only-seed-1-2"]


def test_the_bundled_corpora_come_with_their_own_dev_and_test_parts(tmp_path: Path) -> None:
    few = ["--set", "training.updates=1", "--set", "options.rounds=1"]
    found = acclimate("adapt", *TINY, *few, "--out", tmp_path / "a", "--json", "--quiet").json
    assert (found["source"]["corpus"], found["target"]["corpus"]) == ("news test", "social test")
    assert found["selector"] == "span F1 on source dev (156 sentences)"


def test_choosing_by_target_labels_is_said_aloud(adapt_words, files: Files, tmp_path: Path) -> None:
    answer = acclimate(
        *adapt_words, "--target-dev", files.gold, "--set", "select=target-dev", "--out", tmp_path / "a", "--quiet"
    )
    assert "model chosen by span F1 on target dev (10 sentences)" in answer.out
    assert "The model was chosen with target labels (target dev): this is not unsupervised adaptation." in answer.out


def test_choosing_by_target_labels_needs_some(adapt_words, tmp_path: Path) -> None:
    answer = acclimate(*adapt_words, "--set", "select=target-dev", "--out", tmp_path / "a", code=1)
    assert "needs labelled target development sentences" in answer.err


def test_a_few_labelled_target_sentences_are_learned_from(adapt_words, files: Files, tmp_path: Path) -> None:
    answer = acclimate(*adapt_words, "--target-labelled", files.gold, "--out", tmp_path / "a", "--json")
    assert "10 target sentences" in answer.err
    assert "10 labelled target sentences" in answer.err
    assert any("given to learn from" in remark for remark in answer.json["remarks"])


def test_labelled_target_sentences_alone_are_a_target_and_the_default_recipe_learns_from_them(
    files: Files, tmp_path: Path
) -> None:
    words = ["--source", files.news, "--target-labelled", files.gold, *QUICK, "--out", tmp_path / "a", "--json"]
    answer = acclimate("adapt", *words)
    assert answer.json["recipe"] == "acclimate"
    assert "10 labelled target sentences" in answer.err


def test_what_a_recipe_does_not_use_is_said(files: Files, tmp_path: Path) -> None:
    words = ["--source", files.news, "--target-labelled", files.gold, "--recipe", "source-only", *QUICK]
    answer = acclimate("adapt", *words, "--out", tmp_path / "a", "--quiet")
    assert "--target-labelled is not used" in answer.err
    assert "Nothing was adapted" in answer.out


def test_another_head_and_seed_can_be_chosen(files: Files, here: Path) -> None:
    words = [
        "adapt",
        "--source",
        files.news,
        *QUICK,
        "--set",
        "tagger.head=softmax",
        "--set",
        "select=last",
        "--seed",
        7,
        "--json",
    ]
    answer = acclimate(*words)
    assert answer.json["run"] == "runs/news-source-only-seed-7"
    assert answer.json["selector"] == "last update"
    assert Tagger.load(here / answer.json["run"]).head_name == "softmax"


def test_a_pre_trained_encoder_is_named_by_its_folder(files: Files, bert: str, tmp_path: Path) -> None:
    words = ["--source", files.news, "--encoder", bert, "--set", "training.updates=1", "--out", tmp_path / "a"]
    acclimate("adapt", *words, "--quiet")
    assert acclimate("predict", tmp_path / "a", "-", stdin="Anna left .\n").out.count("\n") == 4


@pytest.fixture
def wnut(tmp_path: Path) -> Path:
    path = tmp_path / "wnut.conll"
    path.write_text("Anna\tB-person\nin\tO\nParis\tB-geo-loc\n\nok\tO\n", encoding="utf-8")
    return path


def test_labels_that_the_tagger_cannot_know_are_listed_with_the_way_out(files, wnut, tmp_path) -> None:
    words = ["adapt", "--source", files.news, "--target-test", wnut, *QUICK, "--out", tmp_path / "a"]
    answer = acclimate(*words, code=1)
    assert f"{wnut} has gold labels that the tagger cannot predict: geo-loc (1), person (1)" in answer.err
    assert "--map" in answer.err
    assert not (tmp_path / "a").exists()


def test_a_bundled_map_renames_them(files: Files, wnut: Path, tmp_path: Path) -> None:
    words = ["--source", files.news, "--target-test", wnut, "--map", "wnut16-to-conll", *QUICK]
    found = acclimate("adapt", *words, "--out", tmp_path / "a", "--json").json
    assert set(found["target"]["after"]["by_label"]) >= {"LOC", "PER"}


def test_typeless_makes_unlike_label_sets_one(files: Files, wnut: Path, tmp_path: Path) -> None:
    words = [
        "--source",
        files.news,
        "--target-test",
        wnut,
        "--set",
        "reading.typeless=true",
        *QUICK,
        "--out",
        tmp_path / "a",
        "--json",
    ]
    found = acclimate("adapt", *words).json
    assert len(found["target"]["after"]["by_label"]) == 1


def test_labels_that_only_the_source_dev_has_are_told_apart(files: Files, wnut: Path, tmp_path: Path) -> None:
    answer = acclimate("adapt", "--source", files.news, "--source-dev", wnut, "--out", tmp_path / "a", code=1)
    assert "geo-loc, person" in answer.err
    assert "reading.map_source" in answer.err


def test_a_target_of_another_task_is_refused(files: Files, tmp_path: Path) -> None:
    (tmp_path / "pos.conll").write_text("The\tDET\ncat\tNOUN\nsleeps\tVERB\n", encoding="utf-8")
    answer = acclimate("adapt", "--source", files.news, "--target-test", tmp_path / "pos.conll", code=1)
    assert f"has plain tags, but the source {files.news} has span tags: these are two tasks" in answer.err


@pytest.fixture
def dirty(tmp_path: Path, files: Files) -> Path:
    path = tmp_path / "dirty.conll"
    path.write_text(f"[/b]\tB-PER\tmore\n:cat:\tO\n\n{files.news.read_text(encoding='utf-8')}", encoding="utf-8")
    return path


def test_a_bad_line_stops_with_its_place(dirty: Path, tmp_path: Path) -> None:
    answer = acclimate("adapt", "--source", dirty, *QUICK, "--out", tmp_path / "a", code=1)
    assert answer.err.startswith(f"error: {dirty}, line 1:")
    assert "pass --set reading.skip_bad=true" in answer.err
    assert r"'[/b]\tB-PER\tmore'" in answer.err


def test_a_bad_line_is_skipped_and_counted_on_request_even_quietly(dirty: Path, tmp_path: Path) -> None:
    answer = acclimate(
        "adapt", "--source", dirty, *QUICK, "--out", tmp_path / "a", "--set", "reading.skip_bad=true", "--quiet"
    )
    assert f"{dirty}: 1 bad line skipped." in answer.err
    assert r"'[/b]\tB-PER\tmore'" in answer.err


def test_a_source_that_is_annotated_in_part_says_how_much_even_quietly(tmp_path: Path) -> None:
    tags = [["B-PER", "O"], None]
    rows = [{"words": ["Anna", f"left{number}"], "tags": tags[number % 2]} for number in range(40)]
    path = tmp_path / "part.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    answer = acclimate("adapt", "--source", path, *QUICK, "--out", tmp_path / "a", "--quiet")
    assert f"{path}: 20 of 40 sentences are annotated" in answer.err


def test_a_source_without_tags_is_refused(files: Files, tmp_path: Path) -> None:
    answer = acclimate("adapt", "--source", files.tweets, "--out", tmp_path / "a", code=1)
    assert f"the source {files.tweets} has no tags to learn from" in answer.err


def test_another_column_of_the_source_can_be_chosen(tmp_path: Path) -> None:
    path = tmp_path / "pos.conll"
    path.write_text("The DET O\ncat NOUN O\n\nAnna PROPN B-PER\nsleeps VERB O\n\n" * 4, encoding="utf-8")
    words = ["--source", path, "--set", "reading.source_column=1", *QUICK, "--out", tmp_path / "a", "--quiet"]
    acclimate("adapt", *words)
    assert set(Tagger.load(tmp_path / "a").labels) == {"DET", "NOUN", "PROPN", "VERB"}


def _weights(folder: Path) -> bytes:
    return (folder / "weights.safetensors").read_bytes()


@pytest.mark.parametrize("recipe", ["self-training", "auto"])
def test_a_test_without_a_span_is_refused_by_its_file(adapt_words: list[object], tmp_path: Path, recipe: str) -> None:
    bare = tmp_path / "bare.conll"
    bare.write_text("Nobody O\nis O\nhere O\n", encoding="utf-8")
    answer = acclimate(*adapt_words, "--recipe", recipe, "--target-test", bare, "--out", tmp_path / "run", code=1)
    assert f"error: {bare} has no labelled span: F1 would say nothing." in " ".join(answer.err.split())
    assert not (tmp_path / "run").exists()

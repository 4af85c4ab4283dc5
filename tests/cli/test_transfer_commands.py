"""`acclimate adapt` with recipes that learn from labelled target sentences, and what else came with them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command_line import QUICK, TINY, Answer, Files, acclimate, ctrl_c_after

from acclimate.analysis.features import domain_separability, feature_points
from acclimate.cli.settings import AdaptSettings
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.mapping import map_labels
from acclimate.data.reading import read_corpus
from acclimate.data.writing import write_corpus
from acclimate.model.tagger import Tagger
from acclimate.runs.run import MOST_WORDS, read_features
from acclimate.settings import complete, load_yaml

LOOKING = ["--set", "training.evaluate_every=2"]


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty bundled posts with their tags."""
    path = tmp_path_factory.mktemp("few") / "few.conll"
    acclimate("data", "subset", "social", path, "--sentences", 20)
    return path


@pytest.fixture(scope="module")
def datnet(tmp_path_factory: pytest.TempPathFactory, few: Path) -> tuple[Path, Answer]:
    """DATNet on the bundled corpora, and what the command printed."""
    folder = tmp_path_factory.mktemp("runs") / "a"
    words = ["adapt", "--recipe", "datnet", "--target-labelled", few, "--set", f"watch={few}", *QUICK, *LOOKING]
    return folder, acclimate(*words, "--out", folder)


def test_the_screen_says_what_was_compared_with_what(datnet: tuple[Path, Answer]) -> None:
    out = datnet[1].out
    assert "recipe datnet, seed 1, model chosen by span F1 on target dev (90 sentences)" in out
    assert "source  none: the tagger is the target's own" in out
    assert "target  social test" in out
    assert "552 sentences" in out
    assert "Before: trained on the labelled target sentences alone, without the source." in out
    assert "no labelled test sentences given" not in out
    err = datnet[1].err
    assert "datnet: 807 labelled source sentences (news train), 897 target sentences (social), 20 labelled" in err
    assert "stage target: 6 updates" in err
    assert "stage datnet: done" in err


def test_the_report_says_it_too(datnet: tuple[Path, Answer]) -> None:
    page = (datnet[0] / "report.md").read_text(encoding="utf-8")
    assert page.startswith("# news → social: datnet\n")
    assert "| target | 6 |" in page
    assert "| datnet | 6 |" in page
    assert re.search(r"^target +social test .* 552 sentences$", page, re.MULTILINE)
    found = json.loads((datnet[0] / "report.json").read_text(encoding="utf-8"))
    assert found["source"] is None
    assert found["target"]["change"]["metric"] == "span f1"


def test_the_settings_kept_are_complete(datnet: tuple[Path, Answer]) -> None:
    settings = complete(AdaptSettings, load_yaml(datnet[0] / "settings.yaml"))
    assert (settings.recipe, settings.select) == ("datnet", "auto")
    assert (settings.options["form"], settings.options["alpha"]) == ("F", 0.25)
    assert settings.options["radius"]["target_words"] == 1


def test_the_tagger_is_the_target_s_and_can_be_used(datnet: tuple[Path, Answer], few: Path) -> None:
    assert set(Tagger.load(datnet[0]).labels) == {"LOC", "MISC", "ORG", "PER"}
    assert acclimate("predict", datnet[0], "-", stdin="Anna left .\n").out.count("\n") == 4
    assert "F1" in acclimate("evaluate", datnet[0], few).out


def test_curves_show_the_game_and_the_watched_sentences(datnet: tuple[Path, Answer]) -> None:
    out = acclimate("report", datnet[0], "--only", "curves").out
    assert "\ndatnet (6 updates)" in out
    assert "target-only, target (6 updates)" in out
    assert "game: accuracy" in out
    assert "discriminator, last quarter: accuracy" in out
    assert "loss: discriminator" in out
    *_, last = acclimate("report", datnet[0], "--only", "curves", "--json").json["curves"]["stages"]
    assert last["game"]["accuracy"]["updates"] == [2, 4, 6]


def test_every_look_is_recorded(datnet: tuple[Path, Answer]) -> None:
    for recipe, kinds in (("target-only", {"confidence"}), ("datnet", {"confidence", "game"})):
        lines = (datnet[0] / "training" / recipe / "records.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [row for row in map(json.loads, lines) if row["kind"] not in ("update", "evaluation")]
        assert {(row["kind"], row["update"]) for row in rows} == {(kind, n) for kind in kinds for n in (2, 4, 6)}
        assert all(len(row["sentences"]) == 20 for row in rows if row["kind"] == "confidence")


def test_a_run_that_was_interrupted_goes_on(few: Path, tmp_path: Path) -> None:
    words = ["adapt", "--recipe", "datnet", "--target-labelled", few, *QUICK, "--set", "training.checkpoint_every=2"]
    with ctrl_c_after(10):  # in the second stage
        acclimate(*words, "--out", tmp_path / "a", code=130)
    acclimate(*words, "--out", tmp_path / "a", "--quiet")
    acclimate(*words, "--out", tmp_path / "b", "--quiet")
    weights = [(tmp_path / run / "weights.safetensors").read_bytes() for run in ("a", "b")]
    assert weights[0] == weights[1]


# label sets


@pytest.fixture
def wnut(tmp_path: Path) -> Path:
    path = tmp_path / "wnut.conll"
    path.write_text("Anna\tB-person\nin\tO\nParis\tB-geo-loc\n\nok\tO\n\n" * 3, encoding="utf-8")
    return path


@pytest.mark.parametrize("form", ["F", "P"])
def test_datnet_takes_a_target_with_labels_of_its_own(files: Files, wnut: Path, tmp_path: Path, form: str) -> None:
    words = ["--source", files.news, "--target-labelled", wnut, "--target-test", wnut, "--recipe", "datnet", *QUICK]
    found = acclimate("adapt", *words, "--set", f"options.form={form}", "--out", tmp_path / "a", "--json", "--quiet")
    assert set(found.json["target"]["after"]["by_label"]) == {"geo-loc", "person"}
    assert list(Tagger.load(tmp_path / "a").labels) == ["geo-loc", "person"]


def test_clinical_notes_can_learn_from_news(tmp_path: Path) -> None:
    words = [
        "--source",
        "news",
        "--target",
        "clinical",
        "--target-labelled",
        "clinical/train",
        "--recipe",
        "datnet",
        *TINY,
    ]
    few = ["--set", "training.updates=2", "--json", "--quiet"]
    found = acclimate("adapt", *words, *few, "--out", tmp_path / "a").json
    assert found["target"]["corpus"] == "clinical test"
    assert set(Tagger.load(tmp_path / "a").labels) == {"DISEASE", "SYMPTOM", "TREATMENT"}


@pytest.mark.parametrize("recipe", ["mat", "self-training", "source-only"])
def test_other_recipes_refuse_them_as_before(files: Files, wnut: Path, tmp_path: Path, recipe: str) -> None:
    words = ["--source", files.news, "--target", files.tweets, "--target-labelled", wnut, "--recipe", recipe, *QUICK]
    answer = acclimate("adapt", *words, "--out", tmp_path / "a", code=1)
    assert "has gold labels that the tagger cannot predict: geo-loc (3), person (3)" in answer.err
    assert not (tmp_path / "a").exists()


def test_so_does_datnet_without_labelled_target_sentences(files: Files, wnut: Path, tmp_path: Path) -> None:
    words = ["--source", files.news, "--target", files.tweets, "--target-test", wnut, "--recipe", "datnet", *QUICK]
    answer = acclimate("adapt", *words, "--out", tmp_path / "a", code=1)
    assert "has gold labels that the tagger cannot predict" in answer.err


def test_a_type_that_only_the_test_has_is_known_from_the_start(files: Files, wnut: Path, tmp_path: Path) -> None:
    """Ten sentences do not show every type; the tagger may miss it, but is not refused."""
    small = tmp_path / "small.conll"
    small.write_text("Anna\tB-person\nin\tO\n\n", encoding="utf-8")
    words = ["--source", files.news, "--target-labelled", small, "--target-test", wnut, "--recipe", "datnet", *QUICK]
    acclimate("adapt", *words, "--out", tmp_path / "a", "--quiet")
    assert list(Tagger.load(tmp_path / "a").labels) == ["geo-loc", "person"]


def test_a_target_test_of_another_task_is_refused(files: Files, wnut: Path, tmp_path: Path) -> None:
    plain = tmp_path / "pos.conll"
    plain.write_text("The\tDET\ncat\tNOUN\n", encoding="utf-8")
    words = ["--source", files.news, "--target-labelled", wnut, "--target-test", plain, "--recipe", "datnet"]
    answer = acclimate("adapt", *words, "--out", tmp_path / "a", code=1)
    assert f"{plain} has plain tags, but {wnut} has span tags" in answer.err


def test_one_crf_for_unlike_labels_is_refused_at_once(files: Files, wnut: Path, tmp_path: Path) -> None:
    words = ["--source", files.news, "--target-labelled", wnut, "--recipe", "datnet", *QUICK]
    answer = acclimate("adapt", *words, "--set", "options.share_crf=true", "--out", tmp_path / "a", code=2)
    assert "options.share_crf needs the same labels in both domains" in answer.err
    assert "stage target" not in answer.err


# target-only, and datnet without labels


def test_target_only_has_a_report(few: Path, tmp_path: Path) -> None:
    answer = acclimate("adapt", "--recipe", "target-only", "--target-labelled", few, *QUICK, "--out", tmp_path / "a")
    assert "Nothing was transferred: this tagger is trained on the labelled target sentences alone" in answer.out
    assert "Nothing was transferred" in (tmp_path / "a" / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("source", [[], ["--source", "news"]])
def test_target_only_without_labels_says_what_it_needs(source: list[str], tmp_path: Path) -> None:
    answer = acclimate("adapt", "--recipe", "target-only", *source, "--out", tmp_path / "a", code=2)
    assert "Recipe target-only learns from labelled target sentences: give --target-labelled." in answer.err
    assert not (tmp_path / "a").exists()


def test_datnet_without_labels_adapts_to_the_target_s_text(tmp_path: Path) -> None:
    found = acclimate("adapt", "--recipe", "datnet", *QUICK, "--out", tmp_path / "a", "--json", "--quiet").json
    assert found["selector"] == "span F1 on source dev (156 sentences)"
    assert [stage["stage"] for stage in found["stages"]] == ["source", "datnet"]
    assert found["source"]["corpus"] == "news test"


@pytest.mark.parametrize("setting", ["form=P", "schedule=alternate", "discriminator=none"])
def test_what_needs_labels_says_so(setting: str, tmp_path: Path) -> None:
    words = ["adapt", "--recipe", "datnet", *QUICK, "--set", f"options.{setting}", "--out", tmp_path / "a"]
    assert "ithout" in acclimate(*words, code=2).err


def test_the_source_cannot_choose_a_tagger_of_the_target_s_own(few: Path, tmp_path: Path) -> None:
    words = ["--recipe", "datnet", "--target-labelled", few, *QUICK, "--set", "select=source-dev"]
    assert "Select target-dev" in acclimate("adapt", *words, "--out", tmp_path / "a", code=2).err


# mat


def test_mat_learns_from_labelled_target_sentences_and_does_not_deny_it(files: Files, tmp_path: Path) -> None:
    words = ["--source", files.news, "--target-labelled", files.gold, "--recipe", "mat", *QUICK]
    answer = acclimate("adapt", *words, "--out", tmp_path / "a")
    assert "not used" not in answer.err
    assert "10 labelled target sentences were given to learn from" in answer.out


def test_a_second_task_is_given_as_a_file(files: Files, tmp_path: Path) -> None:
    chunks = tmp_path / "chunks.conll"
    chunks.write_text("Zebedee B-NP B-PER\nleft B-VP O\n\n" * 4, encoding="utf-8")
    words = ["--source", files.news, "--recipe", "mat", *QUICK, "--set", f"options.second={chunks}"]
    found = acclimate("adapt", *words, "--set", "options.second_column=1", "--out", tmp_path / "a", "--json", "--quiet")
    assert [stage["stage"] for stage in found.json["stages"]] == ["source", "mat"]
    tagger = Tagger.load(tmp_path / "a")
    assert list(tagger.labels) == ["LOC", "ORG", "PER"]
    assert "zebedee" in tagger.encoder.vocabulary  # a word that only the second task has
    assert "The second task has no score" in " ".join(found.json["remarks"])
    answer = acclimate("adapt", *words, "--set", "options.second_column=9", "--out", tmp_path / "b", code=1)
    assert "column" in answer.err
    assert "stage source" not in answer.err


def test_the_tagger_of_the_second_task_is_saved_scored_and_told(files: Files, tmp_path: Path) -> None:
    chunks, run = tmp_path / "chunks.conll", tmp_path / "a"
    chunks.write_text("Zebedee B-NP\nleft B-VP\n\n" * 4, encoding="utf-8")
    second = ["--set", f"options.second={chunks}", "--set", f"options.second_test={chunks}"]
    words = ["adapt", "--source", files.news, "--recipe", "mat", *QUICK, "--out", run]
    answer = acclimate(*words, *second)
    assert re.search(r"^second +chunks.conll +- +\d+\.\d\d +- +4 sentences$", answer.out, re.MULTILINE)
    assert "Second task: " in answer.out
    page = (run / "report.md").read_text(encoding="utf-8")
    assert re.search(r"^second +chunks.conll +- +\d+\.\d\d", page, re.MULTILINE)
    scored = acclimate("evaluate", run / "siblings" / "second", chunks, "--json").json
    kept = json.loads((run / "report.json").read_text(encoding="utf-8"))["siblings"]["second"]
    assert kept["corpus"] == "chunks.conll"
    assert kept["scores"]["span"] == scored["span"]
    acclimate("report", run, "--out", tmp_path / "report.html")
    assert "Scores of the second task" in (tmp_path / "report.html").read_text(encoding="utf-8")
    acclimate(*words, "--overwrite")  # without a second task: the former one's tagger must not stay
    assert not (run / "siblings").exists()


def test_a_map_of_datnet_reads_the_source_by_the_source_s_own_words(
    files: Files, make_corpus: Callable[..., Corpus], tmp_path: Path
) -> None:
    """The target's word table knows no word of a source in another language."""

    def foreign(sentence: Sentence) -> Sentence:
        return Sentence(tuple(word[::-1] + "oz" for word in sentence.words), sentence.tags)

    source, run = tmp_path / "source.conll", tmp_path / "a"
    write_corpus(make_corpus(24).map(foreign), source)
    words = ["--source", source, "--target-labelled", files.gold, "--target-test", files.gold, "--recipe", "datnet"]
    acclimate("adapt", *words, *QUICK, "--out", run)
    read = ["--only", "feature-map", "--set", f"source={source}", "--set", f"target={files.gold}", "--json"]
    (found,) = acclimate("report", run, *read).json["feature-map"]["maps"]
    corpora = {"source": read_corpus(source), "target": read_corpus(files.gold)}
    readers = {"source": Tagger.load(run / "siblings" / "source"), "target": Tagger.load(run)}
    points = feature_points(readers, corpora)
    assert found["accuracy"] == domain_separability(points).accuracy
    own = readers["source"].encoder.rows_of(list(corpora["source"].vocabulary))
    assert None not in own
    kept = read_features(run)
    assert list(kept) == ["after"]
    sample = feature_points(readers, corpora, most=MOST_WORDS)
    np.testing.assert_allclose(kept["after"].points, sample.points, atol=2e-3)
    acclimate("report", run, "--out", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "There are no features before: 100 % of the words of source are unknown" in page

    shutil.rmtree(run / "siblings")
    refused = acclimate("report", run, *read, code=1)
    assert "100 % of the words of source (source.conll) are unknown to this tagger, which" in refused.err


# labels of the target's own


@pytest.fixture(scope="module")
def posts(tmp_path_factory: pytest.TempPathFactory, tweets: Corpus) -> Path:
    """The tweets, under other names of labels."""
    path = tmp_path_factory.mktemp("posts") / "posts.conll"
    write_corpus(map_labels(tweets, {"PER": "hero", "LOC": "spot", "ORG": "crew"}), path)
    return path


def test_the_default_recipe_takes_labels_of_the_target_s_own(files: Files, posts: Path, tmp_path: Path) -> None:
    words = [
        "--source",
        files.news,
        "--target-labelled",
        posts,
        "--target-test",
        posts,
        *QUICK,
        "--out",
        tmp_path / "a",
    ]
    answer = acclimate("adapt", *words)
    assert "has labels that the source has not (crew, hero, spot): the tagger learns the target's labels." in answer.err
    assert "map it by name (--map FILE)" in answer.err
    assert "source  none: the tagger is the target's own" in answer.out
    assert "Before: trained on the labelled target sentences alone" in answer.out
    assert list(Tagger.load(tmp_path / "a").labels) == ["crew", "hero", "spot"]
    assert list(Tagger.load(tmp_path / "a" / "siblings" / "source").labels) == ["LOC", "ORG", "PER"]
    acclimate("report", tmp_path / "a", "--out", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "the same tagger trained on the labelled target sentences alone" in page


def test_a_recipe_that_cannot_names_those_that_can(files: Files, posts: Path, tmp_path: Path) -> None:
    able = "train a tagger with the target's own labels: --recipe target-only, datnet or acclimate."
    words = ["adapt", "--source", files.news, "--recipe", "mat", *QUICK, "--out", tmp_path / "a"]
    given = acclimate(*words, "--target-labelled", posts, code=1)
    assert f"Or {able}" in given.err
    missing = acclimate(*words, "--target-test", posts, code=1)
    assert f"Or label a few target sentences (--target-labelled FILE) and {able}" in missing.err
    compared = ["compare", "--source", files.news, "--target-labelled", posts, "--recipes", "acclimate", *QUICK]
    refused = acclimate(*compared, "--out", tmp_path / "b", code=2)
    assert "Recipe source-only has the source's labels" in refused.err
    assert "against target-only" in refused.err


# --train-on-dev and --watch


def test_training_on_dev_knows_its_words_and_keeps_the_last_state(files: Files, tmp_path: Path) -> None:
    dev = tmp_path / "dev.conll"
    dev.write_text("Zebedee\tB-PER\nleft\tO\n\n", encoding="utf-8")
    words = ["--source", files.news, "--source-dev", dev, "--recipe", "mat", *QUICK, "--json", "--quiet"]
    for options, known in (([], False), (["--set", "train_on_dev=true"], True)):
        out = tmp_path / f"known-{known}"
        found = acclimate("adapt", *words, *options, "--out", out).json
        assert ("zebedee" in Tagger.load(out).encoder.vocabulary) == known
        assert (found["selector"] == "last update") == known
        assert any("dev sentences were learnt from" in remark for remark in found["remarks"]) == known


def test_the_bundled_dev_part_can_be_trained_on(tmp_path: Path) -> None:
    words = [
        "--set",
        "train_on_dev=true",
        "--recipe",
        "source-only",
        *TINY,
        "--set",
        "training.updates=1",
        "--json",
        "--quiet",
    ]
    found = acclimate("adapt", *words, "--out", tmp_path / "a").json
    assert found["source"]["corpus"] == "news test"


def test_training_on_dev_needs_some(files: Files, tmp_path: Path) -> None:
    answer = acclimate(
        "adapt", "--source", files.news, "--set", "train_on_dev=true", *QUICK, "--out", tmp_path / "a", code=2
    )
    assert "--set train_on_dev=true needs --source-dev, the sentences to train on as well." in answer.err


@pytest.fixture
def columns(tmp_path: Path) -> Path:
    """Parts of speech and names in one file."""
    path = tmp_path / "columns.conll"
    path.write_text("Anna B-PER PROPN\nleft O VERB\n\nOslo B-LOC PROPN\n\n" * 2, encoding="utf-8")
    return path


def test_watched_sentences_are_read_as_the_source_is(columns: Path, files: Files, tmp_path: Path) -> None:
    words = [
        "--source",
        columns,
        "--set",
        "reading.source_column=1",
        "--set",
        f"watch={columns}",
        "--recipe",
        "mat",
        *QUICK,
    ]
    acclimate("adapt", *words, "--out", tmp_path / "a", "--quiet")
    assert '"kind": "confidence"' in (tmp_path / "a" / "training" / "mat" / "records.jsonl").read_text()


def test_or_as_the_target_is_where_the_tagger_is_the_target_s_own(columns: Path, files: Files, tmp_path: Path) -> None:
    words = ["--source", files.news, "--target-labelled", columns, "--set", "reading.target_column=1"]
    acclimate(
        "adapt", *words, "--set", f"watch={columns}", "--recipe", "datnet", *QUICK, "--out", tmp_path / "a", "--quiet"
    )
    assert '"kind": "confidence"' in (tmp_path / "a" / "training" / "datnet" / "records.jsonl").read_text()


def test_sentences_to_watch_need_tags(files: Files, tmp_path: Path) -> None:
    words = ["--source", files.news, "--set", f"watch={files.tweets}", *QUICK, "--out", tmp_path / "a"]
    assert "has no tags to compare with" in acclimate("adapt", *words, code=1).err


# what there is to choose from


def test_the_recipes_and_their_settings_are_listed() -> None:
    out = acclimate("info", "recipes").out
    for name in ("target-only:", "mat:", "datnet:"):
        assert f"\n{name}" in f"\n{out}"
    for setting in ("round_epochs=4.0", "rate=0.06", "form=F", "alpha=0.25", "second=null", "share_crf=false"):
        assert f"\n  --set options.{setting}\n" in out
    assert "--set options.radius.source_words=1.0\n" in out
    listed = acclimate("info", "recipes", "--json").json
    assert listed["datnet"]["options"]["radius"]["source_words"] == 1
    assert listed["mat"]["options"]["radius"]["words"] == 0.4


def test_the_settings_of_a_recipe_can_be_handed_back(tmp_path: Path) -> None:
    text = acclimate("info", "settings", "datnet").out
    for line in ("train_on_dev: false", "watch: null", "select: auto", "recipe: datnet", "  discriminator: grad"):
        assert f"\n{line}\n" in f"\n{text}"
    (tmp_path / "s.yaml").write_text(text, encoding="utf-8")
    assert complete(AdaptSettings, load_yaml(tmp_path / "s.yaml")).options["mix_rate"] == 1


def test_the_help_names_them() -> None:
    out = " ".join(acclimate("adapt", "--help").out.replace("│", " ").split())
    for words in ("--set train_on_dev=true", "--set watch", "With --source, datnet, mat"):
        assert words in out


def test_a_mistyped_option_is_refused_with_a_suggestion(tmp_path: Path) -> None:
    words = ["adapt", "--recipe", "datnet", "--set", "options.radius.target_word=3", "--out", tmp_path / "a"]
    assert "Did you mean radius.target_words?" in acclimate(*words, code=2).err


def test_what_is_listed_can_be_typed(files: Files, tmp_path: Path) -> None:
    """Nothing changes when every option of a recipe is given as it is listed."""
    _, _, rest = acclimate("info", "recipes").out.partition("\nmat: ")
    listed = [line.split() for line in rest.partition("\ndatnet: ")[0].splitlines() if line.startswith("  --set ")]
    words = ["--source", files.news, "--recipe", "mat", *QUICK, "--quiet", "--json"]
    plain = acclimate("adapt", *words, "--out", tmp_path / "a").json
    typed = acclimate("adapt", *words, *(word for pair in listed for word in pair), "--out", tmp_path / "b").json
    assert len(listed) > 15
    assert typed["source"] == plain["source"]

"""A whole comparison on toy corpora: every run once, in a folder each, and one table of all."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from comparing import compare

from acclimate.comparison.results import Comparison
from acclimate.comparison.scheduler import fitting_recipes, obstacle_for
from acclimate.comparison.tables import markdown, render
from acclimate.data.corpus import Corpus
from acclimate.evaluation.scores import score
from acclimate.evaluation.significance import compare_seeds
from acclimate.inference.predict import predict
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import RECIPES as RECIPES_BY_NAME
from acclimate.runs.task import Task
from acclimate.settings import SettingsError, UsageError

LSTM = {"word_width": 6, "character_width": 4, "character_filters": 5, "lstm_width": 7, "dropout": 0.0}
TAGGER = {"encoder": "character-cnn-lstm", "lstm": LSTM}
TRAINING = {"updates": 60, "words_per_batch": 60, "learning_rate": 0.05}
QUICK = ("source-dev", "entropy", "information-maximisation")
RECIPES = ["source-only", "self-training"]


@dataclass
class Toy:
    """Corpora, and `compare` on them."""

    news: Corpus
    dev: Corpus
    tweets: Corpus

    def compare(self, out: Path, recipes: list[str] = RECIPES, seeds: Any = 2, **changes: Any) -> Comparison:
        given = {
            "source_dev": self.dev,
            "target_test": self.tweets,
            "tagger": TAGGER,
            "training": TRAINING,
            "selectors": QUICK,
            "rounds": 50,
        }
        return compare(self.news, self.tweets, recipes, seeds, out, **{**given, **changes})


@pytest.fixture(scope="module")
def toy(news: Corpus, tweets: Corpus, make_corpus: Callable[..., Corpus]) -> Toy:
    return Toy(news, make_corpus(8, seed=5), tweets)


@pytest.fixture(scope="module")
def finished(toy: Toy, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Comparison]:
    folder = tmp_path_factory.mktemp("comparison")
    return folder, toy.compare(folder)


def weights(folder: Path) -> bytes:
    return (folder / "weights.safetensors").read_bytes()


def without_costs(found: Comparison) -> dict[str, Any]:
    """All that must not depend on who made the runs: time, memory and places may."""
    kept = json.loads(json.dumps(found.as_dict()))
    for row in (*kept["runs"], *kept["recipes"]):
        for name in ("seconds", "megabytes", "folder", "remarks"):
            row.pop(name, None)
    return kept


def test_every_recipe_is_run_with_every_seed_in_a_folder_of_its_own(finished: tuple[Path, Comparison]) -> None:
    folder, found = finished
    assert [(run.recipe, run.seed) for run in found.runs] == [(name, seed) for name in RECIPES for seed in (1, 2)]
    for run in found.runs:
        assert Path(run.folder) == folder / "runs" / run.recipe / f"seed-{run.seed}"
        assert list(Tagger.load(run.folder).labels) == ["LOC", "ORG", "PER"]


def test_the_scores_are_those_of_the_taggers_that_were_saved(finished: tuple[Path, Comparison], toy: Toy) -> None:
    assert all(run.f1 for run in finished[1].runs)  # or there would be nothing to compare
    for run in finished[1].runs:
        tagger = Tagger.load(run.folder)
        expected = score(toy.tweets, predict(tagger, toy.tweets), seen=tagger.seen)
        assert run.target is not None
        assert run.target.as_dict() == expected.as_dict()
        assert run.judgements["source-dev"] == score(toy.dev, predict(tagger, toy.dev)).span.f1
        assert run.figures["source_after"] == run.judgements["source-dev"]  # there is no other source test


def test_means_deviations_and_tests_are_those_of_the_runs(finished: tuple[Path, Comparison], toy: Toy) -> None:
    _, found = finished
    one, other = found.recipes
    figures = [run.f1 for run in other.runs]
    mean = other.means["target_f1"]
    assert mean is not None
    assert mean.mean == pytest.approx(sum(figures) / 2)
    assert mean.deviation == pytest.approx(abs(figures[0] - figures[1]) / 2**0.5)
    assert one.against is None
    expected = compare_seeds(
        toy.tweets, [run.predicted for run in one.runs], [run.predicted for run in other.runs], rounds=50
    )
    assert other.against is not None
    assert other.against.found == expected
    assert other.against.bootstrap_holm == expected.bootstrap_p  # one comparison needs no correction
    assert found.best == max(found.recipes, key=lambda recipe: recipe.means["target_f1"].mean).recipe


def tied(found: Comparison) -> Comparison:
    """The same, with a third recipe that does exactly as well as the best one."""
    leader = found.of(found.leaders[0])
    runs = tuple(replace(run, recipe="its-twin") for run in leader.runs)
    return replace(found, recipes=(*found.recipes, replace(leader, recipe="its-twin", runs=runs)))


def test_of_equal_means_all_are_starred(finished: tuple[Path, Comparison]) -> None:
    found = tied(finished[1])
    assert found.leaders == [finished[1].best, "its-twin"]
    for shown in (render(found), markdown(found)):
        assert f"{finished[1].best} *" in shown
        assert "its-twin *" in shown
        assert shown.count(" *") == 3  # the legend's, too
        assert "* are the best means, equal as far as they are printed" in shown


def test_to_reach_the_baseline_is_not_to_be_better(finished: tuple[Path, Comparison]) -> None:
    alone = replace(finished[1], recipes=(finished[1].of("source-only"),))
    assert tied(alone).best == "source-only"
    assert replace(tied(alone), recipes=tied(alone).recipes[::-1]).best == "source-only"


def test_what_is_forgotten_of_the_source_is_told(finished: tuple[Path, Comparison]) -> None:
    base, other = finished[1].recipes
    for before, after in zip(base.runs, other.runs, strict=True):
        assert before.source_before == before.source_after == after.source_before
        assert after.figures["source_change"] == pytest.approx(after.source_after - after.source_before)


def test_the_tables_are_written(finished: tuple[Path, Comparison]) -> None:
    folder, found = finished
    assert json.loads((folder / "comparison.json").read_text(encoding="utf-8")) == json.loads(
        json.dumps(found.as_dict())
    )
    with (folder / "comparison.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["recipe"], row["seed"]) for row in rows] == [(run.recipe, str(run.seed)) for run in found.runs]
    assert float(rows[0]["target_f1"]) == found.runs[0].f1
    page = (folder / "comparison.md").read_text(encoding="utf-8")
    assert page.startswith("# news → tweets\n")
    assert "| self-training" in page
    shown = render(found)
    assert "would choose" in shown
    assert "Holm" in shown


def test_a_finished_comparison_trains_nothing_again(
    finished: tuple[Path, Comparison], toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, found = finished
    monkeypatch.setattr("acclimate.runs.run.train_run", lambda *_, **__: pytest.fail("trained again"))
    told: list[str] = []
    again = toy.compare(folder, tell=told.append)
    assert again.as_dict() == found.as_dict()
    assert told[0] == "4 runs: 4 finished before, 0 to go on with, 0 to begin"


def test_a_run_that_was_cut_off_goes_on_and_ends_as_the_unbroken_one(
    finished: tuple[Path, Comparison], toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = 0

    def saved(*arguments: Any) -> None:
        nonlocal seen
        seen += 1
        original(*arguments)
        if seen == 3:
            raise KeyboardInterrupt

    from acclimate.training import run

    original = run.save_checkpoint
    often = {**TRAINING, "checkpoint_every": 25}
    with monkeypatch.context() as patch:
        patch.setattr(run, "save_checkpoint", saved)
        with pytest.raises(KeyboardInterrupt):
            toy.compare(tmp_path, training=often)
    told: list[str] = []
    found = toy.compare(tmp_path, training=often, tell=told.append)
    assert "2 finished before, 1 to go on with, 1 to begin" in told[0]
    assert without_costs(found) == without_costs(finished[1])
    for broken, unbroken in zip(found.runs, finished[1].runs, strict=True):
        assert weights(Path(broken.folder)) == weights(Path(unbroken.folder))


def test_a_damaged_run_is_told_and_made_again(finished: tuple[Path, Comparison], toy: Toy, tmp_path: Path) -> None:
    shutil.copytree(finished[0], tmp_path / "copy")
    place = tmp_path / "copy" / "runs" / "self-training" / "seed-1"
    whole = weights(place)
    (place / "weights.safetensors").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    told: list[str] = []
    toy.compare(tmp_path / "copy", tell=told.append)
    assert told[1] == f"{place} is damaged: this run is made again."
    assert weights(place) == whole


def test_a_baseline_trained_once_changes_no_weight(finished: tuple[Path, Comparison], toy: Toy, tmp_path: Path) -> None:
    alone = toy.compare(tmp_path, ["self-training"], [2], against="self-training")
    assert not (tmp_path / "runs" / "source-only").exists()
    shared = finished[0] / "runs" / "self-training" / "seed-2"
    assert not (shared / "training" / "source-only").exists()  # it has trained none of its own
    assert weights(Path(alone.runs[0].folder)) == weights(shared)


def test_other_settings_or_data_are_refused_before_anything_is_trained(
    finished: tuple[Path, Comparison], toy: Toy
) -> None:
    with pytest.raises(UsageError, match=r"other settings or data:\n  training.updates: 60 then, 61 now"):
        toy.compare(finished[0], training={**TRAINING, "updates": 61})
    with pytest.raises(UsageError, match=r"on other data:\n  data\.source_dev: other sentences or tags now"):
        toy.compare(finished[0], source_dev=toy.dev[1:])


def test_settings_of_one_recipe_reach_that_recipe_alone(toy: Toy, tmp_path: Path) -> None:
    each = {"self-training": {"options": {"rounds": 1}, "training": {"updates": 4}}}
    found = toy.compare(tmp_path, seeds=[7], each=each)
    assert [run.updates for run in found.runs] == [60, 4 + 1]  # another number of updates: a baseline of its own
    with pytest.raises(SettingsError, match="settings for 'datnet', which is not compared"):
        toy.compare(tmp_path, each={"datnet": {}})


def test_a_tagger_of_the_target_s_own_has_no_source_score_and_source_selectors_leave_it_out(
    toy: Toy, tmp_path: Path
) -> None:
    found = toy.compare(tmp_path, ["target-only", "source-only"], 1, target_labelled=toy.tweets[:6])
    own, plain = found.of("target-only").runs[0], found.of("source-only").runs[0]
    assert (own.source_before, own.judgements["source-dev"]) == (None, None)
    assert own.judgements["entropy"] is not None
    assert plain.judgements["source-dev"] is not None
    choice = next(choice for choice in found.choices if choice.selector == "source-dev")
    assert (choice.recipe, choice.silent) == ("source-only", 1)
    assert "Not all runs could be judged by: source-dev" in render(found)


def test_all_recipes_are_those_that_data_and_encoder_permit(toy: Toy) -> None:
    bare = Task(toy.news, target=toy.tweets.unlabelled())
    assert set(RECIPES_BY_NAME) - set(fitting_recipes(bare, "acclimate-mini")) == {"target-only", "la-dtl"}
    with_labels = Task(toy.news, target=toy.tweets.unlabelled(), target_labelled=toy.tweets)
    assert fitting_recipes(with_labels, "acclimate-mini") == list(RECIPES_BY_NAME)
    assert not {"mslm", "adversarial-masking"} & set(fitting_recipes(with_labels, "character-cnn-lstm"))
    assert fitting_recipes(Task(toy.news), "character-cnn-lstm") == ["source-only", "mat"]


def test_recipes_of_entities_are_left_out_where_tags_are_plain(part_of_speech: Corpus) -> None:
    text = part_of_speech.unlabelled()
    given = [Task(part_of_speech, target=text, target_labelled=few) for few in (None, part_of_speech)]
    bare, labelled = (set(fitting_recipes(task, "acclimate-mini")) for task in given)
    assert "mslm" not in bare | labelled
    assert "pdaln" in bare - labelled
    assert obstacle_for(RECIPES_BY_NAME["pdaln"], given[1], "acclimate-mini") == ""  # with augment=false it can be run


@contextmanager
def dask_executor() -> Iterator[Executor]:
    distributed = pytest.importorskip("distributed", reason="needs pip install distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
    ):
        yield executor


EXECUTORS: dict[str, Callable[[], Any]] = {"threads": lambda: ThreadPoolExecutor(2), "Dask": dask_executor}


@pytest.mark.parametrize("name", EXECUTORS)
def test_whoever_makes_the_runs_the_table_is_the_same(
    finished: tuple[Path, Comparison], toy: Toy, tmp_path: Path, name: str
) -> None:
    with EXECUTORS[name]() as executor:
        found = toy.compare(tmp_path, executor=executor)
    assert without_costs(found) == without_costs(finished[1])


def test_processes_of_its_own_give_the_same_too(finished: tuple[Path, Comparison], toy: Toy, tmp_path: Path) -> None:
    assert without_costs(toy.compare(tmp_path, jobs=2)) == without_costs(finished[1])


def test_without_gold_tags_only_the_selectors_speak(toy: Toy, tmp_path: Path) -> None:
    found = toy.compare(tmp_path, seeds=1, target_test=None)
    assert (found.best, found.is_scored, found.runs[0].f1) == (None, False, None)
    assert {choice.selector for choice in found.choices} == set(QUICK)
    assert all(choice.regret is None for choice in found.choices)
    shown = render(found)
    assert "No target test sentences were given: nothing can be scored on the target." in shown
    assert "F1" not in shown
    assert "regret" not in shown


def test_a_run_that_fails_is_told_and_the_others_go_on(toy: Toy, tmp_path: Path) -> None:
    each = {"self-training": {"training": {"learning_rate": 1e30, "clip": None}}}
    told: list[str] = []
    found = toy.compare(tmp_path, seeds=1, each=each, tell=told.append)
    assert list(found.failures) == ["self-training, seed 1"]
    assert [run.recipe for run in found.runs] == ["source-only"]
    assert any("self-training, seed 1 FAILED" in line for line in told)
    assert "Missing: self-training, seed 1." in render(found)


def test_a_first_look_makes_a_share_of_the_updates_and_says_so(toy: Toy, tmp_path: Path) -> None:
    found = toy.compare(tmp_path, seeds=1, training={**TRAINING, "updates": 8}, share=0.25)
    report = json.loads((tmp_path / "runs/source-only/seed-1/report.json").read_text())
    assert [stage["updates"] for stage in report["stages"]] == [2]
    assert "A first look: every recipe made 25 % of its updates." in render(found)


def test_the_cost_is_told_before_the_start(toy: Toy, tmp_path: Path) -> None:
    told: list[str] = []
    toy.compare(tmp_path, seeds=1, estimate=True, tell=told.append)
    assert re.search(
        r"^expected time: about \d+ s \(.*\)\. One run: source-only \d+ s, self-training \d+ s\.$", told[2]
    )


@pytest.mark.parametrize(
    ("recipes", "changes", "words"),
    [
        (["la-dtl"], {}, "la-dtl learns from labelled target sentences"),
        (["mslm"], {}, "mslm needs a pre-trained encoder"),
        (["self-trianing"], {}, "Did you mean 'self-training'"),
        (["self-training"], {"selectors": ["oracle"]}, "Unknown selector 'oracle'"),
        (["self-training"], {"seeds": 0}, "one seed at least"),
    ],
)
def test_what_cannot_be_run_is_said_at_once(
    toy: Toy, tmp_path: Path, recipes: list[str], changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        toy.compare(tmp_path, recipes, **changes)
    assert not list(tmp_path.iterdir())

"""What a comparison may be scored on: test sentences that fit, the test's own measure, and source sentences that no run
has learnt."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from comparing import compare

from acclimate.comparison.results import Comparison, Mean, RunResult
from acclimate.comparison.scheduler import fitting_recipes
from acclimate.comparison.selectors import ALL_SELECTORS, held_out_source
from acclimate.comparison.tables import markdown, remarks_of_runs, render, score_rows
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.evaluation.counts import Tally
from acclimate.evaluation.seen import Shared
from acclimate.model.tagger import Tagger
from acclimate.reporting.run_data import collect_run
from acclimate.runs.prepare import choose_selector
from acclimate.runs.run import PlannedRun
from acclimate.runs.settings import RunSettings
from acclimate.runs.task import BlindTask, Task, tagger_for
from acclimate.runs.train import adapt
from acclimate.settings import UsageError, complete

LSTM = {"word_width": 6, "character_width": 4, "character_filters": 5, "lstm_width": 7, "dropout": 0.0}
SHARED = {
    "tagger": {"encoder": "character-cnn-lstm", "lstm": LSTM},
    "training": {"updates": 3, "words_per_batch": 60},
    "rounds": 20,
}


def compared(source: Corpus, target: Corpus | None, recipes: list[str], out: Path, **changes: Any) -> Comparison:
    return compare(source, target, recipes, 1, out, **{**SHARED, "selectors": (), **changes})


def partly(corpus: Corpus) -> Corpus:
    return corpus[:3].unlabelled() + corpus[3:]


def other_names(corpus: Corpus) -> Corpus:
    return corpus.map(
        lambda sentence: sentence.with_tags([tag.replace("PER", "person") for tag in sentence.tags or ()])
    )


@pytest.mark.parametrize(
    ("test", "words"),
    [
        (partly, "sentences without tags to compare with"),
        (other_names, "labels that the tagger does not know: person"),
        (lambda corpus: Corpus(corpus.sentences, "pos", "plain"), "pos has plain tags, but the tagger"),
    ],
)
def test_a_test_that_cannot_be_scored_is_refused_before_any_run(
    news: Corpus, tweets: Corpus, tmp_path: Path, test: Any, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        compared(news, tweets, ["source-only"], tmp_path, target_test=test(tweets))
    assert not list(tmp_path.iterdir())


def test_the_measure_is_that_of_the_test(part_of_speech: Corpus, tweets: Corpus, tmp_path: Path) -> None:
    found = compared(
        part_of_speech,
        None,
        ["target-only", "datnet"],
        tmp_path,
        target_labelled=tweets,
        target_test=tweets,
        against="target-only",
        tagger={"encoder": "character-cnn-lstm", "lstm": {**LSTM, "normalise": "weighted"}},  # as datnet does
    )
    assert found.metric == "span f1"
    against = found.of("datnet").against
    assert against is not None
    one, other = (found.of(name).runs[0].f1 for name in ("target-only", "datnet"))
    assert one is not None
    assert other is not None
    assert against.found.difference == pytest.approx(other - one)
    assert "(span F1)" in render(found)


@pytest.mark.parametrize(
    ("settings", "is_given", "is_measured"),
    [
        ({"select": "auto"}, False, True),
        ({"select": "source-dev"}, False, True),
        ({"select": "last"}, False, False),
        ({"select": "target-dev"}, False, False),
        ({"select": "last"}, True, True),
        ({"select": "target-dev"}, True, True),
        ({"train_on_dev": True}, True, False),
    ],
)
def test_no_selector_scores_a_run_on_source_sentences_that_it_learnt(
    news: Corpus, tweets: Corpus, settings: dict[str, Any], is_given: bool, is_measured: bool
) -> None:
    task = Task(news, news[:8] if is_given else None, target=tweets.unlabelled(), target_dev=tweets)
    trial = PlannedRun(RunSettings(**settings, recipe="mat"), Path("out"))
    dev = held_out_source(trial, BlindTask.of(task))
    held = choose_selector(task.source, task.source_dev, None, "source-dev", 1)[1].corpus  # type: ignore[attr-defined]
    assert (None if dev is None else dev.fingerprint) == (held.fingerprint if is_measured else None)


def test_what_runs_remark_stands_below_the_tables_once(news: Corpus, tweets: Corpus, tmp_path: Path) -> None:
    dev = {"target_dev": tweets, "select": "target-dev", "target_test": tweets}
    found = compared(news, tweets, ["source-only", "self-training"], tmp_path, **dev, selectors=["entropy"])
    for shown in (render(found), markdown(found)):
        assert shown.count("The model was chosen with target labels (target dev)") == 1  # of all runs, and said once
        assert shown.count("\nself-training made") == 1
        assert "Chosen without target labels" not in shown


def test_remarks_that_differ_in_figures_alone_are_told_once(news: Corpus, tweets: Corpus, tmp_path: Path) -> None:
    found = compared(news, tweets, ["source-only", "mat"], tmp_path, target_test=tweets)

    def of_two_seeds(run: RunResult) -> list[RunResult]:
        said = ((seed, (f"{run.recipe} made {seed},000 updates.", "The same of all.")) for seed in (1, 2))
        return [replace(run, seed=seed, remarks=remarks) for seed, remarks in said]

    results = tuple(replace(result, runs=of_two_seeds(result.runs[0])) for result in found.recipes)
    assert list(remarks_of_runs(replace(found, recipes=results))) == [
        "source-only made 1,000 updates. (Seed 1; alike with 2.)",
        "The same of all.",
        "mat made 1,000 updates. (Seed 1; alike with 2.)",
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"selectors": ()}, "nothing can be scored on the target. No selector was asked, either."),
        ({"selectors": ("entropy",), "text": None}, "Could judge no run: entropy (there is no target text)."),
        (
            {"selectors": ("source-dev",), "select": "last"},
            "Could judge no run: source-dev (there are no held-out source sentences",
        ),
        ({"selectors": ("agreement",)}, "Could judge no run: agreement (it asks 3 runs at least)."),
        (
            {"selectors": ("source-dev",), "train_on_dev": True, "dev": True},
            "Could judge no run: source-dev (there are no held-out source sentences",
        ),
    ],
)
def test_where_selectors_choose_nothing_the_reason_is_told(
    news: Corpus, tweets: Corpus, tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    changes = dict(changes)
    text = changes.pop("text", tweets)
    if changes.pop("dev", False):
        changes["source_dev"] = news
    shown = render(compared(news, text, ["source-only"], tmp_path, target_labelled=tweets, **changes))
    assert words in shown
    assert "Shown is what the selectors would choose" not in shown


def test_a_selector_named_twice_is_asked_once(news: Corpus, tweets: Corpus, tmp_path: Path) -> None:
    found = compared(news, tweets, ["source-only"], tmp_path, selectors=["entropy", "entropy"])
    assert [choice.selector for choice in found.choices] == ["entropy"]
    assert "Shown is what the selectors would choose" in render(found)


def test_a_target_without_sentences_is_no_target(news: Corpus, tmp_path: Path) -> None:
    nothing = Corpus((), "nothing")
    assert "self-training" not in fitting_recipes(Task(news, target=nothing), "character-cnn-lstm")
    with pytest.raises(UsageError, match="Recipe self-training needs target text"):
        compared(news, nothing, ["source-only", "self-training"], tmp_path)
    found = compared(news, nothing, ["source-only"], tmp_path, selectors=ALL_SELECTORS)
    assert [choice.selector for choice in found.choices] == ["source-dev"]  # needs none
    with pytest.raises(UsageError, match="Recipe self-training needs target text"):
        adapt(Tagger.build("character-cnn-lstm", labels=news.labels, text=news, **LSTM), news, nothing, "self-training")


def with_mentions(run: RunResult, seen: Tally, unseen: Tally) -> RunResult:
    assert run.target is not None
    assert run.target.unseen is not None
    groups = replace(run.target.unseen, mentions={"seen": seen, "unseen": unseen})
    return replace(run, target=replace(run.target, unseen=groups))


def test_a_group_without_a_mention_has_no_score(news: Corpus, tweets: Corpus, tmp_path: Path) -> None:
    found = compared(news, tweets, ["source-only"], tmp_path, target_test=tweets)
    (result,) = found.recipes
    empty = with_mentions(result.runs[0], Tally(4, 4, 1), Tally())
    assert (empty.figures["seen_f1"], empty.figures["unseen_f1"]) == (0.25, None)
    both = replace(result, runs=(empty, with_mentions(empty, Tally(4, 4, 1), Tally(2, 2, 2))))
    assert both.means["unseen_f1"] == Mean(1.0, 0.0)  # of the run that has any
    rows = score_rows(replace(found, recipes=(replace(result, runs=(empty,)),)))
    assert dict(zip(*rows, strict=True))["unseen"] == "-"


@pytest.mark.parametrize("part", ["source_test", "target_test"])
def test_a_test_without_a_span_is_refused_before_any_run(
    news: Corpus, tweets: Corpus, tmp_path: Path, part: str
) -> None:
    bare = tweets.map(lambda sentence: sentence.with_tags("O" for _ in sentence.words)).renamed("bare.conll")
    with pytest.raises(InputError, match=r"bare\.conll has no labelled span"):
        compared(news, tweets, ["source-only"], tmp_path / "out", **{part: bare})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("updates", "is_told"), [(1, True), (60, False)])
def test_a_baseline_that_has_learnt_nothing_is_told_once(
    news: Corpus, tweets: Corpus, tmp_path: Path, updates: int, is_told: bool
) -> None:
    training = {"updates": updates, "words_per_batch": 60, "learning_rate": 0.05}
    given = {"target_test": tweets, "source_test": news, "training": training}
    found = compared(news, tweets, ["source-only", "self-training"], tmp_path, **given)
    assert (found.runs[0].source_after == 0) == is_told
    assert render(found).count("the baseline has learnt nothing") == is_told
    assert render(found).count("trained too briefly") == is_told


@pytest.mark.parametrize(
    ("labelled", "remark"),
    [
        (10, "5 of 5 target test sentences of 6 or more words also stand among the labelled target sentences"),
        (4, "2 of 5 target test sentences of 6 or more words also stand among the labelled target sentences"),
        (0, "The target text holds 10 of 10 target test sentences, without their labels."),
    ],
)
def test_a_test_that_recipes_learn_from_is_told_and_no_gain_is_claimed_on_it(
    news: Corpus, tweets: Corpus, tmp_path: Path, labelled: int, remark: str
) -> None:
    given = {"target_test": tweets, "target_labelled": tweets[:labelled] if labelled else None}
    given |= {"training": {"updates": 60, "words_per_batch": 60, "learning_rate": 0.05}}
    found = compared(news, tweets, ["source-only", "self-training"], tmp_path, **given)
    for shown in (render(found), markdown(found)):
        assert remark in shown
        assert ("Nothing can be claimed: the target test sentences were learnt from." in shown) == (labelled == 10)
    assert found.learnt == Shared({10: 5, 4: 2, 0: 0}[labelled], 5, 6)


def test_labelled_target_sentences_that_no_recipe_learns_are_no_leak(
    news: Corpus, tweets: Corpus, tmp_path: Path
) -> None:
    found = compared(news, tweets, ["source-only"], tmp_path, target_test=tweets, target_labelled=tweets)
    assert found.learnt == Shared(0, 5, 6)


def test_a_recipe_is_compared_with_a_baseline_of_the_same_make(news: Corpus, tweets: Corpus, tmp_path: Path) -> None:
    """MAT normalises the tables: the row source-only, which does not, is no measure of what its noise brings."""
    training = {"updates": 40, "words_per_batch": 60, "learning_rate": 0.05}
    given: dict[str, Any] = {"target_test": tweets, "training": training}
    found = compared(news, None, ["mat"], tmp_path / "a", **given)
    against = found.of("mat").against
    assert against is not None
    torch.manual_seed(1)
    plain = tagger_for(Task(news), complete(RunSettings, {"recipe": "mat", "tagger": SHARED["tagger"]}))
    plain.encoder.normalise_by(choose_selector(news, None, None, "source-dev", 1)[0], "weighted")
    alone = adapt(plain, news, target_test=tweets, training=training)
    assert alone.target is not None
    assert against.found.first == pytest.approx(alone.target.after.span.f1)
    assert against.found.first != pytest.approx(found.of("source-only").runs[0].f1)
    (told,) = [remark for remark in found.remarks if remark.startswith("mat: the tagger has normalised")]
    assert f"on such a tagger, which has {100 * against.found.first:.2f}" in told
    assert told in render(found)
    page = collect_run(tmp_path / "a" / "runs" / "mat" / "seed-1")
    assert page.changes["target"]["before"]["span"]["f1"] == pytest.approx(against.found.first)
    assert page.before == "source-only on a tagger of the same make"

    other = compared(news, None, ["source-only", "mat"], tmp_path / "b", against="mat", **given)
    assert other.of("source-only").against is None
    (told,) = [remark for remark in other.remarks if remark.startswith("source-only: not tested against mat")]
    assert "would not tell the recipe from the tagger" in told

    tagger = {"encoder": "character-cnn-lstm", "lstm": {**LSTM, "normalise": "weighted"}}
    same = compared(news, None, ["mat"], tmp_path / "c", tagger=tagger, **given)
    against = same.of("mat").against
    assert against is not None
    assert against.found.first == pytest.approx(same.of("source-only").runs[0].f1)
    assert not (tmp_path / "c" / "runs" / "mat" / "seed-1" / "training" / "source-only").exists()
    assert not any("tagger has" in remark for remark in same.remarks)

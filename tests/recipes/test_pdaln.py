"""PDALN as a recipe: which terms are there when, who teaches, and when the rounds end."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.methods.objective import count_of
from acclimate.methods.perturbation.virtual_adversarial import VirtualAdversarialTraining
from acclimate.methods.teachers import Distillation, MeanTeacher, frozen_copy
from acclimate.model.tagger import Tagger
from acclimate.recipes.pdaln import PdalnSettings, batches_of, check_plan, pdaln, round_text
from acclimate.recipes.recipe import Plan
from acclimate.runs.train import adapt
from acclimate.settings import UsageError
from acclimate.training.loop import Progress, build_engine
from acclimate.training.run import Nobody, run_stages
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import LastUpdate, Stage
from interruptions import StopAt, Stopped

Build = Callable[..., Tagger]
ENCODERS = ["character-cnn-lstm", "bert"]
TRAINING = TrainingSettings(updates=3, words_per_batch=60, learning_rate=0.02, device="cpu")


class Losses(Nobody):
    """Writes down every loss of every stage."""

    def __init__(self) -> None:
        self.found: dict[str, list[float]] = {}

    def advance(self, progress: Progress, losses: Mapping[str, float] | None) -> None:
        for name, loss in progress.losses.items():
            self.found.setdefault(f"{progress.stage}/{name}", []).append(float(loss))


@pytest.fixture
def plan(news: Corpus, tweets: Corpus) -> Plan:
    """Four labelled target sentences, the others without their tags."""
    return Plan(news, tweets[4:].unlabelled() + tweets[:4], TRAINING, PdalnSettings(), 1)


def with_options(plan: Plan, **options: Any) -> Plan:
    return replace(plan, options=PdalnSettings(**options))


def without_labels(plan: Plan) -> Plan:
    return replace(plan, target=plan.target.unlabelled())


def stages_of(tagger: Tagger, plan: Plan) -> list[Stage]:
    """Untrained: as if every round had made no difference, unless it is told to go on."""
    return list(pdaln(tagger, replace(plan, options=plan.options.model_copy(update={"keep_best": False}))))


def trained(tagger: Tagger, plan: Plan, selector: Any = None, **given: Any) -> Tagger:
    run_stages(tagger, pdaln(tagger, plan), build_engine(TRAINING, tagger), selector or LastUpdate(), 1, **given)
    return tagger


# which terms


def test_without_target_labels_it_is_equation_8(build: Build, plan: Plan) -> None:
    (only,) = stages_of(build(), without_labels(plan))
    assert only.name == "align"
    assert dict(only.weights) == {"tag": 1.0, "sentences": 0.1, "contrast": 1.0}
    batch = only.batches.batch(0)
    assert all(sentence.tags is None for sentence in batch["target"])


def test_with_a_few_it_is_equation_9_and_then_rounds_of_equation_11(build: Build, plan: Plan) -> None:
    first, *rounds = stages_of(build(), with_options(plan, alpha=0.3, beta=0.2, contrast=0.5, gamma=0.25, rounds=2))
    assert dict(first.weights) == {"tag": 1.0, "sentences": 0.3, "words": 0.2, "contrast": 0.5}
    assert [stage.name for stage in rounds] == ["round-1", "round-2"]
    for stage in rounds:
        expected = {"tag": 0.75, "sentences": 0.225, "words": 0.15, "contrast": 0.375, "distil": 0.25}
        assert dict(stage.weights) == pytest.approx(expected)


def test_the_worked_sum_of_equation_11(build: Build, plan: Plan) -> None:
    _, stage = stages_of(build(), with_options(plan, alpha=0, beta=0, contrast=0, gamma=0.4, rounds=1))
    losses = {"tag": torch.tensor(1.25), "distil": torch.tensor(0.779589544150199)}  # oracle 9b
    assert stage.total(losses, 0).item() == pytest.approx(1.0618358176600795)


@pytest.mark.parametrize(
    ("option", "missing"),
    [("alpha", "sentences"), ("beta", "words"), ("contrast", "contrast"), ("gamma", "distil")],
)
def test_a_term_of_weight_zero_is_not_there_at_all(build: Build, plan: Plan, option: str, missing: str) -> None:
    usual = {"tag", "sentences", "words", "contrast", "distil"}
    for stage in stages_of(build(), with_options(plan, rounds=1, **{option: 0}))[1:]:
        assert set(stage.objectives) == usual - {missing}


def test_with_gamma_one_only_the_teacher_counts(build: Build, plan: Plan) -> None:
    assert set(stages_of(build(), with_options(plan, gamma=1, rounds=1))[1].objectives) == {"distil"}


def test_gamma_zero_is_plain_training(build: Build, plan: Plan, same_weights: Any) -> None:
    taught = trained(build(), with_options(plan, gamma=0, rounds=2))
    alone = trained(build(), with_options(plan, variant="none", rounds=2))
    assert same_weights(taught, alone)
    assert not same_weights(taught, trained(build(), with_options(plan, gamma=0.5, rounds=2)))


def test_the_contrast_goes_both_ways_on_request(build: Build, plan: Plan) -> None:
    for symmetric in (False, True):
        (only,) = stages_of(build(), with_options(plan, symmetric=symmetric, rounds=0))
        assert only.objectives["contrast"].symmetric == symmetric


def test_alpha_and_beta_zero_never_ask_for_a_discrepancy(
    build: Build, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(
        "acclimate.methods.alignment.mmd.squared_mmd", lambda *a, **k: asked.append(1) or torch.zeros(())
    )
    trained(build(), with_options(plan, alpha=0, beta=0, rounds=1))
    assert not asked
    trained(build(), with_options(plan, alpha=0.1, beta=0, rounds=0))
    assert asked


def test_with_every_term_off_it_is_tagging_of_source_and_labelled_target(build: Build, plan: Plan) -> None:
    (only,) = stages_of(build(), with_options(plan, alpha=0, beta=0, contrast=0, rounds=0))
    assert set(only.objectives) == {"tag"}


@pytest.mark.parametrize(
    ("variant", "term"), [("distillation", "distil"), ("mean-teacher", "mean_teacher"), ("vat", "virtual")]
)
def test_what_stands_beside_the_tags_is_on_their_scale(build: Build, plan: Plan, variant: str, term: str) -> None:
    _, stage = stages_of(build(dropout=0.0), with_options(plan, variant=variant, rounds=1, probabilities="softmax"))
    objective = stage.objectives[term]
    mask = torch.ones(2, 5, dtype=torch.bool)
    assert count_of(mask, objective.average) == count_of(mask, stage.objectives["tag"].average) == 2


# batches


def test_batches_of_the_target_are_as_long_as_those_of_the_source(build: Build, plan: Plan) -> None:
    lengths = [2, 9, 30]
    first = Corpus.of([Sentence(("w",) * n, ("O",) * n) for n in lengths * 40], "source")
    target = Corpus.of([Sentence(("v",) * n, tags) for n in lengths * 40 for tags in (None, ("O",) * n)], "target")
    tagger = build()
    stream = batches_of(tagger, replace(plan, target=target), first)
    for number in range(40):
        sides = stream.batch(number).values()
        mean, other = (sum(map(len, part)) / len(part) for part in sides)
        assert abs(mean - other) < 9


def test_a_batch_of_the_target_is_half_labelled_half_not(build: Build, plan: Plan) -> None:
    few = set(plan.target.labelled().sentences)
    for stage in stages_of(build(), plan):
        for number in range(5):
            target = stage.batches.batch(number)["target"]
            labelled = [sentence for sentence in target if sentence.tags is not None]
            assert 0 < len(labelled) < len(target)
            assert few.issuperset(labelled)


def test_without_unlabelled_text_the_target_is_the_few(build: Build, plan: Plan) -> None:
    few = plan.target.labelled()
    for stage in stages_of(build(), replace(plan, target=few)):
        assert set(few.sentences).issuperset(stage.batches.batch(0)["target"])


def test_rounds_stand_on_exchanged_entities_made_anew_by_another_seed(build: Build, plan: Plan) -> None:
    known = {sentence.words for sentence in (*plan.source, *plan.target.labelled())}
    texts = [round_text(plan, number)[0] for number in (1, 2, 1)]
    assert texts[0].sentences == texts[2].sentences != texts[1].sentences
    assert all(sentence.words not in known and sentence.tags is not None for text in texts for sentence in text)
    first, one, other, _ = stages_of(build(), plan)
    assert set(plan.source.sentences).issuperset(first.batches.batch(0)["source"])
    for stage, text in zip((one, other), texts, strict=False):
        assert set(text.sentences).issuperset(stage.batches.batch(0)["source"])


def test_without_augmentation_rounds_stand_on_a_sample_and_the_few(plan: Plan) -> None:
    text = round_text(with_options(plan, augment=False, source_sentences=5), 1)[0]
    assert len(text) == 5 + 4
    assert {*plan.source.sentences, *plan.target.labelled().sentences}.issuperset(text.sentences)
    assert len(round_text(with_options(plan, augment=False, source_sentences=None), 1)[0]) == len(plan.source) + 4


def test_tags_may_be_learnt_from_augmented_sentences_alone(build: Build, plan: Plan) -> None:
    first, stage = stages_of(build(), with_options(plan, augmented_only=True, rounds=1))
    assert type(first.objectives["tag"]).__name__ == "TaggingOfAll"
    assert (type(stage.objectives["tag"]).__name__, stage.objectives["tag"].domain) == ("Tagging", "source")


def test_a_round_takes_so_many_passes_over_its_own_text(build: Build, plan: Plan) -> None:
    unlimited = replace(plan, training=TRAINING.model_copy(update={"updates": None, "epochs": 50.0}))
    _, stage = stages_of(build(), with_options(unlimited, rounds=1, round_epochs=2))
    assert stage.updates == 2 * stage.batches.epoch_length
    _, stage = stages_of(build(), with_options(plan, rounds=1, round_epochs=2))
    assert stage.updates == 3  # as many as were asked for


def test_a_round_has_a_share_of_the_run_s_learning_rate(build: Build, plan: Plan) -> None:
    first, *rounds = stages_of(build(), with_options(plan, round_rate=0.5))
    assert first.settings.learning_rate == 0.02
    assert [stage.settings.learning_rate for stage in rounds] == [0.01] * 3
    usual = replace(plan, training=TRAINING.model_copy(update={"learning_rate": None}))
    first, *rounds = stages_of(build(), with_options(usual, round_rate=0.5))
    assert {stage.settings.learning_rate for stage in rounds} == {first.settings.learning_rate / 2}


def test_a_round_is_looked_at_often_where_somebody_chooses(build: Build, plan: Plan) -> None:
    long = replace(plan, training=TRAINING.model_copy(update={"updates": 1_000, "evaluate_every": 50, "patience": 2}))
    for selector, every, patience in [(Scores([]), 3, 34), (LastUpdate(), 50, 2), (None, 50, 2)]:
        options = {"rounds": 1, "round_epochs": 4}
        first, stage = stages_of(build(), with_options(replace(long, selector=selector), **options))
        assert (first.settings.evaluate_every, first.settings.patience) == (50, 2)
        assert (stage.updates, stage.settings.evaluate_every, stage.settings.patience) == (24, every, patience)


# teacher and student


@pytest.mark.parametrize(("variant", "term"), [("distillation", "distil"), ("mean-teacher", "mean_teacher")])
@pytest.mark.parametrize("probabilities", ["marginals", "softmax"])
def test_teacher_and_student_compare_what_is_set(
    build: Build, plan: Plan, variant: str, term: str, probabilities: str
) -> None:
    *_, stage = stages_of(build(), with_options(plan, rounds=1, variant=variant, probabilities=probabilities))
    assert stage.objectives[term].probabilities == probabilities


@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_teacher_of_a_round_is_the_student_of_the_last(
    build: Build, plan: Plan, encoder: str, same_weights: Any
) -> None:
    tagger = build(encoder)
    seen: list[Tagger] = []

    def watched() -> Any:
        for stage in pdaln(tagger, with_options(plan, rounds=2)):
            if "distil" in stage.objectives:
                distillation = stage.objectives["distil"]
                assert isinstance(distillation, Distillation)
                assert same_weights(distillation.teacher, tagger)  # at the start of a round they are equal
                seen.append(distillation.teacher)
            yield stage

    run_stages(tagger, watched(), build_engine(TRAINING, tagger), LastUpdate(), 1)
    assert len(seen) == 2
    assert not same_weights(*seen)
    assert not same_weights(seen[1], tagger)
    assert all(weight.grad is None for teacher in seen for weight in teacher.parameters())
    assert not any(module.training for teacher in seen for module in teacher.modules())


@dataclass
class Scores:
    """A selector that gives the scores it was told to, one look after the other."""

    given: list[float]
    name: str = "told"
    is_blind: bool = False
    lowest: float = 0.0

    def describe(self, score: float) -> str:
        return f"{score}"

    def __call__(self, learner: Any) -> float:
        return self.given.pop(0)


def names_after(
    tagger: Tagger, plan: Plan, scores: list[float], seen: Callable[[Stage], Stage] = lambda stage: stage
) -> list[str]:
    training = TRAINING.model_copy(update={"updates": 1})
    selector = Scores(scores)
    stages = map(seen, pdaln(tagger, replace(plan, training=training, selector=selector)))
    summaries = run_stages(tagger, stages, build_engine(training, tagger), selector, 1)
    assert not selector.given
    return [summary["stage"] for summary in summaries]


def test_rounds_go_on_while_the_selector_finds_them_no_worse(build: Build, plan: Plan) -> None:
    evaluations = [0.5, 0.5, 0.6, 0.6, 0.7, 0.7, 0.7]  # the alignment; then before and after each round
    choosy = with_options(plan, keep_best=True)
    assert names_after(build(), choosy, evaluations) == ["align", "round-1", "round-2", "round-3"]


def test_a_round_that_the_selector_finds_worse_is_undone_and_the_last(
    build: Build, plan: Plan, same_weights: Any
) -> None:
    tagger, sooner = build(), build()
    strict = with_options(plan, keep_best=True, patience=0)
    assert names_after(tagger, strict, [0.5, 0.5, 0.6, 0.6, 0.4]) == ["align", "round-1", "round-2"]
    assert names_after(sooner, with_options(plan, keep_best=True, rounds=1), [0.5, 0.5, 0.6]) == ["align", "round-1"]
    assert same_weights(tagger, sooner)


def test_with_patience_the_next_round_starts_from_the_best_on_other_text(
    build: Build, plan: Plan, same_weights: Any
) -> None:
    tagger, worse = build(), [0.5, 0.5, 0.4, 0.5, 0.6, 0.6, 0.4]
    before: list[Tagger] = []
    texts: list[Any] = []

    def seen(stage: Stage) -> Stage:
        before.append(frozen_copy(tagger))
        texts.append(stage.batches.batch(0)["source"])
        return stage

    assert len(names_after(tagger, with_options(plan, keep_best=True), worse, seen)) == 4
    assert same_weights(before[1], before[2])  # the first round was undone
    assert not same_weights(before[2], before[3])
    assert same_weights(before[3], tagger)  # and so was the last
    assert len({tuple(sentence.words for sentence in text) for text in texts}) == 4


@pytest.mark.parametrize(
    ("patience", "scores", "made"),
    [
        (0, [0.4], 1),
        (1, [0.4, 0.4], 2),
        (1, [0.4, 0.6, 0.4, 0.7, 0.4, 0.4], 6),  # only those in a row count
        (2, [0.4, 0.4, 0.4], 3),
    ],
)
def test_rounds_end_when_more_in_a_row_are_undone_than_patience_allows(
    build: Build, plan: Plan, patience: int, scores: list[float], made: int
) -> None:
    evaluations = [0.5]
    for score in scores:
        evaluations += [max(evaluations), score]
    choosy = with_options(plan, keep_best=True, patience=patience, rounds=8)
    assert len(names_after(build(), choosy, evaluations)) == 1 + made


def test_or_all_rounds_are_made(build: Build, plan: Plan) -> None:
    assert len(names_after(build(), plan, [0.5, 0.4, 0.3, 0.2])) == 4


def test_the_run_s_own_selector_is_asked_and_never_the_test_sentences(
    build: Build, news: Corpus, tweets: Corpus
) -> None:
    given = {"target_labelled": tweets[:4], "target_dev": tweets[4:7], "target_test": tweets[7:]}
    training = {"updates": 2, "words_per_batch": 60, "device": "cpu"}
    outcome = adapt(build(), news, tweets.unlabelled(), "pdaln", **given, select="target-dev", training=training)
    assert {stage["selector"] for stage in outcome.stages} == {"span F1 on target dev (3 sentences)"}
    assert outcome.target is not None


# variants


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize(
    ("variant", "term"),
    [("distillation", "distil"), ("mean-teacher", "mean_teacher"), ("vat", "virtual"), ("none", None)],
)
def test_every_variant_trains(build: Build, plan: Plan, encoder: str, variant: Any, term: str | None) -> None:
    watcher = Losses()
    trained(build(encoder), with_options(plan, variant=variant, rounds=1), watcher=watcher)
    found = {name for name in watcher.found if name.startswith("round-1")}
    usual = {"tag", "sentences", "words", "contrast"} | ({term} if term else set())
    assert found == {f"round-1/{name}" for name in usual}
    assert all(math.isfinite(loss) for row in watcher.found.values() for loss in row)
    if term in ("mean_teacher", "virtual"):
        assert watcher.found[f"round-1/{term}"][-1] > 0


def test_variants_stand_beside_equation_10_unweighed(build: Build, plan: Plan) -> None:
    _, mean = stages_of(build(), with_options(plan, variant="mean-teacher", rounds=1))
    assert isinstance(mean.objectives["mean_teacher"], MeanTeacher)
    assert mean.weights["tag"] == 1
    rising: Any = mean.weights["mean_teacher"]
    assert rising(0) == pytest.approx(10 * math.exp(-5))
    assert rising(3) == 10  # a round has three updates here
    _, noisy = stages_of(build(), with_options(plan, variant="vat", rounds=1))
    assert (noisy.weights["tag"], noisy.weights["virtual"]) == (1, 1)
    assert noisy.objectives["virtual"].domains == ("target",)


def test_the_noise_of_virtual_training_is_that_of_its_settings(build: Build, plan: Plan) -> None:
    _, stage = stages_of(build(), with_options(plan, variant="vat", rounds=1, virtual={"step": 0.002}))
    virtual = stage.objectives["virtual"]
    assert isinstance(virtual, VirtualAdversarialTraining)
    assert (virtual.trial, virtual.step) == (1e-5, 0.002)


# resuming


def resumed(build: Build, plan: Plan, out: Path, update: int, encoder: str) -> Tagger:
    often = replace(plan, training=TRAINING.model_copy(update={"checkpoint_every": 1}))
    with pytest.raises(Stopped):
        trained(build(encoder), often, folder=out, watcher=StopAt(update))
    return trained(build(encoder), often, folder=out)


@pytest.mark.parametrize(
    ("encoder", "variant", "update"),
    [
        ("character-cnn-lstm", "distillation", 2),
        ("character-cnn-lstm", "distillation", 5),
        ("character-cnn-lstm", "distillation", 8),
        ("character-cnn-lstm", "mean-teacher", 5),
        ("bert", "distillation", 5),
        ("bert", "mean-teacher", 6),
    ],
)
def test_a_run_that_was_cut_off_ends_like_an_unbroken_one(
    build: Build, plan: Plan, tmp_path: Path, encoder: str, variant: Any, update: int, same_weights: Any
) -> None:
    plan = with_options(plan, variant=variant, rounds=2)
    assert same_weights(resumed(build, plan, tmp_path, update, encoder), trained(build(encoder), plan))


# what cannot be


@pytest.mark.parametrize("variant", ["mean-teacher", "vat"])
def test_variants_need_labelled_target_sentences(build: Build, plan: Plan, variant: Any) -> None:
    with pytest.raises(UsageError, match=f"variant={variant} needs labelled target sentences"):
        check_plan(build(), with_options(without_labels(plan), variant=variant))


def test_tags_that_the_tagger_does_not_have_are_refused(build: Build, plan: Plan) -> None:
    with pytest.raises(UsageError, match="'B-XYZ' is none of the tagger's tags"):
        check_plan(build(), with_options(plan, mu={"B-XYZ": 1.0}))


def test_a_mean_teacher_needs_unlabelled_text(build: Build, plan: Plan) -> None:
    few = replace(plan, target=plan.target.labelled())
    with pytest.raises(UsageError, match="unlabelled target text"):
        check_plan(build(), with_options(few, variant="mean-teacher"))


def test_nothing_to_learn_from_the_target_is_told(build: Build, plan: Plan) -> None:
    with pytest.raises(UsageError, match="leave nothing to learn from the target"):
        check_plan(build(), with_options(without_labels(plan), alpha=0, contrast=0))


def test_labelled_sentences_without_entities_are_told_and_what_to_do(build: Build, plan: Plan) -> None:
    bare = replace(plan, target=Corpus.of([Sentence(("so", "tired"), ("O", "O"))]))
    with pytest.raises(InputError, match=r"no entities.*options\.augment=false"):
        check_plan(build(), bare)
    check_plan(build(), with_options(bare, augment=False))
    check_plan(build(), with_options(bare, rounds=0))
